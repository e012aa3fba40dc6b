import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { limiter } from './limiter.ts';
import { smallLimiter } from './small-limiter.ts';

const rate = { limit: 5, window: '1s' } as const;

const policies: readonly Policy[] = [
  gcra(rate),
  gcra({ ...rate, burst: 2 }),
  tokenBucket({ ...rate, burst: 8 }),
  tokenBucket({ ...rate, refill: 'interval', initial: 1 }),
  leakyBucket(rate),
  leakyBucket({ ...rate, delay: 'none' }),
  fixedWindow(rate),
  fixedWindow({ ...rate, align: 'first' }),
  slidingLog(rate),
  slidingLog({ ...rate, countRejected: true }),
  slidingLog({ ...rate, minGap: '50ms' }),
  slidingSlots(rate),
  slidingWindow(rate),
  smooth(rate),
  smooth({ ...rate, warmup: '2s' }),
];

describe.each(policies)('a small limiter by %o', (policy) => {
  const step = fc.record({
    // Also back.
    elapsesMs: fc.oneof(fc.nat(40), fc.nat(2000), fc.integer({ min: -500, max: -1 }), fc.constant(100_000)),
    operation: fc.constantFrom('check', 'check', 'check', 'allow', 'peek', 'reset'),
    key: fc.constantFrom('ann', 'bob', 'cy'),
    cost: fc.constantFrom(1, 1, 1, 2, 0, 0.5, 7),
  });

  it('decides as limiter() does', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const clock = new TestClock(1_700_000_000_000);
        const large = limiter(policy, { clock, name: 'same' });
        const small = smallLimiter(policy, { clock, name: 'same' });
        for (const { elapsesMs, operation, key, cost } of steps) {
          if (elapsesMs >= 0) clock.advance(elapsesMs);
          else clock.set(clock.now() + elapsesMs);
          if (operation === 'reset') {
            large.reset(key);
            small.reset(key);
          } else expect(small[operation](key, cost)).toEqual(large[operation](key, cost));
        }
      }),
    );
  });
});

describe('a small limiter', () => {
  const policy = gcra({ limit: 1, window: '1s' });

  it('has room for so many keys that matter, refuses others, and forgets those that matter no more', () => {
    const clock = new TestClock(0);
    const small = smallLimiter(policy, { clock, maxKeys: 100 });
    for (let i = 0; i < 100; i += 1) expect(small.allow(`key-${i}`)).toBe(true);
    expect(small.check('one more')).toMatchObject({ allowed: false, reason: 'store-full', retryAfterMs: 1000 });
    expect(small.allow('key-0')).toBe(false);
    clock.advance(1000);
    expect(small.allow('one more')).toBe(true);
    expect(small.allow('key-0')).toBe(true);
  });

  it('forgets by the way those that matter no more, once there are many', () => {
    const clock = new TestClock(0);
    const small = smallLimiter(policy, { clock, maxKeys: 4000 });
    for (let round = 0; round < 10; round += 1) {
      for (let i = 0; i < 1500; i += 1) expect(small.allow(`key-${round}-${i}`)).toBe(true);
      clock.advance(3000);
    }
  });

  it('is as mild as limiter() with a clock that steps back by a millisecond, however many keys there are', () => {
    const clock = new TestClock(0);
    const minutely = gcra({ limit: 5, window: '1m' });
    const both = [smallLimiter(minutely, { clock }), limiter(minutely, { clock })];
    for (const one of both) for (let i = 0; i < 1200; i += 1) one.allow(`key-${i}`);
    clock.advance(12_500);
    for (const one of both) for (let i = 0; i < 50; i += 1) one.allow(`more-${i}`);
    clock.set(clock.now() - 1);
    expect(both.map((one) => one.allow('another'))).toEqual([true, true]);
  });

  it('gives nobody a key anew because the clock stepped back behind its forgetting', () => {
    const clock = new TestClock(10_000);
    const small = smallLimiter(policy, { clock, maxKeys: 3 });
    for (const key of ['ann', 'bob', 'cy']) small.check(key);
    clock.advance(1500);
    for (const key of ['dan', 'eve', 'fay']) small.check(key);
    clock.set(10_400);
    expect(small.check('ann')).toMatchObject({ allowed: false, reason: 'limit' });
  });

  it.each([slidingLog({ limit: 3, window: '1s' }), slidingSlots({ limit: 3, window: '1s' })])(
    'keeps a strict promise where the clock steps back behind a forgetting: %o',
    (strict) => {
      const clock = new TestClock(10_000);
      const small = smallLimiter(strict, { clock, maxKeys: 1 });
      expect([1, 2, 3, 4].map(() => small.allow('ann'))).toEqual([true, true, true, false]);
      clock.advance(2500);
      expect(small.allow('bob')).toBe(true);
      clock.advance(1500);
      small.reset('bob');
      clock.set(10_400);
      expect(small.allow('ann')).toBe(false);
    },
  );

  it('does not grow by resets', () => {
    const clock = new TestClock(0);
    const small = smallLimiter(tokenBucket({ limit: 5, window: '1s', initial: 1 }), { clock, maxKeys: 2 });
    for (let i = 0; i < 10; i += 1) small.reset(`key-${i}`);
    expect(small.check('one more')).toMatchObject({ allowed: false, reason: 'store-full' });
  });

  it.each<[unknown, unknown, string]>([
    [policy, { maxKeys: 0 }, 'maxKeys must be'],
    [policy, { maxKeys: 1.5 }, 'maxKeys must be a whole number above 0, got 1.5'],
    [
      policy,
      { clock: { ...new TestClock(0), now: () => 0, sleep: async () => {}, stalenessMs: Number.NaN } },
      'clock.stalenessMs must be',
    ],
    [policy, { name: 7 }, 'name must be a string, got 7'],
    [policy, { clock: Date }, 'clock must be an object with now() and sleep()'],
    [policy, { store: {} }, 'smallLimiter options has no field "store". It takes clock, maxKeys, name.'],
    [{ ...policy }, {}, 'policy must be built by a factory such as gcra()'],
    [concurrency({ limit: 1 }), {}, 'smallLimiter() cannot give back what concurrency takes. Use limiter().'],
  ])('refuses %o with %o', (given, options, message) => {
    expect(() => smallLimiter(given as Policy, options as object)).toThrow(message);
  });

  it('refuses what is no key and no cost', () => {
    const small = smallLimiter(policy);
    for (const call of [small.check, small.allow, small.peek, small.reset])
      expect(() => call(7 as never)).toThrow('key must be a string, got 7');
    for (const cost of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => small.check('ann', cost)).toThrow('cost must be a finite number of 0 or more');
  });
});
