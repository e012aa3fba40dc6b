import {
  type Decision,
  gcra,
  leakyBucket,
  memoryStore,
  type RulesResult,
  SluiceError,
  type Store,
  slidingLog,
  slidingSlots,
  smooth,
} from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { loadEnvoyFiles } from '../envoy/load-envoy-files.ts';
import { envoyLimiter } from '../envoy/should-rate-limit.ts';
import { CheckMeter, outcomes } from '../operations/check-meter.ts';
import { refusedKeys } from '../operations/refused-keys.ts';
import { LocalService } from './local-service.ts';

const text = `
rules:
  - { name: per-user, key: user, algorithm: sliding-log, limit: 2, window: 1m }
  - { name: per-ip, key: ip, algorithm: gcra, limit: 10, window: 1m }
  - { name: watched, key: user, algorithm: gcra, limit: 1, window: 1h, shadow: true }
`;

function configOf(yaml: string): Config {
  const read = readConfig({ text: yaml });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

function open(yaml = text, around: (store: Store<'sync'>) => Store = (store) => store) {
  const clock = new TestClock(1_700_000_000_000);
  const store = around(memoryStore({ clock, keys: 'fingerprint' }));
  const config = configOf(yaml);
  const checks = new CheckMeter(config.rules.map(({ name }) => name));
  const refusals = refusedKeys({ clock });
  const envoyRules = loadEnvoyFiles([], { mergeDomains: false });
  const envoy = envoyLimiter({ rules: () => envoyRules, store, responseHeaders: () => false });
  return { clock, checks, refusals, service: new LocalService({ store, checks, refusals, envoy }, config) };
}

/** Over one that answers later. */
function later({ clock, apply }: Store<'sync'>): Store {
  return { mode: 'async', clock, apply: async (checks, atMs, requestId) => apply(checks, atMs, requestId) };
}

/** Over one that never knows. */
function failing(store: Store<'sync'>): Store {
  const reason = { allowed: false, reason: 'store-failure', degraded: 'closed', retryAfterMs: 1000 } as const;
  return {
    mode: 'sync',
    clock: store.clock,
    apply: (checks, atMs) => store.apply(checks, atMs).map((decision): Decision => ({ ...decision, ...reason })),
  } as Store;
}

function countsOf(checks: CheckMeter): Record<string, Record<string, number>> {
  const { names, counts } = checks.read();
  return Object.fromEntries(
    names.map((name, i) => [
      name,
      Object.fromEntries(outcomes.map((outcome, at) => [outcome, counts[i * outcomes.length + at] ?? 0])),
    ]),
  );
}

describe('the service', () => {
  it('checks the rules about a subject, counts what they said and remembers who was refused', () => {
    const { service, checks, refusals } = open();
    const subject = { user: 'ann', ip: '192.0.2.1' };
    const answers = [1, 2, 3].map(() => service.check(subject)) as { allowed: boolean }[];
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(countsOf(checks)).toMatchObject({
      'per-user': { allowed: 2, refused: 1 },
      'per-ip': { allowed: 3, refused: 0 },
      watched: { allowed: 1, 'shadow-refused': 2, refused: 0 },
    });
    expect(refusals.top(5)).toMatchObject([{ rule: 'per-user', key: 'ann', refusals: 1 }]);
  });

  it('checks one rule by its key; a shadow rule never refuses', () => {
    const { service } = open();
    expect(service.checkRule('per-user', 'ann', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    expect(service.checkRule('per-user', 'ann')).toMatchObject({ allowed: false, rule: 'per-user' });
    service.checkRule('watched', 'ann');
    expect(service.checkRule('watched', 'ann')).toMatchObject({ allowed: true, shadow: true, retryAfterMs: 0 });
    expect(() => service.checkRule('unknown', 'ann')).toThrow('rule must be one of per-user, per-ip, watched');
  });

  it('counts shadow refusals of one rule, and holds them against nobody', () => {
    const { service, checks, refusals } = open();
    service.checkRule('watched', 'ann');
    service.checkRule('watched', 'ann');
    expect(countsOf(checks).watched).toMatchObject({ allowed: 1, 'shadow-refused': 1 });
    expect(refusals.top(5)).toEqual([]);
  });

  it('counts what the deny-list refuses, though no rule is asked', () => {
    const { service, checks } = open(`${text}\ndeny: [{ ip: 10.0.0.0/8 }]`);
    expect(service.check({ user: 'ann', ip: '::ffff:10.1.2.3' })).toMatchObject({ allowed: false, list: 'deny' });
    expect(countsOf(checks)).toMatchObject({ 'deny-list': { refused: 1 }, 'ad-hoc': { refused: 0 } });
  });

  it('counts a store that fails as an error, and holds it against nobody', () => {
    const { service, checks, refusals } = open(text, failing);
    const key = Buffer.from('ann');
    expect(service.check({ user: 'ann' })).toMatchObject({ allowed: false });
    expect(service.checkRule('per-ip', '192.0.2.1')).toMatchObject({ allowed: false });
    const policy = gcra({ limit: 2, window: '1m' });
    expect(service.checkPolicy(policy, 'ann')).toMatchObject({ allowed: false, rule: 'ad-hoc' });
    expect(service.throttle(key, 0, key.length, { maxBurst: 1, count: 1, periodSeconds: 1 }, 1)).toMatchObject({
      limited: 1,
      retryAfterSeconds: 1,
    });
    service.apply([{ name: 'mine', key: 'ann', policy, cost: 1 }]);
    expect(countsOf(checks)).toMatchObject({
      'per-user': { refused: 0, error: 1 },
      'per-ip': { refused: 0, error: 1 },
      'ad-hoc': { refused: 0, error: 2 },
      'cl.throttle': { refused: 0, error: 1 },
    });
    expect(refusals.top(5)).toEqual([]);
  });

  it('a table without room for another key decided nothing, and holds it against nobody', () => {
    const { service, checks, refusals } = open(text, ({ clock }) => memoryStore({ clock, maxKeys: 1 }));
    const results = ['ann', 'bob', 'cid'].map((user) => service.check({ user }) as RulesResult);
    expect(results.map(({ decisions }) => decisions.some(({ reason }) => reason === 'store-full'))).toContain(true);
    const { error, refused } = countsOf(checks)['per-user']!;
    expect(error).toBeGreaterThan(0);
    expect(refused).toBe(0);
    expect(refusals.top(5)).toEqual([]);
  });

  it('times one CL.THROTTLE for many, and lets it stand for all of them', () => {
    const { service, checks } = open();
    const key = Buffer.from('ann');
    for (let i = 0; i < 128; i += 1) {
      service.throttle(key, 0, key.length, { maxBurst: 1, count: 1, periodSeconds: 1 }, 1);
    }
    expect(checks.read().durations.reduce((sum, count) => sum + count)).toBe(128);
  });

  it('answers a refusal of rules that were others by the time of the answer', async () => {
    const { service, refusals } = open(text, later);
    const ask = () => service.check({ user: 'ann' });
    await Promise.all([ask(), ask()]);
    const refused = ask();
    service.configure(configOf('rules: []'));
    expect(await refused).toMatchObject({ allowed: false, tightest: { rule: 'per-user' } });
    expect(refusals.top(5)).toMatchObject([{ rule: 'per-user', key: 'ann' }]);
  });

  it('shows a key of rules that were others by the time of the answer', async () => {
    const { service } = open(text, later);
    service.override('per-user', 'ann', { limit: 4 });
    const state = service.inspect('per-user', 'ann');
    service.configure(configOf('rules: []'));
    expect(await state).toMatchObject({ decision: { limit: 4 }, override: { override: { limit: 4 } } });
  });

  it('refuses what would be delayed for longer than the caller takes', () => {
    const { service } = open();
    for (const policy of [leakyBucket({ limit: 1, window: '1s', burst: 5 }), smooth({ limit: 1, window: '1s' })]) {
      const ask = (call?: object) => service.checkPolicy(policy, 'ann', call) as Decision;
      expect(ask({ maxDelayMs: 0 })).toMatchObject({ allowed: true, delayMs: 0 });
      expect(ask({ maxDelayMs: 0 })).toMatchObject({ allowed: false, retryAfterMs: 1000 });
      expect(ask()).toMatchObject({ allowed: true, delayMs: 1000 });
    }
  });

  it('answers a request that is made again as the first time', () => {
    const { service } = open();
    const call = { requestId: 'order-17' };
    expect(service.check({ user: 'ann' }, call)).toEqual(service.check({ user: 'ann' }, call));
    expect(service.inspect('per-user', 'ann')).toMatchObject({ decision: { remaining: 1, allowed: true } });
  });

  it('takes policies that come with requests; equal ones share their keys', () => {
    const { service, checks } = open();
    const policy = () => gcra({ limit: 2, window: '1m' });
    expect(service.checkPolicy(policy(), 'ann', { cost: 2 })).toMatchObject({ allowed: true, rule: 'ad-hoc' });
    expect(service.checkPolicy(policy(), 'ann')).toMatchObject({ allowed: false });
    expect(service.checkPolicy(slidingLog({ limit: 2, window: '1m' }), 'ann')).toMatchObject({ allowed: true });
    expect(countsOf(checks)['ad-hoc']).toMatchObject({ allowed: 2, refused: 1 });
  });

  it('takes so many different policies, and no more', () => {
    const { service } = open();
    for (let limit = 1; limit <= 10_000; limit += 1) service.checkPolicy(gcra({ limit, window: '1m' }), 'ann');
    expect(() => service.checkPolicy(gcra({ limit: 10_001, window: '1m' }), 'ann')).toThrow(
      'There are 10000 different policies that came with requests',
    );
    expect(service.checkPolicy(gcra({ limit: 10_000, window: '1m' }), 'ann')).toMatchObject({ allowed: true });
  });

  it('takes no policy of a request that needs more room than a rule should', () => {
    const { service } = open();
    expect(service.checkPolicy(slidingLog({ limit: 1000, window: '1m' }), 'ann')).toMatchObject({ allowed: true });
    expect(() => service.checkPolicy(slidingLog({ limit: 1001, window: '1m' }), 'ann')).toThrow(
      'policy.limit must be at most 1000 for a sliding-log that comes with a request, got 1001',
    );
    expect(() => service.checkPolicy(slidingSlots({ limit: 9, window: '1h', slots: 10_000 }), 'ann')).toThrow(
      'policy.slots must be at most 1000',
    );
    expect(service.checkPolicy(gcra({ limit: 1_000_000, window: '1m' }), 'ann')).toMatchObject({ allowed: true });
  });

  it('applies a changed limit to what was used, and keeps overrides of rules that stay', () => {
    const { service, clock } = open();
    service.check({ user: 'ann' });
    service.check({ user: 'ann' });
    service.override('per-user', 'bob', { limit: 5, expiresIn: '1h' });
    service.override('per-ip', '192.0.2.1', { limit: 5 });
    const dropped = service.configure(
      configOf('rules:\n  - { name: per-user, key: user, algorithm: sliding-log, limit: 3, window: 1m }'),
    );
    expect(dropped).toMatchObject([{ rule: 'per-ip' }]);
    expect(service.check({ user: 'ann' })).toMatchObject({ allowed: true, tightest: { remaining: 0, limit: 3 } });
    expect(service.check({ user: 'ann' })).toMatchObject({ allowed: false });
    expect(service.overrides()).toMatchObject([{ rule: 'per-user', key: 'bob', override: { limit: 5 } }]);
    expect(service.check({ user: 'bob' })).toMatchObject({ tightest: { limit: 5 } });
    clock.advance(3_600_000);
    expect(service.overrides()).toEqual([]);
  });

  it('keeps overrides as they were given: their end, and an address that counts under another key now', () => {
    const { service, clock } = open();
    const withSubnet = (bits: number) => configOf(`${text}\nipv6Subnet: ${bits}`);
    service.override('per-user', 'bob', { limit: 5, expiresIn: '1h' });
    service.override('per-ip', '2001:db8::1', { limit: 5 });
    service.override('per-ip', '2001:db9:0:0:0:0:0:0/56', { limit: 5 });
    clock.advance(757.53);
    // Which of its networks of 64 bits was meant nobody knows.
    expect(service.configure(withSubnet(64))).toMatchObject([{ key: '2001:db9:0:0:0:0:0:0/56' }]);
    expect(service.overrides()).toEqual([
      {
        rule: 'per-user',
        key: 'bob',
        override: { limit: 5, expiresIn: '1h' },
        expiresAtMs: 1_700_000_000_000 + 3_600_000,
      },
      {
        rule: 'per-ip',
        key: '2001:db8:0:0:0:0:0:0/64',
        givenKey: '2001:db8::1',
        override: { limit: 5 },
        expiresAtMs: Number.POSITIVE_INFINITY,
      },
    ]);
    expect(service.check({ ip: '2001:db8::2' })).toMatchObject({ tightest: { limit: 5 } });
    service.configure(withSubnet(48));
    expect(service.check({ ip: '2001:db8:0:ffff::2' })).toMatchObject({ tightest: { limit: 5 } });
  });

  it('says by numbers that grow when rules or overrides are others than before', () => {
    const { service } = open();
    const seen = [service.revision];
    const then = (change: () => unknown) => {
      change();
      seen.push(service.revision);
    };
    then(() => service.override('per-user', 'ann', { limit: 9 }));
    then(() => service.override('per-user', 'ann', { limit: 8 }));
    then(() => expect(() => service.override('per-user', 'ann', { limit: -1 })).toThrow('limit'));
    then(() => service.removeOverride('per-user', 'ann'));
    then(() => service.removeOverride('per-user', 'ann'));
    then(() => service.configure(configOf(text)));
    then(() => service.override('per-ip', '192.0.2.1', { limit: 9 }));
    then(() => service.configure(configOf('rules: []')));
    // biome-ignore format: aligned rows
    expect(seen.map(({ rules, overrides }) => [rules, overrides])).toEqual([
      [ 0, 0 ],
      [ 0, 1 ],
      [ 0, 2 ],
      [ 0, 2 ],  // it was wrong
      [ 0, 3 ],
      [ 0, 3 ],  // there was none
      [ 1, 3 ],
      [ 1, 4 ],
      [ 2, 5 ],  // dropped with its rule
    ]);
  });

  it('shows a key as it stands, with its override, and forgets it on demand', () => {
    const { service } = open();
    service.check({ user: 'ann' });
    service.override('per-user', 'ann', { limit: 4 });
    expect(service.inspect('per-user', 'ann')).toMatchObject({
      rule: 'per-user',
      key: 'ann',
      decision: { allowed: true, limit: 4, remaining: 3 },
      override: { override: { limit: 4 } },
    });
    service.reset('per-user', 'ann');
    expect(service.inspect('per-user', 'ann')).toMatchObject({ decision: { remaining: 4 } });
  });

  it('shows the override of an address however it is written', () => {
    const { service } = open();
    service.override('per-ip', '2001:db8::1', { limit: 4 });
    for (const key of ['2001:db8::1', '2001:DB8::2', '2001:db8:0:0:0:0:0:0/56']) {
      expect(service.inspect('per-ip', key)).toMatchObject({
        key,
        decision: { limit: 4 },
        override: { key: '2001:db8:0:0:0:0:0:0/56', givenKey: '2001:db8::1', override: { limit: 4 } },
      });
    }
  });

  it('shows a key as it stands under a tier', () => {
    const { service } = open(
      'rules:\n  - { name: r, key: user, algorithm: gcra, limit: 2, window: 1m, tiers: { paid: { limit: 9 } } }',
    );
    service.check({ user: 'ann', tier: 'paid' });
    expect(service.inspect('r', 'ann', 'paid')).toMatchObject({ decision: { limit: 9, remaining: 8 } });
    expect(service.inspect('r', 'ann')).toMatchObject({ decision: { limit: 2, remaining: 1 } });
  });

  it('throws what is wrong with a request', () => {
    const { service } = open();
    expect(() => service.check({ user: 'ann' }, { cost: -1 })).toThrow(SluiceError);
    expect(() => service.override('per-user', 'ann', {})).toThrow('override must be a change');
  });
});

describe('places under a concurrency rule', () => {
  const yaml = 'rules: [{ name: at-once, key: user, algorithm: concurrency, limit: 1, lease: 10s }]';
  const subject = { user: 'a' };

  it('are renewed while they are held, and given back by what they were renewed to, also after a reload', () => {
    const { clock, service } = open(yaml);
    const isFree = () => {
      const result = service.check(subject) as RulesResult;
      service.release(result);
      return result.allowed;
    };
    const held = service.check(subject) as RulesResult;
    for (let i = 0; i < 5; i += 1) {
      clock.advance(9_000);
      expect([service.renew(held), isFree()]).toEqual([true, false]);
      service.configure(configOf(yaml));
    }
    service.release(held);
    expect([isFree(), service.renew(held)]).toEqual([true, false]);
    const late = service.check(subject) as RulesResult;
    clock.advance(10_000);
    expect([service.renew(late), isFree()]).toEqual([false, true]);
  });

  it('that are given back while they are renewed are given back after all', async () => {
    const answers: (() => void)[] = [];
    const { service } = open(yaml, ({ clock, apply }) => ({
      mode: 'async',
      clock,
      async apply(checks, atMs, requestId) {
        const decisions = apply(checks, atMs, requestId);
        if (checks[0]?.operation === 'renew') await new Promise<void>((resolve) => answers.push(resolve));
        return decisions;
      },
    }));
    const held = await service.check(subject);
    const renewal = service.renew(held);
    await service.release(held);
    answers[0]!();
    expect(await renewal).toBe(false);
    expect((await service.check(subject)).allowed).toBe(true);
  });

  it('that nobody can tell of are asked for again by what finds them', () => {
    let isDown = false;
    const { service } = open(yaml, (store) => ({
      ...store,
      apply: (checks, atMs) =>
        (isDown
          ? failing(store).apply(
              checks.map((check) => ({ ...check, operation: 'peek' })),
              atMs,
            )
          : store.apply(checks, atMs)) as never,
    }));
    const held = service.check(subject) as RulesResult;
    isDown = true;
    expect(service.renew(held)).toBe(false);
    isDown = false;
    expect(service.renew(held)).toBe(true);
  });
});

it('takes further policies of requests once those before count for nothing any more, and no sooner', () => {
  const { service, clock } = open();
  const ask = (limit: number, window: number, key = 'ann') =>
    service.checkPolicy(gcra({ limit, window }), key) as Decision;
  for (let limit = 1; limit < 10_000; limit += 1) ask(limit, 10);
  expect(ask(1, 3_600_000).allowed).toBe(true);
  expect(() => ask(5, 60_000)).toThrow('There are 10000 different policies that came with requests and still count.');
  clock.advance(11);
  for (let limit = 1; limit < 10_000; limit += 1) expect(ask(limit, 60_000).allowed).toBe(true);
  // The one whose hour has not passed was looked at, and stays.
  expect(ask(1, 3_600_000).allowed).toBe(false);
  expect(() => ask(5, 10)).toThrow('There are 10000 different policies');
});
