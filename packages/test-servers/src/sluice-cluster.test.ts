import { afterAll, beforeAll, expect, test } from 'vitest';
import { respConnection } from './resp.ts';
import { type SluiceCluster, type SluiceNode, startSluiceCluster } from './sluice-cluster.ts';
import { waitUntil } from './wait-until.ts';

const config = `rules:
  - { name: strict, key: user, algorithm: sliding-log, limit: 20, window: 1s }
`;

let cluster: SluiceCluster;
beforeAll(async () => {
  cluster = await startSluiceCluster({ config, nodes: 2, ttlMs: 1000 });
});
afterAll(() => cluster?.stop());

async function ping({ address }: SluiceNode, timeoutMs: number): Promise<unknown> {
  const connection = respConnection({ ...address, timeoutMs });
  try {
    return await connection.call(['PING']);
  } finally {
    connection.close();
  }
}

const hasRight = async (node: SluiceNode) => (await node.figures()).rightSeconds > 0;
const isCopied = async (node: SluiceNode) => {
  const { ownedShards, shardsWithStandby } = await node.figures();
  return ownedShards > 0 && ownedShards === shardsWithStandby;
};

test('nodes share the slots, and each is somebody else of the others', async () => {
  const ownerOf = await cluster.owners();
  expect(new Set(Array.from({ length: 16_384 }, (_, slot) => ownerOf(slot)))).toEqual(new Set(cluster.nodes));
});

test('a node that is cut off from etcd loses its right, and clients reach it', async () => {
  const node = cluster.nodes[0]!;
  node.cutFromEtcd();
  await waitUntil('it has no right', async () => !(await hasRight(node)));
  expect(await ping(node, 10_000)).toBe('PONG');
  node.heal();
  await waitUntil('it has a right again', () => hasRight(node));
  await cluster.waitUntilSettled();
});

test('a node that is cut off from the others keeps its right, and has no standby', async () => {
  const node = cluster.nodes[1]!;
  node.cutFromNodes();
  // A standby is asked only when there is something to tell it; that it is gone is known when the link has broken.
  const key = await keyOf(node);
  await waitUntil('its standbys are gone', async () => {
    await fetch(`${node.url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ subject: { user: key } }),
    });
    return !(await isCopied(node));
  });
  expect(await hasRight(node)).toBe(true);
  expect(await ping(node, 10_000)).toBe('PONG');
  node.heal();
  await cluster.waitUntilSettled();
});

async function keyOf(node: SluiceNode): Promise<string> {
  const connection = respConnection({ ...node.address, timeoutMs: 10_000 });
  const ownerOf = await cluster.owners();
  try {
    for (let i = 0; ; i += 1) {
      const slot = (await connection.call(['CLUSTER', 'KEYSLOT', `key-${i}`])) as number;
      if (ownerOf(slot) === node) return `key-${i}`;
    }
  } finally {
    connection.close();
  }
}

test('a node that is cut off from clients keeps its right, and what they sent arrives when that is over', async () => {
  const node = cluster.nodes[0]!;
  node.cutFromClients();
  await expect(ping(node, 300)).rejects.toThrow();
  const answer = ping(node, 30_000);
  expect(await hasRight(node)).toBe(true);
  node.heal();
  expect(await answer).toBe('PONG');
});

test('a node that was killed is started again at the same place', async () => {
  const node = cluster.nodes[1]!;
  const { address } = node;
  await node.kill();
  expect(node.state).toBe('ended');
  await node.start();
  expect(node.address).toEqual(address);
  await cluster.waitUntilSettled();
  expect(await ping(node, 10_000)).toBe('PONG');
});
