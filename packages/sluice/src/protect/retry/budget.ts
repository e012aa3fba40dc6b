/**
 * How many retries there may be: a share of the requests, and a few more. Where everything fails, retries then add a tenth to the
 * load, and do not treble it.
 *
 *                     the last `window`
 *      ├─────────────────────────────────────────────┤ now
 *      │ 40 requests, 3 retries │ ··· │ 12 requests  │            retries + 1 <= ratio * requests + floor ?
 *
 * It slides in parts. Whatever cannot be told of a part counts against the retry: its requests leave with the first of them, its
 * retries stay until the last has left. So the promise holds to the millisecond, and costs a few numbers.
 */
import type { Clock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { knownFields, zeroOrMore } from '../../vocabulary/policy.ts';
import { ForwardTime } from '../forward-time.ts';
import { clockOf } from '../option-checks.ts';

export interface RetryBudgetOptions {
  /** Retries for each request: 0 to 100. Default 0.1, one for every ten. */
  readonly ratio?: number;
  /** So many more for each second of the window, so that who makes few requests may retry at all: 0 to 1,000,000. Default 1. */
  readonly minPerSecond?: number;
  /** Requests and retries count for so long. Default 10 seconds. */
  readonly window?: Duration;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export interface RetryBudgetStats {
  /** What counts at the moment. */
  readonly requests: number;
  readonly retries: number;
  /** How many retries would be granted now, one after the other. */
  readonly available: number;
}

/** Shared by all that call the same service. */
export interface RetryBudget {
  /** Counts a request: a first attempt. */
  request(): void;
  /** Takes one retry, or says no. */
  tryRetry(): boolean;
  stats(): RetryBudgetStats;
}

interface Part {
  readonly firstMs: number;
  lastMs: number;
  requests: number;
  retries: number;
}

const partsOfWindow = 20;
const mostRatio = 100;
const mostPerSecond = 1e6;

export function retryBudget(options: RetryBudgetOptions = {}): RetryBudget {
  knownFields('retryBudget options', options, 'ratio minPerSecond window clock');
  const time = new ForwardTime(clockOf(options.clock));
  const ratio = zeroOrMore('ratio', options.ratio ?? 0.1, mostRatio);
  const windowMs = parseDuration(options.window ?? '10s', 'window');
  const floor = (zeroOrMore('minPerSecond', options.minPerSecond ?? 1, mostPerSecond) * windowMs) / 1000;
  const parts: Part[] = [];
  let nowMs = time.now();
  let steps = time.steps;

  /** Moves on to the present, and forgets what is too old for anything. */
  function catchUp(): void {
    nowMs = time.now();
    if (steps !== time.steps) {
      steps = time.steps;
      // How much time a step back hides cannot be known: the requests of before it may be too old by now.
      for (const part of parts) part.requests = 0;
    }
    while (parts.length > 0 && nowMs - parts[0]!.lastMs >= windowMs) parts.shift();
  }

  /** The part that the present belongs to. */
  function present(): Part {
    const newest = parts.at(-1);
    if (newest && nowMs - newest.firstMs < windowMs / partsOfWindow) {
      newest.lastMs = nowMs;
      return newest;
    }
    const part = { firstMs: nowMs, lastMs: nowMs, requests: 0, retries: 0 };
    parts.push(part);
    return part;
  }

  function counted(): { requests: number; retries: number } {
    let requests = 0;
    let retries = 0;
    for (const part of parts) {
      if (nowMs - part.firstMs < windowMs) requests += part.requests;
      retries += part.retries;
    }
    return { requests, retries };
  }

  function available(): number {
    const { requests, retries } = counted();
    return Math.max(0, Math.floor(ratio * requests + floor - retries));
  }

  return {
    request() {
      catchUp();
      present().requests += 1;
    },
    tryRetry() {
      catchUp();
      if (available() < 1) return false;
      present().retries += 1;
      return true;
    },
    stats() {
      catchUp();
      return { ...counted(), available: available() };
    },
  };
}
