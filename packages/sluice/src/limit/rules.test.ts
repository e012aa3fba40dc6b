import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { concurrency } from '../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Store } from '../stores/store.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Duration } from '../vocabulary/duration.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import { parseRules } from './parse-rules.ts';
import { type Rules, rules } from './rules.ts';

const perMinute = (limit: number) => slidingLog({ limit, window: '1m' });

describe('rules', () => {
  it('refuse a key that is an object: it would be one for everybody', () => {
    const limits = rules([
      { name: 'r', key: (({ user }: { user: string }) => ({ user })) as never, policy: perMinute(1) },
    ]);
    expect(() => limits.check({ user: 'ann' })).toThrow('key must be text or a number');
  });

  it('pass only together, and name the one that bit', () => {
    const limits = rules([
      { name: 'global', policy: perMinute(100) },
      { name: 'per-ip', key: 'ip', policy: perMinute(5) },
      { name: 'per-user', key: 'user', policy: perMinute(2) },
    ]);
    const subject = { ip: '203.0.113.9', user: '42' };
    expect(limits.check(subject)).toMatchObject({ allowed: true, tightest: { rule: 'per-user', remaining: 1 } });
    expect(limits.check(subject).allowed).toBe(true);
    const refused = limits.check(subject);
    expect(refused).toMatchObject({
      allowed: false,
      tightest: { rule: 'per-user', allowed: false, retryAfterMs: expect.any(Number) },
    });
    expect(refused.decisions.map(({ rule, allowed, remaining }) => [rule, allowed, remaining])).toEqual([
      ['global', true, 98],
      ['per-ip', true, 3],
      ['per-user', false, 0],
    ]);
  });

  it('tell a store of all their policies in one trip', () => {
    const memory = memoryStore();
    const trips: number[] = [];
    const apply: Store<'sync'>['apply'] = (checks, ...rest) => {
      trips.push(checks.length);
      return memory.apply(checks, ...rest);
    };
    const tiers = { free: gcra({ limit: 1, window: '1m' }), paid: perMinute(10) };
    const list = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, key: 'user', policy: perMinute(2), tiers }));
    rules(list, { store: { ...memory, apply } });
    expect(trips).toEqual([18]);
  });

  it('charge none when one refuses', () => {
    const limits = rules([
      { name: 'roomy', key: 'user', policy: perMinute(10) },
      { name: 'tight', key: 'user', policy: perMinute(1) },
    ]);
    limits.check({ user: 'a' });
    for (let call = 0; call < 20; call += 1) limits.check({ user: 'a' });
    expect(limits.peek({ user: 'a' }, { cost: 0 }).decisions[0]).toMatchObject({ rule: 'roomy', remaining: 9 });
  });

  it('give nothing out again when a window becomes shorter: by other rules, by an override, or at the end of one', () => {
    const day = 86_400_000;
    // Eighteen o'clock: of a day and of half a day the windows began at different times.
    const clock = new TestClock(20_000 * day + 0.75 * day);
    const store = memoryStore({ clock });
    const list = (window: '12h' | '1d') => [{ name: 'n', key: 'user', policy: fixedWindow({ limit: 3, window }) }];
    const allowed = (limits: Rules, user: string) => [1, 2, 3, 4].filter(() => limits.check({ user }).allowed).length;
    const daily = rules(list('1d'), { store });
    expect(allowed(daily, 'reloaded')).toBe(3);
    clock.advance(1000);
    expect(allowed(rules(list('12h'), { store }), 'reloaded')).toBe(0);
    expect(allowed(daily, 'overridden')).toBe(3);
    clock.advance(1000);
    daily.override('n', 'overridden', { window: '12h' });
    expect(allowed(daily, 'overridden')).toBe(0);

    const halves = rules(list('12h'), { store });
    for (const user of ['removed', 'expired']) {
      halves.override('n', user, { window: '1d', expiresIn: '1m' });
      expect(allowed(halves, user)).toBe(3);
    }
    clock.advance(1000);
    halves.removeOverride('n', 'removed');
    expect(allowed(halves, 'removed')).toBe(0);
    clock.advance(60_000);
    expect(allowed(halves, 'expired')).toBe(0);
  });

  it('have one key where everyone shares a budget', () => {
    const limits = rules([{ name: 'global', policy: perMinute(2) }]);
    limits.check({});
    expect(limits.checkKey('global', 'all')).toMatchObject({ allowed: true, remaining: 0 });
    for (const ask of [
      () => limits.checkKey('global', 'bob'),
      () => limits.override('global', 'bob', { limit: 5 }),
      () => limits.reset('global', 'bob'),
    ]) {
      expect(ask).toThrow('key must be "all": everyone shares the one budget of rule "global", got "bob"');
    }
  });

  it('can be asked one by one, with the key given', () => {
    const limits = rules([
      { name: 'per-ip', key: 'ip', policy: perMinute(2), match: { path: '/upload' } },
      { name: 'per-user', key: 'user', tiers: { free: perMinute(1), paid: perMinute(3) } },
      { name: 'watched', key: 'user', policy: perMinute(1), shadow: true },
    ]);
    expect(limits.checkKey('per-ip', '2001:db8::1')).toMatchObject({ allowed: true, remaining: 1, rule: 'per-ip' });
    // The same network, written otherwise; and what a subject used counts too.
    expect(limits.check({ ip: '2001:db8::2', path: '/upload' }).allowed).toBe(true);
    expect(limits.checkKey('per-ip', '2001:db8:0:0::3')).toMatchObject({ allowed: false });
    expect(limits.peekKey('per-user', 'ann', { cost: 0 })).toMatchObject({ limit: 1, remaining: 1 });
    expect(limits.checkKey('per-user', 'ann', { tier: 'paid', cost: 2 })).toMatchObject({ limit: 3, remaining: 1 });
    expect(limits.peekKey('per-user', 'ann', { tier: 'paid' })).toMatchObject({ allowed: true, remaining: 0 });
    limits.override('per-user', 'ann', { limit: 10 });
    expect(limits.checkKey('per-user', 'ann')).toMatchObject({ limit: 10, remaining: 7 });
    expect(limits.checkKey('watched', 'ann', { cost: 2 })).toMatchObject({ allowed: false, shadow: true });
    expect(limits.counts()).toMatchObject({ 'per-ip': { allowed: 2, refused: 1 }, watched: { refused: 1 } });
    expect(limits.keyOf('per-ip', { ip: '2001:db8::1', path: '/upload' })).toBe('2001:db8:0:0:0:0:0:0/56');
    expect(limits.keyOf('per-ip', { ip: '2001:db8::1', path: '/' })).toBeUndefined();
    expect(() => limits.checkKey('per-usr', 'ann')).toThrow('rule must be one of per-ip, per-user, watched');
  });

  it('of several that refuse, the tightest has the longest wait; of several that allow, the smallest share left', () => {
    const limits = rules(
      [
        { name: 'minute', policy: fixedWindow({ limit: 1, window: '1m', align: 'first' }) },
        { name: 'hour', policy: fixedWindow({ limit: 1, window: '1h', align: 'first' }) },
        { name: 'second', policy: fixedWindow({ limit: 1, window: '1s', align: 'first' }) },
      ],
      { clock: new TestClock() },
    );
    limits.check({});
    expect(limits.check({}).tightest).toMatchObject({ rule: 'hour', retryAfterMs: 3_600_000 });
    const shares = rules([
      { name: 'half', policy: perMinute(4) },
      { name: 'quarter', policy: perMinute(3) },
    ]);
    expect(shares.check({}, { cost: 2 }).tightest?.rule).toBe('quarter');
  });

  it('apply to what they match, and to who has their key', () => {
    const limits = rules([
      {
        name: 'uploads',
        key: ['user', 'path'],
        match: { path: '/upload*', method: ['POST', 'PUT'] },
        policy: perMinute(1),
      },
      { name: 'users', key: 'user', policy: perMinute(5), skip: { user: 'admin' } },
      { name: 'odd', key: ({ user }) => (user === 'odd' ? 'odd' : undefined), policy: perMinute(5) },
    ]);
    const names = (subject: object) => limits.peek(subject as never).decisions.map(({ rule }) => rule);
    expect(names({ user: 'a', path: '/upload/1', method: 'POST' })).toEqual(['uploads', 'users']);
    expect(names({ user: 'a', path: '/upload/1', method: 'GET' })).toEqual(['users']);
    expect(names({ path: '/upload/1', method: 'POST' })).toEqual([]);
    expect(names({ user: 'admin' })).toEqual([]);
    expect(names({ user: 'odd' })).toEqual(['users', 'odd']);
    expect(limits.check({})).toEqual({ allowed: true, tightest: undefined, decisions: [] });
  });

  it('have a budget for each combination of several fields', () => {
    const limits = rules([{ name: 'pair', key: ['user', 'path'], policy: perMinute(1) }]);
    expect(limits.check({ user: 'a', path: 'b|c' }).allowed).toBe(true);
    expect(limits.check({ user: 'a|b', path: 'c' }).allowed).toBe(true);
    expect(limits.check({ user: 'a', path: 'b|c' }).allowed).toBe(false);
  });

  it('group IPv6 addresses by subnet', () => {
    const limits = rules([{ name: 'per-ip', key: 'ip', policy: perMinute(1) }]);
    expect(limits.check({ ip: '2001:db8::1' }).allowed).toBe(true);
    expect(limits.check({ ip: '2001:db8:0:0:1::2' }).allowed).toBe(false);
    expect(limits.check({ ip: '2001:db8:0:100::1' }).allowed).toBe(true);
    expect(() => rules([], { ipv6Subnet: 31 })).toThrow('ipv6Subnet must be a whole number from 32 to 128, got 31.');
  });

  it('have tiers, on one state: who changes tier keeps what was used', () => {
    const limits = rules([
      { name: 'per-user', key: 'user', policy: perMinute(1), tiers: { free: perMinute(2), paid: perMinute(5) } },
    ]);
    expect(limits.check({ user: 'a', tier: 'free' }).tightest).toMatchObject({ limit: 2, remaining: 1 });
    expect(limits.check({ user: 'a', tier: 'paid' }).tightest).toMatchObject({ limit: 5, remaining: 3 });
    expect(limits.check({ user: 'a', tier: 'free' }).tightest).toMatchObject({ allowed: false, limit: 2 });
    expect(limits.check({ user: 'b' }).tightest?.limit).toBe(1);
    expect(limits.check({ user: 'c', tier: 'unknown' }).tightest?.limit).toBe(1);
    expect(limits.check({ user: 'd', tier: 'constructor' }).tightest?.limit).toBe(1);
  });

  it('without a policy of their own use the first tier for everyone else', () => {
    const limits = rules([{ name: 'per-user', key: 'user', tiers: { free: perMinute(2), paid: perMinute(5) } }]);
    expect(limits.check({ user: 'a' }).tightest?.limit).toBe(2);
  });

  it('survive small numbers: 10 per minute with burst 20 is 20 tokens at one per 6 seconds', () => {
    const clock = new TestClock();
    const limits = rules(
      [{ name: 'tier', key: 'user', tiers: { free: tokenBucket({ limit: 10, window: '1m', burst: 20 }) } }],
      { clock },
    );
    expect(limits.check({ user: 'a' }, { cost: 20 }).allowed).toBe(true);
    expect(limits.check({ user: 'a' }).tightest).toMatchObject({ allowed: false, retryAfterMs: 6000 });
    clock.advance(6000);
    expect(limits.check({ user: 'a' }).allowed).toBe(true);
  });

  it('take their limit from the request where it is a function', () => {
    const limits = rules([{ name: 'quota', key: 'user', policy: ({ quota }) => perMinute(Number(quota)) }]);
    expect(limits.check({ user: 'a', quota: 3 }).tightest).toMatchObject({ limit: 3, remaining: 2 });
    expect(limits.check({ user: 'a', quota: 2 }).tightest).toMatchObject({ limit: 2, remaining: 0 });
    expect(() => limits.check({ user: 'a', quota: 0 })).toThrow('limit must be a number above 0');
    expect(() => limits.reset('quota', 'a')).toThrow('Rule "quota" has no fixed policy');
  });

  it('in shadow are evaluated, counted and reported, and never refuse', () => {
    const limits = rules([
      { name: 'new', key: 'user', policy: perMinute(1), shadow: true },
      { name: 'old', key: 'user', policy: perMinute(3) },
    ]);
    const results = [1, 2, 3, 4].map(() => limits.check({ user: 'a' }));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(results[1]?.decisions[0]).toMatchObject({ rule: 'new', allowed: false, shadow: true });
    expect(results[1]?.tightest?.rule).toBe('old');
    expect(limits.counts()).toEqual({ new: { allowed: 1, refused: 3 }, old: { allowed: 3, refused: 1 } });
  });

  it('are not asked for who is on a list; the allow-list wins', () => {
    const limits = rules([{ name: 'all', policy: perMinute(1) }], {
      allow: [{ ip: '10.*' }, ({ user }) => user === 'health'],
      deny: { user: ['mallory', 'health'] },
    });
    for (let call = 0; call < 3; call += 1) {
      expect(limits.check({ ip: '10.0.0.1' })).toEqual({
        allowed: true,
        tightest: undefined,
        decisions: [],
        list: 'allow',
      });
      expect(limits.check({ user: 'health' }).list).toBe('allow');
      expect(limits.check({ user: 'mallory' })).toMatchObject({ allowed: false, list: 'deny' });
    }
    expect(limits.check({}).tightest?.remaining).toBe(0);
  });

  it.each(['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:0201', '2001:DB8::1', '2001:db8:0:0:0:0:0:1', '10.1.2.3'])(
    'know who is on a list however the address is written: %s',
    (ip) => {
      const list = [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }, { ip: '10.0.0.0/8' }];
      expect(rules([], { deny: list }).check({ ip })).toMatchObject({ allowed: false, list: 'deny' });
      expect(rules([], { allow: list, deny: { ip: '*' } }).check({ ip })).toMatchObject({ list: 'allow' });
      expect(rules([], { deny: list }).check({ ip: '192.0.2.2' })).toMatchObject({ allowed: true });
    },
  );

  it('refuse lists and matches of addresses that are none', () => {
    expect(() => rules([], { deny: [{ ip: '10.0.0.0/33' }] })).toThrow('match.ip must be an address');
    expect(() => rules([{ name: 'r', match: { ip: 'localhost' }, policy: perMinute(1) }])).toThrow(
      'Rule "r": match.ip must be an address',
    );
  });

  it.each([undefined, null, {}, 'all'])('refuse a list, or a skip, that says nobody in particular: %o', (nobody) => {
    const match = nobody as never;
    expect(() => rules([], { allow: [match] })).toThrow('allow must be an object of');
    expect(() => rules([], { deny: [{ user: 'mallory' }, match] })).toThrow('deny must be an object of');
    const policy = perMinute(1);
    if (nobody !== undefined)
      expect(() => rules([{ name: 'r', policy, skip: match }])).toThrow('Rule "r": skip must be');
    expect(rules([{ name: 'r', policy, match: {} }], { allow: [] }).check({}).tightest?.rule).toBe('r');
  });

  it('give back places taken under concurrency rules', () => {
    const limits = rules([
      { name: 'in-flight', key: 'user', policy: concurrency({ limit: 1 }) },
      { name: 'rate', key: 'user', policy: perMinute(10) },
    ]);
    const first = limits.check({ user: 'a' });
    expect(limits.check({ user: 'a' })).toMatchObject({ allowed: false, tightest: { rule: 'in-flight' } });
    limits.release(first);
    limits.release(first);
    const second = limits.check({ user: 'a' });
    expect(second.allowed).toBe(true);
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
    limits.release({ ...second });
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
    expect(limits.peek({ user: 'a' }, { cost: 0 }).decisions[1]?.remaining).toBe(8);
  });

  it('give places back on the time they were taken on', () => {
    const limits = rules([{ name: 'in-flight', policy: concurrency({ limit: 2, lease: '1s' }) }]);
    const first = limits.check({}, { atMs: 0 });
    limits.check({}, { atMs: 0 });
    limits.release(first);
    expect(limits.check({}, { atMs: 10 }).allowed).toBe(true);
    expect(limits.check({}, { atMs: 10 }).allowed).toBe(false);
  });

  describe('reserve', () => {
    const clock = new TestClock(0);
    const reserving = (store?: Store) =>
      rules<'sync' | 'async'>(
        [
          { name: 'tokens', key: 'user', policy: fixedWindow({ limit: 100, window: '1m' }) },
          { name: 'in-flight', policy: concurrency({ limit: 200 }) },
          { name: 'watched', policy: fixedWindow({ limit: 10, window: '1m' }), shadow: true },
        ],
        store ? { store } : { clock },
      );
    const left = async (limits: ReturnType<typeof reserving>) =>
      (await limits.peek({ user: 'a' }, { cost: 0 })).decisions.map(({ remaining }) => remaining);

    it.each([
      // reserved, commit, what is left of tokens and of the watched rule
      [50, 30, 70, 10], // the watched rule refused, and took nothing
      [50, 70, 30, 10],
      [50, 130, 0, 10], // more than there was is debt
      [5, 0, 100, 10],
      [5, 5, 95, 5],
    ])('of %i that really took %i leaves %i', async (cost, actual, tokens, watched) => {
      const limits = reserving();
      const { result, commit } = await limits.reserve({ user: 'a' }, { cost });
      expect(result.allowed).toBe(true);
      expect(await left(limits)).toEqual([100 - cost, 200 - cost, cost > 10 ? 10 : 10 - cost]);
      expect(await commit(actual)).toBe(true);
      expect(await left(limits)).toEqual([tokens, 200, watched]);
      expect(await commit(0)).toBe(false);
      expect(await left(limits)).toEqual([tokens, 200, watched]);
    });

    it('gives all back when it is cancelled, and nothing when it was refused', async () => {
      const limits = reserving();
      const first = await limits.reserve({ user: 'a' }, { cost: 80 });
      const refused = await limits.reserve({ user: 'a' }, { cost: 21 });
      expect([refused.result.allowed, refused.result.tightest?.rule]).toEqual([false, 'tokens']);
      expect(await refused.cancel()).toBe(false);
      expect((await left(limits)).slice(0, 2)).toEqual([20, 120]);
      expect(await first.cancel()).toBe(true);
      expect(await left(limits)).toEqual([100, 200, 10]);
    });

    it('is spent after its time, but still owes what it took more; the place is given back', async () => {
      const own = new TestClock(0);
      const limits = rules(
        [
          { name: 'tokens', policy: fixedWindow({ limit: 100, window: '1h' }) },
          { name: 'in-flight', policy: concurrency({ limit: 100, lease: '1h' }) },
        ],
        { clock: own },
      );
      const remaining = () => limits.peek({}, { cost: 0 }).decisions.map((decision) => decision.remaining);
      const late = limits.reserve({}, { cost: 50, expiresIn: '10s' });
      own.advance(10_000);
      expect(late.commit(20)).toBe(false);
      expect(remaining()).toEqual([50, 100]);
      const longer = limits.reserve({}, { cost: 10, expiresIn: '10s' });
      own.advance(10_000);
      expect(longer.commit(15)).toBe(false);
      expect(remaining()).toEqual([35, 100]);
    });

    describe('twice with one request id', () => {
      const policy = slidingLog({ limit: 10, window: '1h' });
      const again = (expiresIn: Duration) => {
        const own = new TestClock(0);
        const limits = rules([{ name: 'tokens', policy }], { clock: own });
        const [first, second] = [1, 2].map(() => limits.reserve({}, { cost: 10, requestId: 'q', expiresIn }));
        const remaining = () => limits.peek({}, { cost: 0 }).tightest!.remaining;
        return { own, first: first!, second: second!, remaining };
      };

      it.each([
        [9, 0, 1],
        [9, 61_000, 1],
        [9, 599_000, 1],
        [10, 61_000, 0],
      ])('is settled with the %i of whoever comes first, %i ms before the other', (actual, apartMs, left) => {
        const { own, first, second, remaining } = again('10m');
        first.commit(actual);
        own.advance(apartMs);
        second.cancel();
        expect(remaining()).toBe(left);
      });

      it('is settled by a first that comes too late for anything to go back', () => {
        const own = new TestClock(0);
        const limits = rules([{ name: 'tokens', policy }], { clock: own });
        const reserve = () => limits.reserve({}, { cost: 10, requestId: 'q', expiresIn: '1m' });
        const first = reserve();
        own.advance(30_000);
        const second = reserve();
        own.advance(30_000);
        expect(first.commit(10)).toBe(false);
        expect(second.cancel()).toBe(true);
        expect(limits.peek({}, { cost: 0 }).tightest!.remaining).toBe(0);
      });
    });

    it('that could not be settled can be settled again', () => {
      const own = memoryStore({ clock });
      const world = { isDown: false };
      const store: Store<'sync'> = {
        mode: 'sync',
        clock,
        apply(checks, atMs, requestId) {
          if (world.isDown) throw new Error('down');
          return own.apply(checks, atMs, requestId);
        },
      };
      const limits = rules([{ name: 'tokens', policy: perMinute(10) }], { store });
      const { commit } = limits.reserve({}, { cost: 1 });
      world.isDown = true;
      expect(() => commit(9)).toThrow('down');
      world.isDown = false;
      expect(commit(9)).toBe(true);
      expect(limits.peek({}, { cost: 0 }).tightest!.remaining).toBe(1);
    });

    it('works over a store that answers later', async () => {
      const store = memoryStore({ clock });
      const limits = reserving({ mode: 'async', clock, apply: async (checks, atMs) => store.apply(checks, atMs) });
      const { commit, result } = await limits.reserve({ user: 'a' }, { cost: 50 });
      expect([result.allowed, await commit(30)]).toEqual([true, true]);
      expect(await left(limits)).toEqual([70, 200, 10]);
    });

    it('refuses what cannot be', () => {
      const limits = rules([{ name: 'tokens', policy: fixedWindow({ limit: 1, window: '1m' }) }]);
      expect(() => limits.reserve({}, { cost: -1 })).toThrow('cost must be');
      expect(() => limits.reserve({}, { expiresIn: 'soon' as never })).toThrow('expiresIn must be');
      expect(() => limits.reserve({}).commit(Number.NaN)).toThrow('cost must be');
    });
  });

  it("take costs and the caller's own time", () => {
    const limits = rules([{ name: 'all', policy: perMinute(10) }]);
    expect(limits.check({}, { cost: 10, atMs: 0 }).allowed).toBe(true);
    expect(limits.check({}, { atMs: 59_999 }).tightest?.retryAfterMs).toBe(1);
    expect(limits.check({}, { atMs: 60_000 }).allowed).toBe(true);
    expect(() => limits.check({}, { cost: -1 })).toThrow('cost must be');
    expect(() => limits.check({}, { atMs: Number.NaN })).toThrow('atMs must be');
    expect(() => limits.check('subject' as never)).toThrow('subject must be an object of fields');
  });

  it('forget one key', () => {
    const limits = rules([{ name: 'per-user', key: 'user', policy: perMinute(1) }]);
    limits.check({ user: 'a' });
    limits.check({ user: 'b' });
    limits.reset('per-user', 'a');
    expect(limits.check({ user: 'a' }).allowed).toBe(true);
    expect(limits.check({ user: 'b' }).allowed).toBe(false);
    expect(() => limits.reset('no-such', 'a')).toThrow('rule must be one of per-user, got "no-such".');
  });

  it('forget one key that has a limit of its own, and tell of that limit', () => {
    const limits = rules([{ name: 'per-user', key: 'user', policy: perMinute(1) }]);
    limits.override('per-user', 'a', { limit: 3 });
    limits.check({ user: 'a' });
    expect(limits.reset('per-user', 'a')).toMatchObject({ limit: 3, remaining: 3 });
  });

  it('work over a store that answers later', async () => {
    const store = memoryStore();
    const remote: Store<'async'> = {
      mode: 'async',
      clock: store.clock,
      apply: async (checks, atMs) => store.apply(checks, atMs),
    };
    const limits = rules([{ name: 'all', policy: perMinute(1), onStoreFailure: 'open' }], { store: remote });
    expect((await limits.check({})).allowed).toBe(true);
    expect((await limits.check({})).allowed).toBe(false);
  });

  it.each([
    [[{ name: '', policy: perMinute(1) }], 'name must be a text that names the rule, got "".'],
    [[{ name: 'a' }], 'Rule "a": policy must be given, unless there are tiers, got undefined.'],
    [[{ name: 'a', policy: { algorithm: 'gcra' } }], 'Rule "a": policy must be built by a factory'],
    [[{ name: 'a', policy: perMinute(1), tiers: { x: {} } }], 'Rule "a": policy must be built by a factory'],
    [
      [{ name: 'a', policy: perMinute(1), polcy: 1 }],
      'Rule "a": a rule has no field "polcy". It takes name, policy, key,',
    ],
    [[{ name: 'a', algorithm: 'gcra', limit: 1, window: '1m' }], 'For plain data use rules(parseRules(data)).'],
    [
      [{ name: 'a', policy: perMinute(1), tiers: [perMinute(1)] }],
      'Rule "a": tiers must be an object of policies by tier',
    ],
    [
      [{ name: 'a', policy: perMinute(1), tiers: null }],
      'Rule "a": tiers must be an object of policies by tier, got null.',
    ],
    [
      [{ name: 'a', policy: perMinute(1), match: ['/upload'] }],
      'Rule "a": match must be an object of fields, or a function',
    ],
    [[null], 'a rule must be an object, got null.'],
    [[{ name: 'a', policy: perMinute(1), shadow: 'yes' }], 'Rule "a": shadow must be one of true, false, got "yes".'],
    [
      [{ name: 'a', policy: perMinute(1), onStoreFailure: 'panic' }],
      'Rule "a": onStoreFailure must be one of "closed", "open", "local", got "panic".',
    ],
    [[{ name: 'a', policy: perMinute(1), key: [] }], 'Rule "a": key must be a field'],
    [
      [
        { name: 'a', policy: perMinute(1) },
        { name: 'a', policy: perMinute(2) },
      ],
      'Two rules are named "a".',
    ],
    [{}, 'rules must be a list of rules'],
  ])('refuse %j', (list, message) => {
    expect(() => rules(list as never)).toThrow(message);
    expect(() => rules(list as never)).toThrow(SluiceError);
  });
});

describe('overrides', () => {
  const begin = () => {
    const clock = new TestClock();
    const policy = gcra({ limit: 10, window: '10s' });
    return {
      clock,
      limits: rules(
        [{ name: 'per-user', key: 'user', policy, tiers: { paid: gcra({ limit: 20, window: '10s', burst: 5 }) } }],
        { clock },
      ),
    };
  };

  it('change the limit of one key at once, and what was used stays used', () => {
    const { limits } = begin();
    limits.check({ user: 'a' }, { cost: 10 });
    limits.override('per-user', 'a', { limit: 15 });
    expect(limits.check({ user: 'a' }).tightest).toMatchObject({ limit: 15, remaining: 4 });
    expect(limits.check({ user: 'b' }).tightest).toMatchObject({ limit: 10 });
    limits.override('per-user', 'a', { limit: 5 });
    expect(limits.check({ user: 'a' }).allowed).toBe(false);
  });

  it('end when they say, or when told', () => {
    const { clock, limits } = begin();
    limits.override('per-user', 'a', { limit: 100, expiresIn: '1m' });
    limits.override('per-user', 'b', { limit: 100 });
    expect(limits.overrides()).toEqual([
      { rule: 'per-user', key: 'a', override: { limit: 100, expiresIn: '1m' }, expiresAtMs: 60_000 },
      { rule: 'per-user', key: 'b', override: { limit: 100 }, expiresAtMs: Number.POSITIVE_INFINITY },
    ]);
    clock.advance(60_000);
    expect(limits.overrides()).toHaveLength(1);
    expect(limits.check({ user: 'a' }).tightest?.limit).toBe(10);
    expect(limits.removeOverride('per-user', 'b')).toBe(true);
    expect(limits.removeOverride('per-user', 'b')).toBe(false);
    expect(limits.check({ user: 'b' }).tightest?.limit).toBe(10);
  });

  it('apply on top of the tier, whose own burst stays its own', () => {
    const { limits } = begin();
    limits.override('per-user', 'a', { window: '1s' });
    expect(limits.check({ user: 'a', tier: 'paid' }).tightest?.policy).toEqual({
      algorithm: 'gcra',
      limit: 20,
      window: 1000,
      burst: 5,
    });
    expect(limits.check({ user: 'a' }).tightest?.policy).toEqual({
      algorithm: 'gcra',
      limit: 10,
      window: 1000,
      burst: 10,
    });
  });

  it('know an address however it is written, and any key as text', () => {
    const limits = rules([
      { name: 'per-ip', key: 'ip', policy: perMinute(1) },
      { name: 'per-id', key: 'id', policy: perMinute(1) },
    ]);
    limits.override('per-ip', '2001:db8::1', { limit: 3 });
    limits.override('per-id', 42 as never, { limit: 3 });
    const { decisions } = limits.check({ ip: '2001:db8::2', id: 42 });
    expect(decisions.map(({ limit }) => limit)).toEqual([3, 3]);
    limits.reset('per-ip', '2001:DB8:0::1');
    expect(limits.peek({ ip: '2001:db8::2' }, { cost: 0 }).tightest?.remaining).toBe(3);
    expect(limits.removeOverride('per-ip', '2001:db8::3')).toBe(true);
  });

  it('know an address among several fields, and keep the key as it was given beside', () => {
    const limits = rules(
      [
        { name: 'listed', key: ['ip'], policy: perMinute(1) },
        { name: 'per-path', key: ['ip', 'path'], policy: perMinute(1) },
        { name: 'per-user', key: ['user', 'path'], policy: perMinute(1) },
      ],
      { clock: new TestClock(0) },
    );
    limits.override('listed', '2001:db8::1', { limit: 3 });
    limits.override('per-path', '2001:DB8::1|/a%7Cb', { limit: 4 });
    limits.override('per-user', '2001:DB8::1|/', { limit: 5 });
    const { decisions } = limits.check({ ip: '2001:db8::9', path: '/a|b' });
    expect(decisions.map(({ rule, limit }) => [rule, limit])).toEqual([
      ['listed', 3],
      ['per-path', 4],
    ]);
    expect(limits.checkKey('per-path', '2001:db8:0:0:0:0:0:1|/a%7Cb')).toMatchObject({ limit: 4, remaining: 2 });
    expect(limits.check({ user: '2001:DB8::1', path: '/' }).tightest).toMatchObject({ limit: 5 });
    expect(limits.overrides().map(({ key, givenKey }) => [key, givenKey])).toEqual([
      ['2001:db8:0:0:0:0:0:0/56', '2001:db8::1'],
      ['2001:db8:0:0:0:0:0:0/56|/a%7Cb', '2001:DB8::1|/a%7Cb'],
      ['2001:DB8::1|/', undefined],
    ]);
    expect(limits.overrides('listed', '2001:db8::77')).toMatchObject([{ override: { limit: 3 } }]);
    expect(limits.overrides('listed', '2001:db9::1')).toEqual([]);
    expect(limits.overrides('listed')).toHaveLength(1);
    expect(limits.removeOverride('per-path', '2001:db8::5|/a%7Cb')).toBe(true);
  });

  it.each(['2001:db8::/48', '192.0.2.0/24', '192.0.2.1/32'])('refuse the network %s, that is no key', (network) => {
    const limits = rules([{ name: 'per-ip', key: 'ip', policy: perMinute(1) }]);
    expect(() => limits.override('per-ip', network, { limit: 3 })).toThrow(
      `key must be an address, or an IPv6 network of 56 bits, got "${network}".`,
    );
    limits.override('per-ip', '2001:db8::/56', { limit: 3 });
    expect(limits.check({ ip: '2001:db8::1' }).tightest).toMatchObject({ limit: 3 });
  });

  it('have an end that is a time', () => {
    const limits = rules([{ name: 'r', key: 'user', policy: perMinute(1) }]);
    expect(() => limits.override('r', 'ann', { limit: 3 }, Number.NaN)).toThrow('expiresAtMs must be a time, got NaN.');
    expect(() => limits.override('r', 'ann', { limit: 3 }, 'soon' as never)).toThrow('expiresAtMs must be a time');
    expect(limits.overrides()).toEqual([]);
  });

  it('can be brought back with their end', () => {
    const clock = new TestClock(0);
    const limits = rules([{ name: 'r', key: 'user', policy: perMinute(1) }], { clock });
    limits.override('r', 'ann', { limit: 3, expiresIn: '1h' }, 5000);
    expect(limits.overrides()).toEqual([
      { rule: 'r', key: 'ann', override: { limit: 3, expiresIn: '1h' }, expiresAtMs: 5000 },
    ]);
    clock.set(5000);
    expect(limits.overrides()).toEqual([]);
  });

  it('are copies, and cut what a bucket starts with to what fits', () => {
    const limits = rules([{ name: 'r', key: 'user', policy: tokenBucket({ limit: 5, window: '1m', initial: 5 }) }]);
    const override = { limit: 2 };
    limits.override('r', 'a', override);
    override.limit = Number.NaN;
    expect(limits.check({ user: 'a' }).tightest).toMatchObject({ limit: 2, remaining: 1 });
  });

  it('change policies that have no burst', () => {
    const limits = rules([{ name: 'per-user', key: 'user', policy: perMinute(1) }]);
    limits.override('per-user', 'a', { limit: 3 });
    expect(limits.check({ user: 'a' }).tightest).toMatchObject({ limit: 3, remaining: 2 });
  });

  it.each([
    [{ limit: 0 }, 'limit must be a number above 0'],
    [{ window: '1 day' }, 'window must be a time above 0'],
    [{}, 'override must be a change of limit, window or burst, got {}.'],
    [{ expiresIn: '1m' }, 'override must be a change of limit, window or burst'],
    [{ limit: 1, until: 5 }, 'override has no field "until"'],
    [{ limit: 1, expiresIn: -1 }, 'expiresIn must be a time above 0'],
  ])('refuse %j and change nothing', (override, message) => {
    const { limits } = begin();
    expect(() => limits.override('per-user', 'a', override as never)).toThrow(message);
    expect(limits.overrides()).toEqual([]);
    expect(() => limits.override('no-such', 'a', { limit: 1 })).toThrow('rule must be one of per-user');
  });

  it.each([
    [{ limit: 0 }, 'limit must be a number above 0, got 0.'],
    [{ limit: '5' }, 'limit must be a number above 0, got "5".'],
    [{ limit: undefined }, 'limit must be a number above 0, got undefined.'],
    [{ window: 'soon' }, 'window must be a time above 0, got "soon".'],
    [{ burst: -1 }, 'burst must be a number from 0, got -1.'],
    [{ limit: 3, burst: undefined }, 'burst must be'],
  ])('refuse %j also where the policy is a function, and is not there yet', (override, message) => {
    const limits = rules([{ name: 'r', key: 'user', policy: () => perMinute(1) }]);
    expect(() => limits.override('r', 'a', override as never)).toThrow(message);
    expect(limits.overrides()).toEqual([]);
    expect(limits.check({ user: 'a' }).allowed).toBe(true);
  });
});

describe('a call', () => {
  it('is refused with a number instead of options, which would be taken for none', () => {
    const limits = rules([{ name: 'r', policy: perMinute(9) }]);
    const message = 'options must be an object such as { cost: 2 }, got 5.';
    for (const wrong of [
      () => limits.check({}, 5 as never),
      () => limits.peek({}, 5 as never),
      () => limits.checkKey('r', 'all', 5 as never),
      () => limits.peekKey('r', 'all', 5 as never),
    ])
      expect(wrong).toThrow(message);
    expect(() => limits.reserve({}, 5 as never)).toThrow('what reserve options is given must be an object of cost,');
    expect(() => limits.reserve({}, { expires: '1m' } as never)).toThrow(
      'reserve options has no field "expires". It takes cost, maxDelayMs, atMs, requestId, expiresIn.',
    );
    expect(limits.peek({}).tightest?.remaining).toBe(8);
  });

  it('goes by whatever a subject has in its fields', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const limits = rules([{ name: 'r', key: 'user', match: { user: '*' }, policy: perMinute(1) }]);
    const allowed = (user: unknown) => limits.check({ user }).allowed;
    expect([allowed(circular), allowed({ ...circular })]).toEqual([true, false]);
    expect([allowed({ id: 1n }), allowed({ id: 2n }), allowed({ id: 1n })]).toEqual([true, true, false]);
  });
});

describe('peeking', () => {
  it('under another tier changes nothing', () => {
    const clock = new TestClock(1_700_000_000_000);
    const limits = rules(
      [
        {
          name: 'r',
          key: 'user',
          tiers: { free: slidingLog({ limit: 2, window: '1s' }), paid: slidingLog({ limit: 100, window: '1m' }) },
        },
      ],
      { clock },
    );
    limits.check({ user: 'a', tier: 'paid' }, { cost: 2 });
    clock.advance(5000);
    limits.peek({ user: 'a', tier: 'free' });
    expect(limits.check({ user: 'a', tier: 'paid' }).tightest).toMatchObject({ allowed: true, remaining: 97 });
  });
});

describe('rules from data', () => {
  const document = parse(`
    rules:
      - name: per-ip
        key: ip
        algorithm: gcra
        limit: 100
        window: 1m
        burst: 20
      - name: per-user
        key: user
        algorithm: sliding-log
        tiers: { free: { limit: 10, window: 1m }, paid: { limit: 1000, window: 1m } }
        onStoreFailure: closed
      - name: uploads
        key: [user, path]
        match: { path: /upload, method: POST }
        algorithm: token-bucket
        limit: 5
        window: 1h
        shadow: true
        tiers: { paid: { limit: 50 } }
  `);

  it('read as in code', () => {
    expect(parseRules(document)).toEqual([
      { name: 'per-ip', key: 'ip', policy: gcra({ limit: 100, window: '1m', burst: 20 }) },
      {
        name: 'per-user',
        key: 'user',
        tiers: { free: perMinute(10), paid: perMinute(1000) },
        onStoreFailure: 'closed',
      },
      {
        name: 'uploads',
        key: ['user', 'path'],
        match: { path: '/upload', method: 'POST' },
        policy: tokenBucket({ limit: 5, window: '1h' }),
        tiers: { paid: tokenBucket({ limit: 50, window: '1h' }) },
        shadow: true,
      },
    ]);
    const limits = rules(parseRules(document.rules));
    const { decisions } = limits.check({
      ip: '203.0.113.9',
      user: '42',
      tier: 'paid',
      path: '/upload',
      method: 'POST',
    });
    expect(decisions.map(({ rule, limit }) => [rule, limit])).toEqual([
      ['per-ip', 20],
      ['per-user', 1000],
      ['uploads', 50],
    ]);
  });

  it.each([
    [null, 'rules must be a list, or an object with a list under "rules", got null.'],
    [{ rules: {} }, 'rules must be a list'],
    [[null], 'Rule 1: a rule must be an object, got null.'],
    [[{ name: 'a', algorithm: 'gcra', limit: 5 }], 'Rule "a": window must be a time above 0, got undefined.'],
    [
      [{ name: 'a', algorithm: 'gcra', limit: 5, window: '1m', bursts: 1 }],
      'Rule "a": gcra has no field "bursts". It takes limit, window, burst.',
    ],
    [
      [{ name: 'a', algorithm: 'gcra', limit: 5, window: '1m', tiers: 5 }],
      'Rule "a": tiers must be an object of policies by tier, got 5.',
    ],
    [
      [{ name: 'a', algorithm: 'gcra', window: '1m', tiers: [{ limit: 5 }, { limit: 50 }] }],
      'Rule "a": tiers must be an object of policies by tier, got [{"limit":5},{"limit":50}].',
    ],
    [
      [{ name: 'a', algorithm: 'gcra', window: '1m', tiers: {} }],
      'Rule "a": tiers must be an object with at least one tier',
    ],
    [
      [{ name: 'a', algorithm: 'gcra', window: '1m', tiers: { free: 3 } }],
      'Rule "a": tiers.free must be an object, got 3.',
    ],
    [
      [{ name: 'a', algorithm: 'fastest', limit: 1, window: 1 }],
      'Rule "a": algorithm must be one of token-bucket, gcra,',
    ],
    [[{ name: 'a', limit: 1, window: 1 }], 'Rule "a": algorithm must be one of token-bucket'],
  ])('refuse %j', (data, message) => {
    expect(() => parseRules(data)).toThrow(message);
  });
});
