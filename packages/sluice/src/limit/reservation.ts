/**
 * Reserve, then settle: for costs that are known only afterwards, such as the tokens of an LLM call.
 *
 *      reserve(50) ──► commit(30): 20 go back       commit(70): 20 more are taken, as debt if need be
 *                 ├──► cancel():   50 go back
 *                 └──► silence:    after `expiresIn` it counts as spent, or is refunded if so chosen
 *
 * What was really used is always charged: a commit after the end still takes what the reservation no longer covers.
 */
import type { CallOptions, TimeOptions } from '../algorithms/algorithm.ts';
import { type Answer, andThen, type Mode, type Reply } from '../vocabulary/answer.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { checkCost, oneOf } from '../vocabulary/policy.ts';
import type { AnyCall } from './call.ts';

export interface ReserveOptions extends TimeOptions {
  /** When an unsettled reservation ends. Default 1 minute. */
  readonly expiresIn?: Duration;
  /** What then becomes of it: `'spend'` (default) or `'refund'`. */
  readonly onExpire?: 'spend' | 'refund';
}

export interface Reservation<M extends Mode = 'sync'> {
  /** Whether there was room; if not, nothing is reserved and settling does nothing. */
  readonly allowed: boolean;
  readonly decision: Decision;
  /** Ends it with the true cost. False when it had ended before. */
  commit(actual: number, options?: TimeOptions): Reply<M, boolean>;
  /** Gives all of it back. False when it had ended before. */
  cancel(options?: TimeOptions): Reply<M, boolean>;
}

interface Pending {
  readonly endsMs: number;
  refund(): Answer<unknown>;
}

export function reservations(call: AnyCall, now: (options: CallOptions | undefined) => number) {
  // Those to be refunded at their end, soonest first.
  let refunds: Pending[] = [];

  /** Refunds what has ended by now. No timer does it: whoever calls next does. */
  function refundEnded(options?: CallOptions): Answer<unknown> {
    let done: Answer<unknown>;
    while (refunds[0] && refunds[0].endsMs <= now(options)) done = andThen(done, refunds.shift()!.refund);
    return done;
  }

  function open(key: string, cost: number, endsMs: number, refunded: boolean, decision: Decision): Reservation<Mode> {
    const { allowed, receipt = [] } = decision;
    let settled = !allowed;
    // What the limiter still holds for this reservation.
    let held = cost;

    function settle(actual: number, options: TimeOptions): Answer<unknown> {
      const reserved = held;
      held = actual;
      return actual === reserved ? undefined : call('settle', key, { ...options, cost: reserved }, { actual, receipt });
    }

    function commit(actual: number, options: TimeOptions = {}): Answer<boolean> {
      checkCost(actual);
      return andThen(refundEnded(options), () => {
        if (settled) return false;
        settled = true;
        refunds = refunds.filter((other) => other !== pending);
        const inTime = now(options) < endsMs;
        // Too late, nothing goes back; but what was used beyond what is held is still owed.
        return andThen(settle(inTime ? actual : Math.max(held, actual), options), () => inTime);
      });
    }

    const pending: Pending = { endsMs, refund: () => settle(0, { atMs: endsMs }) };
    if (allowed && refunded) refunds = [...refunds, pending].sort((a, b) => a.endsMs - b.endsMs);
    return { allowed, decision, commit, cancel: (options?: TimeOptions) => commit(0, options) } as Reservation<Mode>;
  }

  function reserve(key: string, cost: number, options: ReserveOptions = {}): Answer<Reservation<Mode>> {
    const { expiresIn = '1m', onExpire, ...time } = options;
    const endsMs = now(time) + parseDuration(expiresIn, 'expiresIn');
    const refunded = oneOf('onExpire', onExpire, ['spend', 'refund']) === 'refund';
    return andThen(refundEnded(time), () =>
      andThen(call('reserve', key, { ...time, cost }), (decision) => open(key, cost, endsMs, refunded, decision)),
    );
  }

  return { reserve, refundEnded };
}
