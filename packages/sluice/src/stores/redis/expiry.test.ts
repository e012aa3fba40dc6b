/**
 * What is left in Redis, and for how long, when the server's own clock decides: everything ends, nothing ends before it has
 * stopped to matter, and what only looks leaves nothing.
 */
import { type RedisServer, startRedis, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { Check, Operation } from '../store.ts';
import { type Connected, freshPrefix, standaloneClients } from './clients.test-support.ts';
import { variants } from './random-trace.test-support.ts';
import { type RedisStore, redisStore } from './redis-store.ts';

let server: RedisServer;
let connected: Connected;
beforeAll(async () => {
  server = await startRedis();
  connected = await standaloneClients['ioredis 6'](server);
});
afterAll(async () => {
  connected.close();
  await server.stop();
});

interface Bench {
  readonly prefix: string;
  readonly store: RedisStore;
}

function begin(): Bench {
  const prefix = freshPrefix();
  return { prefix, store: redisStore({ client: connected.client, prefix }) };
}

function check(policy: Policy, fields: Partial<Check> = {}): Check {
  return { name: 'rule', key: 'key', policy, cost: 1, sinceMs: 0, ...fields };
}

const keyOf = ({ prefix }: Bench) => `${prefix}{key}rule`;

async function serverMs(): Promise<number> {
  const [seconds, micros] = await server.call<[string, string]>('TIME');
  return Number(seconds) * 1000 + Number(micros) / 1000;
}

/**
 * Applies a check, and compares when its key ends with when it stops to matter; `beyondMs` is how much longer it is kept, where
 * that is not for a block.
 */
async function applied(bench: Bench, one: Check, beyondMs: number): Promise<Decision> {
  const beforeMs = await serverMs();
  const [decision] = (await bench.store.apply([one])) as [Decision];
  const afterMs = await serverMs();
  const endMs = await server.call<number>('PEXPIRETIME', keyOf(bench));
  const what = `${JSON.stringify(one.policy)} after ${one.operation} of ${one.cost}`;
  expect(endMs, `${what}: not for ever`).not.toBe(-1);
  const isBlocked = one.operation === 'block' || decision.reason === 'blocked';
  // What is told is rounded up, so it may be less by a part of a millisecond.
  const neededMs = beforeMs + decision.resetAfterMs - 1 + (isBlocked ? 0 : beyondMs);
  if (endMs === -2) {
    // As good as new is the same as never seen. What matters for a moment only may be gone by now.
    expect(decision.resetAfterMs === 0 || (await serverMs()) > neededMs, `${what}: gone`).toBe(true);
    return decision;
  }
  expect(decision.resetAfterMs + beyondMs, `${what}: left, though as good as new`).toBeGreaterThan(0);
  expect(endMs, `${what}: not before it stops to matter`).toBeGreaterThan(Math.min(neededMs, 2 ** 52));
  expect(endMs, `${what}: not much later`).toBeLessThanOrEqual(
    Math.min(afterMs + decision.resetAfterMs + beyondMs, 2 ** 52 + afterMs) + 50,
  );
  return decision;
}

const dayMs = 86_400_000;

/** How much longer than it matters a key of this policy is kept. */
function lingerMsOf(policy: Policy): number {
  const algorithm = algorithmOf(policy);
  return algorithm.lingerMs?.(algorithm.prepare(policy, 0, 0)) ?? 0;
}

describe('every key that a call leaves ends, and not before it has stopped to matter', () => {
  for (const [name, policies] of Object.entries(variants)) {
    it.each(policies)(`${name}: %j`, async (policy) => {
      const isLease = policy.algorithm === 'concurrency';
      const operations: Operation[] = isLease
        ? [
            'check',
            'acquire',
            'renew',
            'release',
            'acquire',
            'acquire',
            'acquire',
            'block',
            'reset',
            'acquire',
            'release',
          ]
        : [
            'check',
            'reserve',
            'settle',
            'penalize',
            'reward',
            'check',
            'block',
            'check',
            'reset',
            'penalize',
            'reward',
          ];
      // Twice over: the fractions of a millisecond at which calls arrive are the server's.
      for (let round = 0; round < 2; round += 1) {
        const bench = begin();
        let receipt: Receipt | undefined;
        for (const [i, operation] of operations.entries()) {
          const cost = operation === 'block' || operation === 'reset' ? 0 : isLease ? 1 : 1 + (i % 3);
          const fields = {
            operation,
            cost,
            ...(operation === 'block' && { durationMs: 5000.25 }),
            ...(operation === 'settle' && { actual: 0 }),
            ...(receipt && { receipt }),
          };
          const { receipt: next } = await applied(bench, check(policy, fields), lingerMsOf(policy));
          receipt = next ?? receipt;
        }
        for (const key of await server.call<string[]>('KEYS', `${bench.prefix}*`)) {
          expect(await server.call<number>('PTTL', key)).not.toBe(-1);
        }
      }
    });
  }

  it('to the part of a millisecond', async () => {
    const policy = slidingLog({ limit: 10, window: '1m' });
    const earlyMs: number[] = [];
    for (let i = 0; i < 40; i += 1) {
      const bench = begin();
      const beforeMs = await serverMs();
      await bench.store.apply([check(policy, i % 2 === 0 ? {} : { operation: 'penalize' })]);
      earlyMs.push(beforeMs + 60_000 - (await server.call<number>('PEXPIRETIME', keyOf(bench))));
    }
    expect(Math.max(...earlyMs)).toBeLessThanOrEqual(0);
  });

  it('a block outlasts what was used, and what was used a block', async () => {
    const policy = gcra({ limit: 10, window: '10s' });
    const bench = begin();
    await applied(bench, check(policy, { cost: 8 }), 0);
    await applied(bench, check(policy, { operation: 'block', durationMs: 60_000, cost: 0 }), 0);
    const blocked = await applied(bench, check(policy, { operation: 'penalize', cost: 5 }), 0);
    expect(blocked.resetAfterMs).toBeGreaterThan(59_000);
    await applied(bench, check(policy, { operation: 'block', durationMs: 1, cost: 0 }), 0);
    expect(await server.call<number>('PTTL', keyOf(bench))).toBeGreaterThan(10_000);
  });

  it('a key never charged is kept for as long as it is blocked', async () => {
    const bench = begin();
    await applied(bench, check(gcra({ limit: 1, window: '1s' }), { operation: 'block', durationMs: 3000, cost: 0 }), 0);
  });

  it('one that starts with less than it will have is kept a day longer', async () => {
    const policy = tokenBucket({ limit: 10, window: '1s', initial: 2 });
    expect(lingerMsOf(policy)).toBe(dayMs);
    await applied(begin(), check(policy), dayMs);
  });

  it('one whose name also has a longer strict window is kept for that', async () => {
    const hour = slidingLog({ limit: 10, window: '1h' });
    for (const short of [
      slidingLog({ limit: 10, window: '1s' }),
      slidingSlots({ limit: 10, window: '1s', slots: 2 }),
    ]) {
      const bench = begin();
      await bench.store.apply([check(hour, { operation: 'peek' })]);
      await applied(bench, check(short), 3_599_000);
      await applied(bench, check(short, { operation: 'reserve' }), 3_599_000);
    }
  });

  it('a log too long to be written as a whole', async () => {
    const policy = slidingLog({ limit: 300, window: '1m' });
    const bench = begin();
    for (let i = 0; i < 150; i += 1) await bench.store.apply([check(policy)]);
    expect(await server.call<number>('STRLEN', keyOf(bench))).toBeGreaterThan(1024);
    const lastMs = await serverMs();
    await waitUntil('the server is some milliseconds further', async () => (await serverMs()) > lastMs + 5);
    await applied(bench, check(policy), 0);
  });

  it('a debt of longer than the server could count', async () => {
    const bench = begin();
    await applied(bench, check(gcra({ limit: 1, window: '30d' }), { operation: 'penalize', cost: 2 ** 50 }), 0);
  });
});

describe('a bucket that is asked for again', () => {
  const policy = gcra({ limit: 100, window: '100s' });
  const endOf = (bench: Bench) => server.call<number>('PEXPIRETIME', keyOf(bench));

  it('is kept for some seconds and a quarter longer than it matters, and its expiry stays until that is too short', async () => {
    const bench = begin();
    await applied(bench, check(policy), 0);
    const ends: number[] = [];
    for (let i = 0; i < 80; i += 1) {
      const beforeMs = await serverMs();
      const [decision] = (await bench.store.apply([check(policy)])) as [Decision];
      const afterMs = await serverMs();
      const endMs = await endOf(bench);
      // What is told is rounded up, so it may be less by a part of a millisecond.
      expect(endMs).toBeGreaterThan(beforeMs + decision.resetAfterMs - 1);
      expect(endMs).toBeLessThanOrEqual(afterMs + decision.resetAfterMs * 1.25 + 3000 + 50);
      ends.push(endMs);
    }
    // From 2 to 81 seconds of debt, each time a quarter more and three seconds.
    const different = new Set(ends).size;
    expect(different).toBeGreaterThan(5);
    expect(different).toBeLessThan(30);
  });

  it('ends all the same when it was written on a caller’s own time, which takes its expiry away', async () => {
    const bench = begin();
    for (let i = 0; i < 3; i += 1) await bench.store.apply([check(policy)]);
    await bench.store.apply([check(policy)], await serverMs());
    expect(await endOf(bench)).toBe(-1);
    await bench.store.apply([check(policy)]);
    expect(await endOf(bench)).toBeGreaterThan(await serverMs());
  });

  it('is kept for as long as it matters after any other operation, and after the next check', async () => {
    for (const [operation, cost] of [
      ['penalize', 50],
      ['reward', 1],
      ['reset', 0],
    ] as const) {
      const bench = begin();
      for (let i = 0; i < 3; i += 1) await bench.store.apply([check(policy)]);
      await applied(bench, check(policy, { operation, cost }), 0);
      const beforeMs = await serverMs();
      const [decision] = (await bench.store.apply([check(policy)])) as [Decision];
      expect(await endOf(bench), operation).toBeGreaterThan(beforeMs + decision.resetAfterMs - 1);
    }
  });

  it('is one bucket, with or without what is remembered of its expiry', async () => {
    const bench = begin();
    const remaining: number[] = [];
    for (const operation of ['check', 'check', 'check', 'peek', 'penalize', 'check', 'check', 'peek'] as const) {
      const [decision] = (await bench.store.apply([check(policy, { operation })])) as [Decision];
      remaining.push(decision.remaining);
    }
    // A peek says what would be left after it. Some of what was used may have come back by the end.
    const used = [1, 2, 3, 4, 4, 5, 6, 7];
    for (const [i, left] of remaining.entries()) {
      expect(left).toBeGreaterThanOrEqual(100 - (used[i] as number));
      expect(left).toBeLessThanOrEqual(100 - (used[i] as number) + 1);
    }
  });
});

describe('nothing is written', () => {
  const writing = /cmdstat_(set|setrange|del|pexpire|expire|append|unlink)\b/g;

  async function writesOf(happening: () => Promise<unknown>): Promise<string[]> {
    await server.call('CONFIG', 'RESETSTAT');
    await happening();
    return (await server.call<string>('INFO', 'commandstats')).match(writing) ?? [];
  }

  for (const [name, policies] of Object.entries(variants)) {
    it.each(policies)(`by a call that is refused, a peek or a cost of nothing, ${name}: %j`, async (policy) => {
      const bench = begin();
      const isLease = policy.algorithm === 'concurrency';
      const peek = check(policy, { operation: 'peek' });
      expect(await writesOf(() => bench.store.apply([peek]))).toEqual([]);
      expect(await writesOf(() => bench.store.apply([check(policy, { cost: 0 })]))).toEqual([]);
      for (let i = 0; i < 3; i += 1) {
        await bench.store.apply([check(policy, { cost: 3, ...(!isLease && { operation: 'penalize' }) })]);
      }
      await bench.store.apply([check(policy, { operation: 'block', durationMs: 60_000, cost: 0 })]);
      expect(await writesOf(() => bench.store.apply([peek]))).toEqual([]);
      const [refused] = await bench.store.apply([check(policy)]);
      expect(refused?.allowed).toBe(false);
      expect(await writesOf(() => bench.store.apply([check(policy)]))).toEqual([]);
      // One that waits for a refused one.
      const other = check(policy, { key: 'other' });
      expect(await writesOf(() => bench.store.apply([other, check(policy)]))).toEqual([]);
    });
  }

  it('by refusals the short way; those that count are written down', async () => {
    for (const [policy, writes] of [
      [fixedWindow({ limit: 1, window: '1h' }), 0],
      [slidingLog({ limit: 1, window: '1h' }), 0],
      [slidingLog({ limit: 1, window: '1h', countRejected: true }), 1],
    ] as const) {
      const { store } = begin();
      await store.apply([check(policy)]);
      const written = await writesOf(() => store.apply([check(policy)]));
      expect(written).toHaveLength(writes);
    }
  });
});

describe('on a caller’s own time', () => {
  it('no key ends, because keys end by the server’s clock', async () => {
    for (const policy of Object.values(variants).flat()) {
      const bench = begin();
      await bench.store.apply([check(policy)], 1000);
      await bench.store.apply([check(policy, { operation: 'block', durationMs: 5, cost: 0 })], 1000);
      expect(await server.call('PTTL', keyOf(bench))).toBe(-1);
    }
  });
});

describe('as the server’s clock goes on', () => {
  it('a key is there for as long as it matters, and gone when it is as good as new', async () => {
    const shiftable = await startRedis({ shiftableClock: true });
    const { client, close } = await standaloneClients['ioredis 6'](shiftable);
    for (const policy of [
      gcra({ limit: 10, window: '1h' }),
      slidingLog({ limit: 10, window: '1h' }),
      slidingSlots({ limit: 10, window: '1h' }),
      fixedWindow({ limit: 10, window: '1h' }),
      concurrency({ limit: 10, lease: '1h' }),
    ]) {
      const prefix = freshPrefix();
      const store = redisStore({ client, prefix });
      const [decision] = (await store.apply([check(policy, { cost: 5 })])) as [Decision];
      const exists = () => shiftable.call<number>('EXISTS', `${prefix}{key}rule`);
      shiftable.shiftClock(decision.resetAfterMs - 1000);
      expect(await exists()).toBe(1);
      const [soon] = (await store.apply([check(policy, { operation: 'peek', cost: 0 })])) as [Decision];
      expect(soon.resetAfterMs).toBeGreaterThan(0);
      shiftable.shiftClock(decision.resetAfterMs + 5);
      expect(await exists()).toBe(0);
      const [fresh] = (await store.apply([check(policy, { operation: 'peek', cost: 0 })])) as [Decision];
      expect(fresh).toMatchObject({ remaining: 10, resetAfterMs: 0 });
      shiftable.shiftClock(0);
    }
    close();
    await shiftable.stop();
  });
});
