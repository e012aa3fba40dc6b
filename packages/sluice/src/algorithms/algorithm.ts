/**
 * An algorithm is a few pure functions over a handful of numbers. No `this`, no clock, no promise: the state is
 * `cells[at ..]` (where the cells of a key may grow, they are an array of its own), the time is an argument.
 *
 *      cells ──► wait ──► 0: it may go ──► charge ──► cells
 *                  └────► more: refused, and nothing was written
 *
 * `wait` only reads, `charge` only writes: a batch of limits asks all of them first and charges them only when every
 * one said 0. There is nothing to roll back.
 *
 * Time: a caller's `nowMs` may be earlier than the latest that the state has seen. It then counts as the latest seen,
 * and the waits are measured from the caller's own time.
 */

import type { Answer, Mode } from '../vocabulary/answer.ts';
import type { Decision, Receipt } from '../vocabulary/decision.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { ALGORITHM, type Policy } from '../vocabulary/policy.ts';

/** The caller's own time in milliseconds, for replays; not decreasing per key. */
export interface TimeOptions {
  readonly atMs?: number | undefined;
}

/** A cost, or more than a cost. */
export type CallOptions =
  | number
  | (TimeOptions & {
      readonly cost?: number;
      /** A call that is made again with the same id gets the same answer, and is not counted twice. */
      readonly requestId?: string | undefined;
    });

/** One operation on one key of a limiter. */
export type Call = (
  operation: 'check' | 'acquire' | 'release' | 'renew',
  key: string,
  options?: CallOptions,
  extra?: { readonly receipt?: Receipt; readonly maxDelayMs?: number },
) => Answer<Decision>;

/** The numbers a policy comes down to, worked out once. Every algorithm adds its own. */
export interface Numbers {
  /** The most that could ever pass at once. */
  readonly limit: number;
  /** Whether the store has to tell refused calls to `reject`. */
  readonly countRejected?: boolean;
  /** How far back, from its latest charge, a key's state tells everything. Only strict algorithms have it. */
  readonly coveredMs?: number;
}

export interface Algorithm<P extends Policy = Policy, N extends Numbers = Numbers> {
  readonly name: string;
  /** Makes its policies. Asked for one with other numbers, so that whoever changes a policy need not know every algorithm. */
  readonly factory?: (options: never) => Policy;
  /** The name of its Lua twin, where that is not its own. */
  readonly twin?: string;
  /** Whether a key never seen has been idle since the limiter began. */
  readonly idles?: boolean;
  /** Never more than `limit` in any window. A store refuses newcomers rather than forget a strict key. */
  readonly strict?: boolean;
  /** Each charge is kept where a receipt finds it again, or is like any other: to give one back by its receipt leaves all others as they are. */
  readonly keepsChargesApart?: boolean;
  /** What the algorithm cannot do, of the operations that are optional, in the words of the API. */
  readonly without?: readonly string[];
  /** Operations that only limiters of this algorithm have, made from the common ones. */
  methods?(call: Call, mode: Mode): Record<string, (...args: never[]) => unknown>;
  /** How long a key is kept after it is as good as new; for policies under which a key never seen is worse off. */
  readonly lingerMs?: (numbers: N) => number;

  /**
   * The policy in the algorithm's own numbers. A strict algorithm adds the clock's staleness to its window, and covers at
   * least `retainMs`: its name also has a policy with so long a window.
   */
  prepare(policy: P, stalenessMs: number, retainMs: number): N;
  /** Throws on a cost that the algorithm cannot take. */
  mustTake?(cost: number): void;
  /** How many cells a key starts with. */
  cells(numbers: N): number;
  /** Writes the state of a key never seen. `sinceMs` is when the limiter began. */
  fresh(cells: Float64Array, at: number, numbers: N, nowMs: number, sinceMs: number): void;

  /**
   * Milliseconds until this cost, above 0, would pass: 0 now, `Infinity` never. Whole, rounded up: at that moment it passes.
   * `maxDelayMs` is the longest delay the caller would accept from a shaping algorithm.
   */
  wait(cells: Float64Array, at: number, numbers: N, cost: number, nowMs: number, maxDelayMs: number): number;
  /** `wait`, and `charge` if that is 0, in one: for algorithms that can do it faster, and never delay. */
  step?(cells: Float64Array, at: number, numbers: N, cost: number, nowMs: number): number;
  /** How long a call that passes has to be held back. Only shaping algorithms have it. */
  delay?(cells: Float64Array, at: number, numbers: N, cost: number, nowMs: number): number;
  /** Whether a policy can delay at all, for algorithms that have `delay` and policies that do not use it. Default: it can. */
  delays?(policy: P): boolean;
  /** Takes the cost, room or not: more than there is becomes debt. */
  charge(cells: Float64Array, at: number, numbers: N, cost: number, nowMs: number): void;
  /** What `refund` has to know of a charge, read right after it. */
  receipt(cells: Float64Array, at: number, numbers: N): Receipt;
  /** A refused call, where the numbers say that those count. Returns the cells, or a larger copy. */
  reject?(cells: Float64Array, numbers: N, cost: number, nowMs: number): Float64Array;
  /**
   * Gives back, at most what the receipt's charge still holds. Without a receipt, whatever there is, the latest first.
   * `refundedSince` is what the key was given back since the receipt was written. Where charges are kept apart the store minds it itself: only what was
   * given back without a receipt can have been this charge.
   */
  refund?(
    cells: Float64Array,
    at: number,
    numbers: N,
    cost: number,
    nowMs: number,
    receipt?: Receipt,
    refundedSince?: number,
  ): void;
  /** Ends a lease; false when it had ended before. Only `concurrency` has it. */
  release?(cells: Float64Array, at: number, receipt: Receipt, nowMs: number): boolean;
  /** Starts a lease again, under a new receipt; false when it is gone. Only `concurrency` has it. */
  renew?(cells: Float64Array, at: number, numbers: N, receipt: Receipt, nowMs: number): boolean;

  /** How much would pass right now; may be a fraction, and below 0 in debt. */
  available(cells: Float64Array, at: number, numbers: N, nowMs: number): number;
  /** Milliseconds until the key is as good as new; negative when it has been for so long. */
  asNewInMs(cells: Float64Array, at: number, numbers: N, nowMs: number): number;

  /**
   * What was charged and when, oldest first, as `[timeMs, cost, timeMs, cost, ...]`. A changed policy is applied by
   * charging this to a fresh state. Where the exact time is not known it is the latest possible, but not after `latestMs`
   * unless the cells themselves are: that can only refuse more. What may have been anything is `everything`.
   */
  history?(cells: Float64Array, at: number, numbers: N, latestMs: number): number[];
  /** Empties the state where forgetting it would lose more than what was used. */
  clear?(cells: Float64Array): void;
  /**
   * The state under a policy of the same algorithm, changed at `changedMs`, where it can tell more than history; undefined
   * where it cannot. `to` is fresh and may be returned.
   */
  carry?(
    from: Float64Array,
    fromNumbers: N,
    to: Float64Array,
    toNumbers: N,
    changedMs: number,
  ): Float64Array | undefined;
  /** Whether numbers from elsewhere can be the cells of a key whose state grows. */
  fits?(cells: readonly number[]): boolean;
  /** Cells with room for one more charge: the same ones, or a larger copy. Only algorithms whose state grows have it. */
  extend?(cells: Float64Array, numbers: N, nowMs: number): Float64Array;
}

/**
 * Sums of fractional costs are not exact, and giving a fraction back may leave a grain of it. Less than this over the limit
 * is the limit; whole costs are never that close to it.
 */
export const dust = 1e-9;

/** More than any limit: until it has left the window, nothing passes, whatever the limit becomes. */
export const everything = 2 ** 50;

/** The algorithm a policy was built with. */
export function algorithmOf(policy: Policy): Algorithm {
  const algorithm = policy?.[ALGORITHM];
  if (algorithm !== undefined) return algorithm as Algorithm;
  throw invalid(
    'policy',
    'built by a factory such as gcra()',
    policy,
    'For plain data (JSON, YAML, a spread copy) use parsePolicy(data).',
  );
}

/** A policy of the same algorithm, made from other data: as `parsePolicy`, which would bring every algorithm along. */
export function remadePolicy(policy: Policy, data: object): Policy {
  const { name, factory } = algorithmOf(policy);
  if (factory === undefined) throw new SluiceError('unsupported-operation', `A policy of ${name} cannot be changed.`);
  const { algorithm: _, ...options } = data as { readonly algorithm?: string };
  return factory(options as never);
}

/** Whether what passes may have to be held back. Of plain data, which carries no algorithm, that is not known: no. */
export function canDelay(policy: Policy): boolean {
  const { delay, delays } = (policy[ALGORITHM] ?? {}) as Partial<Algorithm>;
  return delay !== undefined && (delays?.(policy) ?? true);
}

/** Refuses an operation that the policy's algorithm does not have, naming both. */
export function mustSupport({ name, without }: Algorithm, operation: string): void {
  if (without?.includes(operation)) {
    throw new SluiceError('unsupported-operation', `${operation}() is not offered by the ${name} algorithm.`);
  }
}
