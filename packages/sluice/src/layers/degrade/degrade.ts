/**
 * What happens when the store is slow or down: a deadline for each call, a breaker around the store, and then for each rule the
 * way it was told to fail.
 *
 *      call ──► breaker ──► the store, within `after` ──► its answer
 *                  │                           │
 *                  └─ open: not asked          └─ too late, or failed
 *                        └──────────────┬───────────────┘
 *                                       ▼
 *                  each check's `onStoreFailure`, else `to`: closed, open or local
 *
 * Once the breaker is open a store that is down costs nothing: no timers, no promises that pile up. It is asked again by one
 * call at a time.
 *
 * An answer that comes too late is read and dropped. If it was a grant, the store has counted it: it is spent. That refuses
 * more, and never allows more.
 */
import {
  type CircuitBreaker,
  type CircuitState,
  circuitBreaker,
} from '../../protect/circuit-breaker/circuit-breaker.ts';
import type { CircuitBreakerOptions } from '../../protect/circuit-breaker/settings.ts';
import { listenersOf } from '../../protect/listeners.ts';
import type { Pass } from '../../protect/protection.ts';
import { unsharedStore } from '../../stores/memory/open-memory.ts';
import type { Check, Store } from '../../stores/store.ts';
import { type Answer, andThen, isPromise, type Mode } from '../../vocabulary/answer.ts';
import { type Clock, checkClock } from '../../vocabulary/clock.ts';
import type { Decision, StoreFailureMode } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { oneStore } from '../ask.ts';
import { isQuestion, takes } from '../operations.ts';
import { sharesOf } from '../share.ts';
import { isWrongUse } from '../wrong-use.ts';
import { Deadlines } from './deadlines.ts';
import { type Fallback, fallback } from './fallback.ts';
import { receiptsOf } from './receipts.ts';

export interface DegradeOptions {
  /** How long a store that answers later has to answer. Default 20 milliseconds. */
  readonly after?: Duration;
  /** What a check without `onStoreFailure` does when the store fails. Default `'closed'`. */
  readonly to?: StoreFailureMode;
  /** How many processes share the limits: `'local'` decides by that part of each. Default 1. */
  readonly instances?: number;
  /**
   * When the store is no longer asked, and when again. Default: after 5 failures in a row, for 1 second, twice as long each time up
   * to 10, spread by a fifth.
   */
  readonly breaker?: Omit<CircuitBreakerOptions, 'isFailure' | 'isIgnored'>;
  /** Default: the store's. */
  readonly clock?: Clock;
  /** The most keys of the memory behind `'local'`. Default 1,000,000. */
  readonly maxKeys?: number;
}

export interface DegradeStats {
  /** Of the breaker: `'open'` means that the store is not asked. */
  readonly state: CircuitState;
  /** Calls of the store that failed, or came too late. */
  readonly storeErrors: number;
  /** Those of them that came too late. */
  readonly timeouts: number;
  /** Checks that were decided without the store, by how. */
  readonly degraded: Readonly<Record<StoreFailureMode, number>>;
  /** Batches that the store granted too late: they are spent. */
  readonly lateGrants: number;
}

export interface DegradeEvents {
  /** A call of the store failed, or came too late. */
  failure: { readonly error: unknown };
}

/** The layer; wraps one store. */
export interface DegradeLayer {
  <M extends Mode>(store: Store<M>): Store<M>;
  /** To be watched, and to be opened and closed by hand. There once a store is wrapped. */
  readonly breaker: CircuitBreaker;
  stats(): DegradeStats;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof DegradeEvents>(name: Name, listener: (event: DegradeEvents[Name]) => void): () => void;
}

// When it will be closed by hand is not known; asking again every second costs little.
const forcedRetryMs = 1000;

export function degrade(options: DegradeOptions = {}): DegradeLayer {
  knownFields('degrade options', options, 'after to instances breaker clock maxKeys');
  const { to = 'closed', instances = 1, clock: given, maxKeys } = options;
  const afterMs = parseDuration(options.after ?? '20ms', 'after');
  oneOf('to', to, ['closed', 'open', 'local']);
  if (!Number.isInteger(instances) || instances < 1) throw invalid('instances', 'a whole number above 0', instances);
  if (given !== undefined) checkClock(given);
  if (maxKeys !== undefined) unsharedStore({ maxKeys });
  const breakerOptions = breakerDefaults(options.breaker, afterMs);
  circuitBreaker(breakerOptions);
  const { on, tell } = listenersOf<DegradeEvents>(['failure']);
  const counts = { storeErrors: 0, timeouts: 0, degraded: { closed: 0, open: 0, local: 0 }, lateGrants: 0 };
  const mustBeOnly = oneStore('degrade');
  let breaker: CircuitBreaker | undefined;

  function wrap<M extends Mode>(store: Store<M>): Store<M> {
    mustBeOnly(store);
    const clock = given ?? store.clock;
    breaker = circuitBreaker({ clock, ...breakerOptions });
    let memory: Store<'sync'> | undefined;
    const local = () => {
      memory ??= unsharedStore({ clock, maxKeys });
      return memory;
    };
    const instead = fallback(to, sharesOf(instances), local, receiptsOf());
    const apply = degrading(
      store,
      breaker,
      new Deadlines(clock, afterMs),
      instead,
      afterMs,
      {
        failed(error, isTimeout) {
          counts.storeErrors += 1;
          if (isTimeout) counts.timeouts += 1;
          tell('failure', { error });
        },
        degraded(mode) {
          counts.degraded[mode] += 1;
        },
        grantedLate() {
          counts.lateGrants += 1;
        },
      },
      () => clock.now(),
    );
    const degraded: Store<M> = { mode: store.mode, clock: store.clock, apply: apply as Store<M>['apply'] };
    // What a store that answers later can say at once needs no trip, and cannot fail on it.
    return store.mode === 'async' && store.direct ? { ...degraded, direct: store.direct } : degraded;
  }

  const layer = Object.assign(wrap, {
    on,
    stats: (): DegradeStats => ({ state: breaker?.state ?? 'closed', ...counts, degraded: { ...counts.degraded } }),
  });
  return Object.defineProperty(layer, 'breaker', {
    get() {
      if (breaker) return breaker;
      throw new SluiceError('invalid-option', 'degrade() wraps no store yet, and has no breaker. Wrap one first.');
    },
  }) as unknown as DegradeLayer;
}

// How often a store that said nothing is asked while the breaker has not made up its mind.
const silencePauseMs = 1000;

function breakerDefaults(options: DegradeOptions['breaker'] = {}, afterMs: number): CircuitBreakerOptions {
  if (typeof options !== 'object' || options === null)
    throw invalid('breaker', 'an object of options of circuitBreaker()', options);
  for (const field of ['isFailure', 'isIgnored']) {
    if (field in options) throw invalid(`breaker.${field}`, 'left out', field, 'It is known here what is a failure.');
  }
  const times = options.openFor === undefined ? ({ openFor: '1s', openForMax: '10s' } as const) : {};
  return { ...times, openGrowth: 2, jitter: 0.2, probeTimeout: 2 * afterMs, ...options };
}

/** What is counted. */
interface Witness {
  failed(error: unknown, isTimeout: boolean): void;
  degraded(mode: StoreFailureMode): void;
  grantedLate(): void;
}

function degrading(
  store: Store,
  breaker: CircuitBreaker,
  deadlines: Deadlines,
  instead: Fallback,
  afterMs: number,
  witness: Witness,
  now: () => number,
) {
  let latest: unknown;
  // How often the store has said anything, in time or too late.
  let heard = 0;
  // Whether it let a deadline pass and has said nothing since the call was sent, neither to that call nor to any other.
  let isSilent = false;
  let silentSinceMs = 0;

  function hear(): void {
    heard += 1;
    isSilent = false;
  }

  /** Asks the store, if the breaker lets it, and goes on with `without` where it does not answer. */
  function attempt(
    checks: readonly Check[],
    atMs: number | undefined,
    requestId: string | undefined,
    without: () => Decision[],
  ): Answer<Decision[]> {
    const pass = breaker.tryPass();
    if (pass === undefined) return without();
    let isTimeout = false;
    const tooLate = () => {
      isTimeout = true;
      return new SluiceError('store-unavailable', `The store did not answer within ${afterMs} ms.`);
    };
    const failed = (error: unknown) => {
      mustBeFailure(pass, error);
      witness.failed(error, isTimeout);
      return without();
    };
    // A store that is silent costs nobody another deadline, but for one call now and then.
    if (isSilent && breaker.state === 'closed') {
      if (now() - silentSinceMs < silencePauseMs) return failed(tooLate());
      silentSinceMs = now();
    }
    const heardBefore = heard;
    let answer: Answer<Decision[]>;
    try {
      answer = store.apply(checks, atMs, requestId);
    } catch (error) {
      return failed(error);
    }
    if (!isPromise(answer)) {
      if (!isAnswer(answer, checks)) return failed(noAnswer(answer));
      pass.ok();
      return answer;
    }
    return deadlines
      .within(answer, tooLate, (decisions) => {
        hear();
        if (isAnswer(decisions, checks) && tookSomething(checks, decisions)) witness.grantedLate();
      })
      .then(
        (decisions) => {
          if (!isAnswer(decisions, checks)) return failed(noAnswer(decisions));
          hear();
          pass.ok();
          return decisions;
        },
        (error) => {
          if (!isTimeout) hear();
          else if (heard === heardBefore) {
            isSilent = true;
            silentSinceMs = now();
          }
          return failed(error);
        },
      );
  }

  /** Counts a failure of the store; wrong use is none, and is the caller's. */
  function mustBeFailure(pass: Pass, error: unknown): void {
    if (isWrongUse(error)) {
      pass.ignored();
      throw error;
    }
    latest = error;
    pass.failed();
  }

  function retryAfterMs(): number {
    const waitMs = breaker.retryAfterMs();
    return waitMs === Number.POSITIVE_INFINITY ? forcedRetryMs : Math.max(1, Math.ceil(waitMs));
  }

  function decide(checks: readonly Check[], atMs: number | undefined, requestId: string | undefined) {
    return attempt(checks, atMs, requestId, () => {
      const decisions = instead.decide(checks, atMs, requestId, retryAfterMs());
      for (const { degraded } of decisions) witness.degraded(degraded!);
      return decisions;
    });
  }

  function raiseUnavailable({ operation }: Check): never {
    throw new SluiceError(
      'store-unavailable',
      `The store is not available, and ${operation} cannot be done without it. Try again in ${retryAfterMs()} ms.`,
      { cause: latest },
    );
  }

  /** What is to be done and not asked cannot be done by anybody else; unless it is about what was granted here. */
  function carryOut(checks: readonly Check[], atMs: number | undefined, requestId: string | undefined) {
    const own = checks.map((check) => instead.settle(check, atMs, requestId));
    const others = checks.filter((_, i) => own[i] === undefined);
    if (others.length === 0) return own as Decision[];
    const order = others.find(({ operation }) => !isQuestion(operation));
    const reply = order
      ? attempt(others, atMs, requestId, () => raiseUnavailable(order))
      : decide(others, atMs, requestId);
    return andThen(reply, (decisions) => {
      const rest = decisions.values();
      return own.map((decision) => decision ?? (rest.next().value as Decision));
    });
  }

  return function apply(checks: readonly Check[], atMs?: number, requestId?: string): Answer<Decision[]> {
    const isOrder = checks.some(({ operation }) => !isQuestion(operation));
    if (store.mode === 'sync') return (isOrder ? carryOut : decide)(checks, atMs, requestId);
    try {
      const answer = (isOrder ? carryOut : decide)(checks, atMs, requestId);
      return isPromise(answer) ? answer : Promise.resolve(answer);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

/** Whether it is what a store has to answer. */
function isAnswer(answer: unknown, checks: readonly Check[]): answer is Decision[] {
  return (
    Array.isArray(answer) &&
    answer.length === checks.length &&
    answer.every((decision) => typeof (decision as Decision | undefined)?.allowed === 'boolean')
  );
}

function noAnswer(answer: unknown): SluiceError {
  return new SluiceError('store-unavailable', `The store answered something else than decisions: ${String(answer)}`);
}

function tookSomething(checks: readonly Check[], decisions: readonly Decision[]): boolean {
  if (decisions.some(({ allowed, shadow }) => !allowed && !shadow)) return false;
  return checks.some(({ operation, cost }) => takes(operation) && cost > 0);
}
