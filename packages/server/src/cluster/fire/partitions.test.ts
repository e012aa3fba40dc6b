/** Nodes that run, and do not reach somebody. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SluiceNode } from '@sluice/test-servers';
import { afterAll, beforeAll, test } from 'vitest';
import { again, type Fire, startFire, ttlMs } from './fire.test-support.ts';

let fire: Fire;
beforeAll(async () => {
  fire = await startFire();
});
afterAll(() => fire?.stop());

// The first is the classic: clients still reach the old owner when there is a new one.
test.each<[string, (node: SluiceNode) => void]>([
  ['an owner is cut off from etcd, not from clients', (node) => node.cutFromEtcd()],
  ['an owner is cut off from the other nodes, not from etcd', (node) => node.cutFromNodes()],
  ['an owner is cut off from clients, not from the others', (node) => node.cutFromClients()],
  [
    'an owner is cut off from etcd and the other nodes, not from clients',
    (node) => {
      node.cutFromEtcd();
      node.cutFromNodes();
    },
  ],
])('%s', again, async (name, cut) => {
  const { cluster } = fire;
  const victim = fire.anyNode();
  const keys = await fire.keysOf(victim);
  await fire.during(
    name,
    async () => {
      cut(victim);
      await sleep(2.5 * ttlMs);
      victim.heal();
    },
    keys,
  );
  fire.mustHold();
  await cluster.waitUntilSettled();
});
