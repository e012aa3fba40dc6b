/**
 * What is asked for beside plain checks, and what becomes of it where keys, shards and owners meet: shadows, things given back, overruns, and what a
 * standby has to assume of policies that have changed. Schedules by hand; times are in milliseconds.
 */
import { type Check, type Decision, type Policy, type SluiceError, slidingLog, slidingSlots } from 'sluice';
import { slotOf } from 'sluice/client';
import { describe, expect, it, test } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { Stage, type StageOptions, takeOverMs } from './stage.test-support.ts';

/** Windows from here on are written to etcd ahead. */
const longMs = 60_000;

interface SetUp extends StageOptions {
  readonly durableKeys?: number;
}

/** Node a, and b unless it is alone. What nobody knows of the past is over. */
async function settledStage({ durableKeys, ...options }: SetUp = {}): Promise<Stage> {
  const stage = await Stage.settled({
    ...options,
    shared: { durableFromMs: longMs, ...options.shared },
    prepare({ world }) {
      if (durableKeys !== undefined) Object.assign(world.settings, { durableKeys });
    },
  });
  await stage.run(9000);
  return stage;
}

async function decisionOf(stage: Stage, at: SimulatedNode, check: Check): Promise<Decision> {
  const [decision] = await stage.carriedOut(at, [check]);
  return decision!;
}

/** Whoever gets no answer is not let through either. */
function isUnanswered(error: unknown): false {
  if ((error as Partial<SluiceError>).code !== 'store-unavailable') throw error;
  return false;
}

/** How many of so many calls pass. */
async function passed(stage: Stage, at: SimulatedNode, check: Check, calls = 150): Promise<number> {
  let count = 0;
  for (let i = 0; i < calls; i += 1) {
    const isAllowed = decisionOf(stage, at, check).then(({ allowed }) => allowed);
    if (await isAllowed.catch(isUnanswered)) count += 1;
  }
  return count;
}

function checksOf(name: string, policy: Policy) {
  return (key: string, more: Partial<Check> = {}): Check => ({ name, key, policy, cost: 1, ...more });
}

const shardOf = (key: string) => Math.floor((slotOf(key) * 32) / 16_384);

/** Two keys of a node that are in different shards. */
function twoShards(stage: Stage, at: SimulatedNode): [string, string] {
  const [first, ...others] = stage.keysOf(at) as [string, ...string[]];
  return [first, others.find((key) => shardOf(key) !== shardOf(first))!];
}

async function takenOver(stage: Stage, key: string, by: SimulatedNode): Promise<void> {
  await stage.runUntil(() => by.node?.route(slotOf(key)) === 'here');
}

async function loseEtcdFor(stage: Stage): Promise<() => void> {
  let isLost = true;
  stage.mail(({ what, content }) =>
    isLost && what === 'etcd' && JSON.stringify(content).includes('/long/') ? 'lost' : undefined,
  );
  return () => {
    isLost = false;
  };
}

describe('a shadow of a long window', () => {
  const real = checksOf('real', slidingLog({ limit: 5, window: 1000 }));
  const shadow = checksOf('daily', slidingLog({ limit: 1000, window: longMs }));

  async function calls(stage: Stage, key: string, many: number, isSplit = false) {
    const other = isSplit ? stage.keysOf(stage.a).find((one) => shardOf(one) !== shardOf(key))! : key;
    const answers: Decision[][] = [];
    for (let i = 0; i < many; i += 1)
      answers.push(await stage.carriedOut(stage.a, [real(key), shadow(other, { shadow: true })]));
    return answers;
  }

  it.each([
    ['in its shard', false],
    ['in another shard', true],
  ])('that finds no room lets the rest be charged, %s', async (_, isSplit) => {
    const stage = await settledStage({ durableKeys: 1 });
    await decisionOf(stage, stage.a, shadow(stage.keysOf(stage.a).at(-1)!, { shadow: true }));
    const answers = await calls(stage, stage.key, 20, isSplit);
    expect(answers.filter(([decision]) => decision!.allowed)).toHaveLength(5);
    for (const [, said] of answers) expect(said).toMatchObject({ allowed: false, shadow: true, reason: 'store-full' });
  });

  it('that cannot be written down lets the rest be charged, and waits for that but once in a while', async () => {
    const stage = await settledStage();
    await loseEtcdFor(stage);
    const startMs = stage.world.loop.nowMs;
    const answers = await calls(stage, stage.key, 20);
    expect(answers.filter(([decision]) => decision!.allowed)).toHaveLength(5);
    for (const [, said] of answers)
      expect(said).toMatchObject({ allowed: false, shadow: true, reason: 'store-failure' });
    expect(stage.world.loop.nowMs - startMs).toBeLessThan(2 * stage.world.settings.patienceMs);
  });

  it('that is real after all refuses the batch, and nothing is charged', async () => {
    const stage = await settledStage({ durableKeys: 1 });
    await decisionOf(stage, stage.a, shadow(stage.keysOf(stage.a).at(-1)!));
    const [, homeless] = await stage.carriedOut(stage.a, [real(stage.key), shadow(stage.key)]);
    expect(homeless).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(await passed(stage, stage.a, real(stage.key), 20)).toBe(5);
  });
});

describe('a batch over several shards', () => {
  it('gives back what it gives back once', async () => {
    const stage = await settledStage();
    const keys = twoShards(stage, stage.a);
    const check = checksOf('slots', slidingSlots({ limit: 10, window: 6000 }));
    const batch = (more: (i: number) => Partial<Check>) =>
      stage.carriedOut(
        stage.a,
        keys.map((key, i) => check(key, more(i))),
      );
    const first = await batch(() => ({ operation: 'reserve', cost: 4 }));
    await stage.run(7);
    await batch(() => ({ operation: 'reserve', cost: 4 }));
    const cancelled = await batch((i) => ({ operation: 'settle', cost: 4, actual: 0, receipt: first[i]!.receipt }));
    expect(cancelled.map(({ remaining }) => remaining)).toEqual([6, 6]);
    const penalized = await batch(() => ({ operation: 'penalize' }));
    expect(penalized.map(({ remaining }) => remaining)).toEqual([5, 5]);
    const rewarded = await batch(() => ({ operation: 'reward', cost: 2 }));
    expect(rewarded.map(({ remaining }) => remaining)).toEqual([7, 7]);
  });

  const check = checksOf('log', slidingLog({ limit: 5, window: 6000 }));

  /** A key whose shard has room, and one whose shard is full of living keys, of which one is told. */
  async function crowdedStage(): Promise<{ stage: Stage; key: string; crowded: string; old: string }> {
    const stage = await settledStage({ settings: { maxKeys: 1 } });
    const [key, crowded] = twoShards(stage, stage.a);
    // A shard has room for a few keys at least.
    const crowd = Array.from({ length: 5000 }, (_one, i) => `of-many-${i}`).filter(
      (one) => shardOf(one) === shardOf(crowded),
    );
    await stage.carriedOut(
      stage.a,
      crowd.slice(0, 64).map((one) => check(one)),
    );
    return { stage, key, crowded, old: crowd[0]! };
  }

  it.each([
    ['first', 0],
    ['last', 1],
  ])('charges none of them when one is full of living keys, %s', async (_, place) => {
    const { stage, key, crowded, old } = await crowdedStage();
    const batch = place === 0 ? [check(crowded), check(key)] : [check(key), check(crowded)];
    for (let i = 0; i < 3; i += 1) {
      const decisions = await stage.carriedOut(stage.a, batch);
      expect(decisions[place]).toMatchObject({ allowed: false, reason: 'store-full' });
    }
    expect(await decisionOf(stage, stage.a, check(key, { cost: 0 }))).toMatchObject({ remaining: 5 });
    const [, full] = await stage.carriedOut(stage.a, [check(key), check(old)]);
    expect(full).toMatchObject({ allowed: true, remaining: 3 });
    expect(full).not.toHaveProperty('receipt');
  });

  it.each([
    ['first', 0],
    ['last', 1],
  ])('takes what there is, or a penalty, of none of them when one is full of living keys, %s', async (_, place) => {
    const { stage, key, crowded, old } = await crowdedStage();
    const batch = (more: Partial<Check>, full = crowded) => {
      const checks = [check(key, more), check(full, more)];
      return stage.carriedOut(stage.a, place === 0 ? checks.reverse() : checks);
    };
    const taken = await batch({ operation: 'take', cost: 2 });
    expect(taken[place]).toMatchObject({ allowed: false, reason: 'store-full' });
    await expect(batch({ operation: 'penalize', cost: 2 })).rejects.toMatchObject({ code: 'store-full' });
    expect(await decisionOf(stage, stage.a, check(key, { cost: 0 }))).toMatchObject({ remaining: 5 });
    const both = await batch({ operation: 'take', cost: 2 }, old);
    expect(both.map(({ granted }) => granted)).toEqual([2, 2]);
    await batch({ operation: 'penalize', cost: 1 }, old);
    expect(await decisionOf(stage, stage.a, check(key, { cost: 0 }))).toMatchObject({ remaining: 2 });
  });

  it('does nothing of it when it is refused', async () => {
    const stage = await settledStage();
    const [full, other] = twoShards(stage, stage.a);
    const check = checksOf('log', slidingLog({ limit: 10, window: 6000 }));
    await decisionOf(stage, stage.a, check(full, { cost: 10 }));
    await decisionOf(stage, stage.a, check(other, { cost: 6 }));
    for (const operation of ['reward', 'penalize', 'reset', 'block'] as const) {
      const batch = [check(full), check(other, { operation, cost: 2, durationMs: 1000 })];
      const [refused, notDone] = await stage.carriedOut(stage.a, [...batch]);
      expect(refused!.allowed).toBe(false);
      expect(notDone, operation).toMatchObject({ allowed: true, remaining: 4 });
    }
    expect((await decisionOf(stage, stage.a, check(other, { cost: 0 }))).remaining).toBe(4);
  });
});

describe('what is taken beyond what was asked for, of a long window', () => {
  const check = checksOf('daily', slidingLog({ limit: 100, window: longMs }));

  async function restarted(stage: Stage): Promise<void> {
    for (const node of [stage.a, stage.b]) node.crash();
    void stage.a.start();
    await stage.run(2 * takeOverMs + 500);
  }

  it('is written down before it is taken', async () => {
    const stage = await settledStage();
    const { key } = stage;
    const { receipt } = await decisionOf(stage, stage.a, check(key, { operation: 'reserve' }));
    await decisionOf(stage, stage.a, check(key, { operation: 'settle', actual: 80, receipt }));
    await decisionOf(stage, stage.a, check(key, { operation: 'penalize', cost: 15 }));
    await restarted(stage);
    expect(await passed(stage, stage.a, check(key))).toBeLessThanOrEqual(5);
  });

  it('is taken without etcd, and written down when that is back', async () => {
    const stage = await settledStage();
    const { key } = stage;
    const { receipt } = await decisionOf(stage, stage.a, check(key, { operation: 'reserve' }));
    const goOn = await loseEtcdFor(stage);
    const settled = await decisionOf(stage, stage.a, check(key, { operation: 'settle', actual: 100, receipt }));
    expect(settled).toMatchObject({ allowed: true, remaining: 0 });
    goOn();
    // Nobody asks for the key any more.
    await stage.run(3000);
    await restarted(stage);
    expect(await passed(stage, stage.a, check(key))).toBe(0);
  });

  it('is taken though there is no room for the key, and is known where it was', async () => {
    const stage = await settledStage({ durableKeys: 1 });
    const { key } = stage;
    const other = stage.keysOf(stage.a).at(-1)!;
    await decisionOf(stage, stage.a, check(other));
    const penalized = await decisionOf(stage, stage.a, check(key, { operation: 'penalize', cost: 40 }));
    expect(penalized).toMatchObject({ allowed: true, remaining: 60 });
    expect(await decisionOf(stage, stage.a, check(key))).toMatchObject({ allowed: false, reason: 'store-full' });
    expect((await decisionOf(stage, stage.a, check(other))).allowed).toBe(true);
  });

  it('adds up with what else its batch takes of the key', async () => {
    const stage = await settledStage();
    const { key } = stage;
    // Chunks of 1, 2 and 4, of which 3 are left: enough for each of the two, and not for both.
    for (let i = 0; i < 4; i += 1) await decisionOf(stage, stage.a, check(key));
    await stage.carriedOut(stage.a, [check(key, { cost: 3 }), check(key, { operation: 'penalize', cost: 3 })]);
    await restarted(stage);
    expect(await passed(stage, stage.a, check(key))).toBeLessThanOrEqual(90);
  });
});

describe('a standby that takes over', () => {
  const withStandby = { shared: { unreplicated: 10 } };

  /** Without waiting for anything: what is answered at once. */
  function atOnce(at: SimulatedNode, check: Check, calls: number): number {
    let granted = 0;
    for (let i = 0; i < calls; i += 1) {
      const answer = at.node!.apply([check]);
      if (answer instanceof Promise) answer.catch(() => {});
      else if (answer[0]!.allowed) granted += 1;
    }
    return granted;
  }

  it('leaves room for what may be missing under the policy of before', async () => {
    const stage = await settledStage(withStandby);
    const check = (limit: number) => checksOf('rule', slidingLog({ limit, window: 5000 }))(stage.key);
    let used = (await decisionOf(stage, stage.a, check(100))).allowed ? 1 : 0;
    await stage.run(50);
    used += atOnce(stage.a, check(100), 10);
    expect(used).toBe(11);
    stage.a.crash();
    await takenOver(stage, stage.key, stage.b);
    used += await passed(stage, stage.b, check(20), 40);
    expect(used).toBeLessThanOrEqual(20);
  });

  it('is not left behind under a policy that it has not heard of', async () => {
    const stage = await settledStage(withStandby);
    const check = (limit: number) => checksOf('rule', slidingLog({ limit, window: 5000 }))(stage.key);
    let used = atOnce(stage.a, check(100), 10);
    stage.a.crash();
    await takenOver(stage, stage.key, stage.b);
    used += await passed(stage, stage.b, check(20), 40);
    expect(used).toBeLessThanOrEqual(20);
    // Nothing was answered that may be missing, so there is no more to leave room for than by the policy itself.
    expect(used).toBeGreaterThanOrEqual(18);
  });

  it('tells its own standby, and whom it hands over to', async () => {
    const stage = await settledStage(withStandby);
    const check = (limit: number) => checksOf('rule', slidingLog({ limit, window: 9000 }))(stage.key);
    await decisionOf(stage, stage.a, check(100));
    await stage.run(50);
    let used = 1 + atOnce(stage.a, check(100), 10);
    stage.a.crash();
    await takenOver(stage, stage.key, stage.b);
    void stage.c.start();
    await stage.run(2000);
    void stage.b.leave(2000);
    await takenOver(stage, stage.key, stage.c);
    used += await passed(stage, stage.c, check(20), 40);
    expect(used).toBeLessThanOrEqual(20);
  });

  it('refuses for `minGap`: when the last grant was, it does not know', async () => {
    const stage = await settledStage(withStandby);
    const check = checksOf('rule', slidingLog({ limit: 20, window: 10_000, minGap: 3000 }))(stage.key);
    await decisionOf(stage, stage.a, check);
    await stage.run(3100);
    expect(atOnce(stage.a, check, 2)).toBe(1);
    const grantedMs = stage.world.loop.nowMs;
    stage.a.crash();
    await takenOver(stage, stage.key, stage.b);
    expect(await decisionOf(stage, stage.b, check)).toMatchObject({ allowed: false, reason: 'quarantine' });
    const { retryAfterMs } = await decisionOf(stage, stage.b, check);
    await stage.run(retryAfterMs);
    expect((await decisionOf(stage, stage.b, check)).allowed).toBe(true);
    expect(stage.world.loop.nowMs - grantedMs).toBeGreaterThanOrEqual(3000);
  });

  test('after many failures reads what was written down of a long window, though it knew it once', async () => {
    const stage = await settledStage(withStandby);
    const { key } = stage;
    const check = checksOf('daily', slidingLog({ limit: 100, window: longMs }))(key);
    const owner = () => [stage.a, stage.b].find(({ node }) => node?.route(slotOf(key)) === 'here')!;
    const standby = () => (owner() === stage.a ? stage.b : stage.a);
    let used = (await decisionOf(stage, owner(), check)).allowed ? 1 : 0;
    for (let failures = 0; failures < 5; failures += 1) {
      // A new copy, that knows the key.
      standby().crash();
      await stage.run(1200);
      void standby().start();
      await stage.run(1500);
      for (let i = 0; i < 4; i += 1) {
        used += (await decisionOf(stage, owner(), check)).allowed ? 1 : 0;
        await stage.run(30);
      }
      used += atOnce(owner(), check, 10);
      const [lost, next] = [owner(), standby()];
      lost.crash();
      await takenOver(stage, key, next);
      void lost.start();
      await stage.run(300);
    }
    expect(used).toBeGreaterThan(30);
    used += await passed(stage, owner(), check);
    expect(used).toBeLessThanOrEqual(100);
  });
});
