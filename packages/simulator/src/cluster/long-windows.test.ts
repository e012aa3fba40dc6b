/**
 * Long windows, by schedules written by hand: what nobody remembers but etcd. They are a minute long here, and limits are 100.
 */
import { type Check, type Decision, gcra, type Policy, slidingLog, tokenBucket } from 'sluice';
import { slotOf } from 'sluice/client';
import type { Transaction } from 'sluice-server/cluster';
import { describe, expect, test } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { Stage, type StageOptions, takeOverMs, ttlMs } from './stage.test-support.ts';

const longMs = 60_000;
const hundred = slidingLog({ limit: 100, window: longMs });

async function stageOf(options: StageOptions = {}, nodes: readonly ('a' | 'b')[] = ['a']): Promise<Stage> {
  const stage = new Stage({ ...options, shared: { durableFromMs: longMs, ...options.shared } });
  for (const name of nodes) {
    void stage[name].start();
    await stage.run(50);
  }
  await stage.run(3000);
  stage.key = stage.keysOf(stage.a)[0]!;
  return stage;
}

interface Asking {
  readonly key?: string;
  readonly policy?: Policy;
  readonly cost?: number;
  readonly operation?: Check['operation'];
}

async function answer(
  stage: Stage,
  node: SimulatedNode,
  { key = stage.key, policy = hundred, cost = 1, operation }: Asking = {},
): Promise<Decision> {
  return (await stage.carriedOut(node, [{ name: 'long', key, policy, cost, operation }]))[0]!;
}

/** How many of so many calls pass, and when. */
async function grants(
  stage: Stage,
  node: SimulatedNode,
  calls: number,
  { gapMs = 0, ...asking }: Asking & { readonly gapMs?: number } = {},
): Promise<number[]> {
  const timesMs: number[] = [];
  for (let i = 0; i < calls; i += 1) {
    if ((await answer(stage, node, asking)).allowed) timesMs.push(stage.world.loop.nowMs);
    if (gapMs > 0) await stage.run(gapMs);
  }
  return timesMs;
}

function mostInAWindow(timesMs: readonly number[]): number {
  const inWindow = timesMs.map((fromMs) => timesMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + longMs).length);
  return Math.max(...inWindow);
}

function recordsUnder(stage: Stage, prefix: string): readonly string[] {
  const read = [{ key: prefix, isPrefix: true }];
  return stage.world.etcd.state.commit({ compare: [], change: [], read }).found[0]!.map(({ key }) => key);
}

async function restart(stage: Stage, node: SimulatedNode): Promise<void> {
  node.crash();
  await stage.run(1000);
  void node.start();
  await stage.run(3000);
}

/** Everybody does, and the copy is begun before the key is asked for. */
async function forgetEverything(stage: Stage): Promise<void> {
  for (const node of [stage.a, stage.b]) node.crash();
  await stage.run(1000);
  void stage.a.start();
  await stage.run(50);
  void stage.b.start();
  await stage.run(takeOverMs + 2000);
  expect(stage.a.node!.route(slotOf(stage.key))).toBe('here');
}

describe('places for keys', () => {
  const ten = slidingLog({ limit: 10, window: longMs });

  test('are not taken by keys that were refused', async () => {
    const stage = await stageOf({ settings: { durableKeys: 20 } });
    for (let i = 0; i < 50; i += 1) {
      const { allowed, reason } = await answer(stage, stage.a, { key: `dear-${i}`, policy: ten, cost: 11 });
      expect({ allowed, reason }).toEqual({ allowed: false, reason: 'limit' });
    }
    expect(stage.a.node!.stats().durableKeys).toBe(0);
    expect((await answer(stage, stage.a, { key: 'honest', policy: ten })).allowed).toBe(true);
    expect(stage.a.node!.stats().durableKeys).toBe(1);
  });

  test('are given back when etcd does not answer', async () => {
    const stage = await stageOf({ settings: { durableKeys: 20 } });
    let isCut = true;
    stage.mail(({ what, content }) => (isCut && what === 'etcd' && isOfLongKey(content) ? 'lost' : undefined));
    for (let i = 0; i < 25; i += 1) {
      const failed = answer(stage, stage.a, { key: `unread-${i}`, policy: ten });
      await expect(failed).rejects.toMatchObject({ code: 'store-unavailable' });
    }
    isCut = false;
    expect(stage.a.node!.stats().durableKeys).toBe(0);
    expect((await answer(stage, stage.a, { key: 'honest', policy: ten })).allowed).toBe(true);
  });

  test('are given back when nobody knows whether a chunk was written, and none was', async () => {
    const stage = await stageOf({ settings: { durableKeys: 20 } });
    let isCut = true;
    stage.mail(({ what, content }) => {
      const isWrite = what === 'etcd' && isOfLongKey((content as Transaction).change);
      return isCut && isWrite ? 'lost' : undefined;
    });
    const asked = Array.from({ length: 20 }, (_, i) => ({ name: 'long', key: `unwritten-${i}`, policy: ten, cost: 1 }));
    const failed = Promise.allSettled(asked.map((check) => stage.a.node!.apply([check])));
    await stage.run(250);
    expect((await failed).every(({ status }) => status === 'rejected')).toBe(true);
    expect(stage.a.node!.stats().durableKeys).toBeGreaterThan(10);
    isCut = false;
    // Each renewal looks after one of 32 shards.
    await stage.run((33 * ttlMs) / 5 + 500);
    expect(stage.a.node!.stats().durableKeys).toBe(0);
    expect((await answer(stage, stage.a, { key: 'honest', policy: ten })).allowed).toBe(true);
  });

  test('are given back once a window is over', async () => {
    const stage = await stageOf({ settings: { durableKeys: 20 } });
    for (let i = 0; i < 20; i += 1) await answer(stage, stage.a, { key: `user-${i}`, policy: ten });
    expect((await answer(stage, stage.a, { key: 'honest', policy: ten })).reason).toBe('store-full');
    await stage.run(longMs + 10_000);
    expect(stage.a.node!.stats().durableKeys).toBe(0);
    expect(recordsUnder(stage, '/sluice/staged/long/').filter((key) => key.includes('/key/'))).toEqual([]);
  });
});

function isOfLongKey(content: unknown): boolean {
  return JSON.stringify(content).includes('/key/');
}

describe('records', () => {
  test.each([[64], [7], [1]])('are found by %i shards as by 32', async (shards) => {
    const stage = await stageOf();
    expect((await grants(stage, stage.a, 120)).length).toBe(100);
    void stage.a.leave(2000);
    await stage.run(3000);
    expect(stage.a.node).toBeUndefined();
    const { settings } = stage.world;
    Object.assign(settings, { shared: { ...settings.shared, shards } });
    void stage.a.start();
    await stage.run(2000);
    expect(stage.a.isReady).toBe(true);
    expect(await grants(stage, stage.a, 20)).toEqual([]);
    // And they are swept by their new shards.
    await stage.run(longMs + 10_000);
    expect(recordsUnder(stage, '/sluice/staged/long/').filter((key) => key.includes('/key/'))).toEqual([]);
    expect((await answer(stage, stage.a)).allowed).toBe(true);
  });

  test('by the number of a shard, as they were before, are neither read nor kept', async () => {
    const stage = await stageOf();
    const old = JSON.stringify({ name: 'long', key: stage.key, spanMs: longMs, chunks: [{ id: 'x', cost: 100 }] });
    for (const shard of [0, 17, 255, 1023])
      stage.world.etcd.state.commit({
        compare: [],
        change: [{ put: `/sluice/staged/long/${shard}/long/${stage.key}`, value: old }],
        read: [],
      });
    expect((await answer(stage, stage.a)).allowed).toBe(true);
    await stage.run((33 * ttlMs) / 5 + 500);
    const kept = recordsUnder(stage, '/sluice/staged/long/');
    expect(kept).toHaveLength(1);
    expect(kept[0]).toContain('/slot/');
  });
});

describe('the time of the cluster', () => {
  test('may be behind at an owner whose clock is slow: its chunks count for longer', async () => {
    const stage = await stageOf({ settings: { ttlMs: 10_000 }, clocks: { a: { rate: 1.001 }, b: { rate: 0.999 } } }, [
      'a',
      'b',
    ]);
    await stage.run(longMs + 40_000);
    // By as much as it may be: a renewal ago.
    const timeOf = ({ node }: SimulatedNode) =>
      (node as unknown as { parts: { membership: { time: { nowMs(): number } } } }).parts.membership.time.nowMs();
    for (let s = 0; s < 1500 && timeOf(stage.a) - timeOf(stage.b) < 1850; s += 1) await stage.run(1000);
    expect(timeOf(stage.a) - timeOf(stage.b)).toBeGreaterThan(1500);
    stage.key = stage.keysOf(stage.b)[0]!;
    const used = await grants(stage, stage.b, 130);
    expect(used.length).toBe(100);
    stage.b.crash();
    await stage.run(20_000);
    expect(stage.a.node!.route(slotOf(stage.key))).toBe('here');
    used.push(...(await grants(stage, stage.a, 2300, { gapMs: 20 })));
    expect(mostInAWindow(used)).toBe(100);
  }, 60_000);

  test('that jumps ends what is left of a chunk', async () => {
    const stage = await stageOf();
    for (const cost of [5, 5, 1]) await answer(stage, stage.a, { cost });
    const { durableWrites } = stage.a.node!.stats();
    // From the chunk of four that the last one began.
    await answer(stage, stage.a);
    expect(stage.a.node!.stats().durableWrites).toBe(durableWrites);
    const far = {
      id: 'far',
      addresses: { resp: 'far' },
      ttlMs,
      isLeaving: false,
      timeMs: stage.world.loop.nowMs + 5e6,
    };
    stage.world.etcd.state.commit({
      compare: [],
      change: [{ put: '/sluice/staged/nodes/far', value: JSON.stringify(far) }],
      read: [],
    });
    await stage.run(ttlMs / 5 + 10);
    await answer(stage, stage.a);
    expect(stage.a.node!.stats().durableWrites).toBe(durableWrites + 1);
  });
});

describe('a standby that takes over', () => {
  const shared = { unreplicated: 10 };

  async function promoted(stage: Stage): Promise<void> {
    stage.a.crash();
    await stage.runUntil(() => stage.b.node!.route(slotOf(stage.key)) === 'here');
    expect(stage.b.node!.stats().promoted).toBeGreaterThan(0);
  }

  test('does not count twice what it has a copy of', async () => {
    const stage = await stageOf({ shared }, ['a', 'b']);
    expect((await grants(stage, stage.a, 55, { gapMs: 20 })).length).toBe(55);
    await promoted(stage);
    // All but the ten that the owner may have been ahead.
    expect((await grants(stage, stage.b, 60)).length).toBe(35);
  });

  test('counts what its owner read in etcd and did not tell it', async () => {
    const stage = await stageOf({ shared }, ['a', 'b']);
    expect((await grants(stage, stage.a, 30, { gapMs: 20 })).length).toBe(30);
    await forgetEverything(stage);
    const more = (await grants(stage, stage.a, 20, { gapMs: 20 })).length;
    expect(more).toBe(20);
    await promoted(stage);
    const rest = (await grants(stage, stage.b, 60)).length;
    expect(30 + more + rest).toBeLessThanOrEqual(100);
    expect(rest).toBeGreaterThan(0);
  });
});

describe('a bucket that is never full', () => {
  const promised = (forMs: number) => 100 + (100 / longMs) * forMs;

  test.each([
    ['gcra', gcra({ limit: 100, window: longMs }), 0],
    ['token-bucket', tokenBucket({ limit: 100, window: longMs }), 0],
    // So many that the copy, in which it was full, forgets it.
    ['gcra, among many others', gcra({ limit: 100, window: longMs }), 4000],
  ])(
    'is not full to a standby either, however long ago its owner read of it in etcd (%s)',
    async (_, policy, crowd) => {
      const stage = await stageOf(
        { shared: { unreplicated: 10 }, settings: { maxKeys: 100_000, durableKeys: 100_000 } },
        ['a', 'b'],
      );
      const sinceMs = stage.world.loop.nowMs;
      let used = (await grants(stage, stage.a, 110, { policy })).length;
      await forgetEverything(stage);
      // Whatever comes in is used, until nothing that was read then is in the record any more.
      used += (await grants(stage, stage.a, 250, { policy, gapMs: 300 })).length;
      stage.a.crash();
      await stage.runUntil(() => stage.b.node!.route(slotOf(stage.key)) === 'here');
      expect(stage.b.node!.stats().promoted).toBeGreaterThan(0);
      for (let i = 0; i < crowd; i += 1) await answer(stage, stage.b, { key: `{${stage.key}}${i}`, policy });
      used += (await grants(stage, stage.b, 150, { policy })).length;
      expect(used).toBeLessThanOrEqual(promised(stage.world.loop.nowMs - sinceMs));
    },
  );

  test('is as full to a new owner as its chunks of the time that it takes to fill leave it', async () => {
    const stage = await stageOf();
    const policy = gcra({ limit: 100, window: longMs });
    const sinceMs = stage.world.loop.nowMs;
    let used = 0;
    for (let lives = 0; lives < 4; lives += 1) {
      used += (await grants(stage, stage.a, 20, { policy, gapMs: 250 })).length;
      await restart(stage, stage.a);
    }
    // Each life loses what was left of a chunk, and no more than that.
    expect(used).toBeGreaterThan(60);
    used += (await grants(stage, stage.a, 110, { policy })).length;
    expect(used).toBeLessThanOrEqual(promised(stage.world.loop.nowMs - sinceMs));
  });
});

describe('a window that is made longer', () => {
  const longer = slidingLog({ limit: 100, window: 10 * longMs });

  test('after its records were removed, and their owner died, counts as used up', async () => {
    const stage = await stageOf();
    expect((await grants(stage, stage.a, 120)).length).toBe(100);
    await stage.run(longMs + 30_000);
    expect(stage.a.node!.stats().durableKeys).toBe(0);
    await restart(stage, stage.a);
    expect(await grants(stage, stage.a, 20, { policy: longer })).toEqual([]);
    // Others that are asked for by the longer window are not concerned.
    const other = Array.from({ length: 1000 }, (_, i) => `key-${i}`).find((key) => slotOf(key) !== slotOf(stage.key));
    expect((await answer(stage, stage.a, { key: other!, policy: longer })).allowed).toBe(true);
  });

  test('is the only one: as it was, it begins anew', async () => {
    const stage = await stageOf();
    expect((await grants(stage, stage.a, 120)).length).toBe(100);
    await stage.run(longMs + 30_000);
    await restart(stage, stage.a);
    expect((await grants(stage, stage.a, 120)).length).toBe(100);
  });
});
