/** CL.THROTTLE with its counting: in the main thread over its store, in other threads over memory that all share. */
import type { Store } from 'sluice';
import type { CheckMeter } from '../operations/check-meter.ts';
import type { RefusedKeys } from '../operations/refused-keys.ts';
import type { Answer, ThrottleNumbers, ThrottleReply } from './service.ts';
import { Throttle, type ThrottleAnswer, throttleName } from './throttle.ts';

// Reading the clock twice costs as much as half a check, so only some are timed.
const timedEvery = 64;

export class ThrottleService {
  private readonly throttles: Throttle;
  private readonly checks: CheckMeter;
  private readonly refusals: RefusedKeys;
  private untilTimed = 0;

  constructor(store: Store, checks: CheckMeter, refusals: RefusedKeys) {
    this.throttles = new Throttle(store);
    this.checks = checks;
    this.refusals = refusals;
  }

  throttle(
    bytes: Uint8Array,
    start: number,
    end: number,
    numbers: ThrottleNumbers,
    quantity: number,
  ): Answer<ThrottleReply> {
    this.untilTimed = this.untilTimed === 0 ? timedEvery - 1 : this.untilTimed - 1;
    const startMs = this.untilTimed === 0 ? performance.now() : 0;
    const reply = this.throttles.check(bytes, start, end, numbers, quantity);
    if (reply instanceof Promise) {
      // The buffer is the connection's, and holds something else by the time the answer is there.
      const key = Uint8Array.from(bytes.subarray(start, end));
      return reply.then(
        (known) => this.count(known, key, 0, key.length, startMs),
        (error) => {
          this.checks.count(throttleName, 'error');
          throw error;
        },
      );
    }
    return this.count(reply, bytes, start, end, startMs);
  }

  private count(reply: ThrottleAnswer, bytes: Uint8Array, start: number, end: number, startMs: number): ThrottleReply {
    if (startMs !== 0) this.checks.observe(performance.now() - startMs, timedEvery);
    if (reply.isStoreFailure) {
      // Nobody decided, and the key is not to blame.
      this.checks.count(throttleName, 'error');
      return reply;
    }
    this.checks.count(throttleName, reply.limited === 0 ? 'allowed' : 'refused');
    if (reply.limited === 1) this.refusals.countBytes(throttleName, bytes, start, end);
    return reply;
  }
}
