/** Faults of etcd, on which every right to decide stands. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { slidingLog } from 'sluice';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ioredisCaller } from './callers.test-support.ts';
import { again, type Fire, graceMs, limit, rulesText, startFire, ttlMs, windowMs } from './fire.test-support.ts';
import { startLoad } from './load.test-support.ts';

const lenient = 'lenient';
const config = `${rulesText}  - { name: ${lenient}, key: user, algorithm: sliding-log, limit: ${limit}, window: ${windowMs}ms, onStoreFailure: local }
`;

let fire: Fire;
beforeAll(async () => {
  fire = await startFire({ config });
});
afterAll(() => fire?.stop());

test("the leader of etcd is killed: the others choose another before anybody's right ends", again, async () => {
  const { etcd } = fire.cluster;
  const leader = await etcd.leader();
  await fire.during('kill -9 of the leader of etcd', () => leader.kill());
  fire.mustHold();
  await leader.start();
  await etcd.waitUntilHealthy();
});

test(
  'etcd is down for longer than the TTL: strict rules refuse, those that say onStoreFailure: local go on',
  again,
  async () => {
    const { cluster, keys, load } = fire;
    const policy = slidingLog({ limit, window: windowMs });
    const caller = ioredisCaller({ seeds: cluster.seeds, rule: lenient, policy, graceMs });
    const beside = startLoad({ callers: [caller], keys, graceMs, everyMs: () => 100 });
    try {
      await beside.untilEachIsGranted(keys, 1);
      await fire.during('etcd is down for longer than the TTL', async () => {
        await Promise.all(cluster.etcd.members.map((member) => member.kill()));
        await waitUntil('no node has a right', async () => {
          const figures = await Promise.all(cluster.nodes.map((node) => node.figures()));
          return figures.every(({ rightSeconds }) => rightSeconds === 0);
        });
        const fromMs = performance.now();
        await sleep(ttlMs);
        await beside.untilEachIsGranted(keys, 1);
        const sinceThen = load.calls.filter(({ sentMs }) => sentMs >= fromMs);
        expect(sinceThen.length).toBeGreaterThan(0);
        expect(sinceThen.filter(({ outcome }) => outcome === 'granted')).toEqual([]);
        await Promise.all(cluster.etcd.members.map((member) => member.start()));
        await cluster.etcd.waitUntilHealthy();
      });
    } finally {
      await beside.stop();
    }
    fire.mustHold();
  },
);
