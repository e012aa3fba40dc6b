// The cases that every algorithm is measured by, so that the tables of two algorithms can be laid side by side.
//
// Each case counts the answers and throws when they are not what its name says: a fast wrong answer is no result.
import { type Clock, type Limiter, limiter, monotonicClock, type Policy } from 'sluice';

export interface BenchCase {
  readonly name: string;
  /** Does the measured thing so many times. */
  run(iterations: number): void;
}

export interface Bench {
  readonly name: string;
  readonly cases: readonly BenchCase[];
}

/** What a policy factory takes here. */
export interface Rate {
  readonly limit: number;
  readonly window: number;
}

const minuteMs = 60_000;
const monthMs = 30 * 24 * 60 * minuteMs;

export const hotKey: readonly string[] = ['key-0'];
export const manyKeys: readonly string[] = Array.from({ length: 10_000 }, (_, i) => `key-${i}`);

/** The rate of the cases that are allowed. */
export const perMinute: Rate = { limit: 100, window: minuteMs };
/** Within a benchmark nothing of this comes back. */
export const perMonth: Rate = { limit: 100, window: monthMs };

/** A clock that every reading moves on by the same step: real progress, the same in every run. */
export class SteppingClock implements Clock {
  #nowMs = Date.UTC(2025, 0, 1);

  constructor(public stepMs: number) {}

  now(): number {
    this.#nowMs += this.stepMs;
    return this.#nowMs;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error('no benchmark sleeps'));
  }
}

/** The step at which the calls for each key come at half the rate of its policy: every algorithm allows that. */
export function halfRateMs({ limit, window }: Rate, keys: readonly string[] = hotKey): number {
  return (2 * window) / limit / keys.length;
}

/** A step so small that under `perMonth` no quota returns. */
export const crawlMs = 2 ** -10;

/** What a limiter would cost if it decided nothing: one number read and written under the same keys. */
export function floor(name: string, keys: readonly string[]): BenchCase {
  const counts = new Map<string, number>();
  return {
    name,
    run(iterations) {
      for (let i = 0, turn = 0; i < iterations; i++) {
        const key = keys[turn] as string;
        turn = turn + 1 < keys.length ? turn + 1 : 0;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    },
  };
}

export interface Setting {
  readonly policy: Policy;
  /** The milliseconds from one call to the next, or a clock. */
  readonly clock: number | Clock;
  readonly keys?: readonly string[];
  /** What every measured call must be answered. */
  readonly allowed: boolean;
  /** Default `'check'`. */
  readonly call?: 'check' | 'allow';
  /** Taken from every key beforehand. */
  readonly debt?: number;
  /** The keys are so far apart in time that each is forgotten before it comes again. Default false. */
  readonly forgotten?: boolean;
}

// Enough for the state to become what it will stay.
const warmUpCalls = (limit: number) => Math.min(2 * limit, 20_000);

/** Many calls of one limiter, measured once its state is what it will stay. */
export function calls(name: string, setting: Setting): BenchCase {
  const { policy, clock, keys = hotKey, allowed, call = 'check', debt, forgotten } = setting;
  const stepping = new SteppingClock(crawlMs);
  const subject: Limiter = limiter(policy, { clock: typeof clock === 'number' ? stepping : clock });
  const decide = call === 'check' ? byCheck : byAllow;
  // Where the last round stopped the next goes on: no key comes twice in a row.
  let turn = 0;
  const allowedOf = (iterations: number) => {
    const count = decide(subject, keys, turn, iterations);
    turn = (turn + iterations) % keys.length;
    return count;
  };
  if (debt !== undefined) for (const key of keys) subject.penalize(key, debt);
  // Newcomers are what makes the store look for keys to forget. When all have come in at once, there are none later.
  if (!forgotten) allowedOf(keys.length);
  if (typeof clock === 'number') stepping.stepMs = clock;
  // Logs and slots are then as full as they get, and what is to be refused is used up.
  allowedOf(warmUpCalls(policy.limit) * keys.length);
  return {
    name,
    run(iterations) {
      const count = allowedOf(iterations);
      if (count !== (allowed ? iterations : 0)) throw new Error(`${name}: ${count} of ${iterations} were allowed`);
    },
  };
}

// One loop each: what is measured is the call, not the choice between the two.
function byCheck(subject: Limiter, keys: readonly string[], firstTurn: number, iterations: number): number {
  let count = 0;
  for (let i = 0, turn = firstTurn; i < iterations; i++) {
    if (subject.check(keys[turn] as string).allowed) count++;
    turn = turn + 1 < keys.length ? turn + 1 : 0;
  }
  return count;
}

function byAllow(subject: Limiter, keys: readonly string[], firstTurn: number, iterations: number): number {
  let count = 0;
  for (let i = 0, turn = firstTurn; i < iterations; i++) {
    if (subject.allow(keys[turn] as string)) count++;
    turn = turn + 1 < keys.length ? turn + 1 : 0;
  }
  return count;
}

/** The cases that every algorithm has, the floor first. */
export function standardCases(policyOf: (rate: Rate) => Policy): BenchCase[] {
  const allowed = { policy: policyOf(perMinute), clock: halfRateMs(perMinute), allowed: true };
  const refused = { policy: policyOf(perMonth), clock: crawlMs, allowed: false };
  return [
    floor('floor: Map get and set, 1 key', hotKey),
    floor('floor: Map get and set, 10,000 keys', manyKeys),
    calls('check, 1 key', allowed),
    calls('allow, 1 key', { ...allowed, call: 'allow' }),
    calls('check, 10,000 keys', { ...allowed, keys: manyKeys, clock: halfRateMs(perMinute, manyKeys) }),
    calls('check, every call a newcomer', { ...allowed, keys: manyKeys, clock: minuteMs / 1000, forgotten: true }),
    calls('check, refused', refused),
    calls('allow, refused', { ...refused, call: 'allow' }),
    calls('check, refused, default clock', { ...refused, clock: monotonicClock }),
  ];
}
