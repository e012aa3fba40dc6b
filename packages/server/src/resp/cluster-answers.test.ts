/** What CLUSTER says on a node of a cluster, and where a key is sent. */
import { describe, expect, test } from 'vitest';
import type { ClusterDoor } from '../cluster/view.ts';
import { fixedCluster, type Layout, layoutOf, memberOf } from './cluster.test-support.ts';
import { frame, openDoor, type Value } from './resp-door.test-support.ts';

const [a, b, c] = ['0', '1', '2'].map((digit) => digit.repeat(40)) as [string, string, string];
const members = [memberOf(0, '10.0.0.1:6380'), memberOf(1, 'node-1.example:6380'), memberOf(2, '[fd00::3]:6382')];

/** A node that is the second of three. */
async function connected(layout: Layout, own: Partial<ClusterDoor> = {}) {
  const open = await openDoor({ cluster: { ...fixedCluster(1, members, layout), ...own } });
  return { ...open, connection: await open.client() };
}

// Shards 0 to 511 are the first node's, half of them with a standby; then the second's up to 1000; then nobody's; the last is the third's.
const layout = layoutOf(
  (shard) => (shard < 512 ? 0 : shard < 1000 ? 1 : shard < 1023 ? -1 : 2),
  (shard) => (shard < 256 ? 2 : shard < 512 ? -1 : shard < 1000 ? 0 : -1),
);
const nodeA = ['10.0.0.1', 6380, a, []];
const nodeB = ['node-1.example', 6380, b, []];
const nodeC = ['fd00::3', 6382, c, []];

const whole = layoutOf(
  () => 1,
  () => 0,
);

test.each<[string[], Value]>([
  [
    ['SLOTS'],
    [
      [0, 4095, nodeA, nodeC],
      [4096, 8191, nodeA],
      [8192, 15_999, nodeB, nodeA],
      [16_368, 16_383, nodeC],
    ],
  ],
  [
    ['NODES'],
    [
      `${a} 10.0.0.1:6380@6380 master - 0 0 100 connected 0-8191\n`,
      `${b} node-1.example:6380@6380 myself,master - 0 0 101 connected 8192-15999\n`,
      `${c} fd00::3:6382@6382 master - 0 0 102 connected 16368-16383\n`,
    ].join(''),
  ],
  [['MYID'], b],
  [['REPLICAS', a], [`${c} fd00::3:6382@6382 slave ${a} 0 0 102 connected`]],
  [['REPLICAS', b], [`${a} 10.0.0.1:6380@6380 slave ${b} 0 0 100 connected`]],
  [['REPLICAS', c], []],
  [['REPLICAS', 'f'.repeat(40)], new Error(`ERR Unknown node ${'f'.repeat(40)}`)],
  [['REPLICAS'], new Error("ERR wrong number of arguments for 'cluster|replicas' command")],
  [['KEYSLOT', 'a{user}'], 5474],
])('CLUSTER %j of three nodes', async (words, reply) => {
  const { connection } = await connected(layout);
  expect(await connection.call('CLUSTER', ...words)).toEqual(reply);
});

test('CLUSTER SHARDS has those slots together whose owner and standby are the same', async () => {
  const spread = layoutOf(
    (shard) => (shard % 2 === 0 ? 0 : 1),
    () => 2,
  );
  const { connection } = await connected(spread);
  await connection.call('HELLO', 3);
  const shards = (await connection.call('CLUSTER', 'SHARDS')) as Map<string, Value>[];
  const node = (id: string, role: string, address: string, port: number) =>
    new Map<Value, Value>([
      ['id', id],
      ['port', port],
      ['ip', address],
      ['endpoint', address],
      ['role', role],
      ['replication-offset', 0],
      ['health', 'online'],
    ]);
  const standby = node(c, 'replica', 'fd00::3', 6382);
  expect(shards.map((shard) => shard.get('nodes'))).toEqual([
    [node(a, 'master', '10.0.0.1', 6380), standby],
    [node(b, 'master', 'node-1.example', 6380), standby],
  ]);
  const slots = shards.map((shard) => shard.get('slots') as number[]);
  expect(slots[0]!.slice(0, 6)).toEqual([0, 15, 32, 47, 64, 79]);
  expect(slots.map((list) => list.length)).toEqual([1024, 1024]);
});

test.each([
  ['with slots that nobody owns', layout, { state: 'fail', assigned: 8192 + 7808 + 16, known: 3, size: 3 }],
  ['with an owner for each', whole, { state: 'ok', assigned: 16_384, known: 3, size: 1 }],
])('CLUSTER INFO %s', async (_, of, { state, assigned, known, size }) => {
  const { connection } = await connected(of);
  const lines = String(await connection.call('CLUSTER', 'INFO')).split('\r\n');
  expect(Object.fromEntries(lines.filter(Boolean).map((line) => line.split(':')))).toEqual({
    cluster_enabled: '1',
    cluster_state: state,
    cluster_slots_assigned: String(assigned),
    cluster_slots_ok: String(assigned),
    cluster_slots_pfail: '0',
    cluster_slots_fail: '0',
    cluster_known_nodes: String(known),
    cluster_size: String(size),
    cluster_current_epoch: '7',
    cluster_my_epoch: '101',
  });
});

test('INFO and HELLO say that it is a cluster', async () => {
  const { connection } = await connected(layout);
  const info = await connection.call('INFO');
  expect(info).toContain('redis_mode:cluster\r\n');
  expect(info).toContain('cluster_enabled:1\r\n');
  const hello = (await connection.call('HELLO', 3)) as Map<Value, Value>;
  expect(hello.get('mode')).toBe('cluster');
});

test('a node that has not joined says so instead of an id', async () => {
  const nobody = fixedCluster(
    -1,
    [],
    layoutOf(() => -1),
  );
  const { connection } = await connected(whole, { view: () => nobody.view() });
  expect(await connection.call('CLUSTER', 'MYID')).toEqual(
    new Error('CLUSTERDOWN This node has not joined the cluster'),
  );
  expect(await connection.call('CLUSTER', 'SLOTS')).toEqual([]);
  expect(await connection.call('CLUSTER', 'NODES')).toBe('');
});

describe('a key is sent to its owner', () => {
  // The slot of foo is 12182, of hello 866, of {user} 5474.
  test.each<[(string | number)[], Value]>([
    [
      ['CL.THROTTLE', 'foo', 1, 1, 1],
      [0, 2, 1, -1, 1],
    ],
    [['CL.THROTTLE', 'hello', 1, 1, 1], new Error('MOVED 866 10.0.0.1:6380')],
    [['cl.throttle', '{user}:1', 'x'], new Error('MOVED 5474 10.0.0.1:6380')],
    [
      ['CL.THROTTLE'],
      new Error('Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]'),
    ],
    [['SLUICE.CHECK', 'foo', 'hello'], new Error('MOVED 866 10.0.0.1:6380')],
    [
      ['SLUICE.CHECK', 'per-user', 'foo'],
      [1, 3, 2, 0, 60_000, 'per-user'],
    ],
    [['SLUICE.POLICY', 'hello', 'gcra', 1, 1000], new Error('MOVED 866 10.0.0.1:6380')],
    [['SLUICE.CHECK', 'per-user'], new Error("ERR wrong number of arguments for 'sluice.check' command")],
    [['PING', 'hello'], 'hello'],
  ])('%j replies %j', async (command, reply) => {
    const { connection } = await connected(layout);
    expect(await connection.call(...command)).toEqual(reply);
  });

  test('IPv6 has no brackets, as in Redis; a slot without an owner is not served', async () => {
    const { connection } = await connected(layoutOf((shard) => (shard < 512 ? 2 : -1)));
    expect(await connection.call('CL.THROTTLE', 'hello', 1, 1, 1)).toEqual(new Error('MOVED 866 fd00::3:6382'));
    expect(await connection.call('CL.THROTTLE', 'foo', 1, 1, 1)).toEqual(new Error('CLUSTERDOWN Hash slot not served'));
  });

  test('in the order of the commands, among answers that are there', async () => {
    const { connection } = await connected(layout);
    connection.send(Buffer.concat(['foo', 'hello', 'foo'].map((key) => frame('CL.THROTTLE', key, 1, 1, 1))));
    expect(await connection.reply()).toEqual([0, 2, 1, -1, 1]);
    expect(await connection.reply()).toEqual(new Error('MOVED 866 10.0.0.1:6380'));
    expect(await connection.reply()).toEqual([0, 2, 0, -1, 2]);
  });

  test('only after it has shown a token', async () => {
    const { client, meter } = await openDoor({ tokens: ['secret'], cluster: fixedCluster(1, members, layout) });
    const connection = await client();
    expect(await connection.call('CL.THROTTLE', 'hello', 1, 1, 1)).toEqual(
      new Error('NOAUTH Authentication required.'),
    );
    expect(await connection.call('SLUICE.PEER', '{}')).toEqual(new Error('NOAUTH Authentication required.'));
    expect(meter.unauthorized).toBe(2);
  });
});

test.each(['READONLY', 'READWRITE', 'ASKING'])('%s is accepted, and keys are where they are', async (word) => {
  const { connection } = await connected(layout);
  expect(await connection.call(word)).toBe('OK');
  expect(await connection.call('CL.THROTTLE', 'hello', 1, 1, 1)).toEqual(new Error('MOVED 866 10.0.0.1:6380'));
});

describe('SLUICE.PEER', () => {
  const table = { kind: 'table', to: b, revision: 3, table: '{}' };

  test('asks the node, and replies what it said', async () => {
    const heard: unknown[] = [];
    const { connection } = await connected(layout, {
      receive(message) {
        heard.push(message);
        return { kind: 'copied', shards: [1, 2] };
      },
    });
    expect(await connection.call('SLUICE.PEER', JSON.stringify(table))).toBe('{"kind":"copied","shards":[1,2]}');
    expect(heard).toEqual([table]);
  });

  test('takes bytes beside the message, whatever they are, and no more than that', async () => {
    const heard: unknown[] = [];
    const { connection } = await connected(layout, {
      receive(message) {
        heard.push(message.kind === 'replicate' && Buffer.from(message.steps).toString('hex'));
        return { kind: 'copied', shards: [1] };
      },
    });
    const shards = [{ shard: 1, session: 1, sequence: 1, nowMs: 1, stepBytes: 4 }];
    const message = JSON.stringify({ kind: 'replicate', to: b, from: 'a', epoch: 1, kinds: [], shards });
    const bytes = Buffer.from([0xff, 0x00, 0x0d, 0x0a]);
    expect(await connection.call('SLUICE.PEER', message, bytes)).toBe('{"kind":"copied","shards":[1]}');
    expect(heard).toEqual(['ff000d0a']);
    expect(await connection.call('SLUICE.PEER', message)).toEqual(
      new Error('ERR message.steps must be 4 bytes, got none'),
    );
    expect(await connection.call('SLUICE.PEER', message, bytes, bytes)).toEqual(
      new Error("ERR wrong number of arguments for 'sluice.peer' command"),
    );
  });

  test('keeps its place in the order of replies when the node needs time', async () => {
    const { connection } = await connected(layout, { receive: async () => ({ kind: 'done' }) });
    connection.send(Buffer.concat([frame('SLUICE.PEER', JSON.stringify(table)), frame('PING')]));
    expect(await connection.reply()).toBe('{"kind":"done"}');
    expect(await connection.reply()).toBe('PONG');
  });

  test.each([
    ['{', 'ERR message must be JSON'],
    ['[]', 'ERR message must be an object'],
    ['{"kind":"constructor"}', 'ERR message.kind must be one of apply, offer, table, replicate'],
    ['{"kind":"apply"}', 'ERR message.to must be a text'],
    [Buffer.from([0x22, 0xff, 0x22]), 'ERR message must be UTF-8'],
  ])('%j is the error %j, and nothing else happens', async (message, error) => {
    const { connection, complaints } = await connected(layout, { receive: () => expect.unreachable() });
    expect(await connection.call('SLUICE.PEER', message)).toEqual(new Error(error));
    expect(await connection.call('PING')).toBe('PONG');
    expect(complaints).toEqual([]);
  });

  test('is an error on a server of its own', async () => {
    const { client } = await openDoor();
    const connection = await client();
    expect(await connection.call('SLUICE.PEER', '{}')).toEqual(new Error('ERR This server is no node of a cluster.'));
  });

  test('may be longer than limits.bodyBytes, and nothing else may', async () => {
    const long = 'x'.repeat(1_000_000);
    const { connection, client } = await connected(layout, { receive: () => ({ kind: 'done' }) });
    expect(await connection.call('sluice.Peer', JSON.stringify({ ...table, table: long }))).toBe('{"kind":"done"}');
    for (const command of [['ECHO', long], ['SLUICE.PEEK', long], [long]]) {
      expect(await (await client()).call(...command)).toEqual(new Error('ERR Protocol error: invalid bulk length'));
    }
    expect(await (await client()).call('ECHO', ...Array<string>(100).fill(long.slice(0, 1000)))).toEqual(
      new Error('ERR Protocol error: request longer than 65536 bytes'),
    );
    const alone = await openDoor();
    expect(await (await alone.client()).call('SLUICE.PEER', long)).toEqual(
      new Error('ERR Protocol error: invalid bulk length'),
    );
  });
});
