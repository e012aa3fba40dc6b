import { gcra, memoryStore, slidingLog } from 'sluice';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeClock } from './environment.ts';
import { allFences } from './fences.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { Shard } from './shard.ts';

const policies = new OwnedPolicies({ graceMs: 10, unreplicated: 3, durableFromMs: 3_600_000 }, allFences);
const policy = slidingLog({ limit: 100, window: 1000 });
const spanMs = policies.of(policy).spanMs;

let nowMs: number;
const clock: NodeClock = { nowMs: () => nowMs, uptimeMs: () => nowMs, after: () => () => {} };

beforeEach(() => {
  nowMs = 1_700_000_000_000;
});

function ask(shard: Shard, cost = 1, key = 'k') {
  return shard.apply([policies.ownedCheck({ name: 'rule', key, policy, cost })])[0]!;
}

function certain(): Shard {
  return Shard.of(Shard.unknown(7, clock, 100, { ...allFences, quarantine: false }).state(), clock, 100, 0);
}

describe('a shard of which nothing is known', () => {
  it('refuses until whatever was granted before is out of the window, and says when', () => {
    const shard = Shard.unknown(7, clock, 100, allFences);
    expect(ask(shard)).toMatchObject({
      allowed: false,
      reason: 'quarantine',
      remaining: 0,
      retryAfterMs: Math.ceil(spanMs),
    });
    nowMs += spanMs - 1;
    expect(ask(shard)).toMatchObject({ allowed: false, reason: 'quarantine', retryAfterMs: 1 });
    nowMs += 1;
    expect(ask(shard).allowed).toBe(true);
  });

  it('lets calls through that take nothing, and shadow rules refuse nobody', () => {
    const shard = Shard.unknown(7, clock, 100, allFences);
    expect(ask(shard, 0).allowed).toBe(true);
    const shadow = policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 1, shadow: true });
    expect(shard.apply([shadow])[0]!.shadow).toBe(true);
  });

  it('takes its doubts along when it is handed over', () => {
    const state = Shard.unknown(7, clock, 100, allFences).state();
    nowMs += 5000;
    const taken = Shard.of(state, clock, 100, -5000);
    expect(ask(taken).reason).toBe('quarantine');
  });
});

describe('a shard that came from another node', () => {
  it('keeps what was counted by the texts of keys, as nodes of earlier versions do', () => {
    const store = memoryStore({ clock: { now: () => nowMs, sleep: async () => {} } });
    const { applied } = policies.of(policy);
    store.apply([{ name: 'rule', key: 'k', policy: applied, cost: 60 }]);
    const taken = Shard.of({ ...certain().state(), snapshot: store.snapshot() }, clock, 100, 0);
    expect(ask(taken, 30)).toMatchObject({ allowed: true, remaining: 10 });
    expect(ask(taken, 30, 'other')).toMatchObject({ allowed: true, remaining: 70 });
    expect(ask(Shard.of(taken.state(), clock, 100, 0), 11).allowed).toBe(false);
  });

  it('is as old here as it was there, whatever the clocks show', () => {
    const giver = certain();
    ask(giver, 100);
    nowMs += 600;
    const state = giver.state();
    const days = 86_400_000;
    nowMs += 3 * days;
    const asideMs = state.nowMs - nowMs;
    const taker = Shard.of(state, clock, 100, asideMs);
    expect(ask(taker).allowed).toBe(false);
    nowMs += 300;
    expect(ask(taker).allowed).toBe(false);
    nowMs += 200;
    expect(ask(taker).allowed).toBe(true);
  });
});

describe('a standby that becomes the owner', () => {
  it('leaves room for what the old owner may have granted last, for a window', () => {
    const shard = certain();
    ask(shard, 90);
    shard.promote(allFences);
    expect(ask(shard, 8)).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(ask(shard, 7).allowed).toBe(true);
    expect(ask(shard).allowed).toBe(false);
    expect(ask(shard, 98, 'another')).toMatchObject({ allowed: false });
    expect(ask(shard, 97, 'another').allowed).toBe(true);
    nowMs += spanMs;
    expect(ask(shard, 100, 'another').allowed).toBe(true);
  });

  it('leaves room for each of several that failed, and after many knows nothing any more', () => {
    const shard = certain();
    ask(shard, 0);
    shard.promote(allFences);
    shard.promote(allFences);
    expect(ask(shard, 95).allowed).toBe(false);
    expect(ask(shard, 94).allowed).toBe(true);
    for (let failures = 0; failures < 3; failures += 1) shard.promote(allFences);
    expect(ask(shard, 1, 'never asked')).toMatchObject({ allowed: false, reason: 'quarantine' });
  });

  it('does not count failures that are out of every window', () => {
    let shard = certain();
    for (let failures = 0; failures < 20; failures += 1) {
      shard.promote(allFences);
      expect(ask(shard, 97)).toMatchObject({ allowed: true, remaining: 0 });
      nowMs += spanMs;
      // From one to the next.
      shard = Shard.of(shard.state(), clock, 100, 0);
    }
    expect(shard.state().doubts).toHaveLength(1);
  });

  it('counts those of the longest window that was ever asked for', () => {
    const shard = certain();
    const long = policies.ownedCheck({
      name: 'rule',
      key: 'k',
      policy: slidingLog({ limit: 100, window: 60_000 }),
      cost: 1,
    });
    shard.repeat([long], nowMs);
    for (let failures = 0; failures < 4; failures += 1) {
      shard.promote(allFences);
      nowMs += spanMs;
    }
    expect(shard.apply([{ ...long, cost: 88 }])[0]).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(shard.apply([{ ...long, cost: 87 }])[0]).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe('a refusal of a standby that has become the owner', () => {
  const blocked = (ms: number) =>
    policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 0, operation: 'block', durationMs: ms });

  it('says that the key is blocked, and for how long, where that is longer than its doubt', () => {
    const shard = certain();
    shard.apply([blocked(60_000)]);
    nowMs += 7000;
    shard.promote(allFences);
    expect(ask(shard)).toMatchObject({ allowed: false, reason: 'blocked', retryAfterMs: 53_000, resetAfterMs: 53_000 });
  });

  it('names its doubt where that is longer than the block', () => {
    const shard = certain();
    ask(shard, 98);
    shard.apply([blocked(100)]);
    shard.promote(allFences);
    expect(ask(shard)).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(ask(shard).retryAfterMs).toBeGreaterThan(1000);
  });

  it('names the limit where what was used since forbids the call for longer', () => {
    const shard = certain();
    shard.promote(allFences);
    nowMs += 500;
    ask(shard, 97);
    nowMs += 100;
    const { reason, retryAfterMs } = ask(shard, 10);
    expect(reason).toBe('limit');
    nowMs += retryAfterMs - 1;
    expect(ask(shard, 10).allowed).toBe(false);
    nowMs += 1;
    expect(ask(shard, 10).allowed).toBe(true);
  });

  it('says never where the call is larger than the limit', () => {
    const shard = Shard.unknown(7, clock, 100, allFences);
    expect(ask(shard, 101)).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: Number.POSITIVE_INFINITY });
  });
});

describe('a standby that becomes the owner of a bucket', () => {
  const bucket = gcra({ limit: 100, window: 1000, burst: 100 });
  const { applied, spanMs: bucketSpanMs } = policies.of(bucket);
  const taken = (cost: number) => policies.ownedCheck({ name: 'bucket', key: 'k', policy: bucket, cost });
  const intervalMs = applied.window! / applied.limit;

  it('takes what may be missing along with the first that is taken, and its own copy does the same', () => {
    const owner = certain();
    owner.promote(allFences);
    const copy = Shard.of(owner.state(), clock, 100, 0);
    const burst = applied.burst!;
    expect(owner.apply([taken(burst - 2)])[0]).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(owner.apply([taken(burst - 3)])[0]).toMatchObject({ allowed: true, remaining: 0 });
    expect(copy.repeat([taken(burst - 3)], owner.decidedMs)).toBe(true);
    expect(copy.state().snapshot).toEqual({ ...owner.state().snapshot, receiptsFrom: expect.any(Number) });
    expect(copy.state().charged).toEqual(owner.state().charged);
    // What comes in is used as soon as it does, until nothing is in doubt any more.
    for (let ms = 0; ms < 2 * bucketSpanMs; ms += intervalMs) {
      nowMs += intervalMs;
      for (const shard of [owner, Shard.of(owner.state(), clock, 100, 0)])
        expect(shard.peek([taken(2)])[0]!.allowed).toBe(false);
      expect(owner.apply([taken(1)])[0]!.allowed).toBe(true);
    }
    expect(owner.state().charged).toEqual([]);
  });

  it('takes nothing along for who only looks, or is refused', () => {
    const shard = certain();
    shard.promote(allFences);
    shard.peek([taken(1)]);
    shard.apply([taken(1000)]);
    expect(shard.state()).toMatchObject({ charged: [], snapshot: { names: [{ tables: [{ entries: [] }] }] } });
  });
});

describe('a standby that becomes the owner after the policy has changed', () => {
  const check = (limit: number, cost: number) =>
    policies.ownedCheck({ name: 'rule', key: 'k', policy: slidingLog({ limit, window: 1000 }), cost });

  it('leaves room for as much as may be missing by any policy that it has heard of', () => {
    const copy = certain();
    copy.repeat([check(100, 1)], nowMs);
    const taken = Shard.of(copy.state(), clock, 100, 0);
    taken.promote(allFences);
    // 3 of a limit of 100, though it is 1 of a limit of 10.
    expect(taken.apply([check(10, 7)])[0]).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(taken.apply([check(10, 6)])[0]).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('has heard of it before a key of its owner is ahead by as much', () => {
    const owner = certain();
    const { owned } = check(100, 1);
    owner.apply([check(100, 1)]);
    expect(owner.asTold('rule', owned).lag).toBe(0);
    owner.toldLag('rule', owned);
    expect(owner.asTold('rule', owned)).toBe(owned);
    expect(owner.asTold('another', owned).lag).toBe(0);
    // Whoever has the state has all of it.
    expect(Shard.of(owner.state(), clock, 100, 0).asTold('rule', owned)).toBe(owned);
  });

  it('has heard of a window as long before a key of its owner is ahead at all', () => {
    const owner = certain();
    const later = policies.ownedCheck({
      ...{ name: 'rule', key: 'k', policy: slidingLog({ limit: 100, window: 60_000 }), cost: 1 },
    });
    owner.toldLag('rule', check(100, 1).owned);
    owner.apply([later]);
    expect(owner.asTold('rule', later.owned).lag).toBe(0);
    owner.toldLag('rule', later.owned);
    expect(owner.asTold('rule', later.owned)).toBe(later.owned);
  });

  it('refuses for `minGap`', () => {
    const copy = certain();
    const spaced = slidingLog({ limit: 100, window: 1000, minGap: 400 });
    const { applied, gapMs } = policies.of(spaced);
    expect(gapMs).toBeGreaterThan((applied as { minGap?: number }).minGap!);
    copy.promote(allFences);
    const ofKey = () => copy.apply([policies.ownedCheck({ name: 'rule', key: 'k', policy: spaced, cost: 1 })])[0]!;
    expect(ofKey()).toMatchObject({ allowed: false, reason: 'quarantine', retryAfterMs: Math.ceil(gapMs) });
    nowMs += gapMs;
    expect(ofKey().allowed).toBe(true);
  });
});

describe('a look at what would be said', () => {
  it.each(['reward', 'penalize', 'settle', 'reset', 'block'] as const)('does no %s', (operation) => {
    const shard = certain();
    const { receipt } = shard.apply([
      policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 10, operation: 'reserve' }),
    ])[0]!;
    const before = JSON.stringify(shard.state().snapshot);
    const check = policies.ownedCheck({
      ...{ name: 'rule', key: 'k', policy, cost: 10, operation, receipt, actual: 0, durationMs: 1000 },
    });
    expect(shard.peek([check])[0]).toMatchObject({ allowed: true, remaining: 90 });
    expect(JSON.stringify(shard.state().snapshot)).toBe(before);
  });

  it('does not take what is never refused for refused, though the key is blocked', () => {
    const shard = certain();
    const check = policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 1, durationMs: 1000 });
    shard.apply([{ ...check, operation: 'block' }]);
    const [settled, asked] = shard.peek([{ ...check, operation: 'reward' }, check]);
    expect(settled).toMatchObject({ allowed: true, retryAfterMs: 0 });
    expect(settled).not.toHaveProperty('reason');
    expect(settled).not.toHaveProperty('shadow');
    expect(asked).toMatchObject({ allowed: false, reason: 'blocked' });
  });
});

describe('a batch with one key twice', () => {
  it('leaves room for what may be missing beside all that it takes', () => {
    const shard = certain();
    ask(shard, 15);
    shard.promote(allFences);
    const check = policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 42 });
    expect(shard.apply([check, check])[0]).toMatchObject({ allowed: false, reason: 'quarantine' });
    expect(
      shard
        .apply([
          { ...check, cost: 41 },
          { ...check, cost: 41 },
        ])
        .every(({ allowed }) => allowed),
    ).toBe(true);
  });
});

describe('the short way of a plain check', () => {
  const owned = policies.of(policy);
  const plain = { name: 'rule', key: 'k', policy, cost: 1 };

  it('is not gone while anything is in doubt', () => {
    const shard = Shard.unknown(7, clock, 100, allFences);
    for (let i = 0; i < 2; i += 1) expect(shard.check(plain, owned, nowMs)).toBeUndefined();
    nowMs += spanMs;
    // The first of a policy goes the long way in any case.
    expect(shard.check(plain, owned, nowMs)).toBeUndefined();
    expect(ask(shard).allowed).toBe(true);
    expect(shard.check(plain, owned, nowMs)).toMatchObject({ allowed: true, remaining: 98 });
  });

  it('comes to the same end as the long way, and a copy that goes it again to the same', () => {
    const [short, long, copy] = [certain(), certain(), certain()];
    let gone = 0;
    for (let i = 0; i < 3000; i += 1) {
      nowMs += 5 + 5 * Math.sin(i * i);
      const check = { ...plain, key: `key-${i % 3}`, cost: 1 + (i % 4) };
      const decision = short.check(check, owned, nowMs);
      if (decision !== undefined) gone += 1;
      const made = decision ?? short.apply([policies.ownedCheck(check)])[0]!;
      expect(made).toEqual(long.apply([policies.ownedCheck(check)])[0]!);
      expect(short.decidedMs).toBe(nowMs);
      const bytes = Buffer.from(check.key);
      const repeat = () => copy.repeatPlain('rule', bytes, 0, bytes.length, check.cost, owned, nowMs);
      if (made.allowed) expect(repeat()).toBe(true);
    }
    expect(gone).toBeGreaterThan(2000);
    expect(copy.state().snapshot.names).toEqual(long.state().snapshot.names);
  });

  it('is by the time of its own shard, whichever was asked last', () => {
    const early = certain();
    const late = Shard.of(certain().state(), clock, 100, 10_000);
    for (const shard of [early, late]) ask(shard);
    const decided = [early, late, early].map((shard) => {
      shard.check(plain, owned, nowMs);
      return shard.decidedMs - nowMs;
    });
    expect(decided).toEqual([0, 10_000, 0]);
  });
});

describe('a copy', () => {
  it('comes to the same end as its owner, whose clock goes on between deciding and telling', () => {
    const running: NodeClock = {
      nowMs: () => {
        nowMs += 0.1 + 0.07 * Math.sin(nowMs * 1000);
        return nowMs;
      },
      uptimeMs: () => nowMs,
      after: () => () => {},
    };
    const owner = Shard.unknown(7, running, 100, { ...allFences, quarantine: false });
    const copy = Shard.of(owner.state(), running, 100, 0);
    const check = policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 1 });
    let granted = 0;
    for (let asked = 0; asked < 30_000; asked += 1) {
      if (!owner.apply([check])[0]!.allowed) continue;
      granted += 1;
      if (!copy.repeat([check], owner.decidedMs)) throw new Error('the copy refused what the owner granted');
    }
    expect(granted).toBeGreaterThan(200);
  });

  it('says that it is none where it has no room for what its owner has', () => {
    const copy = Shard.unknown(7, clock, 1, { ...allFences, quarantine: false });
    const check = (key: string) => policies.ownedCheck({ name: 'rule', key, policy, cost: 1 });
    expect(copy.repeat([check('a')], nowMs)).toBe(true);
    expect(copy.repeat([check('b')], nowMs)).toBe(false);
  });
});

describe('what is done once by the id of a request', () => {
  const bucket = gcra({ limit: 100, window: 1000, burst: 100 });
  const given = policies.ownedCheck({ name: 'rule', key: 'k', policy: bucket, cost: 10, operation: 'reward' }, 'id');
  const take = (shard: Shard, cost: number) =>
    shard.apply([policies.ownedCheck({ name: 'rule', key: 'k', policy: bucket, cost })])[0]!.remaining;

  it('does so once, and is answered again', () => {
    const shard = certain();
    const left = take(shard, 30);
    expect(shard.apply([given])[0]).toMatchObject({ allowed: true, remaining: left + 10 });
    expect(shard.apply([given])[0]).toMatchObject({ allowed: true, remaining: left + 10 });
    expect(shard.apply([{ ...given, once: 'another' }])[0]).toMatchObject({ allowed: true, remaining: left + 20 });
  });

  it('does so twice where it is in one batch twice', () => {
    const shard = certain();
    const left = take(shard, 30);
    shard.apply([given, given]);
    expect(take(shard, 0)).toBe(left + 20);
  });

  it('does nothing that could be known later where its batch is refused', () => {
    const shard = certain();
    const left = take(shard, 30);
    shard.apply([policies.ownedCheck({ name: 'other', key: 'k', policy: bucket, cost: 1000 }), given]);
    shard.peek([given]);
    shard.apply([given]);
    expect(take(shard, 0)).toBe(left + 10);
  });

  it('does so as often in a copy as at its owner', () => {
    const [owner, copy] = [certain(), certain()];
    for (const shard of [owner, copy]) take(shard, 50);
    for (const waitMs of [0, 9999, 1]) {
      nowMs += waitMs;
      for (const shard of [owner, copy]) take(shard, 50);
      owner.apply([given]);
      copy.repeat([given], owner.decidedMs);
      expect(take(copy, 0)).toBe(take(owner, 0));
    }
  });

  it('leaves a bucket in doubt where it only seems to be reset after a failure', () => {
    const copy = certain();
    const reset = { ...given, operation: 'reset' } as const;
    take(copy, 50);
    copy.apply([reset]);
    copy.promote(allFences);
    const doubtful = take(copy, 0);
    copy.apply([reset]);
    expect(take(copy, 0)).toBe(doubtful);
  });
});

describe('a key of a long window', () => {
  it('is written down for what `take` takes of it, though there is less than it asks for', () => {
    const shard = certain();
    const check = policies.ownedCheck({ name: 'rule', key: 'k', policy, cost: 150, operation: 'take' });
    expect(shard.couldTake(check)).toBe(true);
    ask(shard, 100);
    expect(shard.couldTake(check)).toBe(false);
  });

  it('counts what others wrote down of it, and is then not in doubt though the rest of the shard is', () => {
    const long = slidingLog({ limit: 10, window: '2h' });
    const check = policies.ownedCheck({ name: 'daily', key: 'k', policy: long, cost: 1 });
    const shard = Shard.unknown(7, clock, 100, allFences);
    expect(shard.apply([check])[0]!.reason).toBe('quarantine');
    shard.charge(check, 6, -1000);
    shard.settle(check);
    expect(shard.apply([check])[0]).toMatchObject({ allowed: true, remaining: 3 });
    const taken = Shard.of(shard.state(), clock, 100, 0);
    expect(taken.apply([check])[0]).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('is in doubt again once nothing is known any more', () => {
    const long = slidingLog({ limit: 100, window: '2h' });
    const check = policies.ownedCheck({ name: 'daily', key: 'k', policy: long, cost: 1 });
    const shard = certain();
    shard.settle(check);
    shard.apply([check]);
    for (let failures = 0; failures < 4; failures += 1) shard.promote(allFences);
    expect(shard.apply([check])[0]!.allowed).toBe(true);
    shard.promote(allFences);
    expect(shard.isSettled(check)).toBe(false);
    expect(shard.apply([check])[0]!.reason).toBe('quarantine');
  });

  it('is forgotten when nobody could tell', () => {
    const long = slidingLog({ limit: 10, window: '2h' });
    const check = (key: string) => policies.ownedCheck({ name: 'daily', key, policy: long, cost: 1 });
    const shard = certain();
    const { owned } = check('k');
    for (let round = 0; round < 10; round += 1) {
      for (let i = 0; i < 100; i += 1) shard.settle(check(`${round}-${i}`));
      shard.settle(check('again and again'));
      nowMs += 1.5 * owned.spanMs;
    }
    const { settled, settledSpansMs } = shard.state();
    expect(settled).toHaveLength(101);
    expect(new Set(settledSpansMs)).toEqual(new Set([owned.spanMs]));
    expect(shard.isSettled(check('again and again'))).toBe(true);
    // By whoever has it next, too.
    const taken = Shard.of(shard.state(), clock, 100, 0);
    nowMs += 2 * owned.spanMs;
    expect(taken.state().settled).toEqual([]);
  });

  it('stays known to a standby for as long as its owner went on with it', () => {
    const long = slidingLog({ limit: 10, window: '2h' });
    const check = policies.ownedCheck({ name: 'daily', key: 'k', policy: long, cost: 1 });
    const owner = certain();
    owner.settle(check);
    const copy = Shard.of(owner.state(), clock, 100, 0);
    nowMs += 10 * check.owned.spanMs;
    copy.promote(allFences);
    expect(copy.state().settled).toHaveLength(1);
  });
});
