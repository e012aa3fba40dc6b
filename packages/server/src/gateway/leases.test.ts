/** Places under rules of `concurrency`: how they are renewed, with a store in this process and with one that fails. What requests do is in gateway.test.ts. */
import { memoryStore, type RulesResult } from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import { CheckMeter } from '../operations/check-meter.ts';
import { refusedKeys } from '../operations/refused-keys.ts';
import { LocalService } from '../service/local-service.ts';
import type { KeyState } from '../service/service.ts';
import { noDescriptors } from './administration.ts';
import { Leases } from './leases.ts';
import type { Limits } from './plan.ts';

function setUp(parts: (own: Limits, clock: TestClock) => Partial<Limits> = () => ({})) {
  const clock = new TestClock(1_000_000);
  const said: string[] = [];
  const say = (_: object, message: string) => said.push(message);
  const store = memoryStore({ clock });
  const read = readConfig({
    text: `rules:
      - { name: short, key: a, algorithm: concurrency, limit: 2, lease: 8s }
      - { name: long, key: b, algorithm: concurrency, limit: 1, lease: 1m }`,
  });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const service = { store, checks: new CheckMeter(['short', 'long']), refusals: refusedKeys(), envoy: noDescriptors };
  const own = new LocalService(service, read.config);
  const asked: number[] = [];
  const limits: Limits = {
    check: (subject, call) => own.check(subject, call),
    release: (result) => own.release(result),
    renew(result) {
      asked.push(clock.now() - 1_000_000);
      return own.renew(result);
    },
    ...parts(own, clock),
  };
  const leases = new Leases(clock, { debug: say, info: say, warn: say, error: say });
  const begin = (subject: object) => leases.begin(limits, own.check({ ...subject }) as RulesResult);
  const left = (rule: 'short' | 'long') => (own.inspect(rule, 'x') as KeyState).decision.remaining;
  async function pass(ms: number, stepMs = 500): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      clock.advance(stepMs);
      await new Promise(setImmediate);
    }
  }
  return { clock, said, limits, leases, begin, left, pass, asked };
}

describe('leases', () => {
  it('are renewed at half of their time for as long as the request is under way, and then given back', async () => {
    const { leases, begin, left, pass, asked, clock } = setUp();
    const leased = begin({ a: 'x' })!;
    await pass(30_000);
    expect(asked).toEqual([4_000, 8_000, 12_000, 16_000, 20_000, 24_000, 28_000]);
    expect(left('short')).toBe(1);
    leases.end(leased);
    expect(left('short')).toBe(2);
    await pass(30_000);
    expect(asked).toHaveLength(7);
    expect(clock.sleeping).toBe(0);
  });

  it('of several rules go by the shortest, and of none need nothing', async () => {
    const { begin, left, pass } = setUp();
    expect(begin({ c: 'x' })).toBeUndefined();
    begin({ a: 'x', b: 'x' });
    await pass(100_000);
    expect([left('short'), left('long')]).toEqual([1, 0]);
  });

  it('have one alarm, however many they are', async () => {
    const { clock, leases, begin, left, pass } = setUp();
    const long = begin({ b: 'x' })!;
    const first = begin({ a: 'x' })!;
    await pass(1_500);
    begin({ a: 'x' });
    expect(clock.sleeping).toBe(1);
    leases.end(first);
    await pass(120_000);
    expect(clock.sleeping).toBe(1);
    expect([left('short'), left('long')]).toEqual([1, 0]);
    leases.end(long);
    leases.close();
    expect(clock.sleeping).toBe(0);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no store');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no store'))],
    ['is not sure', () => Promise.resolve(false)],
  ])('outlive a store that %s for less than their time', async (_, fail) => {
    let isDown = true;
    const { begin, left, pass, said } = setUp((own) => ({ renew: (result) => (isDown ? fail() : own.renew(result)) }));
    begin({ a: 'x' });
    await pass(6_500);
    isDown = false;
    await pass(60_000);
    expect([left('short'), said]).toEqual([1, []]);
  });

  it('are gone where the store fails for longer, which is said, and then no longer asked for', async () => {
    const { clock, leases, begin, left, pass, said } = setUp(() => ({
      renew: () => Promise.reject(new Error('gone')),
    }));
    const leased = begin({ a: 'x' })!;
    await pass(20_000);
    expect([left('short'), clock.sleeping]).toEqual([2, 0]);
    expect(said).toEqual(['a place under a rule could not be renewed, and is gone while its request goes on']);
    leases.end(leased);
    expect(left('short')).toBe(2);
  });

  it('that are given back while they are renewed stay given back', async () => {
    const renewals: (() => void)[] = [];
    const { leases, begin, left, pass, asked } = setUp((own) => ({
      renew: (result) => new Promise((resolve) => renewals.push(() => resolve(own.renew(result)))),
    }));
    const leased = begin({ a: 'x' })!;
    await pass(5_000);
    leases.end(leased);
    renewals[0]!();
    await pass(60_000);
    expect([left('short'), renewals.length, asked]).toEqual([2, 1, []]);
  });

  it('that cannot be given back run out by themselves', async () => {
    const { leases, begin, left, pass, said } = setUp(() => ({ release: () => Promise.reject(new Error('gone')) }));
    leases.end(begin({ a: 'x' })!);
    await pass(10_000);
    expect([left('short'), said]).toEqual([2, ['a place under a rule could not be given back']]);
  });
});
