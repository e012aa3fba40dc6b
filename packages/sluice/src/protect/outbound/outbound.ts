/**
 * HTTP calls with all that keeps both sides well, in one order:
 *
 *      total timeout ──► retry ──► pacer ──► bulkhead ──► throttle ──► circuit breaker ──► timeout ──► the call
 *
 * Each attempt passes all but the first two. Whoever waits does so before whoever measures: time in line is not held against the
 * server. Every origin has a state of its own, for no more origins than fit.
 *
 * It does not know what a call is. `fetch` and undici's dispatcher each bring their own, and an answer that can be let go of.
 */
import { knownFields } from '../../vocabulary/policy.ts';
import { adaptiveThrottle } from '../adaptive-throttle/adaptive-throttle.ts';
import { bulkhead } from '../bulkhead/bulkhead.ts';
import { type CircuitChangeReason, type CircuitState, circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { LatestUsed } from '../latest-used.ts';
import { type Listeners, listenersOf } from '../listeners.ts';
import type { Ended, ProtectedCall, Protection, RunOptions } from '../protection.ts';
import { retryBudget } from '../retry/budget.ts';
import { type RetryGiveUpReason, retry } from '../retry/retry.ts';
import { timeout } from '../timeout/timeout.ts';
import { wrap } from '../wrap/wrap.ts';
import { type Answer, answerIn, isFailure, isPassing, isRejection, toldToWaitMs, wasWrongUse } from './answers.ts';
import { type OutboundOptions, type OutboundSettings, outboundFields, readOutboundOptions } from './options.ts';

/** How an attempt ended, for those who only look on: a status, or an error. */
export type AttemptEnd = { readonly status: number } | { readonly error: unknown };

export interface OutboundEvents {
  /** An attempt failed, and the call will be made again after so long. */
  retry: { readonly origin: string; readonly attempt: number; readonly delayMs: number; readonly ended: AttemptEnd };
  /** An attempt failed, and the call will not be made again although it might help. */
  'gave-up': {
    readonly origin: string;
    readonly attempt: number;
    readonly reason: RetryGiveUpReason;
    readonly ended: AttemptEnd;
  };
  /** A call was not made. */
  refused: { readonly origin: string; readonly by: 'pacer' | 'bulkhead' | 'adaptiveThrottle' | 'circuitBreaker' };
  /** The circuit breaker of an origin changed its state. */
  circuit: {
    readonly origin: string;
    readonly from: CircuitState;
    readonly to: CircuitState;
    readonly reason: CircuitChangeReason;
  };
  /** A call was held back for so long by what the server's headers say. */
  delayed: { readonly origin: string; readonly delayMs: number };
  /** The server asked to be left alone for so long. */
  blocked: { readonly origin: string; readonly retryAfterMs: number };
  /** The head of an answer had not come after so long; or, of all attempts together, not after the total time. */
  'timed-out': { readonly origin: string; readonly afterMs: number; readonly isTotal: boolean };
}

const eventNames: readonly (keyof OutboundEvents)[] = [
  'retry',
  'gave-up',
  'refused',
  'circuit',
  'delayed',
  'blocked',
  'timed-out',
];

/** How it stands with one origin. What is off is left out. */
export interface OriginStats {
  readonly origin: string;
  /** Calls that have not been answered, those that wait among them. */
  readonly inFlight: number;
  readonly circuit?: CircuitState;
  /** The share of the calls that the throttle rejects. */
  readonly rejectRatio?: number;
  /** How long the pacer would hold a call back now. */
  readonly delayMs?: number;
}

export interface OutboundCall {
  readonly url: URL;
  /** It does no harm if it is made twice, and can be. */
  readonly isRepeatable: boolean;
}

export interface Outbound {
  /** Makes the attempts that it takes, and answers as the last one did. */
  run<A extends Answer>(call: OutboundCall, attempt: ProtectedCall<A>, options?: RunOptions): Promise<A>;
  on: Listeners<OutboundEvents>['on'];
  /** All that are remembered. */
  origins(): OriginStats[];
  readonly retryUnsafe: boolean;
}

type Tell = Listeners<OutboundEvents>['tell'];

/** All that is known of one origin. */
interface Origin {
  inFlight: number;
  /** With retries, and without. */
  readonly repeated: Protection;
  readonly once: Protection;
  isIdle(): boolean;
  stats(): OriginStats;
}

/** `fields` are those of the caller's own, beside the common ones. */
export function outbound(owner: string, options: OutboundOptions, fields: string): Outbound {
  knownFields(`${owner} options`, options, `${outboundFields} ${fields}`.trim());
  const settings = readOutboundOptions(options);
  const { on, tell } = listenersOf<OutboundEvents>(eventNames);
  const origins = new LatestUsed<Origin>(
    settings.maxOrigins,
    (origin) => originState(origin, settings, tell),
    (origin) => origin.isIdle(),
  );
  // What is wrong with an option is said here and now, and not with the first call.
  originState('', settings, tell);
  if (settings.isOwnPacer) tellOfPacer(settings, tell);

  return {
    async run({ url, isRepeatable }, attempt, runOptions) {
      const origin = origins.get(settings.originOf(url));
      origin.inFlight += 1;
      try {
        return await (isRepeatable ? origin.repeated : origin.once).run(attempt, runOptions);
      } finally {
        origin.inFlight -= 1;
      }
    },
    on,
    origins: () => [...origins.entries()].map(([, origin]) => origin.stats()),
    retryUnsafe: settings.retryUnsafe,
  };
}

function tellOfPacer({ pacer }: OutboundSettings, tell: Tell): void {
  pacer?.on('delayed', ({ key, delayMs }) => tell('delayed', { origin: key, delayMs }));
  pacer?.on('blocked', ({ key, retryAfterMs }) => tell('blocked', { origin: key, retryAfterMs }));
  pacer?.on('refused', ({ key }) => tell('refused', { origin: key, by: 'pacer' }));
}

function originState(origin: string, settings: OutboundSettings, tell: Tell): Origin {
  const { clock, random, pacer } = settings;
  const name = origin;
  const full = settings.bulkhead && bulkhead({ ...settings.bulkhead, name, clock });
  const throttle =
    settings.adaptiveThrottle &&
    adaptiveThrottle({ ...settings.adaptiveThrottle, isRejection, isIgnored: wasWrongUse, name, clock, random });
  const breaker =
    settings.circuitBreaker &&
    circuitBreaker({ ...settings.circuitBreaker, isFailure, isIgnored: wasWrongUse, name, clock, random });
  full?.on('refused', () => tell('refused', { origin, by: 'bulkhead' }));
  throttle?.on('refused', () => tell('refused', { origin, by: 'adaptiveThrottle' }));
  breaker?.on('refused', () => tell('refused', { origin, by: 'circuitBreaker' }));
  breaker?.on('change', ({ from, to, reason }) => tell('circuit', { origin, from, to, reason }));

  const total = timeoutOf(origin, settings.totalTimeout, true, settings, tell);
  const each = [pacer?.of(origin), full, throttle, breaker, timeoutOf(origin, settings.timeout, false, settings, tell)];
  const state: Origin = {
    inFlight: 0,
    repeated: chain(total, retryOf(origin, settings, tell), ...each),
    once: chain(total, ...each),
    isIdle: () => state.inFlight === 0 && (breaker === undefined || breaker.state === 'closed'),
    stats: () => ({
      origin,
      inFlight: state.inFlight,
      ...(breaker && { circuit: breaker.state }),
      ...(throttle && { rejectRatio: throttle.stats().rejectRatio }),
      ...(pacer && { delayMs: pacer.delayMs(origin) }),
    }),
  };
  return state;
}

/** Those that are on, the first outermost. */
function chain(...protections: readonly (Protection | undefined)[]): Protection {
  const on = protections.filter((protection) => protection !== undefined);
  return on.length > 0 ? wrap(...on) : { run: async (call, { signal } = {}) => call(signal) };
}

function retryOf(origin: string, settings: OutboundSettings, tell: Tell): Protection | undefined {
  if (!settings.retry) return undefined;
  const { clock, random } = settings;
  const { statuses, budget, ...options } = settings.retry;
  const again = retry({
    ...options,
    isRetryable: (ended) => isPassing(ended, statuses),
    waitFor: (ended) => toldToWaitMs(ended, clock.now()),
    budget: retryBudget({ ...budget, clock }),
    clock,
    random,
  });
  again.on('retry', ({ attempt, delayMs, ended }) => {
    // Nobody reads it any more. Unread, its body would keep a connection for as long as nobody collects it.
    answerIn(ended)?.discard();
    tell('retry', { origin, attempt, delayMs, ended: attemptEnd(ended) });
  });
  again.on('gave-up', ({ attempt, reason, ended }) =>
    tell('gave-up', { origin, attempt, reason, ended: attemptEnd(ended) }),
  );
  return again;
}

function timeoutOf(
  origin: string,
  after: OutboundSettings['timeout'],
  isTotal: boolean,
  { clock }: OutboundSettings,
  tell: Tell,
): Protection | undefined {
  if (after === undefined) return undefined;
  const limited = timeout(after, { clock });
  limited.on('timed-out', ({ afterMs }) => tell('timed-out', { origin, afterMs, isTotal }));
  // It came after all, and nobody gets it.
  limited.on('late', ({ ended }) => answerIn(ended)?.discard());
  return limited;
}

function attemptEnd(ended: Ended): AttemptEnd {
  const answer = answerIn(ended);
  return answer ? { status: answer.status } : { error: (ended as { readonly error: unknown }).error };
}
