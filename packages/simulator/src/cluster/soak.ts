/**
 * Histories, one seed after the other, until stopped or until so many: `npm run soak -- cluster`.
 *
 *      --from 1      the first seed
 *      --seeds 5000  how many; without it, until stopped
 *      --seed 17     this one alone, with all that happened in it
 */
import { parseArgs } from 'node:util';
import { type HistoryReport, history } from './history.ts';

interface Tally {
  seeds: number;
  failures: number;
  used: number;
  dropped: number;
  refused: number;
  errors: number;
  faults: number;
  simulatedMs: number;
}

const progressEveryMs = 1000;

/** What `npm run soak -- cluster` calls, with what stands behind it. Resolves to whether there was nothing to object to. */
export async function soak(args: readonly string[] = []): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: 'string' }, seeds: { type: 'string' }, seed: { type: 'string' } },
  });
  if (values.seed !== undefined) return replay(whole('seed', values.seed));
  const from = whole('from', values.from ?? '1');
  const seeds = values.seeds === undefined ? Number.POSITIVE_INFINITY : whole('seeds', values.seeds);
  return runAll(from, from + seeds);
}

async function replay(seed: number): Promise<boolean> {
  const report = await history(seed);
  console.log(`seed ${seed}: ${report.faults.join(', ')}\n`);
  console.log(report.timeline());
  console.log(`\n${report.describe()}`);
  return report.objections.length === 0;
}

async function runAll(from: number, to: number): Promise<boolean> {
  const tally: Tally = { seeds: 0, failures: 0, used: 0, dropped: 0, refused: 0, errors: 0, faults: 0, simulatedMs: 0 };
  const startMs = performance.now();
  let toldMs = startMs;
  for (let seed = from; seed < to; seed += 1) {
    const report = await history(seed);
    add(tally, report);
    if (report.objections.length > 0) console.error(failureText(report));
    const nowMs = performance.now();
    if (nowMs - toldMs < progressEveryMs && seed < to - 1) continue;
    toldMs = nowMs;
    console.log(progressText(tally, (nowMs - startMs) / 1000));
  }
  return tally.failures === 0;
}

function add(tally: Tally, { objections, used, dropped, refusals, errors, faults, simulatedMs }: HistoryReport): void {
  tally.seeds += 1;
  tally.failures += objections.length > 0 ? 1 : 0;
  tally.used += used;
  tally.dropped += dropped;
  for (const count of refusals.values()) tally.refused += count;
  tally.errors += errors;
  tally.faults += faults.length;
  tally.simulatedMs += simulatedMs;
}

function progressText(tally: Tally, seconds: number): string {
  const { seeds, failures, used, refused, dropped, errors, faults, simulatedMs } = tally;
  const rate = (seeds / seconds).toFixed(1);
  const hours = (simulatedMs / 3_600_000).toFixed(2);
  return `${seeds} seeds (${rate}/s, ${hours} h simulated): ${used} grants used, ${dropped} too old, ${refused} refused, ${errors} unanswered, ${faults} faults; ${failures} violations`;
}

function failureText(report: HistoryReport): string {
  return [
    `\nseed ${report.seed} FAILED (${report.faults.join(', ')})`,
    report.describe(),
    `again: ${replayCommand(report.seed)}\n`,
  ].join('\n');
}

/** What runs one history again. */
export function replayCommand(seed: number): string {
  return `npm run soak -- cluster --seed ${seed}`;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`--${name} must be a whole number of 0 or more, got ${JSON.stringify(text)}.`);
}
