/** All that is known of one origin, and what every call to it passes. */
import { adaptiveThrottle } from '../adaptive-throttle/adaptive-throttle.ts';
import type { CircuitState } from '../circuit-breaker/circuit-breaker.ts';
import type { Pacer } from '../pacer/pacer.ts';
import { answerOf, type Ended, endOf, type Protection } from '../protection.ts';
import { arrivalMs } from '../rate-limit-headers/arrival-time.ts';
import { retryBudget } from '../retry/budget.ts';
import { retry } from '../retry/retry.ts';
import { timeout } from '../timeout/timeout.ts';
import { wrap } from '../wrap/wrap.ts';
import {
  answerIn,
  type Head,
  headIn,
  isPassing,
  isRejection,
  judgeFailure,
  toldToWaitMs,
  wasOwnMistake,
} from './answers.ts';
import type { AttemptEnd, Tell } from './events.ts';
import { breaking, type Guards } from './guards.ts';
import type { OutboundSettings } from './options.ts';

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

export interface Origin {
  inFlight: number;
  /** With retries, and without. */
  readonly repeated: Protection;
  readonly once: Protection;
  /** A redirect led here, and this came back. */
  hear(head: Head): void;
  isIdle(): boolean;
  stats(): OriginStats;
}

export function originState(origin: string, settings: OutboundSettings, guards: Guards, tell: Tell): Origin {
  const { clock, random, pacer } = settings;
  const throttle =
    settings.adaptiveThrottle &&
    adaptiveThrottle({
      ...settings.adaptiveThrottle,
      isRejection,
      isIgnored: wasOwnMistake,
      name: origin,
      clock,
      random,
    });
  throttle?.on('refused', () => tell('refused', { origin, by: 'adaptiveThrottle' }));
  const full = guards.bulkhead(origin);
  const breaker = guards.breaker(origin);
  const circuit = breaker && breaking(breaker, origin, tell);

  const total = timeoutOf(origin, settings.totalTimeoutMs, true, settings, tell);
  const each = [
    pacer || full ? circuit?.early : undefined,
    pacer && paced(pacer, origin),
    full,
    throttle,
    circuit?.around,
    timeoutOf(origin, settings.timeoutMs, false, settings, tell),
  ];
  const state: Origin = {
    inFlight: 0,
    repeated: chain(total, retryOf(origin, settings, tell), ...each),
    once: chain(total, ...each),
    hear({ status, headers }) {
      pacer?.learn(origin, { headers: headers as Headers }, status);
      // The throttle does not hear of it: what it is not asked about it cannot count.
      if (breaker?.retryAfterMs() === 0) breaker.tryPass()?.[judgeFailure({ value: { status, headers } })]();
    },
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

const saidNothing: Head = { status: 200, headers: {} };

/** The pacer of one origin, which learns from what that origin said, also where an error was made of it, and from nobody else. */
function paced(pacer: Pacer, origin: string): Protection {
  const own = pacer.of(origin);
  return {
    async run<T>(
      call: (signal?: AbortSignal) => T | Promise<T>,
      options?: { readonly signal?: AbortSignal | undefined },
    ) {
      let ended!: Ended<T>;
      await own.run<unknown>(async (signal) => {
        ended = await endOf(call, signal);
        const head = headIn(ended);
        return head?.isFromElsewhere ? saidNothing : (head ?? answerOf(ended));
      }, options);
      return answerOf(ended);
    },
  };
}

function retryOf(origin: string, settings: OutboundSettings, tell: Tell): Protection | undefined {
  if (!settings.retry) return undefined;
  const { clock, random, reset } = settings;
  const { statuses, budget, ...options } = settings.retry;
  const again = retry({
    ...options,
    isRetryable: (ended) => isPassing(ended, statuses),
    waitFor: (ended) => toldToWaitMs(headIn(ended), { nowMs: arrivalMs(clock), ...(reset && { reset }) }),
    budget: retryBudget({ ...budget, clock }),
    clock,
    random,
  });
  again.on('retry', ({ attempt, delayMs, ended }) =>
    tell('retry', { origin, attempt, delayMs, ended: attemptEnd(ended) }),
  );
  again.on('gave-up', ({ attempt, reason, ended }) =>
    tell('gave-up', { origin, attempt, reason, ended: attemptEnd(ended) }),
  );
  return again;
}

function timeoutOf(
  origin: string,
  afterMs: number | undefined,
  isTotal: boolean,
  { clock }: OutboundSettings,
  tell: Tell,
): Protection | undefined {
  if (afterMs === undefined) return undefined;
  const limited = timeout(afterMs, { clock });
  limited.on('timed-out', () => tell('timed-out', { origin, afterMs, isTotal }));
  // It came after all, and nobody gets it.
  limited.on('late', ({ ended }) => answerIn(ended)?.discard());
  return limited;
}

function attemptEnd(ended: Ended): AttemptEnd {
  const answer = answerIn(ended);
  return answer ? { status: answer.status } : { error: (ended as { readonly error: unknown }).error };
}
