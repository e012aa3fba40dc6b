/** Nodes that come back where they were: after a crash, and after all of them were stopped. Schedules by hand; times are in milliseconds. */
import { type Check, gcra, slidingLog } from 'sluice';
import { slotOf } from 'sluice/client';
import { describe, expect, it } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { graceMs, quarantineMs, Stage, takeOverMs, ttlMs } from './stage.test-support.ts';

/** Windows from here on are written to etcd ahead. */
const longMs = 60_000;

/** Node b is killed, and started again at its address before anybody has missed it. */
async function restarted(): Promise<{ readonly stage: Stage; readonly key: string }> {
  const stage = await Stage.settled({});
  const key = stage.keysOf(stage.b)[0]!;
  stage.b.crash();
  await stage.run(ttlMs / 10);
  void stage.b.start();
  await stage.runUntil(() => stage.b.isReady);
  return { stage, key };
}

/** Lines of a node's log that begin so. */
function saidBy({ name }: SimulatedNode, { world }: Stage, what: string): string[] {
  const lines = world.trace.between(0, Number.POSITIVE_INFINITY, 100_000);
  return lines.filter((line) => line.includes(`${name.padEnd(8)} : ${what}`));
}

describe('a node that is back at its address before it was missed', () => {
  it('sends nobody to itself: nobody counts what it had, until somebody takes over', async () => {
    const { stage, key } = await restarted();
    expect(stage.b.node!.route(slotOf(key))).toBe('nowhere');
    // What others own is where it was.
    expect(stage.b.node!.route(slotOf(stage.key))).toMatchObject({ addresses: { resp: stage.a.address } });
    await stage.run(takeOverMs + quarantineMs);
    expect(stage.world.ownerOf(key)).toBeDefined();
    expect(stage.b.node!.route(slotOf(key))).not.toBe('nowhere');
  });

  it('is the only one at its address that it tells of, and is not said to own what it does not', async () => {
    const { stage } = await restarted();
    const { members, owners } = stage.b.node!.view();
    expect(members.map(({ addresses }) => addresses.resp).sort()).toEqual([stage.a.address, stage.b.address]);
    const named = new Set(Array.from(owners, (place) => members[place]?.addresses.resp));
    expect(named).toEqual(new Set([stage.a.address, undefined]));
  });

  it('says so at once to those who would have it ask the owner, and does not ask itself', async () => {
    const { stage, key } = await restarted();
    const asked: unknown[] = [];
    stage.mail(({ from, to, what }) => {
      if (what === 'apply') asked.push([from, to]);
      return undefined;
    });
    const fromMs = stage.world.loop.nowMs;
    const check: Check = { name: 'rule', key, policy: slidingLog({ limit: 5, window: 1000 }), cost: 1 };
    await expect(stage.carriedOut(stage.b, [check])).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(stage.world.loop.nowMs - fromMs).toBeLessThanOrEqual(graceMs);
    expect(asked).toEqual([]);
  });
});

describe('nodes that were all stopped', () => {
  const policies = { log: slidingLog({ limit: 100, window: longMs }), bucket: gcra({ limit: 100, window: longMs }) };

  async function stopped(): Promise<{ readonly stage: Stage; readonly nodes: readonly SimulatedNode[] }> {
    const stage = await Stage.settled({ shared: { durableFromMs: longMs } });
    void stage.c.start();
    await stage.run(3000);
    const nodes = [stage.a, stage.b, stage.c];
    for (const node of nodes) void node.leave(5 * ttlMs);
    await stage.runUntil(() => nodes.every(({ node }) => node === undefined));
    return { stage, nodes };
  }

  it('leave nothing behind that anybody has to wait for, though they leave at one time', async () => {
    const { stage } = await stopped();
    const text = stage.world.etcd.state.commit({ compare: [], change: [], read: [{ key: '/sluice/staged/slots' }] });
    const { owners, nodes } = JSON.parse(text.found[0]![0]!.value);
    expect(nodes).toEqual([]);
    expect(new Set(owners)).toEqual(new Set([-1]));
  });

  it('serve long windows as soon as they are ready', async () => {
    const { stage, nodes } = await stopped();
    for (const node of nodes) void node.start();
    await stage.runUntil(() => nodes.some(({ isReady }) => isReady));
    const ready = nodes.find(({ isReady }) => isReady)!;
    for (let i = 0; i < 20; i += 1) {
      const check: Check = { name: 'log', key: `key-${i}`, policy: policies.log, cost: 1 };
      expect(await stage.carriedOut(ready, [check])).toMatchObject([{ allowed: true }]);
    }
  });

  it.each(['log', 'bucket'] as const)('remember what was used under long windows (%s)', async (name) => {
    const stage = await Stage.settled({ shared: { durableFromMs: longMs } });
    const check: Check = { name, key: stage.key, policy: policies[name], cost: 1 };
    const sinceMs = stage.world.loop.nowMs;
    for (let i = 0; i < 30; i += 1) expect(await stage.carriedOut(stage.a, [check])).toMatchObject([{ allowed: true }]);
    for (const node of [stage.a, stage.b]) node.crash();
    await stage.run(1000);
    void stage.a.start();
    await stage.run(takeOverMs + 1000);
    let more = 0;
    while ((await stage.carriedOut(stage.a, [check]))[0]!.allowed) more += 1;
    const refilled = name === 'bucket' ? (100 / longMs) * (stage.world.loop.nowMs - sinceMs) : 0;
    expect(30 + more).toBeLessThanOrEqual(100 + refilled);
    // What was left of the chunks is lost, and no more than that.
    expect(30 + more).toBeGreaterThanOrEqual(85);
  });
});

describe('an etcd that is away', () => {
  it('is told of once for each cause, and so is that it is back', async () => {
    const stage = await Stage.settled({});
    const goOn = stage.world.etcd.loseLeader();
    await stage.run(5 * ttlMs);
    expect(stage.a.node!.problem()).toMatch(/etcd.*(no leader|did not answer)/);
    goOn();
    await stage.run(2 * ttlMs);
    expect(stage.a.node!.problem()).toBeUndefined();
    const causes = saidBy(stage.a, stage, 'etcd cannot be used').map((line) => line.slice(line.indexOf('{')));
    expect(causes.sort()).toEqual(['{"error":"etcd did not answer in 100 ms"}', '{"error":"etcdserver: no leader"}']);
    expect(saidBy(stage.a, stage, 'etcd can be used again')).toHaveLength(1);
  });
});
