/** What a bucket owes, when its shard goes to a standby. */
import { type Check, gcra, type Policy, tokenBucket } from 'sluice';
import { slotOf } from 'sluice/client';
import { describe, expect, it } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { Stage } from './stage.test-support.ts';

const windowMs = 2000;
const hundred = { limit: 100, window: windowMs, burst: 100 };

interface Promoted {
  readonly stage: Stage;
  readonly check: Check;
  readonly owner: SimulatedNode;
  /** What was granted before, and since when. */
  readonly used: number;
  readonly sinceMs: number;
}

function ownerOf({ world }: Stage, { key }: Check): SimulatedNode | undefined {
  return [...world.nodes.values()].find(({ node }) => node?.route(slotOf(key)) === 'here');
}

async function takenOver(stage: Stage, check: Check): Promise<SimulatedNode> {
  await stage.runUntil(() => ownerOf(stage, check) !== undefined);
  const owner = ownerOf(stage, check)!;
  expect(owner.node!.stats().promoted).toBeGreaterThan(0);
  return owner;
}

/** The bucket was emptied, and whoever has it now has not heard of the last ten. */
async function promotedAhead(policy: Policy): Promise<Promoted> {
  const stage = await Stage.settled({ policy, shared: { unreplicated: 10 } });
  void stage.c.start();
  await stage.run(3 * windowMs);
  const check: Check = { name: 'rule', key: stage.keysOf(stage.a)[0]!, policy, cost: 1 };
  await stage.carriedOut(stage.a, [check]);
  await stage.run(2 * windowMs);
  const sinceMs = stage.world.loop.nowMs;
  let used = 0;
  for (let i = 0; i < 100; i += 1) {
    const answer = stage.a.node!.apply([check]);
    if (!(answer instanceof Promise) && answer[0]!.allowed) used += 1;
    if (i % 10 === 9 && i < 99) await stage.run(30);
  }
  stage.a.crash();
  return { stage, check, owner: await takenOver(stage, check), used, sinceMs };
}

async function grantsUnderPressure(stage: Stage, at: SimulatedNode, check: Check, forMs: number): Promise<number> {
  const endMs = stage.world.loop.nowMs + forMs;
  let granted = 0;
  while (stage.world.loop.nowMs < endMs) {
    if ((await stage.carriedOut(at, [check]))[0]!.allowed) granted += 1;
    await stage.run(2);
  }
  return granted;
}

describe('a standby that takes over a bucket', () => {
  it.each([
    ['gcra', gcra(hundred)],
    ['token-bucket', tokenBucket(hundred)],
  ])('never forgets what may be missing while the bucket is used (%s)', async (_, policy) => {
    const { stage, check, owner, used, sinceMs } = await promotedAhead(policy);
    const granted = await grantsUnderPressure(stage, owner, check, 3 * windowMs);
    const promised = 100 + (100 / windowMs) * (stage.world.loop.nowMs - sinceMs);
    expect(used + granted).toBeLessThanOrEqual(promised);
    // Nor more than that.
    expect(used + granted).toBeGreaterThan(promised - 50);
  });

  it.each([
    ['that began before the bucket was used', 0],
    ['that began after', 100],
  ])('tells its own standby, %s', async (_, deafMs) => {
    const { stage, check, owner, used, sinceMs } = await promotedAhead(gcra(hundred));
    let isDeaf = deafMs > 0;
    stage.mail(({ what }) => (isDeaf && what === 'replicate' ? 'lost' : undefined));
    await stage.run(deafMs === 0 ? 100 : 0);
    let granted = await grantsUnderPressure(stage, owner, check, deafMs);
    isDeaf = false;
    granted += await grantsUnderPressure(stage, owner, check, windowMs / 2);
    owner.crash();
    const next = await takenOver(stage, check);
    granted += await grantsUnderPressure(stage, next, check, 2 * windowMs);
    const promised = 100 + (100 / windowMs) * (stage.world.loop.nowMs - sinceMs);
    expect(used + granted).toBeLessThanOrEqual(promised);
  });
});
