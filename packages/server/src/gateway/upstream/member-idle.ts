/** How long a member lets a connection be idle, by its `Keep-Alive: timeout=5`: closed here before that, no request meets the member's close. */
import type { HeaderList } from '../wire/message.ts';

// The member counts from when it wrote, and its clock is coarse.
const marginMs = 1000;

/** Infinity: it does not say. */
export function memberIdleMs(headers: HeaderList): number {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'keep-alive') continue;
    const seconds = /(?:^|[,;\s])timeout=(\d{1,9})(?:$|[,;\s])/i.exec(headers[i + 1]!)?.[1];
    if (seconds === undefined) return Number.POSITIVE_INFINITY;
    const ms = Number(seconds) * 1000;
    return Math.max(ms - marginMs, ms / 2);
  }
  return Number.POSITIVE_INFINITY;
}
