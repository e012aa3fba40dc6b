import { TestClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { beginning, openDoor, type Value } from './resp-door.test-support.ts';

async function connected() {
  const open = await openDoor();
  return { ...open, connection: await open.client() };
}

test.each([
  [['PING'], 'PONG'],
  [['ping', 'hi'], 'hi'],
  [['ECHO', 'größe'], 'größe'],
  [['SELECT', 0], 'OK'],
  [['READONLY'], 'OK'],
  [['READWRITE'], 'OK'],
  [['ASKING'], 'OK'],
  [['RESET'], 'RESET'],
  [['QUIT'], 'OK'],
  [['AUTH', 'default', 'anything'], 'OK'],
  [['CLIENT', 'SETNAME', 'me'], 'OK'],
  [['CLIENT', 'GETNAME'], null],
  [['CLIENT', 'ID'], 1],
  [['CLIENT', 'SETINFO', 'LIB-NAME', 'mine'], 'OK'],
  [['CLIENT', 'SETINFO', 'lib-ver', '1.0'], 'OK'],
  [['CLIENT', 'NO-EVICT', 'on'], 'OK'],
  [['CLIENT', 'NO-TOUCH', 'off'], 'OK'],
  [['CLIENT', 'REPLY', 'ON'], 'OK'],
  [['CLIENT', 'TRACKING', 'OFF'], 'OK'],
  [
    ['CONFIG', 'GET', 'save'],
    ['save', ''],
  ],
  [
    ['CONFIG', 'GET', 'append*', 'SAVE'],
    ['appendonly', 'no', 'save', ''],
  ],
  [
    ['CONFIG', 'GET', '*o*y'],
    ['appendonly', 'no'],
  ],
  [['CONFIG', 'GET', 'nothing'], []],
  [['CLUSTER', 'KEYSLOT', '{user}:1'], 5474],
  [['COMMAND', 'GETKEYS', 'CL.THROTTLE', 'k', 1, 1, 1], ['k']],
  [['COMMAND', 'GETKEYS', 'SLUICE.CHECK', 'rule', 'k'], ['k']],
  [['COMMAND', 'GETKEYS', 'SLUICE.POLICY', 'k', 'gcra', 1, 1], ['k']],
  [['COMMAND', 'INFO', 'nosuch'], [null]],
])('%j replies %j', async (command, reply) => {
  const { connection } = await connected();
  expect(await connection.call(...command)).toEqual(reply);
});

test.each([
  [['PING', 'a', 'b'], "ERR wrong number of arguments for 'ping' command"],
  [['ECHO'], "ERR wrong number of arguments for 'echo' command"],
  [['SELECT', 1], 'ERR DB index is out of range'],
  [['SELECT', 'x'], 'ERR value is not an integer or out of range'],
  [['HELLO', 4], 'NOPROTO unsupported protocol version'],
  [['HELLO', 'x'], 'ERR Protocol version is not an integer or out of range'],
  [['HELLO', 3, 'AUTH', 'default'], "ERR Syntax error in HELLO option 'AUTH'"],
  [['HELLO', 3, 'SETNAME', 'a b'], 'ERR Client names cannot contain spaces, newlines or special characters.'],
  [['AUTH', 'a', 'b', 'c'], 'ERR syntax error'],
  [['CLIENT'], "ERR wrong number of arguments for 'client' command"],
  [['CLIENT', 'SETNAME'], "ERR wrong number of arguments for 'client|setname' command"],
  [['CLIENT', 'SETNAME', 'a\nb'], 'ERR Client names cannot contain spaces, newlines or special characters.'],
  [['CLIENT', 'SETINFO', 'lib-color', 'red'], "ERR Unrecognized option 'lib-color'"],
  [['CLIENT', 'NO-EVICT', 'maybe'], 'ERR syntax error'],
  [['CLIENT', 'REPLY', 'OFF'], 'ERR CLIENT REPLY knows only ON here'],
  [['CONFIG', 'SET', 'save', ''], "ERR unknown subcommand 'SET'. CONFIG knows GET."],
  [
    ['CLUSTER', 'constructor'],
    "ERR unknown subcommand 'constructor'. CLUSTER knows SLOTS, SHARDS, NODES, REPLICAS, MYID, INFO, KEYSLOT.",
  ],
  [['COMMAND', 'GETKEYS', 'PING'], 'ERR The command has no key arguments'],
  [['COMMAND', 'GETKEYS', 'nosuch'], 'ERR Invalid command specified'],
  [['COMMAND', 'GETKEYS', 'SLUICE.CHECK', 'rule'], 'ERR Invalid number of arguments specified for command'],
])('%j is the error %j', async (command, message) => {
  const { connection } = await connected();
  expect(await connection.call(...command)).toEqual(new Error(message));
  expect(await connection.call('PING')).toBe('PONG');
});

describe('HELLO', () => {
  test('chooses the protocol: maps are arrays in RESP2 and maps in RESP3', async () => {
    const { connection } = await connected();
    const hello = (version: number) => [
      'server',
      'redis',
      'version',
      '7.4.0',
      'proto',
      version,
      'id',
      1,
      'mode',
      'cluster',
      'role',
      'master',
      'modules',
      [],
    ];
    expect(await connection.call('HELLO')).toEqual(hello(2));
    const inRespThree = (await connection.call('HELLO', 3)) as Map<Value, Value>;
    expect([...inRespThree].flat()).toEqual(hello(3));
    expect(await connection.call('CONFIG', 'GET', 'save')).toEqual(new Map([['save', '']]));
    expect(await connection.call('CLIENT', 'GETNAME')).toBe(null);
    expect(await connection.call('CL.THROTTLE', 'k', 1, 1, 1)).toEqual([0, 2, 1, -1, 1]);
    expect(await connection.call('HELLO', 2)).toEqual(hello(2));
    expect(await connection.call('CONFIG', 'GET', 'save')).toEqual(['save', '']);
  });
});

test('what would have to wait is refused, since nobody can be told to wait here', async () => {
  const { client } = await openDoor({ clock: new TestClock(1_700_000_000_000) });
  const connection = await client();
  const shaped = ['SLUICE.CHECK', 'shaped', 'ann'];
  expect(await connection.call(...shaped)).toEqual([1, 6, 5, 0, 1000, 'shaped']);
  expect(beginning(await connection.call(...shaped), 4)).toEqual([0, 6, 5, 1000]);
  for (const policy of [
    ['leaky-bucket', 1, 1000, 'BURST', 5],
    ['smooth', 1, 1000],
  ]) {
    const allowed = async () => beginning(await connection.call('SLUICE.POLICY', 'ann', ...policy), 1);
    expect([await allowed(), await allowed()]).toEqual([[1], [0]]);
  }
});

test('CLIENT ID is another in each thread', async () => {
  const ids = await Promise.all(
    [0, 1, 2].map(async (threadNumber) => {
      const { client } = await openDoor({ threadNumber });
      return [await (await client()).call('CLIENT', 'ID'), await (await client()).call('CLIENT', 'ID')];
    }),
  );
  expect(new Set(ids.flat()).size).toBe(6);
  expect(ids[0]).toEqual([1, 2]);
});

test('CLIENT INFO and LIST say who is connected', async () => {
  const { connection, client, port } = await connected();
  await connection.call('CLIENT', 'SETNAME', 'one');
  const another = await client();
  await another.call('HELLO', 3, 'SETNAME', 'two');
  expect(await another.call('CLIENT', 'INFO')).toMatch(
    new RegExp(`^id=2 addr=127\\.0\\.0\\.1:\\d+ laddr=127\\.0\\.0\\.1:${port} name=two age=0 .*cmd=client .*resp=3`),
  );
  const lines = String(await connection.call('CLIENT', 'LIST'))
    .trim()
    .split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('name=one');
  expect(lines[1]).toContain('name=two');
});

test('INFO has the sections that were asked for, and what clients look for', async () => {
  const { connection, port } = await connected();
  const all = String(await connection.call('INFO'));
  expect(all).toContain('redis_version:7.4.0\r\n');
  expect(all).toContain('loading:0\r\n');
  expect(all).toContain('role:master\r\n');
  expect(all).toContain(`tcp_port:${port}\r\n`);
  expect(String(await connection.call('INFO', 'CLIENTS'))).toBe(
    '# Clients\r\nconnected_clients:1\r\nmaxclients:1000\r\n',
  );
});

test('CLUSTER tells of one node, reached where the client reached it, that owns every slot', async () => {
  const { connection, port } = await connected();
  const id = await connection.call('CLUSTER', 'MYID');
  expect(id).toMatch(/^[0-9a-f]{40}$/);
  expect(await connection.call('CLUSTER', 'SLOTS')).toEqual([[0, 16_383, ['127.0.0.1', port, id, []]]]);
  expect(await connection.call('CLUSTER', 'INFO')).toMatch(/cluster_state:ok\r\n.*cluster_slots_assigned:16384\r\n/s);
  expect(await connection.call('CLUSTER', 'NODES')).toBe(
    `${id} 127.0.0.1:${port}@${port} myself,master - 0 0 1 connected 0-16383\n`,
  );
  await connection.call('HELLO', 3);
  const [shard] = (await connection.call('CLUSTER', 'SHARDS')) as [Map<string, Value>];
  expect(shard.get('slots')).toEqual([0, 16_383]);
  expect(Object.fromEntries((shard.get('nodes') as [Map<string, Value>])[0])).toMatchObject({
    id,
    port,
    ip: '127.0.0.1',
    role: 'master',
    health: 'online',
  });
});

test('COMMAND tells which argument is the key', async () => {
  const { connection } = await connected();
  await connection.call('HELLO', 3);
  const all = (await connection.call('COMMAND')) as Value[][];
  expect(await connection.call('COMMAND', 'COUNT')).toBe(all.length);
  expect(await connection.call('COMMAND', 'LIST')).toEqual(all.map(([name]) => name));
  const keyAt = Object.fromEntries(all.filter((info) => info[3] !== 0).map((info) => [info[0], info[3]]));
  expect(keyAt).toEqual({ 'cl.throttle': 1, 'sluice.apply': 4, 'sluice.check': 2, 'sluice.policy': 1 });
  const [check] = (await connection.call('COMMAND', 'INFO', 'sluice.check')) as Value[][];
  const [specification] = check![8] as Set<Map<string, Map<string, Value>>>;
  expect(specification!.get('begin_search')!.get('spec')).toEqual(new Map([['index', 2]]));
  const docs = (await connection.call('COMMAND', 'DOCS', 'cl.throttle', 'nosuch')) as Map<string, Map<string, Value>>;
  expect([...docs.keys()]).toEqual(['cl.throttle']);
  expect(docs.get('cl.throttle')!.get('summary')).toContain('redis-cell');
});
