/** Which format the first lines are in. */
import { combinedSplitter } from './combined-fields.ts';
import { csvHeader } from './csv-fields.ts';
import { slotsFor } from './fields.ts';
import { jsonObjectIn } from './json-text.ts';
import { momentReader } from './moment.ts';
import type { LogFormat } from './options.ts';
import { timeNames } from './usual-names.ts';

const openingBrace = 0x7b;
const quote = 0x22;

/** Undefined: in none that is known. Lines that do not fit are outvoted: a log may begin in the middle of a line, or with a message. */
export function detectFormat(lines: readonly Uint8Array[], timeName: string | undefined): LogFormat | undefined {
  let json = 0;
  let common = 0;
  let combined = 0;
  const slots = slotsFor(['time', 'bytes']);
  const split = combinedSplitter(slots);
  const [time, size] = [slots.get('time')!, slots.get('bytes')!];
  const readMoment = momentReader();
  for (const line of lines) {
    if (line[0] === openingBrace) {
      if (jsonObjectIn(textOfLine(line)) !== undefined) json += 1;
    } else if (
      split(line, 0, line.length) === undefined &&
      readMoment(line, time.start, time.end) > Number.NEGATIVE_INFINITY
    ) {
      if (line[size.end + 1] === quote) combined += 1;
      else common += 1;
    }
  }
  if (json + common + combined === 0) return isCsvHeader(lines[0], timeName) ? 'csv' : undefined;
  if (json > common + combined) return 'json';
  return combined >= common ? 'combined' : 'common';
}

function isCsvHeader(line: Uint8Array | undefined, timeName: string | undefined): boolean {
  if (line === undefined) return false;
  const wanted = new Set(
    [...timeNames, ...(timeName === undefined ? [] : [timeName])].map((name) => name.toLowerCase()),
  );
  return csvHeader(line).names.some((name) => wanted.has(name.toLowerCase()));
}

export function textOfLine(line: Uint8Array): string {
  return new TextDecoder().decode(line);
}
