import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import { limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { sharedMemoryStore } from '../shared-memory/shared-memory-store.ts';
import { memoryStore } from './memory-store.ts';

describe('a changed policy', () => {
  const change = (from: Policy, to: Policy) => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const apply = (policy: Policy, cost: number) => store.apply([{ name: 'rule', key: 'key', policy, cost }])[0]!;
    return { clock, store, before: (cost: number) => apply(from, cost), after: (cost: number) => apply(to, cost) };
  };

  it.each([
    [slidingLog({ limit: 10, window: '1m' }), slidingLog({ limit: 20, window: '1m' }), 14],
    [slidingSlots({ limit: 10, window: '1m' }), slidingSlots({ limit: 20, window: '1m', slots: 7 }), 14],
    [fixedWindow({ limit: 10, window: '1m' }), fixedWindow({ limit: 20, window: '1m' }), 14],
    [slidingWindow({ limit: 10, window: '1m' }), slidingWindow({ limit: 20, window: '1m' }), 14],
    [gcra({ limit: 10, window: '1m' }), gcra({ limit: 20, window: '1m' }), 14],
    [gcra({ limit: 10, window: '1m' }), tokenBucket({ limit: 20, window: '1m' }), 14],
    [slidingLog({ limit: 10, window: '1m' }), gcra({ limit: 20, window: '1m' }), 14],
    [slidingLog({ limit: 10, window: '1m' }), slidingSlots({ limit: 20, window: '1m' }), 14],
    [concurrency({ limit: 10 }), concurrency({ limit: 20 }), 14],
    [slidingLog({ limit: 10, window: '1m' }), slidingLog({ limit: 5, window: '1m' }), 0],
  ])('from %j to %j keeps what was used', (from, to, remaining) => {
    const { before, after } = change(from, to);
    before(6);
    expect(after(0).remaining).toBe(remaining);
    // And back, still the same; only a strict policy knows nothing of what a loose one forgot.
    if (to.algorithm !== 'gcra' || from.algorithm === 'gcra') expect(before(0).remaining).toBe(4);
  });

  it.each([gcra({ limit: 10, window: '1m' }), fixedWindow({ limit: 10, window: '1m' })])(
    'to a longer strict window and on to %j does not make what is not known a debt for ever',
    (last) => {
      const { clock, store, before, after } = change(
        slidingLog({ limit: 10, window: '1m' }),
        slidingLog({ limit: 10, window: '1h' }),
      );
      before(1);
      after(1);
      clock.advance(60_000);
      expect(store.apply([{ name: 'rule', key: 'key', policy: last, cost: 1 }])[0]).toMatchObject({ allowed: true });
    },
  );

  it('with a longer strict window counts what it cannot know as spent', () => {
    const { clock, before, after } = change(
      slidingLog({ limit: 10, window: '1m' }),
      slidingLog({ limit: 10, window: '1h' }),
    );
    before(3);
    expect(after(1)).toMatchObject({ allowed: false, retryAfterMs: 59 * 60_000 });
    clock.advance(59 * 60_000);
    expect(after(7)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('with a longer strict window takes a stranger for one that the shorter window forgot, if it forgot any', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const ask = (key: string, window: '1m' | '1h') =>
      store.apply([{ name: 'rule', key, policy: slidingLog({ limit: 1, window }), cost: 1 }])[0]!;
    for (let i = 0; i < 2000; i += 1) ask(`early ${i}`, '1m');
    clock.advance(61_000);
    for (const key of ['a', 'b', 'c']) ask(key, '1m');
    expect(ask('stranger', '1h')).toMatchObject({ allowed: false, retryAfterMs: 59 * 60_000 });
    // From now on nothing is forgotten before an hour has passed, so later strangers are strangers.
    clock.advance(59 * 60_000);
    for (const key of ['d', 'e', 'f']) ask(key, '1m');
    expect(ask('stranger', '1h').allowed).toBe(true);
    expect(ask('new', '1h').allowed).toBe(true);
  });

  it('forgets nobody while there are only few, and then a few at a time', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = memoryStore({ clock });
    const ask = (key: string) =>
      store.apply([{ name: 'rule', key, policy: gcra({ limit: 1, window: '1s' }), cost: 1 }]);
    for (let i = 0; i < 1000; i += 1) ask(`early ${i}`);
    clock.advance(60_000);
    for (let i = 0; i < 20; i += 1) ask(`later ${i}`);
    expect(store.stats().keys).toBe(1020);
    for (let i = 0; i < 2000; i += 1) ask(`last ${i}`);
    // All who came early are as good as new, and were looked at.
    expect(store.stats().keys).toBe(2020);
  });

  it('with a longer strict window knows a stranger when nothing was forgotten', () => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules(
      [
        {
          name: 'per-user',
          key: 'user',
          tiers: { free: slidingLog({ limit: 1, window: '1m' }), paid: slidingLog({ limit: 1, window: '1h' }) },
        },
      ],
      { clock },
    );
    for (let user = 0; user < 200; user += 1) {
      expect(limits.check({ user: `free-${user}`, tier: 'free' }).allowed).toBe(true);
      clock.advance(10_000);
    }
    expect(limits.check({ user: 'paid', tier: 'paid' }).allowed).toBe(true);
    // One that paid since its last call has that call counted, though it was longer ago than a minute.
    expect(limits.check({ user: 'free-0', tier: 'paid' }).allowed).toBe(false);
  });

  it('that comes with each request leaves no tables behind', () => {
    const clock = new TestClock();
    const store = memoryStore({ clock });
    for (let limit = 1; limit <= 1000; limit += 1) {
      store.apply([{ name: 'rule', key: `key-${limit}`, policy: gcra({ limit, window: 1000 }), cost: 1 }]);
      clock.advance(2000);
    }
    expect(store.snapshot().names[0]?.tables.length).toBeLessThan(100);
  });

  it('of a counting log keeps within the bound, whatever is rejected', () => {
    const store = memoryStore({ clock: new TestClock(), maxKeys: 5 });
    const limit = limiter(slidingLog({ limit: 1, window: '1h', countRejected: true }), { store });
    for (let key = 0; key < 50; key += 1) limit.check(`key-${key}`, 2);
    expect(store.stats().keys).toBeLessThanOrEqual(5);
  });

  it('to a shorter strict window and back forgets nothing that the longer one counts', () => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules([{ name: 'r', key: 'user', policy: slidingLog({ limit: 5, window: '10s' }) }], { clock });
    expect(limits.check({ user: 'a' }, { cost: 5 }).allowed).toBe(true);
    limits.override('r', 'a', { window: '1s' });
    clock.advance(2000);
    for (let other = 0; other < 20; other += 1) limits.check({ user: `other-${other}` });
    limits.check({ user: 'a' });
    clock.advance(2000);
    for (let other = 20; other < 40; other += 1) limits.check({ user: `other-${other}` });
    limits.removeOverride('r', 'a');
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
  });

  it('of which nothing is known is not known under a raised limit either', () => {
    const store = memoryStore({ clock: new TestClock(1_700_000_000_000) });
    const apply = (policy: Policy, cost: number, atMs: number) =>
      store.apply([{ name: 'r', key: 'k', policy, cost }], 1_700_000_000_000 + atMs)[0]!;
    const short = slidingLog({ limit: 5, window: 10 });
    expect(apply(short, 5, 0).allowed).toBe(true);
    expect(apply(short, 5, 11).allowed).toBe(true);
    expect(apply(slidingLog({ limit: 1, window: 100 }), 1, 12).allowed).toBe(false);
    expect(apply(slidingLog({ limit: 10, window: 100 }), 5, 13).allowed).toBe(false);
  });

  it.each([
    [slidingSlots({ limit: 3, window: 100, slots: 10 }), slidingSlots({ limit: 4, window: 100, slots: 10 })],
    [fixedWindow({ limit: 3, window: 100 }), fixedWindow({ limit: 4, window: 100 })],
    [slidingWindow({ limit: 3, window: 100 }), slidingWindow({ limit: 4, window: 100 })],
  ])('on a clock that stepped back leaves history where it was: %j', (from, to) => {
    const clock = new TestClock(10_000);
    const limit = limiter(from as Policy, { clock });
    expect(limit.allow('key', 3)).toBe(true);
    limit.update(to as Policy);
    clock.set(9950);
    expect(limit.allow('key')).toBe(true);
    clock.set(10_061);
    expect(limit.allow('key', 4)).toBe(false);
  });

  // Its own calls tell a store how late it ever was; not those before a restart, nor those of other threads.
  it.each([
    [slidingSlots({ limit: 3, window: 100, slots: 10 }), slidingSlots({ limit: 3, window: 100, slots: 5 })],
    [fixedWindow({ limit: 3, window: 100 }), fixedWindow({ limit: 3, window: 50 })],
    [slidingWindow({ limit: 3, window: 100 }), slidingWindow({ limit: 3, window: 50 })],
  ])('on a clock behind what another has charged leaves history where it was: %j', (from, to) => {
    const clock = new TestClock(10_000);
    const before = memoryStore({ clock });
    const options = { clock, maxKeys: 10, cellsPerKey: 20 };
    const shared = sharedMemoryStore(options);
    for (const store of [before, shared])
      expect(limiter(from as Policy, { store, name: 'n' }).allow('key', 3)).toBe(true);
    clock.set(9800);
    const after = memoryStore({ clock });
    after.restore(before.snapshot());
    for (const store of [after, sharedMemoryStore({ clock, buffer: shared.buffer })]) {
      clock.set(9800);
      const limit = limiter(to as Policy, { store, name: 'n' });
      expect(limit.allow('key', 3)).toBe(false);
      clock.set(9999);
      expect(limit.allow('key', 3)).toBe(false);
    }
  });

  it.each([
    [(limit: number) => slidingSlots({ limit, window: '1m' })],
    [(limit: number) => slidingLog({ limit, window: '1m' })],
    [(limit: number) => slidingWindow({ limit, window: '1m' })],
    [(limit: number) => fixedWindow({ limit, window: '1m', align: 'first' })],
    [(limit: number) => tokenBucket({ limit, window: '1m', refill: 'interval' })],
    [(limit: number) => gcra({ limit, window: '1m' })],
  ])('at every request locks nobody out who stays within it', (policyOf) => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules([{ name: 'r', key: 'user', policy: ({ extra }) => policyOf(100 + Number(extra)) as Policy }], {
      clock,
    });
    for (let second = 0; second < 600; second += 1) {
      expect(limits.check({ user: 'a', extra: second % 3 }).allowed).toBe(true);
      clock.advance(1000);
    }
  });

  it('with tiers of different windows counts each call under both', () => {
    const clock = new TestClock(1_700_000_000_000);
    const tiers = { min: slidingLog({ limit: 10, window: '1m' }), hour: slidingLog({ limit: 1000, window: '1h' }) };
    const limits = rules([{ name: 'r', key: 'user', tiers }], { clock });
    for (let minute = 0; minute < 300; minute += 1) {
      expect(limits.check({ user: 'a', tier: 'hour' }).allowed).toBe(true);
      expect(limits.check({ user: 'a', tier: 'min' }).allowed).toBe(true);
      clock.advance(60_000);
    }
    expect(limits.peek({ user: 'a', tier: 'hour' }, { cost: 0 }).tightest?.remaining).toBe(1000 - 118);
  });

  it('of a bucket that starts empty does not empty it again', () => {
    const empty = (limit: number) => tokenBucket({ limit, window: 1000, burst: 10, initial: 0, refill: 'interval' });
    const limit = limiter(empty(1), { clock: new TestClock() });
    for (let change = 0; change < 6; change += 1) {
      expect(limit.check('key').retryAfterMs).toBe(1000);
      limit.update(empty(1 + (change % 2)));
    }
  });

  it('is not applied by a refused call of the same windows', () => {
    const clock = new TestClock();
    const tiers = {
      x: fixedWindow({ limit: 2, window: 1000, align: 'first' }),
      y: fixedWindow({ limit: 1, window: 1000, align: 'first' }),
    };
    const limits = rules([{ name: 'r', key: 'user', tiers }], { clock });
    limits.check({ user: 'a', tier: 'x' }, { cost: 2 });
    clock.set(900);
    expect(limits.check({ user: 'a', tier: 'y' }).allowed).toBe(false);
    clock.set(1000);
    expect(limits.check({ user: 'a', tier: 'x' }).allowed).toBe(true);
  });

  it('to a longer window counts as spent what the row does not tell, on a clock that stepped back too', () => {
    const clock = new TestClock(1000);
    const limit = limiter(slidingLog({ limit: 5, window: 50 }), { clock });
    limit.check('a', 4);
    clock.set(1060);
    limit.check('a', 4);
    clock.set(990);
    limit.update(slidingLog({ limit: 7, window: 100 }));
    expect(limit.check('a', 3).allowed).toBe(false);
  });

  it('from slots to a log moves older charges along with those that may be later than now', () => {
    const clock = new TestClock(6237);
    const store = memoryStore({ clock });
    const apply = (policy: Policy, cost: number, key = 'key') => store.apply([{ name: 'r', key, policy, cost }])[0]!;
    const slots = slidingSlots({ limit: 7, window: 1000, slots: 10 });
    apply(slots, 1, 'other');
    // The clock was further already: what is in the newest slot may have happened up to its end.
    for (const [atMs, cost] of [
      [6099, 2],
      [6130, 3],
      [6146, 1],
    ] as const) {
      clock.set(atMs);
      expect(apply(slots, cost).allowed).toBe(true);
    }
    clock.set(6170);
    expect(apply(slidingLog({ limit: 6, window: 100 }), 1).allowed).toBe(false);
  });

  it('from a loose to a strict algorithm starts with everything spent', () => {
    const { clock, before, after } = change(gcra({ limit: 10, window: '1m' }), slidingLog({ limit: 10, window: '1m' }));
    before(1);
    expect(after(1)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    clock.advance(60_000);
    expect(after(1).allowed).toBe(true);
  });

  it('of a smooth limiter keeps the waits that were promised', () => {
    const { before, after } = change(smooth({ limit: 1, window: '1s' }), smooth({ limit: 10, window: '1s' }));
    before(1);
    before(1);
    expect(after(1).delayMs).toBe(2000);
    expect(after(1).delayMs).toBe(2100);
  });

  it('of a fixed window does not open a new one', () => {
    const { before, after } = change(fixedWindow({ limit: 2, window: '1m' }), fixedWindow({ limit: 2, window: '2m' }));
    before(2);
    expect(after(1).allowed).toBe(false);
  });
});

describe('a key that is asked now under one policy and now under another', () => {
  type Rate = { readonly limit: number; readonly window: '1m' | '1h' };
  const kinds: readonly [name: string, policyOf: (rate: Rate) => Policy][] = [
    ['fixed-window, by the calendar', (rate) => fixedWindow(rate)],
    ['fixed-window, from the first call', (rate) => fixedWindow({ ...rate, align: 'first' })],
    ['token-bucket, by intervals', (rate) => tokenBucket({ ...rate, refill: 'interval' })],
    ['token-bucket', tokenBucket],
    ['gcra', gcra],
    ['sliding-window', slidingWindow],
    ['sliding-log', slidingLog],
    ['sliding-slots', slidingSlots],
  ];
  const minuteMs = 60_000;
  const tenOClockMs = Date.UTC(2025, 0, 1, 10);
  const twoTiers = (policyOf: (rate: Rate) => Policy) => {
    const clock = new TestClock(tenOClockMs);
    const paid = policyOf({ limit: 100, window: '1h' });
    const limits = rules([{ name: 'calls', key: 'ip', tiers: { paid, free: policyOf({ limit: 10, window: '1m' }) } }], {
      clock,
    });
    return { clock, isAllowed: (tier: 'paid' | 'free') => limits.check({ ip: '192.0.2.1', tier }).allowed };
  };

  it.each(kinds)('is not made new by the shorter window: %s', (_, policyOf) => {
    const { clock, isAllowed } = twoTiers(policyOf);
    isAllowed('paid');
    clock.advance(59 * minuteMs);
    let paid = 0;
    for (let i = 0; i < 500; i += 1) {
      if (isAllowed('paid')) paid += 1;
      if (i % 50 === 49) isAllowed('free');
    }
    expect(paid).toBeLessThanOrEqual(100);
  });

  it.each(kinds)('has at most what both allow together: %s', (_, policyOf) => {
    const step = fc.record({
      tier: fc.constantFrom('paid' as const, 'free' as const),
      calls: fc.integer({ min: 1, max: 150 }),
      advanceMs: fc.constantFrom(0, 1, 30_000, minuteMs, 10 * minuteMs, 59 * minuteMs),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, isAllowed } = twoTiers(policyOf);
        let allowed = 0;
        for (const { tier, calls, advanceMs } of steps) {
          clock.advance(advanceMs);
          for (let i = 0; i < calls; i += 1) if (isAllowed(tier)) allowed += 1;
        }
        const elapsedMs = clock.now() - tenOClockMs;
        const most = (limit: number, windowMs: number) => limit * (Math.ceil(elapsedMs / windowMs) + 1);
        expect(allowed).toBeLessThanOrEqual(most(100, 60 * minuteMs) + most(10, minuteMs));
      }),
      { numRuns: 60 },
    );
  });
});

describe('a strict policy after one that is not', () => {
  const hourMs = 3_600_000;
  const oClockMs = Math.ceil(1_700_000_000_000 / hourMs) * hourMs;
  const grants = (allow: () => boolean, calls: number) => Array.from({ length: calls }, allow).filter(Boolean).length;

  it('takes nothing for known that was carried over from what remembered less', () => {
    const clock = new TestClock(oClockMs + 60_000);
    const store = memoryStore({ clock });
    const under = (policy: Policy) => () => limiter(policy, { store, name: 'api' }).check('alice').allowed;
    const perMinute = under(gcra({ limit: 100, window: '1m' }));
    grants(perMinute, 100);
    clock.advance(60_000);
    grants(perMinute, 100);
    clock.advance(120_000);
    expect(grants(perMinute, 1)).toBe(1);
    expect(grants(under(slidingWindow({ limit: 100, window: '1h' })), 1)).toBe(1);
    clock.advance(oClockMs + hourMs - clock.now());
    expect(grants(under(slidingLog({ limit: 100, window: '1h' })), 300)).toBe(0);
  });

  it('takes nothing for known of a key that was forgotten in between', () => {
    const clock = new TestClock(oClockMs + 60_000);
    const store = memoryStore({ clock, maxKeys: 1 });
    const under = (policy: Policy, key = 'alice') => {
      const limit = limiter(policy, { store, name: 'api' });
      return () => limit.check(key).allowed;
    };
    const estimate = slidingWindow({ limit: 100, window: '1h' });
    expect(grants(under(estimate), 100)).toBe(100);
    clock.advance(60_000);
    grants(under(estimate, 'bob'), 1);
    clock.advance(60_000);
    expect(grants(under(estimate), 1)).toBe(1);
    clock.advance(oClockMs + hourMs - clock.now());
    expect(grants(under(slidingLog({ limit: 100, window: '1h' })), 300)).toBe(0);
  });
});

it('takes a receipt of another policy as void while the key is still under that one', () => {
  const clock = new TestClock(0);
  const store = memoryStore({ clock });
  const slow = gcra({ limit: 1, window: '1h', burst: 10 });
  const fast = gcra({ limit: 1, window: '1s', burst: 10 });
  const check = { name: 'test', key: 'key', policy: slow, cost: 5 };
  const [reserved] = store.apply([{ ...check, operation: 'reserve' }]);
  store.apply([check]);
  clock.advance(6000);
  const settle = { ...check, policy: fast, operation: 'settle', actual: 0, receipt: reserved?.receipt } as const;
  // 10 were taken, and 6 have drained at the new rate since: nothing comes on top of that.
  expect(store.apply([settle])[0]?.remaining).toBe(6);
});

it('makes no debt that is never paid of what was not known', () => {
  const clock = new TestClock(0);
  const store = memoryStore({ clock });
  const bucket = gcra({ limit: 10, window: '1s' });
  const check = { name: 'test', key: 'key', policy: bucket, cost: 1 };
  store.apply([check]);
  store.apply([{ ...check, policy: slidingSlots({ limit: 10, window: '1m' }) }]);
  const [back] = store.apply([check]);
  expect(back?.retryAfterMs).toBeLessThanOrEqual(61_000);
});
