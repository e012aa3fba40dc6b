/**
 * A store holds the numbers. It applies a batch of checks atomically, all or nothing, and answers each with a decision.
 * That is the whole interface: a single limit is a batch of one, many limits on one request are a batch of many, and
 * what wraps a store is a store.
 */
import type { Mode, Reply } from '../vocabulary/answer.ts';
import { type Clock, checkClock } from '../vocabulary/clock.ts';
import type { Decision, Receipt, StoreFailureMode } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import type { Policy } from '../vocabulary/policy.ts';

export type Operation =
  /** Takes `cost` if it fits. */
  | 'check'
  /** Answers what `check` would, and changes nothing. */
  | 'peek'
  /** `check` whose decision carries a receipt, to be settled. */
  | 'reserve'
  /** `check` whose decision carries a receipt, to be released or renewed. */
  | 'acquire'
  /** Takes as much of `cost` as there is. */
  | 'take'
  /** Takes `cost` whether it fits or not: what does not fit is debt. */
  | 'penalize'
  /** Gives `cost` back. */
  | 'reward'
  /** Ends a reservation of `cost` that really took `actual`. */
  | 'settle'
  /** Gives a lease back. */
  | 'release'
  /** Starts a lease's time again; the decision is a refusal when the lease is gone. */
  | 'renew'
  /** Forgets the key. */
  | 'reset'
  /** Refuses the key for `durationMs`. */
  | 'block';

export interface Check {
  /** State belongs to (name, key). The same pair twice in one batch adds up. */
  readonly name: string;
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
  /** Default `'check'`. Those up to `take` can be refused. */
  readonly operation?: Operation | undefined;
  /** Evaluated and reported, and never refuses the batch. */
  readonly shadow?: boolean | undefined;
  /** The longest delay the caller accepts from a shaping algorithm. Default: any. */
  readonly maxDelayMs?: number | undefined;
  /** When the limiter began: a key never seen has been idle since then. Default: now. */
  readonly sinceMs?: number | undefined;
  /** When the policy came into force; until then an older one of the same name was. Default: with the key's latest charge. */
  readonly changedMs?: number | undefined;
  readonly receipt?: Receipt | undefined;
  readonly actual?: number | undefined;
  /** Of `block`: for how long. Of `settle` with a request id: for how long it might still be settled otherwise. So long it is remembered that it was. */
  readonly durationMs?: number | undefined;
  /** For stores that can fail; memory cannot. */
  readonly onStoreFailure?: StoreFailureMode | undefined;
}

/**
 * A way past the batch for the plainest call, a `check` of one key: no objects but the decision. `undefined` says that the
 * call has to go the long way, by `apply`; nothing has happened then. Keys may be ranges of bytes, the UTF-8 of their text.
 */
export interface DirectChecks {
  check(key: string, cost: number): Decision | undefined;
  allow(key: string, cost: number): boolean | undefined;
  checkBytes(bytes: Uint8Array, start: number, end: number, cost: number): Decision | undefined;
  allowBytes(bytes: Uint8Array, start: number, end: number, cost: number): boolean | undefined;
  /** `remaining` and `resetAfterMs` of the decision that the call answered last would have had: for who wants to know no more of it. */
  remaining?(): number;
  resetAfterMs?(): number;
}

export interface Store<M extends Mode = Mode> {
  readonly mode: M;
  /** The clock that `wait` sleeps by; remote stores decide by their server's clock. */
  readonly clock: Clock;
  /**
   * All of the checks, or none. With `atMs`, the caller's own time instead of the store's. With `requestId`, a batch that
   * is sent again gets the answer it got the first time, and is not counted twice.
   */
  apply(checks: readonly Check[], atMs?: number, requestId?: string): Reply<M, Decision[]>;
  /** Checks of one policy under one name, for stores that answer at once. */
  direct?(name: string, policy: Policy, sinceMs?: number): DirectChecks;
}

/** Refuses what is no store or no clock, and a clock coarser than the store knows of: strict windows would be too short. */
export function mustFit(store: Store | undefined, clock: Clock | undefined): void {
  // Every function has an `apply`: by its clock a store is told from `memoryStore` that was not called.
  if (store !== undefined && (typeof store?.apply !== 'function' || !store.clock))
    throw invalid('store', 'a store such as memoryStore()', store);
  if (clock !== undefined) checkClock(clock);
  const { stalenessMs = 0 } = clock ?? {};
  if (store && stalenessMs > (store.clock.stalenessMs ?? 0)) {
    throw invalid('clock', "no staler than the store's", stalenessMs, 'Give the clock to the store instead.');
  }
}
