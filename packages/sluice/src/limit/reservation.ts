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
import { type Answer, andThen, answering, isPromise, type Mode, type Reply } from '../vocabulary/answer.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import { checkCost, knownFields, oneOf } from '../vocabulary/policy.ts';
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

const maxPending = 100_000;

/**
 * @param isOwnTime whether the store decides by the time it is told: then a refund happens at the reservation's end, else when it
 *   is found that it has ended
 */
export function reservations(
  call: AnyCall,
  now: (options: CallOptions | undefined) => number,
  mode: Mode,
  isOwnTime: boolean,
) {
  // Those to be refunded at their end, by how long they were given: within each, the first in is the first out.
  const refunds = new Map<number, Set<Pending>>();
  const unsettled = { refunds: 0 };

  function forget(expiresMs: number, pending: Pending): void {
    const line = refunds.get(expiresMs);
    if (line?.delete(pending)) unsettled.refunds -= 1;
    if (line?.size === 0) refunds.delete(expiresMs);
  }

  /**
   * Refunds what has ended by now. No timer does it: whoever calls next does. A remote store is told before it is asked, and not waited for: the caller
   * has nothing to do with it. Where it cannot be told, what was reserved stays spent: told again, it might give the same back twice.
   */
  function refundEnded(options?: CallOptions): void {
    for (const [expiresMs, line] of refunds) {
      for (const pending of line) {
        if (pending.endsMs > now(options)) break;
        forget(expiresMs, pending);
        const reply = pending.refund();
        if (isPromise(reply)) Promise.resolve(reply).catch(() => undefined);
      }
    }
  }

  function reserve(key: string, cost: number, options?: ReserveOptions): Answer<Reservation<Mode>> {
    knownFields('reserve options', options ?? {}, 'atMs expiresIn onExpire');
    const { expiresIn = '1m', onExpire, ...taken } = options ?? {};
    const expiresMs = parseDuration(expiresIn, 'expiresIn');
    const endsMs = now(taken) + expiresMs;
    const isRefunded = oneOf('onExpire', onExpire, ['spend', 'refund']) === 'refund';
    if (isRefunded && unsettled.refunds >= maxPending) {
      throw new SluiceError(
        'store-full',
        `There are ${maxPending} reservations to be refunded. Settle them, or let them be spent.`,
      );
    }

    function open(decision: Decision): Reservation<Mode> {
      const { allowed, receipt = [] } = decision;
      let settled = !allowed;
      // What the limiter still holds for this reservation.
      let held = cost;

      function settle(actual: number, time: TimeOptions): Answer<unknown> {
        const reserved = held;
        if (actual === reserved) return undefined;
        const reply = call('settle', key, { ...time, cost: reserved }, { actual, receipt });
        held = actual;
        return reply;
      }

      // On the caller's own time the moment of the reservation is the latest known.
      function commit(actual: number, time: TimeOptions = taken): Answer<boolean> {
        checkCost(actual);
        refundEnded(time);
        if (settled) return false;
        const inTime = now(time) < endsMs;
        // Too late, nothing goes back; but what was used beyond what is held is still owed. If that throws, nothing is settled.
        const reply = settle(inTime ? actual : Math.max(held, actual), time);
        settled = true;
        forget(expiresMs, pending);
        return andThen(reply, () => inTime);
      }

      const atEnd = isOwnTime || taken.atMs !== undefined ? { atMs: endsMs } : {};
      const pending: Pending = { endsMs, refund: () => settle(0, atEnd) };
      if (allowed && isRefunded) {
        refunds.set(expiresMs, (refunds.get(expiresMs) ?? new Set()).add(pending));
        unsettled.refunds += 1;
      }
      const endings = answering(mode, { commit, cancel: (time?: TimeOptions) => commit(0, time) });
      return { allowed, decision, ...endings } as Reservation<Mode>;
    }

    refundEnded(taken);
    return andThen(call('reserve', key, { ...taken, cost }), open);
  }

  return { reserve, refundEnded, unsettled };
}
