import { type EtcdCluster, startEtcd, waitUntil } from '@sluice/test-servers';
import { slidingLog } from 'sluice';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Neighbourhood, neighbourhood } from './nodes.test-support.ts';

let etcd: EtcdCluster;
let around: Neighbourhood;

beforeAll(async () => {
  etcd = await startEtcd({ members: 1 });
}, 60_000);
afterAll(() => etcd.stop());
afterEach(() => around.close());

it('a node with room for fewer keys than it is given knows nothing of them, and goes on all the same', async () => {
  // A right that outlasts a machine that stands still for seconds: without it nobody is let in.
  around = neighbourhood(etcd.endpoints, 6000);
  // Long enough for the shard to move while it still counts what was granted.
  const window = 4000;
  const shared = { graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000, shards: 1 };
  const check = (key: string) => ({ name: 'rule', key, policy: slidingLog({ limit: 1, window }), cost: 1 });
  const large = await around.node('a:1', { shared, maxKeys: 1000 });
  const keys = Array.from({ length: 200 }, (_, i) => `user ${i}`);
  await waitUntil(
    'it is out of the doubt of the beginning',
    async () => (await large.apply([check('first')]))[0]!.allowed,
  );
  for (const key of keys) expect((await large.apply([check(key)]))[0]!.allowed).toBe(true);
  // Whoever should have the shard by the ring, it ends where there is no room.
  const small = await around.node('b:1', { shared, maxKeys: 64 });
  await large.leave(5000);
  await waitUntil('the shard has come', () => small.stats().ownedShards === 1);
  expect((await small.apply([check(keys[0]!)]))[0]).toMatchObject({ allowed: false });
  await waitUntil('it is out of doubt', async () => (await small.apply([check(keys[0]!)]))[0]!.allowed);
}, 60_000);
