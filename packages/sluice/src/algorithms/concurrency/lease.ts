/** A place among those in flight: taken with `acquire`, given back with `release`, lost when its time runs out. */
import { type Answer, andThen, answering, type Mode, type Reply } from '../../vocabulary/answer.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Call, TimeOptions } from '../algorithm.ts';

export interface Lease<M extends Mode = 'sync'> {
  /** Whether there was a place; if not, `release` and `renew` do nothing. */
  readonly allowed: boolean;
  readonly decision: Decision;
  /** Gives the place back. Calling it again does nothing. False when there was nothing to give back. */
  release(options?: TimeOptions): Reply<M, boolean>;
  /** Starts the lease's time again. False when it is over: the place may be somebody else's by now. */
  renew(options?: TimeOptions): Reply<M, boolean>;
}

/** Without a time of their own, `release` and `renew` of a lease taken on the caller's own time happen at that time. */
export function leaseOf(key: string, decision: Decision, taken: TimeOptions, call: Call, mode: Mode): Lease<Mode> {
  let { receipt } = decision;

  function release(options: TimeOptions = taken): Answer<boolean> {
    if (!receipt) return false;
    const ticket = receipt;
    receipt = undefined;
    return andThen(call('release', key, options, { receipt: ticket }), ({ allowed }) => allowed);
  }

  function renew(options: TimeOptions = taken): Answer<boolean> {
    if (!receipt) return false;
    return andThen(call('renew', key, options, { receipt }), (renewed) => {
      // Given back while the renewal was under way: the place it got is given back too.
      const isReleased = receipt === undefined;
      receipt = renewed.receipt;
      return isReleased ? andThen(release(options), () => false) : renewed.allowed;
    });
  }

  return {
    allowed: decision.allowed,
    decision,
    ...answering(mode, { release, renew }),
  } as Lease<Mode>;
}
