/**
 * Guava's SmoothRateLimiter: permits come at an even pace, and a caller may borrow from the future. It goes at once, and
 * the *next* caller waits until the loan is paid back. Idle time is stored as permits, up to `maxBurst`.
 *
 * With `warmup`, stored permits are not cheaper but dearer: a limiter that was idle is cold and starts slowly.
 *
 *      interval
 *        cold ┤           ╱│     the wait for permits taken from storage is the area under this line,
 *             │         ╱  │     taken from the right; `warmup` is the area between threshold and max
 *      stable ┼───────╱    │
 *             └──────┼─────┼──► stored permits
 *                threshold max
 */

import { andThen, type Mode, type Reply } from '../../vocabulary/answer.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import {
  aboveZero,
  countedRateOf,
  knownFields,
  optionalDuration,
  type Policy,
  policyOf,
  type RateOptions,
  zeroOrMore,
} from '../../vocabulary/policy.ts';
import type { Algorithm, CallOptions, Numbers, TimeOptions } from '../algorithm.ts';

/** Bursty, or with a warm-up; not both. */
export type SmoothOptions = RateOptions & {
  /** Refuse rather than delay longer than this. Default: delay as long as it takes. */
  readonly maxDelay?: Duration;
} & (BurstyOptions | WarmUpOptions);

interface BurstyOptions {
  /** Permits that idle time may store. Default: one second's worth. */
  readonly maxBurst?: number;
  readonly warmup?: undefined;
  readonly coldFactor?: undefined;
}

interface WarmUpOptions {
  /** How long a cold limiter takes to reach its rate. */
  readonly warmup: Duration;
  /** How much slower than its rate a cold limiter is. Default 3. */
  readonly coldFactor?: number;
  readonly maxBurst?: undefined;
}

export interface SmoothPolicy extends Policy {
  readonly algorithm: 'smooth';
  readonly window: number;
  readonly maxBurst?: number;
  readonly warmup?: number;
  readonly coldFactor?: number;
  readonly maxDelay?: number;
}

/** What limiters of this algorithm have besides the common operations. */
export interface SmoothMethods<M extends Mode> {
  /**
   * Takes the permits, borrowing what is missing, and returns how many milliseconds the caller has to wait. `Infinity` when
   * it was refused, because the wait would be longer than `maxDelay` or the key is blocked.
   */
  acquire(key: string, options?: CallOptions): Reply<M, number>;
  /** Takes the permits only if the wait is at most `timeout`; the wait is `delayMs` of the decision. */
  tryAcquire(key: string, options?: TryAcquireOptions): Reply<M, Decision>;
}

export interface TryAcquireOptions extends TimeOptions {
  /** Default 1. */
  readonly cost?: number;
  /** The longest wait to accept. Default: none at all. */
  readonly timeout?: Duration;
}

interface SmoothNumbers extends Numbers {
  /** Milliseconds between permits at the full rate. */
  readonly stableMs: number;
  /** The idle time that can be stored. */
  readonly maxStoredMs: number;
  /** Stored permits that cost no more than the stable interval. */
  readonly threshold: number;
  /** Milliseconds that each permit above the threshold adds to the interval. */
  readonly slopeMs: number;
  /** Milliseconds of idling that store one permit. */
  readonly idleMs: number;
  readonly warm: boolean;
  readonly maxDelayMs: number;
}

// Cells of one key. The moment the next caller need not wait is seen + ahead, kept apart, because the sum would lose the
// fractions of a millisecond that high rates consist of. Storage is kept as the idle time it was made of, which is whole
// where permits are not.
const STORED_MS = 0;
const SEEN_MS = 1;
const AHEAD_MS = 2;

/** Time since the limiter became free; negative while it is not. */
function idleAtMs(cells: Float64Array, at: number, nowMs: number): number {
  return Math.max(0, nowMs - cells[at + SEEN_MS]!) - cells[at + AHEAD_MS]!;
}

function storedAtMs(cells: Float64Array, at: number, numbers: SmoothNumbers, nowMs: number): number {
  return Math.min(numbers.maxStoredMs, cells[at + STORED_MS]! + Math.max(0, idleAtMs(cells, at, nowMs)));
}

function aheadAtMs(cells: Float64Array, at: number, nowMs: number): number {
  return Math.max(0, -idleAtMs(cells, at, nowMs));
}

/** How long until storage is full: what a charge adds to, and time takes from. */
function debtAtMs(cells: Float64Array, at: number, numbers: SmoothNumbers, nowMs: number): number {
  return numbers.maxStoredMs - storedAtMs(cells, at, numbers, nowMs) + aheadAtMs(cells, at, nowMs);
}

/** How long until a caller at `nowMs` may go. */
function delayMs(cells: Float64Array, at: number, _numbers: SmoothNumbers, _cost: number, nowMs: number): number {
  return Math.max(0, cells[at + SEEN_MS]! - nowMs + cells[at + AHEAD_MS]!);
}

/** What permits from storage cost: nothing when bursty; with warm-up the area under the line. */
function storedWaitMs(numbers: SmoothNumbers, stored: number, take: number): number {
  if (!numbers.warm) return 0;
  const above = Math.max(0, stored - numbers.threshold);
  const cold = Math.min(above, take);
  const intervals = 2 * numbers.stableMs + (2 * above - cold) * numbers.slopeMs;
  return (cold * intervals) / 2 + (take - cold) * numbers.stableMs;
}

function store(cells: Float64Array, at: number, storedMs: number, aheadMs: number, nowMs: number): void {
  cells[at + STORED_MS] = storedMs;
  cells[at + AHEAD_MS] = aheadMs;
  cells[at + SEEN_MS] = Math.max(nowMs, cells[at + SEEN_MS]!);
}

const algorithm: Algorithm<SmoothPolicy, SmoothNumbers> = {
  name: 'smooth',
  factory: smooth,
  idles: true,
  without: ['take'],

  methods: (call) => ({
    acquire: (key: string, options?: CallOptions) =>
      andThen(call('check', key, options), ({ allowed, delayMs }) => (allowed ? delayMs : Number.POSITIVE_INFINITY)),
    tryAcquire(key: string, options?: TryAcquireOptions) {
      const { timeout, ...rest } = options ?? {};
      return call('check', key, rest, { maxDelayMs: optionalDuration('timeout', timeout) ?? 0 });
    },
  }),

  prepare({ limit, window, maxBurst, warmup, coldFactor = 3, maxDelay = Number.POSITIVE_INFINITY }) {
    const stableMs = window / limit;
    if (warmup === undefined) {
      const maxStoredMs = maxBurst === undefined ? 1000 : maxBurst * stableMs;
      const bursty = { threshold: 0, slopeMs: 0, idleMs: stableMs, warm: false };
      return { limit: Math.floor(maxStoredMs / stableMs) + 1, stableMs, maxStoredMs, maxDelayMs: maxDelay, ...bursty };
    }
    const coldMs = stableMs * coldFactor;
    const threshold = (0.5 * warmup) / stableMs;
    const maxStored = threshold + (2 * warmup) / (stableMs + coldMs);
    const slopeMs = (coldMs - stableMs) / (maxStored - threshold);
    const idleMs = warmup / maxStored;
    return { limit: 1, stableMs, maxStoredMs: warmup, threshold, slopeMs, idleMs, warm: true, maxDelayMs: maxDelay };
  },

  cells: () => 3,

  // A key never seen has been idle since the limiter began; a cold one is as cold as can be.
  fresh(cells, at, { warm, maxStoredMs }, nowMs, sinceMs) {
    cells[at + STORED_MS] = warm ? maxStoredMs : Math.min(maxStoredMs, Math.max(0, nowMs - sinceMs));
    cells[at + SEEN_MS] = nowMs;
    cells[at + AHEAD_MS] = 0;
  },

  wait(cells, at, numbers, cost, nowMs, maxDelayMs) {
    const mostMs = Math.min(numbers.maxDelayMs, maxDelayMs);
    const waitMs = Math.max(0, Math.ceil(delayMs(cells, at, numbers, cost, nowMs) - mostMs));
    // Fractions of a millisecond may round down to the last moment of refusal.
    return waitMs > 0 && delayMs(cells, at, numbers, cost, nowMs + waitMs) > mostMs ? waitMs + 1 : waitMs;
  },

  delay: delayMs,

  charge(cells, at, numbers, cost, nowMs) {
    const storedMs = storedAtMs(cells, at, numbers, nowMs);
    const stored = storedMs / numbers.idleMs;
    const take = Math.min(cost, stored);
    const priceMs = storedWaitMs(numbers, stored, take) + (cost - take) * numbers.stableMs;
    const leftMs = take === stored ? 0 : storedMs - take * numbers.idleMs;
    store(cells, at, leftMs, aheadAtMs(cells, at, nowMs) + priceMs, nowMs);
  },

  receipt: (cells, at) => [...cells.subarray(at, at + 3)],

  // First off the loan, then into storage. What time has paid since the charge is not given back again. And a promised
  // wait does not become shorter when one before it is taken out: with a receipt, only the last in line can step back.
  refund(cells, at, numbers, cost, nowMs, receipt, refundedSince = 0) {
    const debtMs = debtAtMs(cells, at, numbers, nowMs);
    const charged = receipt ? debtAtMs(Float64Array.from(receipt), 0, numbers, nowMs) : debtMs;
    if (charged !== debtMs || refundedSince !== 0) return;
    const aheadMs = aheadAtMs(cells, at, nowMs);
    const loanMs = Math.min(aheadMs, cost * numbers.stableMs);
    const restMs = (cost - loanMs / numbers.stableMs) * numbers.idleMs;
    const storedMs = Math.min(numbers.maxStoredMs, storedAtMs(cells, at, numbers, nowMs) + restMs);
    store(cells, at, storedMs, aheadMs - loanMs, nowMs);
  },

  available(cells, at, numbers, nowMs) {
    if (idleAtMs(cells, at, nowMs) < 0) return 0;
    return numbers.warm ? 1 : storedAtMs(cells, at, numbers, nowMs) / numbers.stableMs + 1;
  },

  asNewInMs: (cells, at, numbers, nowMs) =>
    cells[at + SEEN_MS]! - nowMs + cells[at + AHEAD_MS]! + numbers.maxStoredMs - cells[at + STORED_MS]!,

  // As Guava's setRate: storage keeps its share, and waits already promised keep the old rate.
  carry(from, old, to, numbers, changedMs) {
    const share = old.maxStoredMs === 0 ? 0 : storedAtMs(from, 0, old, changedMs) / old.maxStoredMs;
    to[STORED_MS] = share * numbers.maxStoredMs;
    to[AHEAD_MS] = aheadAtMs(from, 0, changedMs);
    to[SEEN_MS] = Math.max(changedMs, from[SEEN_MS]!);
    return to;
  },
};

export function smooth(options: SmoothOptions): SmoothPolicy {
  knownFields('smooth', options, 'limit window maxBurst warmup coldFactor maxDelay');
  const { limit, window } = countedRateOf(options);
  const warmup = options.warmup === undefined ? undefined : parseDuration(options.warmup, 'warmup');
  const maxDelay = optionalDuration('maxDelay', options.maxDelay);
  const maxBurst = options.maxBurst === undefined ? undefined : zeroOrMore('maxBurst', options.maxBurst);
  const coldFactor = options.coldFactor === undefined ? undefined : aboveZero('coldFactor', options.coldFactor);
  if (coldFactor !== undefined && coldFactor < 1) throw invalid('coldFactor', '1 or more', coldFactor);
  if (warmup === undefined && coldFactor !== undefined)
    throw invalid('coldFactor', 'given together with warmup', coldFactor);
  if (warmup !== undefined && maxBurst !== undefined) {
    throw invalid(
      'maxBurst',
      'left out with warmup',
      maxBurst,
      'A warm-up limiter stores what its warm-up time holds.',
    );
  }
  const data = { algorithm: 'smooth', limit, window, maxBurst, warmup, coldFactor, maxDelay } as SmoothPolicy;
  return policyOf<SmoothPolicy>(algorithm, data);
}
