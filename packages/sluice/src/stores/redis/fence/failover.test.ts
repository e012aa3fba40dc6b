/** Failovers of a real cluster that lose what was acknowledged, under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limiter } from '../../../limit/limiter.ts';
import {
  type FencedCluster,
  guardsOn,
  limit,
  log,
  partitions,
  replicationIdOf,
  startFencedCluster,
} from './cluster.test-support.ts';
import { freshName, underTraffic } from './traffic.test-support.ts';

describe('behind a fence, a Redis Cluster that fails over', () => {
  let fence: FencedCluster;
  beforeAll(async () => {
    fence = await startFencedCluster();
  });
  afterAll(() => fence?.stop());

  it('has had every partition looked at before it is ready', async () => {
    const { cluster, prefix, store } = fence;
    const primaries = await Promise.all([0, 8000, 16_383].map((slot) => cluster.primaryOf(slot)));
    const guards = await Promise.all(primaries.map((node) => guardsOn(node, prefix)));
    expect(guards.flat()).toHaveLength(partitions);
    expect(store.stats().trips).toBe(partitions);
  });

  it('grants nothing twice when the writes of a killed primary never reached its replica', async () => {
    const { cluster, prefix } = fence;
    const { primary, replica } = await fence.pair();
    await underTraffic(await fence.trafficOn(primary), async ([strict, buckets, unfenced]) => {
      await strict.untilEachIsGranted(limit);
      await cluster.cutReplication(primary);
      await sleep(1500);
      await primary.kill();
      await cluster.waitForPromotion(replica);
      await Promise.all([strict.untilEachIsGranted(limit), buckets.untilEachIsGranted(limit)]);

      // One look at one partition has all of them looked at, those that nobody asks for too.
      const id = await replicationIdOf(replica);
      const guards = await guardsOn(replica, prefix);
      expect(guards.length).toBeGreaterThan(partitions / 4);
      expect(guards.filter((value) => value.includes(id))).toHaveLength(guards.length);

      await primary.restart();
      await Promise.all([strict.stop(), buckets.stop(), unfenced.stop()]);
      strict.mustHold();
      buckets.mustHold();
      unfenced.mustBreak();
    });
  });

  it('grants nothing twice when it fails over and back, and neither server was restarted', async () => {
    const { cluster } = fence;
    const { primary, replica } = await fence.pair();
    await underTraffic(await fence.trafficOn(primary), async ([strict, buckets, unfenced]) => {
      await strict.untilEachIsGranted(limit);
      // Neither learns what the other granted, as in a partition that heals and breaks again.
      await cluster.cutReplication(primary);
      await sleep(1500);
      await cluster.cutReplication(replica);
      await replica.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
      await cluster.waitForPromotion(replica);
      await strict.untilEachIsGranted(limit);
      await primary.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
      await cluster.waitForPromotion(primary);
      await Promise.all([strict.untilEachIsGranted(limit), buckets.untilEachIsGranted(limit)]);
      await Promise.all([strict.stop(), buckets.stop(), unfenced.stop()]);
      strict.mustHold();
      buckets.mustHold();
      unfenced.mustBreak();
    });
    await cluster.restoreReplication(replica);
    await cluster.restoreReplication(primary);
  });

  it('loads its function into a promoted replica that never had it', async () => {
    const { cluster, store } = fence;
    const { primary, replica } = await fence.pair();
    const [key] = (await fence.keysOn(primary, 1)) as [string];
    const limits = limiter(log, { store, name: freshName() });
    await primary.call('FUNCTION', 'FLUSH');
    const functions = () => replica.call<string[]>('FUNCTION', 'LIST');
    await waitUntil('the replica has no function', async () => (await functions()).length === 0);
    await cluster.cutReplication(primary);
    await limits.peek(key);
    await replica.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await cluster.waitForPromotion(replica);
    await waitUntil('the promoted replica answers', async () => (await limits.peek(key)).reason === 'quarantine');
    expect(await functions()).toHaveLength(1);
    await cluster.restoreReplication(primary);
  });
});
