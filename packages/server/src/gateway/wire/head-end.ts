/** Where a head ends. */
import { carriageReturn, lineFeed } from './characters.ts';
import { BadMessage } from './message.ts';

const emptyLine = Buffer.from('\r\n\r\n');

/**
 * The index after the empty line that ends the head which begins at `start`; -1: it has not come yet. `from` is where to go on looking: how
 * many bytes there were the last time, or `start`.
 *
 * Two line feeds with no or one carriage return between them end it too: such a head is refused when it is read, at once rather than when its client
 * has been waited for in vain.
 */
export function findHeadEnd(bytes: Buffer, start: number, from: number): number {
  // Three bytes of the empty line may have been there before.
  const since = Math.max(start, from - 3);
  const found = bytes.indexOf(emptyLine, since);
  if (found !== -1) return found + 4;
  for (let at = bytes.indexOf(lineFeed, since); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return -1;
}

/** Why a head that fills its limit is refused: its target is too long, or else all of it. */
export function headTooLarge(bytes: Buffer, start: number, headBytes: number): BadMessage {
  // One empty line may come before the request line.
  const lineEnd = bytes.indexOf(lineFeed, start + 2);
  if (lineEnd === -1 || lineEnd - start >= headBytes) {
    return new BadMessage(414, `the request line must be shorter than the ${headBytes} bytes of a head`);
  }
  return new BadMessage(431, `a head must be at most ${headBytes} bytes`);
}
