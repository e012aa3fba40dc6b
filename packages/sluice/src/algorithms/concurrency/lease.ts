/** A place among those in flight: taken with `acquire`, given back with `release`, lost when its time runs out. */
import { type Answer, andThen, type Mode, type Reply } from '../../vocabulary/answer.ts';
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
export function leaseOf(key: string, decision: Decision, taken: TimeOptions, call: Call): Lease<Mode> {
  let { receipt } = decision;

  function end(operation: 'release' | 'renew', options: TimeOptions = taken): Answer<boolean> {
    if (receipt === undefined) return false;
    const ticket = receipt;
    if (operation === 'release') receipt = undefined;
    return andThen(call(operation, key, options, { receipt: ticket }), (reply) => {
      receipt = reply.receipt;
      return reply.allowed;
    });
  }

  return {
    allowed: decision.allowed,
    decision,
    release: (options?: TimeOptions) => end('release', options),
    renew: (options?: TimeOptions) => end('renew', options),
  } as Lease<Mode>;
}
