// What holds for every algorithm: its rows at other times and through other doors, and what is given back over random lives.
import { describe, expect, test } from 'vitest';
import { limiter } from '../limit/limiter.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { seededRandom } from '../vocabulary/random.ts';
import { remadePolicy } from './algorithm.ts';
import type { Case, Row } from './case.ts';
import { cases as concurrencyCases } from './concurrency/cases.ts';
import { cases as fixedWindowCases } from './fixed-window/cases.ts';
import { fixedWindow } from './fixed-window/fixed-window.ts';
import { cases as gcraCases } from './gcra/cases.ts';
import { gcra } from './gcra/gcra.ts';
import { cases as leakyBucketCases } from './leaky-bucket/cases.ts';
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts';
import { algorithmNames, parsePolicy } from './parse-policy.ts';
import { answersTo } from './run-cases.test-support.ts';
import { cases as slidingLogCases } from './sliding-log/cases.ts';
import { slidingLog } from './sliding-log/sliding-log.ts';
import { cases as slidingSlotsCases } from './sliding-slots/cases.ts';
import { slidingSlots } from './sliding-slots/sliding-slots.ts';
import { cases as slidingWindowCases } from './sliding-window/cases.ts';
import { slidingWindow } from './sliding-window/sliding-window.ts';
import { cases as smoothCases } from './smooth/cases.ts';
import { smooth } from './smooth/smooth.ts';
import { cases as tokenBucketCases } from './token-bucket/cases.ts';
import { tokenBucket } from './token-bucket/token-bucket.ts';

const casesOf: Record<string, readonly Case[]> = {
  'token-bucket': tokenBucketCases,
  gcra: gcraCases,
  'leaky-bucket': leakyBucketCases,
  'fixed-window': fixedWindowCases,
  'sliding-log': slidingLogCases,
  'sliding-slots': slidingSlotsCases,
  'sliding-window': slidingWindowCases,
  smooth: smoothCases,
  concurrency: concurrencyCases,
};

const everyCase = Object.entries(casesOf).flatMap(([algorithm, cases]) => cases.map((one) => ({ algorithm, ...one })));

test('every algorithm has cases', () => {
  expect(Object.keys(casesOf)).toEqual(algorithmNames);
  for (const cases of Object.values(casesOf)) expect(cases.length).toBeGreaterThan(5);
});

test('every policy can be made again by its own algorithm', () => {
  for (const { policy } of everyCase) expect(remadePolicy(policy, { ...policy })).toEqual(policy);
});

// As YAML has it where nothing follows the colon. A limit that was forgotten is not the default one.
test.each([
  ['token-bucket', 'burst'],
  ['token-bucket', 'initial'],
  ['token-bucket', 'refill'],
  ['gcra', 'burst'],
  ['leaky-bucket', 'burst'],
  ['leaky-bucket', 'delay'],
  ['fixed-window', 'align'],
  ['fixed-window', 'wait'],
  ['sliding-log', 'countRejected'],
  ['sliding-log', 'minGap'],
  ['sliding-slots', 'slots'],
  ['smooth', 'maxBurst'],
  ['smooth', 'warmup'],
  ['concurrency', 'lease'],
])('refuses a blank in place of an optional field: %s, %s', (algorithm, field) => {
  const rate = algorithm === 'concurrency' ? { limit: 1 } : { limit: 1, window: '1s' };
  expect(() => parsePolicy({ algorithm, ...rate })).not.toThrow();
  expect(() => parsePolicy({ algorithm, ...rate, [field]: null })).toThrow(new RegExp(`^${field} must be .*got null`));
});

const rates = algorithmNames.filter((name) => name !== 'concurrency');

describe.each(rates)('a rate that no %s can keep', (algorithm) => {
  test.each([
    [{ limit: 1e-300, window: 60_000 }, 'window / limit must be at most 1125899906842624, got 6e+304.'],
    [{ limit: 1, window: 1e300 }, 'window / limit must be at most 1125899906842624, got 1e+300.'],
  ])('is refused when it is built: %j', (rate, message) => {
    expect(() => parsePolicy({ algorithm, ...rate })).toThrow(message);
  });
});

test.each([
  ['fixed-window', 'window must be at least 0.000001 ms, got 1e-300.'],
  ['sliding-window', 'window must be at least 0.000001 ms, got 1e-300.'],
  ['smooth', 'window must be at least 0.000001 ms, got 1e-300.'],
  ['sliding-slots', 'window must be at least 0.016666666666666666 ms, got 1e-300.'],
])('a window too short to be numbered is refused by %s', (algorithm, message) => {
  expect(() => parsePolicy({ algorithm, limit: 1, window: 1e-300 })).toThrow(message);
});

test.each(rates)('the shortest window of %s passes', (algorithm) => {
  const window = algorithm === 'sliding-slots' ? 1 / 60 : 1e-6;
  const policy = parsePolicy({ algorithm, limit: 1, window, ...(algorithm === 'sliding-slots' && { slots: 1 }) });
  const clock = new TestClock(1_700_000_000_000);
  const limit = limiter(policy as Policy, { clock });
  limit.check('a');
  clock.advance(1);
  const decision = limit.check('a');
  expect(decision.allowed).toBe(true);
  expect(decision.resetAfterMs).toBeLessThan(2000);
});

describe.each(everyCase.map((one) => [`${one.algorithm}: ${one.name}`, one] as const))('%s', (_, { policy, rows }) => {
  // Rounded to whole windows, so that what is aligned to the epoch stays aligned.
  function todayFor(policy: Policy): number {
    const window = policy.window ?? 1;
    return Math.round(1_700_000_000_000 / window) * window;
  }

  test('is the same at the times that clocks show today', () => {
    const todayMs = todayFor(policy);
    const today = rows.map(([atMs, ...row]) => [todayMs + atMs, ...row] as unknown as Row);
    const clock = new TestClock(today[0]![0]);
    expect(answersTo(today, clock, limiter(policy, { clock }))).toEqual(today);
  });

  test("is the same on the caller's own time", () => {
    const clock = new TestClock(rows[0]![0]);
    const replayed = limiter(policy, { clock });
    let atMs = 0;
    const ownTime = {
      set(nowMs: number) {
        atMs = nowMs;
      },
    };
    const check = (key: string, cost: number) => replayed.check(key, { cost, atMs });
    expect(answersTo(rows, ownTime, { check })).toEqual(rows);
  });

  test('is foretold by peek, which changes nothing', () => {
    const clock = new TestClock(rows[0]![0]);
    const peeked = limiter(policy, { clock });
    const counts = 'countRejected' in policy;
    for (const [atMs, cost] of rows) {
      clock.set(atMs);
      const first = peeked.peek('key', cost);
      expect(peeked.peek('key', cost)).toEqual(first);
      const checked = peeked.check('key', cost);
      // A check that counts refusals makes the wait longer by being refused; a peek is not counted.
      if (checked.allowed || !counts) expect(checked).toEqual(first);
      else expect(first.allowed).toBe(false);
    }
  });

  test('is the same under a policy that went through JSON', () => {
    const copy = parsePolicy(JSON.parse(JSON.stringify(policy)));
    expect(copy).toEqual(policy);
    expect(Object.keys(copy)).toEqual(Object.keys(policy));
    expect(Object.isFrozen(copy)).toBe(true);
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(copy, { clock }))).toEqual(rows);
  });
});

const tight = { limit: 5, window: 1000 };

/** One of each kind, small enough for a random life to meet its edges. */
const policies: readonly Policy[] = [
  tokenBucket({ ...tight, burst: 7 }),
  tokenBucket({ ...tight, burst: 12, refill: 'interval' }),
  gcra({ ...tight, limit: 3, burst: 4 }),
  leakyBucket({ ...tight, burst: 3 }),
  leakyBucket({ ...tight, limit: 3, burst: 3, delay: 1 }),
  fixedWindow(tight),
  fixedWindow({ ...tight, align: 'first' }),
  fixedWindow({ ...tight, wait: 1500 }),
  slidingLog(tight),
  slidingLog({ ...tight, minGap: 70 }),
  slidingSlots({ ...tight, slots: 7 }),
  slidingWindow(tight),
  smooth({ ...tight, maxBurst: 3, maxDelay: 400 }),
  smooth({ ...tight, warmup: 2000, maxDelay: 700 }),
];

const named = policies.map((policy) => [JSON.stringify(policy), policy] as const);

/** A random life: bursts and pauses, small costs. */
function* life(seed: number, steps: number): Generator<{ nowMs: number; cost: number }> {
  const random = seededRandom(seed);
  let nowMs = 1_700_000_000_000;
  for (let step = 0; step < steps; step += 1) {
    const move = random();
    if (move < 0.5) nowMs += Math.floor(random() * 60);
    else if (move < 0.6) nowMs += Math.floor(random() * 2500);
    yield { nowMs, cost: Math.floor(random() * 4) };
  }
}

describe('over a random life', () => {
  test.each(named)('reward gives back what was taken, and never more than everything: %s', (_, policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const subject = limiter(policy, { clock });
    for (const { nowMs, cost } of life(5, 500)) {
      clock.set(nowMs);
      const taken = subject.check('key', cost).allowed ? cost : 0;
      const { limit } = subject.penalize('key', cost);
      const { remaining } = subject.reward('key', taken + cost + 10 * limit);
      // While a gap lasts nothing remains, whatever was given back.
      if ('minGap' in policy) expect([0, limit]).toContain(remaining);
      else expect(remaining).toBe(limit);
    }
  });

  // A reservation that is taken back, at once or much later, must leave the others no better off than if it had never
  // been made. Whatever the first limiter lets through, the second one, which never saw a reservation, lets through too.
  // (Not so where a reservation is the first call that a window begins with, or warms a cold limiter up.)
  const anchored = named.filter(([, policy]) => !('align' in policy || 'refill' in policy || 'warmup' in policy));
  test.each(anchored)('a cancelled reservation mints nothing, whenever it is cancelled: %s', (_, policy) => {
    for (let seed = 10; seed < 20; seed += 1) {
      const clock = new TestClock(1_700_000_000_000);
      const subject = limiter(policy, { clock });
      const without = limiter(policy, { clock });
      const random = seededRandom(seed);
      const open: { cancel(): boolean }[] = [];
      for (const { nowMs, cost } of life(seed, 400)) {
        clock.set(nowMs);
        const choice = random();
        if (choice < 0.25) open.push(subject.reserve('key', cost, { expiresIn: '1h' }));
        else if (choice < 0.5 && open.length > 0) open.splice(Math.floor(random() * open.length), 1)[0]!.cancel();
        else {
          const got = subject.check('key', cost);
          if (!got.allowed) continue;
          const plain = without.check('key', cost);
          expect({ seed, nowMs, allowed: plain.allowed }).toEqual({ seed, nowMs, allowed: true });
          expect(plain.delayMs).toBeLessThanOrEqual(got.delayMs + 1e-6);
        }
        const left = subject.peek('key', 0).remaining;
        expect({ seed, nowMs, minted: Math.max(0, left - without.peek('key', 0).remaining) }).toEqual({
          seed,
          nowMs,
          minted: 0,
        });
      }
    }
  });

  // (Not so where the gap counts from the reservation, or a cold limiter gives back at its stable interval.)
  const traceless = named.filter(([, policy]) => !('minGap' in policy || 'warmup' in policy));
  test.each(traceless)('a reservation that is cancelled at once leaves no trace: %s', (_, policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const subject = limiter(policy, { clock });
    let cancelled = 0;
    for (const { nowMs, cost } of life(6, 2000)) {
      clock.set(nowMs);
      const before = subject.check('key', cost).remaining;
      const reservation = subject.reserve('key', 2);
      if (!reservation.allowed) continue;
      expect(reservation.cancel()).toBe(true);
      expect({ nowMs, remaining: subject.peek('key', 0).remaining }).toEqual({ nowMs, remaining: before });
      cancelled += 1;
    }
    expect(cancelled).toBeGreaterThan(50);
  });
});

test('plain data is no policy until it is parsed', () => {
  const data = { algorithm: 'gcra', limit: 100, window: 60_000, burst: 100 };
  expect(() => limiter(data as never)).toThrow(
    'policy must be built by a factory such as gcra(), got {"algorithm":"gcra"',
  );
  expect(() => limiter({ ...gcra({ limit: 1, window: 1 }) })).toThrow('use parsePolicy(data)');
  expect(parsePolicy(data)).toEqual(data);
});

test('an unknown algorithm is refused by the names that there are', () => {
  expect(() => parsePolicy({ algorithm: 'magic', limit: 1 })).toThrow(
    `algorithm must be one of ${algorithmNames.join(', ')}, got "magic".`,
  );
  expect(() => parsePolicy({ limit: 1 })).toThrow('algorithm must be one of');
  expect(() => parsePolicy({ algorithm: 'toString' })).toThrow('algorithm must be one of');
  expect(() => parsePolicy('gcra')).toThrow('policy must be an object, got "gcra".');
  expect(() => parsePolicy(null)).toThrow('policy must be an object, got null.');
});

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '1'])('a cost of %j is refused by its value', (cost) => {
  const subject = limiter(gcra({ limit: 1, window: 1 }));
  expect(() => subject.check('key', cost as number)).toThrow('cost must be a finite number of 0 or more, got');
  expect(() => subject.penalize('key', { cost: cost as number })).toThrow('cost must be a finite number');
});
