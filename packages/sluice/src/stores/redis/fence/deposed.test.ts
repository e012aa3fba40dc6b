/** Servers that lose a slot, or their place, and are the last to hear of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../../limit/limiter.ts';
import type { Connected } from '../clients.test-support.ts';
import { type FencedCluster, keysWhere, limit, log, startFencedCluster } from './cluster.test-support.ts';
import { freshName, traffic, underTraffic } from './traffic.test-support.ts';

describe('behind a fence, a Redis Cluster', () => {
  let fence: FencedCluster;
  beforeAll(async () => {
    fence = await startFencedCluster();
  });
  afterAll(() => fence?.stop());

  it('grants nothing twice when a primary is paused until another has taken its place', async () => {
    const { cluster } = fence;
    const { primary, replica } = await fence.pair();
    await underTraffic(await fence.trafficOn(primary), async ([strict, buckets]) => {
      await strict.untilEachIsGranted(limit);
      await primary.pause();
      await cluster.waitForPromotion(replica);
      await sleep(1000);
      primary.resume();
      await Promise.all([strict.untilEachIsGranted(limit), buckets.untilEachIsGranted(limit)]);
      await Promise.all([strict.stop(), buckets.stop()]);
      strict.mustHold();
      buckets.mustHold();
    });
  });

  it('trusts no deposed primary that wakes, though the questions it finds are fresh', async () => {
    const { cluster } = fence;
    const { primary, replica } = await fence.pair();
    const [key] = (await fence.keysOn(primary, 1)) as [string];
    const name = 'deposed';
    const connections: Connected[] = [];
    const anotherLimiter = async () => {
      const connection = await fence.connect();
      connections.push(connection);
      return limiter(log, { store: fence.storeOn(connection), name });
    };
    try {
      // Each has a connection of its own to the primary, and hears of no other.
      const stale = await Promise.all(Array.from({ length: 8 }, anotherLimiter));
      for (const each of stale) await each.peek(key);
      await primary.pause();
      // These wait in its sockets; what follows on the same connections is read together with them.
      const lost = await Promise.allSettled(stale.map((each) => each.check(key)));
      expect(lost.map(({ status }) => status)).toEqual(stale.map(() => 'rejected'));
      await cluster.waitForPromotion(replica);

      const informed = await anotherLimiter();
      await waitUntil('the new primary grants all there is', async () => (await informed.check(key, limit)).allowed);
      const answers = stale.map((each) =>
        each.check(key).then(
          ({ allowed }) => allowed,
          () => false,
        ),
      );
      // Time for the questions to get there, and less than the deadline.
      await sleep(20);
      primary.resume();
      expect(await Promise.all(answers)).toEqual(stale.map(() => false));
    } finally {
      primary.resume();
      for (const { close } of connections) close();
    }
  });

  it('grants nothing twice when a slot moves there and back under load', async () => {
    const { cluster, slotOfKey, store } = fence;
    await cluster.waitUntilSettled();
    const slot = slotOfKey('key-0');
    const keys = await keysWhere(4, (key) => slotOfKey(key) === slot);
    const [from, to] = [await cluster.primaryOf(slot), await cluster.primaryOf((slot + 8192) % 16_384)];
    // Short: nothing is lost here without a fence either, so nothing has to count for long.
    const policy = slidingLog({ limit, window: '1s' });
    const limits = limiter(policy, { store, name: freshName() });
    const strict = traffic((key) => limits.check(key), { keys, policy });
    await underTraffic([strict], async () => {
      await strict.untilEachIsGranted(limit);
      const move = await cluster.beginSlotMove(slot, from, to);
      // In between, some keys are here and some are there.
      await move.moveKeys(2);
      await sleep(300);
      await move.moveKeys();
      await move.finish();
      await strict.untilEachIsGranted(limit);
      await cluster.moveSlot(slot, to, from);
      await strict.untilEachIsGranted(limit);
      await strict.stop();
      strict.mustHold();
    });
  });
});
