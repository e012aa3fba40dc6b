/** A process that starts while a part of the cluster is down: it serves the rest, and that part once it is back and fit. */
import { type ClusterNode, type RedisCluster, startRedisCluster, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slidingLog } from '../../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../../limit/limiter.ts';
import { slotOf } from '../../slot.ts';
import { type Connected, clusterClients, freshPrefix } from '../clients.test-support.ts';
import { fencedKeys } from '../key.ts';
import { redisStore } from '../redis-store.ts';
import { keysWhere } from './cluster.test-support.ts';
import { freshName } from './traffic.test-support.ts';

const partitions = 256;
const policy = slidingLog({ limit: 1000, window: '1s' });
const setting = 'maxmemory-policy';

describe('behind a fence, a Redis Cluster of which a part is down', () => {
  let cluster: RedisCluster;
  let down: ClusterNode;
  let up: ClusterNode;
  const connections: Connected[] = [];

  beforeAll(async () => {
    cluster = await startRedisCluster({
      nodeTimeoutMs: 750,
      config: { 'repl-backlog-ttl': 0, 'cluster-require-full-coverage': 'no' },
    });
    [down, up] = [await cluster.primaryOf(0), await cluster.primaryOf(16_383)];
    // For when it is back.
    await down.call('CONFIG', 'SET', setting, 'allkeys-lru');
    await down.call('CONFIG', 'REWRITE');
    const replica = await cluster.replicaOf(down);
    await Promise.all([down.kill(), replica.kill()]);
    await waitUntil('the others know', async () => / master,fail /.test(await up.call<string>('CLUSTER', 'NODES')));
  });
  afterAll(async () => {
    for (const { close } of connections) close();
    await cluster?.stop();
  });

  async function starting() {
    const connection = await clusterClients['ioredis 6'](cluster.nodes.filter(({ state }) => state === 'running'));
    connections.push(connection);
    const prefix = freshPrefix();
    const store = redisStore({
      client: connection.client,
      prefix,
      fenced: { deadline: '1s', skew: '500ms', partitions },
    });
    const limits = limiter(policy, { store, name: freshName() });
    const views = await up.call<string>('CLUSTER', 'NODES');
    const [from, to] = (new RegExp(`^${down.id} .* (\\d+)-(\\d+)$`, 'm').exec(views) ?? []).slice(1).map(Number);
    const isLost = (key: string) => {
      const slot = slotOf(fencedKeys(prefix, partitions).record('any', key));
      return slot >= from! && slot <= to!;
    };
    return {
      store,
      /** What was said about a key: allowed, the reason of a refusal, or the code of an error. */
      ask: (key: string) =>
        limits.check(key).then(
          ({ allowed, reason }) => (allowed ? 'allowed' : reason),
          (error) => String(error.code),
        ),
      check: limits.check,
      lost: await keysWhere(6, isLost),
      served: await keysWhere(6, (key) => !isLost(key)),
    };
  }

  it('refuses to start for a setting of a server that answers', async () => {
    await up.call('CONFIG', 'SET', setting, 'allkeys-lru');
    try {
      const { store, ask, served } = await starting();
      await expect(store.ready()).rejects.toThrow(`${setting} of the Redis server must be noeviction`);
      expect(await ask(served[0]!)).toBe('store-unsafe');
    } finally {
      await up.call('CONFIG', 'SET', setting, 'noeviction');
    }
  });

  it('serves the rest at once, and what was down when it is back and set right', async () => {
    const { store, ask, check, lost, served } = await starting();
    const all = (keys: string[]) => Promise.all(keys.map(ask));
    await store.ready();
    expect(await all(served)).toEqual(served.map(() => 'quarantine'));
    expect(await all(lost)).toEqual(lost.map(() => 'store-unavailable'));
    await waitUntil('the quarantine is over', async () => (await all(served)).every((said) => said === 'allowed'));

    const before = await fcallCount(up);
    for (let count = 0; count < 300; count += 1) await ask(lost[count % lost.length]!);
    expect((await fcallCount(up)) - before).toBeLessThan(partitions / 4);

    const said = new Set<string | undefined>();
    const askAll = async () => {
      const answers = await all(lost);
      for (const answer of answers) said.add(answer);
      return answers;
    };
    await down.restart();
    await waitUntil('its setting is found', async () => (await askAll()).every((answer) => answer === 'store-unsafe'));
    await expect(check(lost[0]!)).rejects.toThrow(`${setting} of the Redis server must be noeviction, got allkeys-lru`);
    said.delete('store-unavailable');
    expect([...said]).toEqual(['store-unsafe']);
    expect(await all(served)).toEqual(served.map(() => 'allowed'));

    await down.call('CONFIG', 'SET', setting, 'noeviction');
    said.clear();
    await waitUntil('it is served', async () => (await askAll()).every((answer) => answer === 'quarantine'));
    expect(said).not.toContain('allowed');
    await waitUntil('it grants', async () => (await all(lost)).every((answer) => answer === 'allowed'));
  });
});

/** How often a function was called. */
async function fcallCount(node: ClusterNode): Promise<number> {
  const statistics = await node.call<string>('INFO', 'commandstats');
  return Number(/cmdstat_fcall:calls=(\d+)/.exec(statistics)?.[1] ?? 0);
}
