/**
 * A log for what clients or a broken neighbour can cause without end: a few lines per period, and the first of the next period says
 * how many were left out.
 */
import { type Clock, monotonicClock } from 'sluice';
import type { Log } from '../service/log.ts';

export interface OccasionalLogOptions {
  /** Lines per period. Default 1. */
  readonly most?: number;
  /** Default one minute. */
  readonly everyMs?: number;
  readonly clock?: Clock;
}

export function occasionalLog(log: Log, options: OccasionalLogOptions = {}): Log {
  const { most = 1, everyMs = 60_000, clock = monotonicClock } = options;
  let endMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let leftOut = 0;

  function sparingly(level: keyof Log): Log[keyof Log] {
    return (fields, message) => {
      const nowMs = clock.now();
      if (nowMs >= endMs) {
        endMs = nowMs + everyMs;
        lines = 0;
      }
      if (lines === most) {
        leftOut += 1;
        return;
      }
      lines += 1;
      log[level](leftOut > 0 ? { ...fields, leftOut } : fields, message);
      leftOut = 0;
    };
  }

  return { debug: sparingly('debug'), info: sparingly('info'), warn: sparingly('warn'), error: sparingly('error') };
}
