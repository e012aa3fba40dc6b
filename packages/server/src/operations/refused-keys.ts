/**
 * Who is refused most, lately. Labels of a metric would grow with whatever callers invent; a sketch does not.
 *
 *      ├── previous window ──┼── current window ──▶ now          an answer covers both: one to two windows
 *
 * A window is one sketch. When it is over it becomes the previous one, and what was before is forgotten. Sketches of several
 * windows and several threads are added up when somebody asks.
 */
import { type Clock, monotonicClock, SluiceError, tickClock } from 'sluice';
import type { RefusedKey } from '../service/service.ts';
import { HeavyHitters, type HeavyHittersData } from './heavy-hitters.ts';

export interface RefusedKeysOptions {
  /** How many keys a window tells apart, 1 to 65,536. Default 256. */
  readonly counters?: number;
  /** Default 5 minutes. */
  readonly windowMs?: number;
  readonly clock?: Clock;
}

/** Plain data, one for each window; data of several threads are simply one list. */
export type RefusedKeysData = readonly HeavyHittersData[];

export interface RefusedKeys {
  count(rule: string, key: string): void;
  /** The key in `bytes[start..end)`; makes no string for a key that is counted already. */
  countBytes(rule: string, bytes: Uint8Array, start: number, end: number): void;
  read(): RefusedKeysData;
  /** The most refused first. */
  top(most: number): RefusedKey[];
}

export function refusedKeys(options: RefusedKeysOptions = {}): RefusedKeys {
  const { counters = 256, windowMs = 5 * 60_000, clock = tickClock(monotonicClock) } = options;
  if (!Number.isInteger(counters) || counters < 1 || counters > 65_536) {
    throw new SluiceError('invalid-option', `counters must be a whole number from 1 to 65536, got ${counters}.`);
  }
  let current = new HeavyHitters(counters);
  let previous = new HeavyHitters(counters);
  let endMs = clock.now() + windowMs;

  function turnTo(nowMs: number): void {
    if (nowMs < endMs) return;
    const isNext = nowMs < endMs + windowMs;
    [current, previous] = [previous, current];
    current.clear();
    if (!isNext) previous.clear();
    endMs = isNext ? endMs + windowMs : nowMs + windowMs;
  }

  function read(): RefusedKeysData {
    turnTo(clock.now());
    return [previous.read(), current.read()];
  }

  return {
    count(rule, key) {
      turnTo(clock.recent ? clock.recent() : clock.now());
      current.count(rule, key);
    },
    countBytes(rule, bytes, start, end) {
      turnTo(clock.recent ? clock.recent() : clock.now());
      current.countBytes(rule, bytes, start, end);
    },
    read,
    top: (most) => topRefused(read(), most),
  };
}

/**
 * Adds the sketches up. Where a sketch does not know a key, the key may have come as often as its lowest counter: that much is
 * added to the count and to the error, so that the count stays never too low.
 */
export function topRefused(data: RefusedKeysData, most: number): RefusedKey[] {
  const lowestOfAll = data.reduce((sum, { lowest }) => sum + lowest, 0);
  const byName = new Map<string, { rule: string; key: string; refusals: number; error: number }>();
  for (const { hitters, lowest } of data) {
    for (const { rule, key, count, error } of hitters) {
      const name = JSON.stringify([rule, key]);
      let sum = byName.get(name);
      if (!sum) {
        sum = { rule, key, refusals: lowestOfAll, error: lowestOfAll };
        byName.set(name, sum);
      }
      sum.refusals += count - lowest;
      sum.error += error - lowest;
    }
  }
  return [...byName.values()]
    .sort((a, b) => b.refusals - a.refusals || a.error - b.error || (a.key < b.key ? -1 : 1))
    .slice(0, Math.max(0, Math.floor(most)));
}
