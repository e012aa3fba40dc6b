/**
 * The real clock of a node. Linux' monotonic clock, which Node counts by, stands still while the machine sleeps; its uptime does not, but has to be read
 * from a file. So the wall clock is looked at, which is quick, and the file only when that has moved by itself.
 */
import { uptime } from 'node:os';
import type { NodeClock } from './environment.ts';

// What the wall clock may be corrected by before the file is read: less than what is tolerated of sleep.
const correctionMs = 5;

export function systemClock(): NodeClock {
  // Anchored once, so that times look like times; from then on only the monotonic clock counts.
  const originMs = Date.now() - performance.now();
  const nowMs = () => originMs + performance.now();
  let wallAheadMs = Date.now() - nowMs();
  let uptimeAheadMs = uptime() * 1000 - nowMs();
  return {
    nowMs,
    uptimeMs(monotonicMs = nowMs()) {
      const aheadMs = Date.now() - monotonicMs;
      if (Math.abs(aheadMs - wallAheadMs) > correctionMs) {
        wallAheadMs = aheadMs;
        uptimeAheadMs = uptime() * 1000 - nowMs();
      }
      return monotonicMs + uptimeAheadMs;
    },
    after(ms, action) {
      const timer = setTimeout(action, Math.max(0, Math.ceil(ms)));
      return () => clearTimeout(timer);
    },
  };
}
