/** A real Redis that fails for real: what is said meanwhile, what it costs, and how it comes back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, waitUntil } from '@sluice/test-servers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { limiter } from '../../limit/limiter.ts';
import { type Address, freshPrefix } from '../../stores/redis/clients.test-support.ts';
import type { RedisClient } from '../../stores/redis/connection.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import type { Decision, StoreFailureMode } from '../../vocabulary/decision.ts';
import { layered } from '../layered.ts';
import { type ClientName, type Clients, clientsOf, scriptCalls } from '../real-redis.test-support.ts';
import { type DegradeLayer, type DegradeOptions, degrade } from './degrade.ts';
import { type FaultyRedis, faults, faultyRedis } from './faults.test-support.ts';

const limit = 2000;
const policy = fixedWindow({ limit, window: '1h', align: 'first' });
const modes: readonly StoreFailureMode[] = ['closed', 'open', 'local'];

// Long beside what a call takes on a busy machine, short beside a test.
const afterMs = 150;
const openForMs = 300;
const settings: DegradeOptions = {
  after: afterMs,
  instances: 4,
  breaker: { openFor: openForMs, openForMax: openForMs },
};
const tripsAfter = 5;

interface Subject {
  readonly to: StoreFailureMode;
  readonly layer: DegradeLayer;
  check(): Promise<Decision>;
  /** How much the server has counted. */
  used(): Promise<number>;
  /** How often the breaker let a probe through. */
  probes(): number;
  /** How often the server granted in time. */
  answered(): number;
}

function subjectOf(client: RedisClient, options: DegradeOptions): Subject {
  const layer = degrade(options);
  const limits = limiter(policy, { store: layered(redisStore({ client, prefix: freshPrefix() }), layer), name: 'api' });
  let probes = 0;
  let answered = 0;
  layer.breaker.on('change', ({ to: state }) => {
    if (state === 'half-open') probes += 1;
  });
  return {
    to: options.to ?? 'closed',
    layer,
    async check() {
      const decision = await limits.check('alice');
      if (decision.allowed && !decision.degraded) answered += 1;
      return decision;
    },
    used: async () => limit - (await limits.peek('alice', 0)).remaining,
    probes: () => probes,
    answered: () => answered,
  };
}

interface Called {
  readonly decision: Decision;
  readonly tookMs: number;
}

/** Calls one after the other, with pauses, so that there is time for probes. */
async function callMany({ check }: Subject, times: number): Promise<Called[]> {
  const called: Called[] = [];
  for (let i = 0; i < times; i += 1) {
    const startMs = performance.now();
    const decision = await check();
    called.push({ decision, tookMs: performance.now() - startMs });
    if (i % 100 === 99) await sleep(40);
  }
  return called;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

async function untilAnswered({ check, to }: Subject): Promise<void> {
  const isAnswered = async () => (await check()).degraded === undefined;
  await waitUntil(`Redis decides again, and not ${to}`, isAnswered, { everyMs: 20 });
}

/** What each way to fail has to say to all of the calls, in order. */
function mustSay(to: StoreFailureMode, decisions: readonly Decision[]): void {
  for (const decision of decisions) expect(decision).toMatchObject({ degraded: to, rule: 'api' });
  const allowed = decisions.map((decision) => decision.allowed);
  switch (to) {
    case 'open':
      expect(allowed).not.toContain(false);
      for (const { remaining } of decisions) expect(remaining).toBe(0);
      break;
    case 'closed':
      expect(allowed).not.toContain(true);
      for (const { reason, retryAfterMs } of decisions) {
        expect(reason).toBe('store-failure');
        expect(retryAfterMs).toBeGreaterThanOrEqual(1);
        expect(retryAfterMs).toBeLessThanOrEqual(openForMs);
      }
      break;
    case 'local':
      // A quarter is this process's share, and the first come are the first served.
      expect(allowed).toEqual(decisions.map((_, i) => i < limit / 4));
  }
}

let redis: FaultyRedis;
let clients: Clients | undefined;
beforeEach(async () => {
  redis = await faultyRedis();
});
afterEach(async () => {
  clients?.close();
  clients = undefined;
  await redis.stop();
});

/** One for each client. */
async function subjectsAt(address: Address, options: DegradeOptions): Promise<[ClientName, Subject][]> {
  clients ??= await clientsOf(address);
  const subjects = clients.each((name, client): [ClientName, Subject] => [name, subjectOf(client, options)]);
  await Promise.all(subjects.map(([, subject]) => untilAnswered(subject)));
  return subjects;
}

describe('a Redis that', () => {
  it.each(Object.entries(faults))(
    '%s costs a few calls their deadline, and comes back by itself',
    async (name, fault) => {
      const subjects: Subject[] = [];
      for (const to of modes) {
        const both = await subjectsAt(redis[fault.at], { ...settings, to });
        subjects.push(...both.map(([, subject]) => subject));
      }
      const errorsBefore = subjects.map(({ layer }) => layer.stats().storeErrors);
      const commandsBefore = await scriptCalls(redis.server);

      await fault.begin(redis);
      const startMs = performance.now();
      const called = await Promise.all(subjects.map((subject) => callMany(subject, 1000)));
      // One probe at a time, each after most of the time open.
      const mostProbes = Math.ceil((performance.now() - startMs) / (0.8 * openForMs));
      for (const [i, { to, layer, probes }] of subjects.entries()) {
        mustSay(
          to,
          called[i]!.map(({ decision }) => decision),
        );
        expect(probes()).toBeLessThanOrEqual(mostProbes);
        const { storeErrors, timeouts } = layer.stats();
        expect(storeErrors - errorsBefore[i]!).toBeGreaterThanOrEqual(tripsAfter);
        expect(storeErrors - errorsBefore[i]!).toBeLessThanOrEqual(tripsAfter + probes());
        const times = called[i]!.map(({ tookMs }) => tookMs);
        const deadlines = fault.isSilent ? tripsAfter + probes() : 0;
        // And a few for a machine that was busy with something else.
        expect(times.filter((ms) => ms >= 0.9 * afterMs).length).toBeLessThanOrEqual(deadlines + 10);
        expect(median(times)).toBeLessThan(afterMs / 10);
        // An error need not be waited for; but a busy machine may take its time to say so.
        if (!fault.isSilent) expect(timeouts).toBeLessThan(storeErrors - errorsBefore[i]!);
      }

      await fault.end(redis);
      const isForgetful = name === 'is gone';
      if (!isForgetful) {
        const sent = subjects.reduce((sum, { layer }) => sum + layer.stats().storeErrors, 0);
        // The script that keeps a server busy is one more.
        expect((await scriptCalls(redis.server)) - commandsBefore).toBeLessThanOrEqual(sent + 1);
      }
      for (const subject of subjects) {
        await untilAnswered(subject);
        const { layer, answered, used } = subject;
        const { state, lateGrants, storeErrors } = layer.stats();
        expect(state).toBe('closed');
        // What came too late is spent; what was never sent is not.
        if (!isForgetful) expect(await used()).toBe(answered() + lateGrants);
        expect(await used()).toBeLessThanOrEqual(answered() + storeErrors);
      }
    },
  );

  it('stands still under many callers costs each of them one deadline, and none of them rushes back', async () => {
    const callers = 100;
    const subjects = await subjectsAt(redis.server, settings);
    let isOver = false;
    const slow = subjects.map(() => 0);
    const calling = subjects.flatMap(([, subject], i) =>
      Array.from({ length: callers }, async () => {
        while (!isOver) {
          const startMs = performance.now();
          const { degraded } = await subject.check();
          if (degraded && performance.now() - startMs >= 0.9 * afterMs) slow[i]! += 1;
          await sleep(30);
        }
      }),
    );
    await sleep(100);
    await redis.server.pause();
    await waitUntil('probes were tried in vain', () => subjects.every(([, { probes }]) => probes() >= 2));
    const failed = subjects.map(([, { layer, probes }]) => ({ errors: layer.stats().storeErrors, probes: probes() }));
    redis.server.resume();
    await waitUntil('all are closed', () => subjects.every(([, { layer }]) => layer.stats().state === 'closed'));
    isOver = true;
    await Promise.all(calling);
    for (const [i, [, { layer, used, answered }]] of subjects.entries()) {
      const { errors, probes } = failed[i]!;
      // Those that were under way when it stopped, and the probes.
      expect(errors).toBeGreaterThanOrEqual(tripsAfter);
      expect(errors).toBeLessThanOrEqual(callers + probes + 5);
      expect(slow[i]).toBeLessThanOrEqual(callers + probes + 10);
      expect(await used()).toBe(answered() + layer.stats().lateGrants);
    }
  });

  it('is gone is found again with the options as they come', async () => {
    const subjects = await subjectsAt(redis.server, {});
    await redis.server.kill();
    for (const [, { layer, check }] of subjects) {
      await waitUntil('it is no longer asked', async () => {
        await check();
        return layer.stats().state === 'open';
      });
      const { storeErrors } = layer.stats();
      const decisions = await Promise.all(Array.from({ length: 1000 }, check));
      for (const { degraded, retryAfterMs } of decisions) {
        expect(degraded).toBe('closed');
        expect(retryAfterMs).toBeLessThanOrEqual(1000);
      }
      expect(layer.stats().storeErrors).toBeLessThanOrEqual(storeErrors + 1);
    }
    await redis.server.restart();
    await Promise.all(subjects.map(([, subject]) => untilAnswered(subject)));
  });

  it('is slow, and not too slow, decides as ever', async () => {
    const subjects = await subjectsAt(redis.proxy, { ...settings, after: '2s' });
    redis.proxy.delayMs = 100;
    for (const [, { layer, check }] of subjects) {
      const decisions = await Promise.all(Array.from({ length: 20 }, check));
      expect(decisions.filter(({ degraded }) => degraded)).toEqual([]);
      expect(layer.stats()).toMatchObject({ storeErrors: 0, lateGrants: 0 });
    }
  });
});

it('a Redis that is loading its data is waited for no longer than any other', async () => {
  const server = await startRedis({
    config: {
      save: '3600 1',
      'enable-debug-command': 'yes',
      // More than a second, in which it looks after its callers now and then.
      'key-load-delay': 60,
      'loading-process-events-interval-bytes': 1024,
    },
  });
  const subjects = await subjectsAt(server, { ...settings, to: 'open' });
  await server.call('DEBUG', 'POPULATE', 20_000);
  await server.kill('SIGTERM');
  const errors = new Map(subjects.map(([name]) => [name, new Set<string>()]));
  for (const [name, { layer }] of subjects) layer.on('failure', ({ error }) => errors.get(name)?.add(String(error)));
  const restarted = server.restart();
  await Promise.all(
    subjects.map(async ([, subject]) => {
      const called = await callMany(subject, 300);
      mustSay(
        'open',
        called.map(({ decision }) => decision),
      );
      expect(median(called.map(({ tookMs }) => tookMs))).toBeLessThan(afterMs / 10);
    }),
  );
  await restarted;
  for (const [, subject] of subjects) {
    await untilAnswered(subject);
    // What it had counted before is there again.
    expect(await subject.used()).toBeGreaterThanOrEqual(2);
  }
  // node-redis may hear of the loading from the server; ioredis waits until the server is ready.
  expect([...errors.get('node-redis')!].join('\n')).toMatch(/LOADING|did not answer within/);
  expect([...errors.get('ioredis')!].join('\n')).toContain('did not answer within');
  await server.stop();
});
