/**
 * What the library itself says to the calls of one client after another: its memory store, each call at its own time.
 *
 * Three questions need not be asked, because the answer is known to be the same:
 *
 *      calls of one tick                 all of them at once; only if that is too much, one by one until the first refusal
 *      after a refusal                   until `retryAfterMs` a call that costs as much is refused again
 *      a client that never comes close   `isWithin`: see there
 *
 * Where a policy counts refused calls, holds calls back or looks at the gaps between them, each call is asked for.
 */
import { limiter, type Policy } from 'sluice';
import { mustBe } from '../invalid-option.ts';
import { ReplayClock } from './replay-clock.ts';

export interface ClientReplay {
  /** The most that could ever pass at once. */
  readonly most: number;
  /** The next calls are those of somebody else. */
  begin(): void;
  /**
   * So many calls at one moment, which cost so much together. Returns how many pass. `onDelay` hears of each that passes
   * and is held back.
   */
  ask(atMs: number, calls: number, cost: number, onDelay?: (delayMs: number) => void): number;
}

/** Fields that some policies have; what is known of them decides which questions are asked. */
interface AnyPolicy extends Policy {
  readonly countRejected?: boolean;
  readonly minGap?: number;
  readonly initial?: number;
  readonly refill?: string;
  readonly delay?: 'all' | 'none' | number;
  readonly wait?: number;
  readonly slots?: number;
}

/** A log says when calls came, not when they ended. */
export function mustBeARate(policy: Policy): void {
  if (policy.algorithm !== 'concurrency') return;
  const wayOut = ' A log says when calls came, not how long they took: try sliding-log or gcra.';
  throw mustBe('policy.algorithm', 'one that limits a rate', policy.algorithm, wayOut);
}

/** Whether calls that pass may have to wait first. */
export function canDelay(policy: Policy): boolean {
  const { algorithm, delay, wait } = policy as AnyPolicy;
  return algorithm === 'smooth' || (algorithm === 'leaky-bucket' && delay !== 'none') || wait !== undefined;
}

/** How many clients one limiter is used for; it remembers many of them. */
const clientsPerLimiter = 4096;
/** A shift further than this would cost times their fractions. */
const furthestMs = 2 ** 43;

export function clientReplay(policy: Policy, startMs: number): ClientReplay {
  mustBeARate(policy);
  const { countRejected, minGap, window = 1, algorithm } = policy as AnyPolicy;
  const isForgetful = countRejected !== true;
  const isAdditive = isForgetful && minGap === undefined && !canDelay(policy);
  const isShiftable = Number.isInteger(window) && algorithm !== 'smooth';
  const clock = new ReplayClock(startMs);
  const opened = () => limiter(policy, { clock });
  let limit = opened();
  const most = limit.peek('').limit;
  let clients = 0;
  let key = '';
  let isNew = true;
  let shiftMs = 0;
  let refusedCost = Number.POSITIVE_INFINITY;
  let refusedUntilMs = Number.NEGATIVE_INFINITY;

  /** The clock must not go back. What one policy makes of a call is the same any number of windows later. */
  function settle(atMs: number): void {
    isNew = false;
    shiftMs = Math.max(0, Math.ceil((clock.nowMs - atMs) / window)) * window;
    if (clients % clientsPerLimiter !== 0 && atMs + shiftMs < furthestMs && (shiftMs === 0 || isShiftable)) return;
    shiftMs = 0;
    clock.nowMs = startMs;
    limit = opened();
  }

  function refuse(cost: number, retryAtMs: number): void {
    refusedCost = cost;
    // Waits are whole milliseconds, rounded up: the last of them may be cut short.
    refusedUntilMs = retryAtMs - 1;
  }

  return {
    most,
    begin() {
      clients += 1;
      key = String(clients);
      isNew = true;
      refusedUntilMs = Number.NEGATIVE_INFINITY;
    },
    ask(atMs, calls, cost, onDelay) {
      const each = cost / calls;
      if (atMs <= refusedUntilMs && each >= refusedCost) return 0;
      if (isNew) settle(atMs);
      clock.nowMs = atMs + shiftMs;
      if (isAdditive) {
        if (calls > 1 && cost <= most && Number.isInteger(each) && limit.allow(key, cost)) return calls;
        for (let passed = 0; passed < calls; passed += 1) {
          if (limit.allow(key, each)) continue;
          refuse(each, atMs + limit.peek(key, each).retryAfterMs);
          return passed;
        }
        return calls;
      }
      let passed = 0;
      for (let call = 0; call < calls; call += 1) {
        const { allowed, delayMs, retryAfterMs } = limit.check(key, each);
        if (allowed) {
          passed += 1;
          if (delayMs > 0) onDelay?.(delayMs);
        } else if (isForgetful) {
          refuse(each, atMs + retryAfterMs);
          break;
        }
      }
      return passed;
    },
  };
}

/**
 * A window that tells who cannot be refused: whoever spends no more than `most` in any `(t - windowMs, t]`. Undefined where there is no such
 * window, or where also those who pass have to be asked for. Of a bucket it is the time in which it drains when full: less than `most` in each
 * such time is less than `most + rate * t` in any time t.
 */
export function safeWindowMs(policy: Policy, most: number): number | undefined {
  const { algorithm, limit, window = 0, minGap, initial, refill, slots = 1 } = policy as AnyPolicy;
  if (canDelay(policy) || minGap !== undefined || initial !== undefined || refill === 'interval') return undefined;
  switch (algorithm) {
    case 'gcra':
    case 'token-bucket':
    case 'leaky-bucket':
      return (most * window) / limit;
    case 'fixed-window':
    case 'sliding-log':
      return window;
    case 'sliding-slots':
      // The slots at both ends count in full.
      return window * (1 + 2 / slots);
    case 'sliding-window':
      // The last window and this one, as if neither had begun to fade.
      return 2 * window;
    default:
      return undefined;
  }
}

/** Whether whoever spends more than the limit in any window of the policy is refused for certain: what a strict policy promises. */
export function isStrict({ algorithm }: Policy): boolean {
  return algorithm === 'sliding-log' || algorithm === 'sliding-slots';
}

/** Sums of fractional costs round: whoever comes this close is asked for. */
const close = 1 + 1e-9;

export function isWithin(peak: number, most: number): boolean {
  return peak * close <= most;
}
