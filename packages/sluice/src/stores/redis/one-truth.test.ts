/**
 * The Lua twins say what the TypeScript says. Memory is the reference; the trace is random, by a seed, and the seeds are here.
 */
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { smooth } from '../../algorithms/smooth/smooth.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { memoryStore } from '../memory/memory-store.ts';
import type { Check } from '../store.ts';
import { type Connected, freshPrefix, standaloneClients } from './clients.test-support.ts';
import { connectionOf } from './connection.ts';
import { scriptCall } from './dispatcher.ts';
import { redisKeys } from './key.ts';
import { type ApplyStep, families, live, variants } from './random-trace.test-support.ts';
import { redisStore } from './redis-store.ts';
import { policyTexts } from './script.ts';
import { type Batch, decisionOf, messageOf, partsPerCheck } from './wire.ts';

const tracesPerFamily = 10;
const stepsPerTrace = 1000;

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

/** On a caller's own time batches travel alone, so these are put together by hand. */
function together(longestMs: number): ApplyStep {
  const keys = redisKeys(freshPrefix());
  const call = scriptCall(connectionOf(connected.client));
  const textOf = policyTexts(0);
  return async (batches, atMs) => {
    const routed = batches.map((checks) =>
      checks.map((check) => {
        const policy = textOf(check.policy, algorithmOf(check.policy).strict ? longestMs : 0);
        return { check, key: keys.record(check.name, check.key), policy };
      }),
    );
    const message = messageOf(
      routed.map((checks): Batch => ({ checks, atMs, request: undefined })),
      atMs,
    );
    const reply = (await call(message)) as unknown[];
    let from = -partsPerCheck;
    return routed.map((checks) =>
      checks.map((check) => {
        from += partsPerCheck;
        return decisionOf(check, reply, from);
      }),
    );
  };
}

describe('the same life in memory and in Redis gives the same decisions', () => {
  for (const [place, [family, policies]] of Object.entries(families).entries()) {
    it(`of ${family}`, async () => {
      const store = redisStore({ client: connected.client, prefix: freshPrefix() });
      // Beside each other: each has names of its own, so only their own steps have to wait for one another.
      await Promise.all(
        Array.from({ length: tracesPerFamily }, (_, i) => {
          const seed = 1 + place * tracesPerFamily + i;
          return live({ seed, policies, steps: stepsPerTrace, name: `trace-${seed}` }, (batches, atMs) =>
            Promise.all(batches.map((checks) => store.apply(checks, atMs))),
          );
        }),
      );
    });
  }

  it('in a hundred thousand steps', () => {
    expect(Object.keys(families).length * tracesPerFamily * stepsPerTrace).toBeGreaterThanOrEqual(100_000);
  });
});

describe('batches that travel together get the answers they would get one after another', () => {
  const steps = 600;

  for (const [place, [family, policies]] of Object.entries(families).entries()) {
    it(`of ${family}`, async () => {
      const strictMs = policies.map((policy) => (algorithmOf(policy).strict ? (policy.window ?? 0) : 0));
      const seeds = [1001 + place, 1101 + place];
      await Promise.all(
        seeds.map((seed) => live({ seed, policies, steps, name: 'trace' }, together(Math.max(...strictMs)), 5)),
      );
    });
  }
});

describe('where random times rarely are', () => {
  /** Applies the same in memory and in Redis, and expects the same. */
  function both() {
    const memory = memoryStore();
    const store = redisStore({ client: connected.client, prefix: freshPrefix() });
    return async (checks: readonly Check[], atMs: number): Promise<Decision[]> => {
      const expected = memory.apply(checks, atMs);
      expect(await store.apply(checks, atMs)).toEqual(expected);
      return expected;
    };
  }

  it('fractions that add up to a grain more than the limit are the limit', async () => {
    const rate = { limit: 3.3, window: 1000 };
    // As the numbers are, 1.1 and 2.2 are more than 3.3.
    expect(1.1 + 2.2).toBeGreaterThan(3.3);
    const policies = [
      fixedWindow(rate),
      tokenBucket({ ...rate, refill: 'interval' }),
      slidingLog(rate),
      slidingSlots(rate),
    ];
    for (const policy of policies) {
      const apply = both();
      const check: Check = { name: 'rule', key: 'key', policy, cost: 1.1 };
      await apply([check], 1000);
      expect((await apply([{ ...check, cost: 2.2 }], 1001))[0]?.allowed).toBe(true);
      expect((await apply([{ ...check, cost: 0.1 }], 1002))[0]?.allowed).toBe(false);
    }
  });

  it('a log with more calls than it has entries joins those next to each other', async () => {
    const apply = both();
    const check: Check = { name: 'rule', key: 'key', policy: slidingLog({ limit: 2, window: 1000 }), cost: 1 / 256 };
    let refused = 0;
    for (let atMs = 1000; atMs < 3000; atMs += 1 + (atMs % 3)) {
      const [decision] = await apply([check], atMs);
      if (!decision?.allowed) refused += 1;
      if (atMs % 50 === 0) await apply([{ ...check, operation: 'peek', cost: 1 }], atMs);
    }
    expect(refused).toBeGreaterThan(0);
  });

  it('a log counts exactly again once a huge debt has left it', async () => {
    const apply = both();
    const check: Check = { name: 'rule', key: 'key', policy: slidingLog({ limit: 3, window: 1000 }), cost: 0.1 };
    await apply([{ ...check, operation: 'penalize', cost: 2 ** 40 }], 1000);
    await apply([{ ...check, operation: 'penalize', cost: 0.5 }], 1900);
    for (let i = 1; i <= 40; i += 1) {
      const [decision] = await apply([check], 2000 + i);
      expect([i, decision?.allowed]).toEqual([i, i <= 25]);
    }
  });

  it('what a longer window would have to know counts as spent, since the same moment', async () => {
    const short = { limit: 5, window: 1000 };
    const long = { limit: 50, window: 5000 };
    for (const before of [slidingLog(short), slidingSlots({ ...short, slots: 10 }), fixedWindow(short), gcra(short)]) {
      for (const after of [slidingLog(long), slidingSlots(long)]) {
        const memory = memoryStore();
        const store = redisStore({ client: connected.client, prefix: freshPrefix() });
        const check: Check = { name: 'rule', key: 'key', policy: before, cost: 1 };
        memory.apply([check], 10_000);
        await store.apply([check], 10_000);
        // The latest charge is given back: that it was there still tells up to when all is known.
        const reserve = { ...check, operation: 'reserve' } as const;
        const [[reference], [own]] = [memory.apply([reserve], 10_600), await store.apply([reserve], 10_600)];
        const settle = { ...check, operation: 'settle', actual: 0 } as const;
        memory.apply([{ ...settle, receipt: reference!.receipt! }], 10_600);
        await store.apply([{ ...settle, receipt: own!.receipt! }], 10_600);
        for (let atMs = 10_700; atMs < 17_000; atMs += 450) {
          const next = [{ ...check, policy: after }];
          expect(await store.apply(next, atMs)).toEqual(memory.apply(next, atMs));
        }
      }
    }
  });

  it('a reservation of more than any limit is settled as it was taken', async () => {
    const policy = smooth({ limit: 10, window: '1m' });
    for (const actual of [0, 1e60, Number.MAX_VALUE]) {
      const memory = memoryStore();
      const store = redisStore({ client: connected.client, prefix: freshPrefix() });
      const check: Check = { name: 'rule', key: 'key', policy, cost: 1e60, sinceMs: 1000 };
      const reserve = { ...check, operation: 'reserve' } as const;
      const [[reference], [own]] = [memory.apply([reserve], 1000), await store.apply([reserve], 1000)];
      const settle = { ...check, operation: 'settle', actual } as const;
      const expected = memory.apply([{ ...settle, receipt: reference!.receipt! }], 1000);
      expect(await store.apply([{ ...settle, receipt: own!.receipt! }], 1000)).toEqual(expected);
      // Nothing was in storage before, so nothing is after.
      if (actual === 0) expect(expected[0]).toMatchObject({ remaining: 1, resetAfterMs: 1000 });
    }
  });

  it.each([slidingLog({ limit: 10, window: 3_600_000 }), fixedWindow({ limit: 10, window: 3_600_000 })])(
    'reservations that are given back take no room from one that is held: $algorithm',
    async (policy) => {
      const memory = memoryStore();
      const store = redisStore({ client: connected.client, prefix: freshPrefix() });
      const check: Check = { name: 'rule', key: 'key', policy, cost: 1 };
      let atMs = 1_700_000_000_000;
      async function reserved() {
        atMs += 1;
        const reserve = { ...check, operation: 'reserve' } as const;
        const receipts = [...memory.apply([reserve], atMs), ...(await store.apply([reserve], atMs))];
        return receipts.map(({ receipt }) => receipt);
      }
      async function givenBack([reference, own]: Awaited<ReturnType<typeof reserved>>) {
        const settle = { ...check, operation: 'settle', actual: 0 } as const;
        const expected = memory.apply([{ ...settle, receipt: reference }], atMs);
        expect(await store.apply([{ ...settle, receipt: own }], atMs)).toEqual(expected);
        return expected[0]?.remaining;
      }
      const held = await reserved();
      for (let round = 0; round < 100; round += 1) {
        const [first, second] = [await reserved(), await reserved()];
        await givenBack(round % 2 === 0 ? first : second);
        expect(await givenBack(round % 2 === 0 ? second : first)).toBe(9);
      }
      expect(await givenBack(held)).toBe(10);
    },
  );

  it('a batch waits for a check that is one millisecond early', async () => {
    const apply = both();
    const early: Check = { name: 'early', key: 'key', policy: fixedWindow({ limit: 1, window: 1000 }), cost: 1 };
    const other: Check = { name: 'other', key: 'key', policy: gcra({ limit: 9, window: 1000 }), cost: 1 };
    await apply([early], 5000);
    expect((await apply([other, early], 5999)).map(({ remaining, retryAfterMs }) => [remaining, retryAfterMs])).toEqual(
      [
        [9, 0],
        [0, 1],
      ],
    );
    expect((await apply([early, other], 6000)).map(({ allowed }) => allowed)).toEqual([true, true]);
  });

  it('a key under one policy and then another, in one message', async () => {
    const memory = memoryStore();
    const apply = together(2000);
    // Their debts are counted in different parts of a unit.
    const [few, many] = [gcra({ limit: 2, window: 2000 }), gcra({ limit: 4, window: 1000 })];
    for (const atMs of [1000, 1500, 3200, 3300]) {
      const batches = [few, many, few, many, many].map((policy): Check[] => [
        { name: 'rule', key: 'key', policy, cost: 1 },
      ]);
      const expected = batches.map((batch) => memory.apply(batch, atMs));
      expect(await apply(batches, atMs)).toEqual(expected);
    }
  });

  it('a window that ends in a fraction of a millisecond has a wait of more than nothing', async () => {
    const policy = fixedWindow({ limit: 3, window: 1.1, align: 'first' });
    const originMs = 1_700_000_000_000;
    const memory = memoryStore();
    const store = redisStore({ client: connected.client, prefix: freshPrefix() });
    let edges = 0;
    for (let eighths = 1; eighths < 2000; eighths += 1) {
      const atMs = originMs + eighths / 8;
      const windows = Math.floor((atMs - originMs) / policy.window);
      // By one reckoning this window has not ended yet, by the other it has.
      if (originMs + (windows + 1) * policy.window > atMs) continue;
      edges += 1;
      const check = { name: 'rule', key: `key-${eighths}`, policy, cost: 1 };
      const full = { ...check, operation: 'penalize', cost: 3 * windows + 3 } as const;
      memory.apply([full], originMs);
      await store.apply([full], originMs);
      const [expected] = memory.apply([check], atMs);
      expect(expected).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect((await store.apply([check], atMs))[0]).toEqual(expected);
    }
    expect(edges).toBeGreaterThan(10);
  });
});

describe('plain checks of cost 1 that travel together, the shortest way there is', () => {
  const hour = { limit: 5, window: '1h' } as const;
  const lists: readonly (readonly Policy[])[] = [
    ...Object.values(variants).map(([policy]) => [policy as Policy]),
    [variants.gcra![0]!, variants['token bucket']![0]!, variants.gcra![2]!],
    [variants.gcra![0]!, variants['sliding log']![0]!],
    [slidingLog(hour), variants['token bucket']![0]!, fixedWindow(hour)],
    [variants['sliding slots']![0]!, variants['leaky bucket']![1]!, variants['sliding window']![0]!, gcra(hour)],
  ];

  it.each(lists.map((list) => [list.map(({ algorithm }) => algorithm).join(', '), list] as const))(
    '%s',
    async (_, list) => {
      const random = seededRandom(list.length);
      const below = (most: number) => Math.floor(random() * most);
      const memory = memoryStore();
      const apply = together(3_600_000);
      let nowMs = 1_700_000_000_000;
      let refused = 0;
      for (let step = 0; step < 150; step += 1) {
        nowMs += below(300) - 20;
        const batches = Array.from({ length: 1 + below(6) }, () =>
          list.map((policy, i): Check => ({ name: `rule-${i}`, key: `key-${below(3)}`, policy, cost: 1, sinceMs: 0 })),
        );
        // Now and then there is more to a key, and all of them have to go the long way.
        if (random() < 0.1) {
          const blocked: Check = { ...batches[0]![0]!, operation: 'block', durationMs: below(500), cost: 0 };
          memory.apply([blocked], nowMs);
          await apply([[blocked]], nowMs);
        }
        const expected = batches.map((batch) => memory.apply(batch, nowMs));
        expect(await apply(batches, nowMs)).toEqual(expected);
        refused += expected.flat().filter(({ allowed }) => !allowed).length;
      }
      expect(refused).toBeGreaterThan(20);
    },
  );
});
