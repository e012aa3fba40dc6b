import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { split } from '../../layers/split/split.ts';
import { limiter } from '../../limit/limiter.ts';
import { type RulesResult, rules, tightestOf } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { nodeReader } from '../node/reader.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import { gate } from './gate.ts';
import { earlierResult, speaker, together } from './several.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });

function resultOf(name: string, limit: number, calls: number): RulesResult {
  const one = rules([{ name, policy: perMinute(limit) }]);
  for (let i = 1; i < calls; i += 1) one.check({});
  return one.check({});
}

describe('what several limits say together', () => {
  it('is what one of them says where there is no other', () => {
    const one = resultOf('one', 3, 1);
    expect(together(undefined, one)).toBe(one);
  });

  // biome-ignore format: aligned rows
  it.each<[before: [limit: number, calls: number], now: [limit: number, calls: number], allowed: boolean, tightest: string]>([
    //  limit, calls   limit, calls   allowed   of whom the client is told
    [ [ 10,    1 ],  [ 10,    2 ],    true,     'now'    ],
    [ [ 10,    2 ],  [ 10,    1 ],    true,     'before' ],
    [ [ 10,    9 ],  [ 1,     2 ],    false,    'now'    ],  // a refusal before any grant
    [ [ 1,     2 ],  [ 10,    9 ],    false,    'before' ],  // let go on by a handler
  ])('of %j before and %j now: allowed %s, by %s', (before, now, allowed, tightest) => {
    const said = together(resultOf('before', ...before), resultOf('now', ...now));
    expect([said.allowed, said.tightest?.rule]).toEqual([allowed, tightest]);
    expect(said.decisions.map(({ rule }) => rule)).toEqual(['before', 'now']);
  });

  it('has every decision that binds, whatever the order, and the tightest of them', () => {
    const results = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 })),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(results, (list) => {
        const each = list.map(([name, limit, calls]) => resultOf(name, limit, calls));
        const [first, ...others] = each as [RulesResult, ...RulesResult[]];
        const said = others.reduce(together, first);
        const all = each.flatMap(({ decisions }) => decisions);
        expect(said.allowed).toBe(all.every(({ allowed }) => allowed));
        expect(said.tightest).toBe(tightestOf(all));
        // Each has a policy of its own, so none stands for another.
        expect(said.decisions).toEqual(all);
      }),
    );
  });

  it('names a policy once, that was asked twice', () => {
    const policy = perMinute(9);
    const one = rules([{ name: 'x', policy, key: 'user' }]);
    one.check({ user: 'alice' });
    const [alice, bob] = [one.check({ user: 'alice' }), one.check({ user: 'bob' })];
    expect(together(alice, bob).decisions).toEqual(alice.decisions);
    expect(together(bob, alice).decisions).toEqual(alice.decisions);
  });

  it.each([undefined, null, 7, { limit: 5, used: 1 }, { decisions: 'none' }])('is not said by %j', (found) => {
    expect(earlierResult(found)).toBeUndefined();
  });
});

describe('the wait of who is refused, after a limit that let it in', () => {
  const resultFrom = (decision: Decision): RulesResult => ({
    allowed: decision.allowed,
    tightest: decision,
    decisions: [decision],
  });

  /** What a client is told by a limit that refuses for a millisecond, after another has decided so. */
  function toldAfter(before: Decision, cost: number): number {
    const [outer, inner] = [speaker(true), speaker(true)];
    const refused = limiter(gcra({ limit: 1000, window: '1s', burst: 1 }), { name: 'refuses', clock: new TestClock() });
    refused.check('key');
    const request = {};
    outer(request, resultFrom(before), cost);
    return inner(request, resultFrom(refused.check('key')), 1).tightest!.retryAfterMs;
  }

  const rate = fc.record({
    limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(0.5, 7.5, 1000)),
    window: fc.integer({ min: 1, max: 5000 }),
  });
  const bucketOf = fc.tuple(rate, fc.integer({ min: 1, max: 20 })).map(([of, burst]) => ({ ...of, burst }));
  const steady: fc.Arbitrary<Policy> = fc.oneof(
    bucketOf.map(gcra),
    bucketOf.map(tokenBucket),
    bucketOf.map((of) => tokenBucket({ ...of, initial: 1 })),
    bucketOf.map(leakyBucket),
  );
  const whole = rate.map((of) => ({ ...of, limit: Math.ceil(of.limit) }));
  const others: fc.Arbitrary<Policy> = fc.oneof(
    whole.map((of) => tokenBucket({ ...of, refill: 'interval' })),
    whole.map(fixedWindow),
    whole.map(slidingLog),
    whole.map(slidingWindow),
  );
  // A clock may also step back.
  const history = fc.array(
    fc.record({ gapMs: fc.integer({ min: -2000, max: 4000 }), cost: fc.integer({ min: 1, max: 4 }) }),
    { minLength: 1, maxLength: 30 },
  );
  const instances = fc.integer({ min: 1, max: 2 });

  /** The last of the calls that was let in, what a client is told after it, and how long it has to wait in truth. */
  function waits(policy: Policy, calls: readonly { gapMs: number; cost: number }[], shares = 1) {
    const clock = new TestClock(1e9);
    const store = split({ instances: shares })(memoryStore({ clock }));
    const limit = limiter(policy, { store });
    let seen: { told: number; truth: number } | undefined;
    for (const { gapMs, cost } of calls) {
      clock.advance(gapMs);
      const decision = limit.check('key', cost);
      if (decision.allowed) seen = { told: toldAfter(decision, cost), truth: limit.peek('key', cost).retryAfterMs };
    }
    return seen;
  }

  const hasShare = (policy: Policy) => (policy.burst ?? policy.limit) >= 2 && policy.algorithm !== 'sliding-log';

  it('is never too early, whatever the limit', () => {
    fc.assert(
      fc.property(fc.oneof(steady, others), history, instances, (policy, calls, shares) => {
        const { told = 1, truth = 0 } = waits(policy, calls, hasShare(policy) ? shares : 1) ?? {};
        expect(told).toBeGreaterThanOrEqual(truth);
      }),
      { numRuns: 1000 },
    );
  });

  it('is the shortest there is where a limit refills steadily, but for a rounded millisecond', () => {
    fc.assert(
      fc.property(steady, history, (policy, calls) => {
        const { told = 1, truth = 0 } = waits(policy, calls) ?? {};
        expect(told).toBeLessThanOrEqual(truth + 1);
      }),
      { numRuns: 1000 },
    );
  });

  it('is one token’s, and not that of a whole window, where the burst is spent', () => {
    const clock = new TestClock(0);
    const limit = limiter(gcra({ limit: 100, window: '1h' }), { clock });
    expect(toldAfter(limit.check('key', 100), 1)).toBe(36_000);
    clock.advance(35_999);
    expect(limit.check('key').allowed).toBe(false);
    clock.advance(1);
    expect(limit.check('key').allowed).toBe(true);
  });

  it('is not that of a limit in shadow, which refuses nobody', () => {
    const [decision] = rules([{ name: 'x', policy: gcra({ limit: 1, window: '1h' }), shadow: true }]).check(
      {},
    ).decisions;
    expect(toldAfter(decision!, 1)).toBe(1);
  });

  it('is not that of a place, which comes back with the refusal', () => {
    const place = limiter(concurrency({ limit: 1 }), { clock: new TestClock() }).check('key');
    expect(place).toMatchObject({ remaining: 0, resetAfterMs: 60_000 });
    expect(toldAfter(place, 1)).toBe(1);
  });
});

describe('what was said to a request', () => {
  const many = rules(
    Array.from({ length: 17 }, (_, i) => ({ name: `rule-${i}`, policy: perMinute(i < 16 ? 100 : 1) })),
  );

  it('names the tightest of more policies than are listed, also where the wait is that of another', () => {
    const [outer, inner] = [speaker(true), speaker(true)];
    const hourly = fixedWindow({ limit: 1, window: '1h', align: 'first' });
    many.check({});
    const request = {};
    outer(request, rules([{ name: 'hourly', policy: hourly }]).check({}), 1);
    const said = inner(request, many.check({}), 1);
    const headers = rateLimitHeaders(said);
    expect(headers['RateLimit-Policy']).toMatch(/"rule-16";q=1;w=60$/);
    expect(headers.RateLimit).toMatch(/^"rule-16";r=0;t=3600$/);
  });

  it('is seen by nobody else, and is not said to a copy', () => {
    const [first, second] = [speaker(true), speaker(true)];
    const request = { url: '/' };
    const result = resultOf('one', 3, 1);
    first(request, result, 1);
    expect(Reflect.ownKeys(request)).toEqual(['url']);
    expect(second({ ...request }, result, 1)).toBe(result);
  });
});

describe('a limit that shows no headers', () => {
  it('is not spoken of by others, and does not speak of them', () => {
    const policy = perMinute(1);
    const results = ['first', 'hidden', 'last'].map((name) => rules([{ name, policy }]).check({}));
    const request = {};
    const said = [true, false, true].map((isShown, i) => speaker(isShown)(request, results[i]!, 1));
    expect(said.map(({ decisions }) => decisions.map(({ rule }) => rule))).toEqual([
      ['first'],
      ['hidden'],
      ['first', 'last'],
    ]);
  });
});

describe('a name', () => {
  const warnedOf = (...policies: readonly (readonly [name: string | undefined, policy: ReturnType<typeof gcra>])[]) => {
    const warned: string[] = [];
    const store = memoryStore();
    for (const [name, policy] of policies) {
      gate({ policy, store, ...(name !== undefined && { name }), warn: (text) => warned.push(text) }, nodeReader);
    }
    return warned;
  };
  const few = () => gcra({ limit: 5, window: '1m' });
  const many = () => gcra({ limit: 100, window: '1m' });

  it('of two policies in one store is warned of', () => {
    expect(warnedOf([undefined, many()], [undefined, few()])).toEqual([
      expect.stringMatching(/^Two policies go by one name/),
    ]);
    expect(warnedOf([undefined, many()], ['default', few()])).toHaveLength(1);
  });

  it('of one policy, or of two in stores of their own, is not', () => {
    expect(warnedOf(['many', many()], ['few', few()])).toEqual([]);
    expect(warnedOf(['api', many()], ['api', many()])).toEqual([]);
    expect([...warnedOf([undefined, many()]), ...warnedOf([undefined, few()])]).toEqual([]);
  });
});
