/**
 * One policy, many keys: `limiter(gcra({ limit: 100, window: '1m' })).check('alice').allowed`.
 *
 * Plumbing only: it checks the arguments, turns each call into an operation of the store, and hands back the decision.
 * Over a memory store every answer is there at once; over a remote one it is a promise, and the types say which.
 */
import { algorithmOf, type CallOptions, mustSupport, type TimeOptions } from '../algorithms/algorithm.ts';
import type { ConcurrencyMethods, ConcurrencyPolicy } from '../algorithms/concurrency/concurrency.ts';
import type { SmoothMethods, SmoothPolicy } from '../algorithms/smooth/smooth.ts';
import { textOf } from '../stores/memory/key-text.ts';
import { privateStore } from '../stores/memory/private-store.ts';
import { type Check, mustFit, type Operation, type Store } from '../stores/store.ts';
import { type Answer, andThen, answering, type Mode, type Reply } from '../vocabulary/answer.ts';
import { type Clock, checkTime } from '../vocabulary/clock.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { invalid } from '../vocabulary/errors.ts';
import { withGetters } from '../vocabulary/getters.ts';
import { checkCost, knownFields, type Policy } from '../vocabulary/policy.ts';
import { type Reservation, type ReserveOptions, reservations } from './reservation.ts';
import { type WaitOptions, waiting } from './waiting.ts';

export interface LimiterOptions<M extends Mode = Mode> {
  /** Where the numbers live. Default: a memory store of its own. */
  readonly store?: Store<M>;
  /** Default: the store's. With one of its own the limiter tells a remote store the time: for tests, since keys do not expire then. */
  readonly clock?: Clock;
  /** The most keys of the limiter's own memory store. Default 1,000,000. */
  readonly maxKeys?: number;
  /** Limiters of one name in one store share their keys. Default: a name of its own; a store that answers later needs one. */
  readonly name?: string;
  /** The most callers that `wait()` holds at once. Default 10,000. */
  readonly maxWaiters?: number;
}

/** Operations that cannot be refused (`penalize`, `reward`, `block`, `reset`) answer `allowed: true`, and what is left then. */
export interface Limiter<M extends Mode = 'sync', P extends Policy = Policy> {
  readonly name: string;
  /** The policy in force; `update` changes it. */
  readonly policy: P;
  /** Takes the cost (default 1) if it fits, and says so. */
  check(key: string, options?: CallOptions): Reply<M, Decision>;
  /** `check`, when only the answer matters. */
  allow(key: string, options?: CallOptions): Reply<M, boolean>;
  /** `check` of a key that is a range of bytes, the UTF-8 of its text: for servers that parse in the buffer and build no strings. */
  checkBytes(bytes: Uint8Array, start?: number, end?: number, cost?: number): Reply<M, Decision>;
  /** `checkBytes`, when only the answer matters. */
  allowBytes(bytes: Uint8Array, start?: number, end?: number, cost?: number): Reply<M, boolean>;
  /** What `check` would answer; changes nothing. */
  peek(key: string, options?: CallOptions): Reply<M, Decision>;
  /** Forgets the key, its debt and its block. */
  reset(key: string, options?: TimeOptions): Reply<M, Decision>;
  /** Takes the cost whether it fits or not. */
  penalize(key: string, options?: CallOptions): Reply<M, Decision>;
  /** Gives the cost back. */
  reward(key: string, options?: CallOptions): Reply<M, Decision>;
  /** Refuses the key for a while from now on, whatever its state; the latest block counts. */
  block(key: string, duration: Duration, options?: TimeOptions): Reply<M, Decision>;
  /** Takes as much of `max` as there is: `granted` in the decision. */
  take(key: string, max: number, options?: TimeOptions): Reply<M, Decision>;
  /** Takes an estimate now; `commit(actual)` or `cancel()` settles it when the true cost is known. */
  reserve(key: string, cost: number, options?: ReserveOptions): Reply<M, Reservation<M>>;
  /** Resolves when the call may go, first come first served per key, or with the refusal when waiting cannot help. */
  wait(key: string, options?: WaitOptions): Promise<Decision>;
  /** Changes the policy's numbers, not its algorithm; what was used stays used. */
  update(policy: P): void;
}

/** The limiter that a policy gets: with what only its algorithm has, without what it cannot do. */
export type LimiterOf<P extends Policy, M extends Mode> = P extends SmoothPolicy
  ? Omit<Limiter<M, P>, 'take'> & SmoothMethods<M>
  : P extends ConcurrencyPolicy
    ? Omit<Limiter<M, P>, 'penalize' | 'reserve' | 'reward' | 'take' | 'wait'> & ConcurrencyMethods<M>
    : Limiter<M, P>;

/** After these there may be more room than those who wait were told. */
const frees: readonly Operation[] = ['reset', 'reward', 'settle'];

export function limiter<P extends Policy, M extends Mode = 'sync'>(
  policy: P,
  options: LimiterOptions<M> = {},
): LimiterOf<P, M> {
  knownFields('limiter options', options, 'store clock maxKeys name maxWaiters');
  const { store: shared, clock, maxKeys, maxWaiters = 10_000 } = options;
  if (shared && maxKeys !== undefined)
    throw invalid('maxKeys', 'left out beside a store', maxKeys, 'Give it to the store.');
  mustFit(shared, clock);
  // Two limiters in one store must not share keys by accident; alone in its own store a limiter needs no such name.
  const name = options.name ?? (shared ? `limiter-${Math.random().toString(36).slice(2)}` : 'limiter');
  if (typeof name !== 'string') throw invalid('name', 'a string', name);
  if (shared?.mode === 'async' && options.name === undefined) {
    throw invalid(
      'name',
      'given beside a store that others share',
      options.name,
      'It is what they share the limit by.',
    );
  }
  const store: Store = shared ?? privateStore(name, clock, maxKeys);
  const ownClock = clock ?? store.clock;

  let algorithm = algorithmOf(policy);
  let current: Policy = policy;
  const sinceMs = ownClock.now();
  let changedMs = sinceMs;

  /** The caller's own time, else that of the limiter's clock; without one the store knows the time. */
  function timeOf(call: TimeOptions | number | undefined): number | undefined {
    if (typeof call === 'object' && call?.atMs !== undefined) return checkTime(call.atMs);
    return clock && shared ? clock.now() : undefined;
  }

  function apply(operation: Operation, key: string, call: CallOptions = 1, extra?: Partial<Check>): Answer<Decision> {
    mustSupport(algorithm, operation);
    if (typeof key !== 'string') throw invalid('key', 'a string', key);
    const { cost = 1 } = typeof call === 'object' && call !== null ? call : { cost: call };
    // On the caller's own time the clock's word on when the policy changed means nothing.
    const isOwnTime = typeof call === 'object' && call?.atMs !== undefined;
    // Every check has the same fields in the same order: the engine then knows it by heart.
    const check: Check = {
      name,
      key,
      policy: current,
      cost,
      operation,
      sinceMs,
      changedMs: isOwnTime ? undefined : changedMs,
      maxDelayMs: extra?.maxDelayMs,
      receipt: extra?.receipt,
      actual: extra?.actual,
      durationMs: extra?.durationMs,
    };
    const requestId = typeof call === 'object' ? call?.requestId : undefined;
    return andThen(store.apply([check], timeOf(call), requestId), ([decision]) => {
      if (frees.includes(operation)) line.nudge(key);
      return decision as Decision;
    });
  }

  const { reserve, refundEnded, unsettled } = reservations(
    apply,
    (call) => timeOf(call) ?? ownClock.now(),
    store.mode,
    // A remote store decides by its server's clock, of which the end of a reservation by this one says nothing.
    store.mode === 'sync' || clock !== undefined,
  );

  function run(operation: Operation, key: string, call?: CallOptions, extra?: Partial<Check>): Answer<Decision> {
    refundEnded(call);
    return apply(operation, key, call, extra);
  }

  const line = waiting(run, ownClock, maxWaiters);

  // The short way for a plain cost, unless a reservation may have to be refunded first.
  // On a clock of its own in somebody else's store the limiter tells the store the time, which only the long way does.
  const bind = (policy: Policy) => (clock && shared ? undefined : store.direct?.(name, policy, sinceMs));
  let direct = bind(current);

  // These two are as short as can be: what is short the engine takes into its callers, and into these what they call.
  function check(key: string, call: CallOptions = 1): Answer<Decision> {
    if (typeof key === 'string' && typeof call === 'number' && unsettled.refunds === 0) {
      const decision = direct?.check(key, call);
      if (decision !== undefined) return decision;
    }
    return run('check', key, call);
  }

  function allow(key: string, call: CallOptions = 1): Answer<boolean> {
    if (typeof key === 'string' && typeof call === 'number' && unsettled.refunds === 0) {
      const allowed = direct?.allow(key, call);
      if (allowed !== undefined) return allowed;
    }
    return allowAtLength(key, call);
  }

  function allowAtLength(key: string, call: CallOptions): Answer<boolean> {
    return andThen(run('check', key, call), (decision) => decision.allowed);
  }

  function checkBytes(bytes: Uint8Array, start = 0, end = bytes?.length, cost = 1): Answer<Decision> {
    mustBeRange(bytes, start, end);
    if (direct !== undefined && typeof cost === 'number' && unsettled.refunds === 0) {
      const decision = direct.checkBytes(bytes, start, end, cost);
      if (decision !== undefined) return decision;
    }
    return run('check', textOf(bytes.subarray(start, end)), cost);
  }

  function allowBytes(bytes: Uint8Array, start = 0, end = bytes?.length, cost = 1): Answer<boolean> {
    mustBeRange(bytes, start, end);
    if (direct !== undefined && typeof cost === 'number' && unsettled.refunds === 0) {
      const allowed = direct.allowBytes(bytes, start, end, cost);
      if (allowed !== undefined) return allowed;
    }
    return andThen(run('check', textOf(bytes.subarray(start, end)), cost), ({ allowed }) => allowed);
  }

  const methods = {
    name,
    ...answering(store.mode, {
      check,
      allow,
      checkBytes,
      allowBytes,
      peek: (key: string, call?: CallOptions) => run('peek', key, call),
      reset: (key: string, call?: TimeOptions) => run('reset', key, call),
      penalize: (key: string, call?: CallOptions) => run('penalize', key, call),
      reward: (key: string, call?: CallOptions) => run('reward', key, call),
      block: (key: string, duration: Duration, call?: TimeOptions) =>
        run('block', key, call, { durationMs: parseDuration(duration) }),
      take: (key: string, max: number, call?: TimeOptions) => run('take', key, { ...call, cost: checkCost(max) }),
      reserve,
      ...algorithm.methods?.(run, store.mode),
    }),
    async wait(key: string, call?: WaitOptions) {
      mustSupport(algorithm, 'wait');
      return line.wait(key, call);
    },
    update(next: Policy) {
      if (algorithmOf(next).name !== algorithm.name)
        throw invalid('policy', `of the ${algorithm.name} algorithm`, next);
      // First what may fail, so that a policy for which there is no room changes nothing.
      const bound = bind(next);
      changedMs = ownClock.now();
      direct = bound;
      algorithm = algorithmOf(next);
      current = next;
      line.nudge();
    },
  };
  return withGetters(methods, { policy: () => current }) as unknown as LimiterOf<P, M>;
}

function mustBeRange(bytes: Uint8Array, start: number, end: number): void {
  if (start >= 0 && start <= end && end <= bytes?.length && Number.isInteger(start) && Number.isInteger(end)) {
    if (bytes instanceof Uint8Array) return;
  }
  throw invalid('bytes, start and end', 'a Uint8Array and a range within it', [typeof bytes, start, end]);
}
