/** Nodes over a real etcd, in one process. What faults do to them is the simulation's (packages/simulator/src/cluster) and the fire tests' (fire/). */
import { type EtcdCluster, startEtcd, waitUntil } from '@sluice/test-servers';
import { type Check, type Decision, fixedWindow, slidingLog } from 'sluice';
import { slotOf } from 'sluice/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterNode } from './cluster-node.ts';
import { type Neighbourhood, neighbourhood } from './nodes.test-support.ts';
import { defaultShards } from './shards.ts';

let etcd: EtcdCluster;
let around: Neighbourhood;

beforeAll(async () => {
  etcd = await startEtcd({ members: 1 });
}, 60_000);
afterAll(() => etcd.stop());
afterEach(() => around.close());

const window = 400;
const policy = slidingLog({ limit: 10, window });
const withStandby = { graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 };

function check(key: string, over: Partial<Check> = {}): Check {
  return { name: 'rule', key, policy, cost: 1, ...over };
}

async function ask(node: ClusterNode, key: string, over: Partial<Check> = {}): Promise<Decision> {
  return (await node.apply([check(key, over)]))[0]!;
}

function owns(node: ClusterNode, key: string): boolean {
  return node.route(slotOf(key)) === 'here';
}

function keyOf(node: ClusterNode, from = 0): string {
  for (let i = from; ; i += 1) if (owns(node, `user ${i}`)) return `user ${i}`;
}

/** Nodes that have shared the shards out among them, with their standbys, and out of the first doubt. */
async function settled(count: number, shared = withStandby): Promise<ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  for (let i = 0; i < count; i += 1) nodes.push(await around.node(`${i}:1`, { shared }));
  await waitUntil('all nodes agree and have their share', () => {
    const owned = nodes.map((node) => node.stats().ownedShards);
    const sum = owned.reduce((total, one) => total + one, 0);
    const isSpread = owned.every((one) => one > (0.6 * defaultShards) / count);
    const isCopied =
      shared.unreplicated === 0 || nodes.every((node) => node.stats().standbyShards === node.stats().ownedShards);
    return (
      sum === defaultShards &&
      isSpread &&
      (count === 1 || isCopied) &&
      nodes.every((node) => node.view().members.length === count)
    );
  });
  await new Promise((resolve) => setTimeout(resolve, 2 * window));
  return nodes;
}

describe('a cluster', () => {
  it('refuses for a window when it is new: nobody knows what was granted before', async () => {
    around = neighbourhood(etcd.endpoints);
    const node = await around.node('a:1');
    expect(await ask(node, 'bob')).toMatchObject({ allowed: false, reason: 'quarantine', policy, limit: 10 });
    await waitUntil('the window has passed', async () => (await ask(node, 'bob')).allowed);
  });

  it('has one budget for each key, whichever node is asked', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = await settled(3);
    const decisions: Decision[] = [];
    for (let i = 0; i < 15; i += 1) decisions.push(await ask(nodes[i % 3]!, 'bob'));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(decisions[4]).toMatchObject({ rule: 'rule', policy, limit: 10, remaining: 5 });
    expect(decisions[14]!.policy).toBe(policy);
    expect(nodes.reduce((sum, node) => sum + node.stats().forwarded, 0)).toBeGreaterThan(0);
  });

  it('tells where a key is counted', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = await settled(3);
    const owner = nodes.findIndex((node) => owns(node, 'bob'));
    for (const [i, node] of nodes.entries()) {
      const route = node.route(slotOf('bob'));
      if (i === owner) expect(route).toBe('here');
      else expect(route).toMatchObject({ addresses: { resp: `${owner}:1` }, isSelf: false });
    }
    const { members, owners, standbys } = nodes[0]!.view();
    expect(members.filter(({ isSelf }) => isSelf)).toHaveLength(1);
    expect(Array.from(owners).every((place, shard) => place >= 0 && place !== standbys[shard])).toBe(true);
  });

  it('takes all or nothing of keys that are counted by different nodes', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = await settled(3);
    const keys = nodes.map((node) => keyOf(node));
    const all = () => nodes[0]!.apply(keys.map((key) => check(key)));
    for (let i = 0; i < 4; i += 1) await ask(nodes[1]!, keys[2]!);
    let passed = 0;
    for (let i = 0; i < 8; i += 1) if ((await all()).every(({ allowed }) => allowed)) passed += 1;
    expect(passed).toBe(6);
    // The third key was full; the others were not charged for what it refused.
    expect(await ask(nodes[2]!, keys[0]!)).toMatchObject({ allowed: true, remaining: 3 });
  });

  it('takes all or nothing of keys of different shards of one node, in one go', async () => {
    around = neighbourhood(etcd.endpoints);
    const [node] = await settled(1, { ...withStandby, unreplicated: 0 });
    for (let i = 0; i < 9; i += 1) await ask(node!, 'a');
    const both = () => node!.apply([check('a'), check('b')]) as Decision[];
    expect(both().map(({ allowed }) => allowed)).toEqual([true, true]);
    expect(both().map(({ allowed }) => allowed)).toEqual([false, true]);
    expect((await ask(node!, 'b')).remaining).toBe(8);
  });

  it('answers a request that is sent again as it did before, and counts it once', async () => {
    around = neighbourhood(etcd.endpoints);
    // What was granted is granted again for the grace: both have to come within that.
    const nodes = await settled(2, { ...withStandby, graceMs: 100 });
    const key = keyOf(nodes[0]!);
    const [first] = await nodes[1]!.apply([check(key)], 'request-1');
    const [again] = await nodes[0]!.apply([check(key)], 'request-1');
    expect(first!.remaining).toBe(9);
    expect(again!.remaining).toBe(9);
    expect((await ask(nodes[0]!, key)).remaining).toBe(8);
  });

  it('goes on where a node stopped that left as planned: nobody is refused, nobody gets more', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = await settled(3, { ...withStandby });
    const key = keyOf(nodes[2]!);
    const long = fixedWindow({ limit: 100, window: 60_000, align: 'first' });
    const slow = (node: ClusterNode) => ask(node, key, { name: 'slow', policy: long });
    // Of this policy nothing is known yet, for a minute: what was reserved before tells.
    expect((await slow(nodes[2]!)).reason).toBe('quarantine');
    for (let i = 0; i < 6; i += 1) expect((await ask(nodes[2]!, key)).allowed).toBe(true);
    await nodes[2]!.leave(5000);
    const after = await ask(nodes[0]!, key);
    expect(after.reason).not.toBe('quarantine');
    expect(after.remaining).toBeLessThanOrEqual(9);
    expect(nodes[0]!.stats().ownedShards + nodes[1]!.stats().ownedShards).toBe(defaultShards);
    expect(nodes[0]!.stats().takenOver + nodes[1]!.stats().takenOver).toBe(defaultShards);
    expect((await slow(nodes[0]!)).reason).toBe('quarantine');
  });

  it('has a standby that goes on when a node dies, at the price of a few calls', async () => {
    // Shorter than the window, so that what was used before still counts.
    around = neighbourhood(etcd.endpoints, 1000);
    const nodes = await settled(3);
    const wide = slidingLog({ limit: 100, window: 5000 });
    const key = keyOf(nodes[2]!);
    await waitUntil('the first doubt is over', async () => (await ask(nodes[2]!, key, { policy: wide })).allowed);
    for (let i = 0; i < 50; i += 1) await ask(nodes[2]!, key, { policy: wide });
    around.crash(nodes[2]!);
    await waitUntil('somebody counts the key again', () => owns(nodes[0]!, key) || owns(nodes[1]!, key));
    const heir = nodes.slice(0, 2).find((node) => owns(node, key))!;
    expect(heir.stats().promoted).toBeGreaterThan(0);
    const decision = await ask(heir, key, { policy: wide });
    // A whole window of refusals would say so.
    expect(decision.retryAfterMs).toBeLessThan(5000);
    expect(decision.remaining).toBeLessThanOrEqual(49);
  });

  it('refuses for a window when a node dies that had no standby', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = await settled(2, { ...withStandby, unreplicated: 0 });
    const wide = slidingLog({ limit: 100, window: 2000 });
    const key = keyOf(nodes[1]!);
    around.crash(nodes[1]!);
    await waitUntil('the other took over', () => owns(nodes[0]!, key));
    expect(await ask(nodes[0]!, key, { policy: wide })).toMatchObject({ allowed: false, reason: 'quarantine' });
  });

  it('does not take a node whose settings are not its own', async () => {
    around = neighbourhood(etcd.endpoints);
    await around.node('a:1');
    const other = around.node('b:1', { shared: { ...withStandby, graceMs: 50 } });
    await expect(other).rejects.toThrow(/store.grace.* is 50.*10/);
  });

  it('may be started with other settings after it was ended as a whole', async () => {
    around = neighbourhood(etcd.endpoints);
    const nodes = [await around.node('a:1'), await around.node('b:1')];
    for (const node of nodes) await node.leave(10_000);
    const node = await around.node('a:1', { shared: { ...withStandby, graceMs: 50 } });
    expect(node.stats().ownedShards).toBe(defaultShards);
    expect((await ask(node, 'bob')).reason).toBe('quarantine');
  });

  it('decides nothing once etcd has been silent for too long', async () => {
    const own = await startEtcd({ members: 1 });
    try {
      around = neighbourhood(own.endpoints);
      const [node] = await settled(1, { ...withStandby, unreplicated: 0 });
      expect((await ask(node!, 'bob')).allowed).toBe(true);
      await own.members[0]!.kill();
      await waitUntil('the right is over', () => node!.stats().rightForMs === 0);
      expect(() => node!.apply([check('bob')])).toThrow(expect.objectContaining({ code: 'store-unavailable' }));
      await own.members[0]!.start();
      await waitUntil('it is back', () => node!.stats().rightForMs > 0);
      expect((await ask(node!, 'bob')).reason).not.toBe('quarantine');
    } finally {
      await own.stop();
    }
  });
});
