import { gcra, memoryStore, SluiceError, slidingLog, slidingSlots } from 'sluice';
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

function open(yaml = text) {
  const clock = new TestClock(1_700_000_000_000);
  const store = memoryStore({ clock, keys: 'fingerprint' });
  const config = configOf(yaml);
  const checks = new CheckMeter(config.rules.map(({ name }) => name));
  const refusals = refusedKeys({ clock });
  const envoyRules = loadEnvoyFiles([], { mergeDomains: false });
  const envoy = envoyLimiter({ rules: () => envoyRules, store, responseHeaders: false });
  return { clock, checks, refusals, service: new LocalService({ store, checks, refusals, envoy }, config) };
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

  it('throws what is wrong with a request', () => {
    const { service } = open();
    expect(() => service.check({ user: 'ann' }, { cost: -1 })).toThrow(SluiceError);
    expect(() => service.override('per-user', 'ann', {})).toThrow('override must be a change');
  });
});
