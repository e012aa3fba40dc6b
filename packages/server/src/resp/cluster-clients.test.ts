/** Clients of a Redis Cluster, as they are, on a cluster of nodes of ours: they follow MOVED, and know the way afterwards. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureDebianPackage } from '@sluice/test-servers';
import { Cluster as Cluster6, Command as Command6 } from 'ioredis';
import { Cluster as Cluster5, Command as Command5 } from 'ioredis-5';
import { Cluster as ValkeyCluster, Command as ValkeyCommand } from 'iovalkey';
import { createCluster as createCluster6 } from 'redis';
import { createCluster as createCluster5 } from 'redis-5';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { layoutOf, openCluster, type TestCluster } from './cluster.test-support.ts';

const run = promisify(execFile);

beforeAll(() => ensureDebianPackage('redis-cli', ['redis-tools']));

type Ask = (key: string, command: readonly string[]) => Promise<unknown>;

// As few ranges as can be, and as many: neighbours never share an owner and a standby.
const layouts = [
  ['one range for each node', (shard: number) => Math.floor((shard * 3) / 1024), () => -1],
  ['1024 ranges, each with a standby', (shard: number) => shard % 3, (shard: number) => (shard + 1) % 3],
] as const;

const commands = (key: string) =>
  [
    [
      ['CL.THROTTLE', key, '15', '30', '60'],
      [0, 16, 15, -1, 2],
    ],
    [
      ['SLUICE.CHECK', 'per-user', key],
      [1, 3, 2, 0, 60_000, 'per-user'],
    ],
    [
      ['SLUICE.POLICY', key, 'gcra', '5', '1000'],
      [1, 5, 4, 0, 200, expect.any(String)],
    ],
  ] as const;

/** Every command about a key of every node is answered by that node, once. */
async function findsEveryOwner({ nodes, keyOn }: TestCluster, ask: Ask, round = 'key'): Promise<void> {
  for (const [place, { counted }] of nodes.entries()) {
    const key = keyOn(place, `${round}-${place}-`);
    const before = counted.length;
    for (const [command, reply] of commands(key)) expect(await ask(key, command)).toEqual(reply);
    expect(counted.slice(before)).toEqual([key, key, key]);
  }
}

const redirections = ({ nodes }: TestCluster) => nodes.reduce((sum, node) => sum + node.redirections, 0);

/** Those who have the slots change; the clients are not told. */
function moveAll({ layout, nodes }: TestCluster): void {
  layout.revision += 1;
  layout.owners.forEach((owner, shard) => {
    layout.owners[shard] = (owner + 1) % nodes.length;
    layout.standbys[shard] = -1;
  });
}

function expectNoComplaints({ nodes }: TestCluster): void {
  expect(nodes.flatMap(({ complaints }) => complaints)).toEqual([]);
}

describe.each(layouts)('%s', (_, owner, standby) => {
  test.each([
    ['ioredis 5', Cluster5, Command5],
    ['ioredis 6', Cluster6, Command6],
    ['iovalkey', ValkeyCluster, ValkeyCommand],
  ])('%s', async (__, Client, AnyCommand) => {
    const nodes = await openCluster(layoutOf(owner, standby));
    const { port } = nodes.nodes[0]!;
    const cluster = new (Client as typeof Cluster6)([{ host: '127.0.0.1', port }], {
      redisOptions: { maxRetriesPerRequest: 0 },
    });
    onTestFinished(() => cluster.disconnect());
    // It does not know where our commands have their key, so it asks anybody and goes where it is sent.
    await findsEveryOwner(nodes, (_key, [name, ...args]) => cluster.call(name!, ...args));

    // It can be taught: then it asks the owner, and learns from MOVED who that is now.
    class Keyed extends (AnyCommand as typeof Command6) {
      private readonly key: string;
      constructor(key: string, [name, ...args]: readonly string[]) {
        super(name!, args as string[], { replyEncoding: 'utf8' });
        this.key = key;
      }
      override getKeys() {
        return [this.key];
      }
    }
    const taught: Ask = async (key, command) => {
      const keyed = new Keyed(key, command);
      cluster.sendCommand(keyed as never);
      return await keyed.promise;
    };
    const before = redirections(nodes);
    await findsEveryOwner(nodes, taught, 'taught');
    expect(redirections(nodes)).toBe(before);
    moveAll(nodes);
    // It fetches the slots again while it goes on.
    for (let round = 0, sent = -1; sent !== redirections(nodes); round += 1) {
      expect(round).toBeLessThan(100);
      sent = redirections(nodes);
      await findsEveryOwner(nodes, taught, `moved-${round}`);
    }
    expect(redirections(nodes)).toBeGreaterThan(before);
    expectNoComplaints(nodes);
  });

  test.each([
    ['node-redis 5', createCluster5, false],
    ['node-redis 6', createCluster6, false],
    ['node-redis 6 that would read from replicas', createCluster6, true],
  ])('%s', async (__, create, useReplicas) => {
    const nodes = await openCluster(layoutOf(owner, standby));
    const rootNodes = nodes.nodes.map(({ port }) => ({ socket: { host: '127.0.0.1', port } }));
    const cluster = (create as typeof createCluster6)({ rootNodes, useReplicas });
    await cluster.connect();
    onTestFinished(() => cluster.destroy());
    const ask: Ask = (key, command) => cluster.sendCommand(key, false, [...command]);
    await findsEveryOwner(nodes, ask);
    expect(redirections(nodes)).toBe(0);
    moveAll(nodes);
    await findsEveryOwner(nodes, ask, 'moved');
    const whileLearning = redirections(nodes);
    expect(whileLearning).toBeGreaterThan(0);
    await findsEveryOwner(nodes, ask, 'moved-and-known');
    expect(redirections(nodes)).toBe(whileLearning);
    expectNoComplaints(nodes);
  });

  test('redis-cli -c', async () => {
    const nodes = await openCluster(layoutOf(owner, standby));
    const { port } = nodes.nodes[0]!;
    const cli = async (...args: readonly string[]) =>
      (await run('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' })).stdout;
    await findsEveryOwner(nodes, async (_key, command) => {
      const values = (await cli('-c', ...command)).trim().split('\n');
      return values.map((value) => (/^-?\d+$/.test(value) ? Number(value) : value));
    });
    const key = nodes.keyOn(1);
    expect(await cli('CL.THROTTLE', key, '15', '30', '60')).toMatch(
      new RegExp(`^MOVED \\d+ 127\\.0\\.0\\.1:${nodes.nodes[1]!.port}\n`),
    );
    // It reads CLUSTER NODES of every node, and finds that they agree.
    const checked = await cli('--cluster', 'check', `127.0.0.1:${port}`).catch(
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(checked).toContain('[OK] All nodes agree about slots configuration.');
    expect(checked).toContain('[OK] All 16384 slots covered.');
    expectNoComplaints(nodes);
  });
});

test('a client is told when nobody owns the slot of its key', async () => {
  const nodes = await openCluster(
    layoutOf((shard) => (shard < 512 ? 0 : -1)),
    { nodes: 1 },
  );
  const { port } = nodes.nodes[0]!;
  const { stdout } = await run('redis-cli', ['-c', '-p', String(port), 'CL.THROTTLE', 'foo', '1', '1', '1']);
  expect(stdout).toContain('CLUSTERDOWN Hash slot not served');
});
