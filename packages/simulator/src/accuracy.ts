/**
 * How far a limiter is from what it stands for: at most `limit` in every `(t - window, t]`, counted exactly.
 *
 *      what it granted itself   │·x··xx···x│ ? ──► one more would be within the limit: so allowed is right, refused is wrong
 *                               └ window ──┘
 *
 * Each call is judged by the grants of the limiter under test, not by those of another one: two limiters that refuse different calls are in different
 * situations from then on, and comparing their answers would count one difference many times over.
 */
import { limiter, type Policy, slidingLog } from 'sluice';
import { sleeplessClock } from './sleepless-clock.ts';
import type { Traffic } from './traffic.ts';
import { WindowMeter } from './window-meter.ts';

export interface Accuracy {
  readonly calls: number;
  readonly refused: number;
  /** Allowed, though with it there was more than the limit in the window that ends then. */
  readonly wronglyAllowed: number;
  /** Refused, though it would have been within the limit. */
  readonly wronglyRefused: number;
  /** The most that one key was granted in any window. A delayed call counts when it goes. */
  readonly worstWindow: number;
  /** Keys that were once granted more than the limit in a window. */
  readonly keysAbove: number;
  readonly keys: number;
}

export interface AccuracyOptions {
  readonly limit: number;
  readonly windowMs: number;
}

/** @param policy any that limits by rate; judged by `limit` and `windowMs`, whatever its own are */
export function accuracyOf(policy: Policy, traffic: Traffic, { limit, windowMs }: AccuracyOptions): Accuracy {
  const counts = { calls: 0, refused: 0, wronglyAllowed: 0, wronglyRefused: 0 };
  const byKey = new Map<string, WindowMeter>();
  let decide: ReturnType<typeof limiter> | undefined;
  for (const { key, cost, atMs } of traffic) {
    decide ??= limiter(policy, { clock: sleeplessClock(() => atMs), maxKeys: mostKeys });
    const { allowed, delayMs } = decide.check(key, { cost, atMs });
    let window = byKey.get(key);
    if (window === undefined) {
      window = new WindowMeter(windowMs);
      byKey.set(key, window);
    }
    const isRight = window.costAt(atMs) + cost <= limit;
    counts.calls += 1;
    if (!allowed) counts.refused += 1;
    if (allowed && !isRight && delayMs === 0) counts.wronglyAllowed += 1;
    if (!allowed && isRight) counts.wronglyRefused += 1;
    if (allowed) window.add(atMs + delayMs, cost);
  }
  const windows = [...byKey.values()];
  return {
    ...counts,
    worstWindow: windows.reduce((worst, window) => Math.max(worst, window.worst), 0),
    keysAbove: windows.filter(({ worst }) => worst > limit).length,
    keys: windows.length,
  };
}

/** The smallest limit with which the exact log refuses at most this share of the calls. */
export function limitRefusing(traffic: Traffic, { windowMs, ratio }: { windowMs: number; ratio: number }): number {
  const refusedRatio = (limit: number) => {
    const { calls, refused } = accuracyOf(slidingLog({ limit, window: windowMs }), traffic, { limit, windowMs });
    return calls === 0 ? 0 : refused / calls;
  };
  let enough = 1;
  while (refusedRatio(enough) > ratio) enough *= 2;
  let tooLittle = Math.floor(enough / 2);
  while (enough - tooLittle > 1) {
    const middle = (enough + tooLittle) >> 1;
    if (refusedRatio(middle) > ratio) tooLittle = middle;
    else enough = middle;
  }
  return enough;
}

/** A key more than this would be forgotten, and its counts with it. */
const mostKeys = 4_000_000;
