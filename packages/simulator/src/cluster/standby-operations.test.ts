/**
 * Operations that are no plain grants, and what becomes of them when their owner is lost: schedules that were found to be too much once, or to have no
 * end.
 */
import { type Check, concurrency, type Decision, type Policy, parsePolicy, slidingLog } from 'sluice';
import type { Transaction } from 'sluice-server/cluster';
import { describe, expect, test } from 'vitest';
import { etcdHost } from './etcd-model.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { graceMs, limit, Stage, type StageOptions, takeOverMs, ttlMs, windowMs } from './stage.test-support.ts';

const leaseMs = 2000;
const places = 20;
const leases = concurrency({ limit: places, lease: leaseMs });
const withStandby = { shared: { unreplicated: 10 } };
const leased = { policy: leases, ...withStandby };

/** A key that nothing is in doubt about, and that its standby, if there is one, has heard of: what is granted next is answered without it. */
async function certain(options: StageOptions & { readonly policy: Policy }, spanMs: number): Promise<Stage> {
  const stage = await Stage.settled(options);
  await stage.run(2 * spanMs);
  const { policy } = options;
  const { receipt } = await answerOf(stage, stage.a, { policy, operation: policy === leases ? 'acquire' : 'check' });
  if (receipt) await answerOf(stage, stage.a, { policy, operation: 'release', receipt });
  await stage.run(2 * spanMs);
  return stage;
}

type Asked = Partial<Check> & Pick<Check, 'policy'>;

interface Reply {
  decisions: readonly Decision[] | undefined;
  error: Error | undefined;
}

/** What a node says to whoever asks it, as soon as it does. */
function ask(stage: Stage, at: SimulatedNode, asked: Asked, requestId?: string): Reply {
  const reply: Reply = { decisions: undefined, error: undefined };
  const check = { name: 'rule', key: stage.key, cost: 1, ...asked };
  Promise.resolve()
    .then(() => at.node!.apply([check], requestId))
    .then(
      (decisions) => {
        reply.decisions = decisions;
      },
      (error) => {
        reply.error = error;
      },
    );
  return reply;
}

async function answerOf(stage: Stage, at: SimulatedNode, asked: Asked, requestId?: string): Promise<Decision> {
  return (await stage.carriedOut(at, [{ name: 'rule', key: stage.key, cost: 1, ...asked }], requestId))[0]!;
}

async function countGranted(stage: Stage, at: SimulatedNode, asked: Asked, times: number): Promise<number> {
  let granted = 0;
  for (let i = 0; i < times; i += 1) if ((await answerOf(stage, at, asked)).allowed) granted += 1;
  return granted;
}

/** Callers reach the owner, and nobody else does. */
function cutOff(stage: Stage): void {
  stage.mail(({ from, to }) => {
    const isOwners = from === 'a' || to === 'a';
    const isCluster = ['b', etcdHost].includes(from === 'a' ? to : from);
    return isOwners && isCluster ? 'lost' : undefined;
  });
}

async function takenOver(stage: Stage): Promise<void> {
  await stage.runUntil(() => stage.keysOf(stage.b).includes(stage.key));
}

describe('a renewal', () => {
  test.each([
    { heldByEach: 10, cost: 1, story: 'holds more than it says' },
    { heldByEach: 1, cost: 0, story: 'says that it takes nothing' },
  ])('that $story is in the copy before it is answered', async ({ heldByEach, cost }) => {
    const stage = await certain(leased, leaseMs);
    const { a, b } = stage;
    const held: Decision[] = [];
    for (let i = 0; i < places; i += heldByEach) {
      held.push(await answerOf(stage, a, { policy: leases, operation: 'acquire', cost: heldByEach }));
      await stage.run(5);
    }
    await stage.run(0.75 * leaseMs);
    cutOff(stage);
    const renewals = held.map(({ receipt }) => ask(stage, a, { policy: leases, operation: 'renew', receipt, cost }));
    await takenOver(stage);
    // Those that were not renewed in time have ended by now.
    await stage.run(leaseMs / 4);
    const renewed = renewals.filter(({ decisions }) => decisions?.[0]?.allowed).length * heldByEach;
    const granted = await countGranted(stage, b, { policy: leases, operation: 'acquire' }, places);
    expect(renewed + granted).toBeLessThanOrEqual(places);
    expect(granted).toBe(places - 2);
  });

  test('keeps what it holds when its owner crashes as soon as it has said so', async () => {
    const stage = await certain(leased, leaseMs);
    const { a, b } = stage;
    const { receipt } = await answerOf(stage, a, { policy: leases, operation: 'acquire', cost: places });
    await stage.run(0.9 * leaseMs);
    expect(await answerOf(stage, a, { policy: leases, operation: 'renew', receipt })).toMatchObject({ allowed: true });
    a.crash();
    await takenOver(stage);
    await stage.run(leaseMs / 4);
    expect(await countGranted(stage, b, { policy: leases, operation: 'acquire' }, places)).toBe(0);
  });

  test('is answered all the same once etcd knows that there is no standby', async () => {
    const stage = await certain(leased, leaseMs);
    const { a, b } = stage;
    const { receipt } = await answerOf(stage, a, { policy: leases, operation: 'acquire' });
    b.crash();
    await stage.run(3 * takeOverMs);
    expect(await answerOf(stage, a, { policy: leases, operation: 'renew', receipt })).toMatchObject({ allowed: true });
  });
});

describe('a block', () => {
  const policy = slidingLog({ limit: 100, window: windowMs });

  test('is kept when its owner crashes as soon as it has said so, however long it is', async () => {
    const stage = await certain({ policy, ...withStandby }, windowMs);
    const { a, b } = stage;
    await answerOf(stage, a, { policy, operation: 'block', durationMs: 3_600_000 });
    a.crash();
    await takenOver(stage);
    await stage.run(2 * windowMs);
    expect(await answerOf(stage, b, { policy })).toMatchObject({ allowed: false, reason: 'blocked' });
  });

  test('that the standby did not hear of is an error, and nobody takes it for one', async () => {
    const stage = await certain({ policy, ...withStandby }, windowMs);
    cutOff(stage);
    await expect(answerOf(stage, stage.a, { policy, operation: 'block', durationMs: 3_600_000 })).rejects.toThrow(
      'did not confirm',
    );
  });

  test('goes along in a planned change of owner, standby or not', async () => {
    const stage = await certain({ policy }, windowMs);
    const { a, b } = stage;
    await answerOf(stage, a, { policy, operation: 'block', durationMs: 3_600_000 });
    void a.leave(2000);
    await takenOver(stage);
    await stage.run(2 * windowMs);
    expect(await answerOf(stage, b, { policy })).toMatchObject({ allowed: false, reason: 'blocked' });
  });
});

/**
 * Etcd goes away in the middle of a hand-over from a to c, until the right of a has ended, and comes back before anybody has taken over. By then c
 * leaves: it is not handed over to again.
 */
async function leftFrozen(isArriving: boolean): Promise<Stage> {
  const stage = await Stage.settled({ isForC: true });
  let isAway = false;
  let isBackForC = false;
  stage.mail(({ from, to, what, content }) => {
    const isEtcds = from === etcdHost || to === etcdHost;
    const isHandOver =
      from === 'a' && what === 'etcd' && JSON.stringify((content as Transaction).change).includes('offer:');
    if (!isAway && isHandOver) {
      isAway = true;
      return isArriving ? 900 : 'lost';
    }
    const isForC = isBackForC && (from === 'c' || to === 'c');
    return isAway && isEtcds && !isForC ? 'lost' : undefined;
  });
  void stage.c.start();
  await stage.runUntil(() => isAway);
  await stage.run(1.75 * ttlMs);
  void stage.c.leave(5000);
  await stage.run(0.75 * ttlMs);
  isBackForC = true;
  await stage.run(60);
  stage.world.network.postmaster = undefined;
  return stage;
}

describe('a shard that a hand-over left frozen when the right of its owner ran out', () => {
  const policy = slidingLog({ limit, window: windowMs });

  test.each([
    { isArriving: false, story: 'never reached etcd' },
    { isArriving: true, story: 'has happened, and nobody heard of it' },
  ])('is served again, where the hand-over $story', async ({ isArriving }) => {
    const stage = await leftFrozen(isArriving);
    await stage.run(5 * takeOverMs);
    const [owner] = [stage.a, stage.b].filter((node) => stage.keysOf(node).includes(stage.key));
    expect(await countGranted(stage, owner!, { policy }, 2 * limit)).toBe(limit);
  });
});

describe('a request with an id', () => {
  const slots = parsePolicy({ algorithm: 'sliding-slots', limit: 10, window: 6000 });

  test('that settles a reservation settles it once, whatever it says was really used', async () => {
    const stage = await certain({ policy: slots }, 6000);
    const { a } = stage;
    const { receipt } = await answerOf(stage, a, { policy: slots, operation: 'reserve', cost: 5 }, 'first');
    await answerOf(stage, a, { policy: slots, operation: 'reserve', cost: 5 }, 'other');
    const settle = (actual: number) =>
      answerOf(stage, a, { policy: slots, operation: 'settle', cost: 5, actual, receipt }, 'first settled');
    expect(await settle(0)).toEqual(await settle(1));
    expect(await answerOf(stage, a, { policy: slots, operation: 'peek', cost: 0 })).toMatchObject({ remaining: 5 });
  });

  test.each(['settle', 'reward'] as const)(
    'gives back once by %s, though its standby did not confirm it the first time',
    async (operation) => {
      const many = parsePolicy({ algorithm: 'sliding-slots', limit: 100, window: 6000 });
      const stage = await certain({ policy: many, ...withStandby }, 6000);
      const { a } = stage;
      const taken = { policy: many, operation: 'reserve', cost: 30 } as const;
      const { receipt } = await answerOf(stage, a, taken, 'first');
      await answerOf(stage, a, taken, 'other');
      stage.mail(({ what }) => (what === 'replicate' ? 'lost' : undefined));
      const giveBack = () => answerOf(stage, a, { ...taken, operation, actual: 0, receipt }, 'first settled');
      await expect(giveBack()).rejects.toThrow('did not confirm');
      // Etcd knows by now that there is no standby, or will in a moment.
      expect(await giveBack()).toMatchObject({ allowed: true, remaining: 70 });
      await stage.run(2 * ttlMs);
      expect(await answerOf(stage, a, { policy: many, operation: 'peek', cost: 0 })).toMatchObject({ remaining: 70 });
    },
  );

  test('is granted again for the grace, and is an error from then on', async () => {
    const policy = slidingLog({ limit, window: windowMs });
    const stage = await certain({ policy }, windowMs);
    const { a } = stage;
    const first = await answerOf(stage, a, { policy }, 'id');
    await stage.run(graceMs - 1);
    expect(await answerOf(stage, a, { policy }, 'id')).toEqual(first);
    await stage.run(2);
    await expect(answerOf(stage, a, { policy }, 'id')).rejects.toThrow('longer ago than a grant may be used');
    expect(await answerOf(stage, a, { policy, cost: 0, operation: 'peek' })).toMatchObject({ remaining: limit - 1 });
  });
});

test('a lease that was heard of late lasts for as long as its holder thinks', async () => {
  const one = concurrency({ limit: 1, lease: leaseMs });
  const stage = await Stage.settled({ policy: one });
  await stage.run(2 * leaseMs);
  const { a } = stage;
  await answerOf(stage, a, { policy: one, operation: 'acquire' });
  await stage.run(leaseMs + graceMs - 1);
  expect(await answerOf(stage, a, { policy: one, operation: 'acquire' })).toMatchObject({ allowed: false });
  await stage.run(graceMs);
  expect(await answerOf(stage, a, { policy: one, operation: 'acquire' })).toMatchObject({ allowed: true });
});
