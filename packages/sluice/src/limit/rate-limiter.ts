import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { checkTime } from '../vocabulary/clock.ts';
import { parseDuration } from '../vocabulary/duration.ts';
import { aboveZero } from '../vocabulary/policy.ts';
import { limiter } from './limiter.ts';

/**
 * The plainest strict form: at most `maxRequests` per rolling `windowMs` per key, with timestamps given by the caller,
 * not decreasing per key. A request exactly one window old no longer counts; rejected ones never do.
 */
export class RateLimiter {
  readonly #log;

  constructor(maxRequests: number, windowMs: number) {
    const limit = aboveZero('maxRequests', maxRequests);
    this.#log = limiter(slidingLog({ limit, window: parseDuration(windowMs, 'windowMs') }));
  }

  allow(key: string, timestampMs: number): boolean {
    return this.#log.allow(key, { atMs: checkTime(timestampMs, 'timestampMs') });
  }
}
