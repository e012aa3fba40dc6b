/** Nodes that ask each other over real sockets, and what becomes of a question when things break. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixedCluster, layoutOf } from '../../resp/cluster.test-support.ts';
import { type OpenDoorOptions, openDoor } from '../../resp/resp-door.test-support.ts';
import { makeCertificates } from '../../service/certificates.test-support.ts';
import type { Answer } from '../../service/service.ts';
import type { PeerMessage, PeerReply, ShardState } from '../messages.ts';
import { type PeersByRedisOptions, peersByRedis } from './peers-by-redis.ts';

// No answer of these tests takes so long; a test that waits for it has failed.
const patientMs = 30_000;
const done: PeerReply = { kind: 'done' };
const silence = new Promise<PeerReply>(() => undefined);

/** A node that keeps what it heard, and answers as the test says. */
async function openNode(answer: (revision: number) => Answer<PeerReply> = () => done, options: OpenDoorOptions = {}) {
  const heard: PeerMessage[] = [];
  const open = await openDoor({
    ...options,
    cluster: {
      ...fixedCluster(
        0,
        [],
        layoutOf(() => -1),
      ),
      receive(message) {
        heard.push(message);
        return answer((message as { revision: number }).revision);
      },
    },
  });
  return { ...open, heard, address: `127.0.0.1:${open.port}` };
}

function openPeers(options: Partial<PeersByRedisOptions> = {}) {
  const warnings: string[] = [];
  const quiet = () => undefined;
  const warn = ({ error }: { error?: string }) => void warnings.push(String(error));
  const peers = peersByRedis({ log: { debug: quiet, info: quiet, warn, error: warn }, ...options });
  onTestFinished(() => peers.close());
  return Object.assign(peers, { warnings });
}

const message = (revision: number): PeerMessage => ({ kind: 'table', to: 'b', revision, table: '' });
const unavailable = (text: string) =>
  expect.objectContaining({ code: 'store-unavailable', message: expect.stringContaining(text) });

test('a question gets its reply', async () => {
  const { address, heard, complaints } = await openNode(() => ({ kind: 'copied', shards: [3] }));
  expect(await openPeers().ask(address, message(1), patientMs)).toEqual({ kind: 'copied', shards: [3] });
  expect(heard).toEqual([message(1)]);
  expect(complaints).toEqual([]);
});

test('a thousand questions at once go over one connection, in order, and each gets its own reply', async () => {
  const { address, heard, meter } = await openNode(async (revision) => ({ kind: 'copied', shards: [revision] }));
  const peers = openPeers();
  const revisions = Array.from({ length: 1000 }, (_, i) => i);
  const replies = await Promise.all(revisions.map((revision) => peers.ask(address, message(revision), patientMs)));
  expect(replies).toEqual(revisions.map((revision) => ({ kind: 'copied', shards: [revision] })));
  expect(heard).toEqual(revisions.map(message));
  expect(meter.connections).toBe(1);
});

test('an offer of five megabytes arrives whole', async () => {
  const { address, heard } = await openNode();
  const entries = Array.from({ length: 5000 }, (_, i) => [
    `key-${i}`,
    ...Array.from({ length: 100 }, (__, j) => 1e9 + j),
  ]);
  const state = {
    shard: 1,
    nowMs: 5,
    doubts: [],
    settled: [],
    snapshot: { version: 1, names: [{ name: 'x', tables: [{ entries }] }] },
  };
  const offer: PeerMessage = {
    kind: 'offer',
    to: 'b',
    from: 'a',
    token: 't',
    shards: [state as unknown as ShardState],
  };
  expect(JSON.stringify(offer).length).toBeGreaterThan(5_000_000);
  expect(await openPeers().ask(address, offer, patientMs)).toEqual(done);
  expect(heard).toEqual([offer]);
});

test('a message longer than any node reads is not sent', async () => {
  const { address, heard } = await openNode();
  const long: PeerMessage = { kind: 'table', to: 'b', revision: 1, table: 'x'.repeat(32 * 1024 * 1024) };
  await expect(openPeers().ask(address, long, patientMs)).rejects.toEqual(unavailable('at most 33554432 bytes'));
  expect(heard).toEqual([]);
});

describe('a question that is not answered', () => {
  test('is over when its time is up, and a new connection is opened for the next', async () => {
    const { address, heard, meter } = await openNode((revision) => (revision === 1 ? silence : done), {
      limits: { requestMs: 100 },
    });
    const peers = openPeers();
    await peers.ask(address, message(0), patientMs);
    await expect(peers.ask(address, message(1), 50)).rejects.toEqual(unavailable('did not answer within 50 ms'));
    expect(peers.size).toBe(0);
    await waitUntil('the silent connection is closed', () => meter.connections === 0);
    // Behind the silent question it would wait for ever.
    expect(await peers.ask(address, message(2), patientMs)).toEqual(done);
    expect(heard).toEqual([0, 1, 2].map(message));
  });

  test('does not end the others: a silent connection stays until what is under way on it is settled', async () => {
    let answer: (reply: PeerReply) => void = () => undefined;
    const late = new Promise<PeerReply>((resolve) => {
      answer = resolve;
    });
    const { address, heard, meter } = await openNode((revision) => (revision === 0 ? done : late));
    const peers = openPeers();
    await peers.ask(address, message(0), patientMs);
    const patient = peers.ask(address, message(1), patientMs);
    await expect(peers.ask(address, message(2), 50)).rejects.toEqual(unavailable('did not answer within 50 ms'));
    expect(peers.size).toBe(0);
    // The next goes over a connection of its own, and the node would have seen the end of the other by now.
    expect(await peers.ask(address, message(0), patientMs)).toEqual(done);
    expect(meter.connections).toBe(2);
    answer(done);
    expect(await patient).toEqual(done);
    await waitUntil('it is closed', () => meter.connections === 1);
    expect(heard).toEqual([0, 1, 2, 0].map(message));
  });

  test('fails when the node dies in the middle, and is not asked again', async () => {
    const { address, port, door, heard } = await openNode(() => silence);
    const peers = openPeers();
    const asked = Promise.allSettled([1, 2, 3].map((revision) => peers.ask(address, message(revision), patientMs)));
    await waitUntil('it has arrived', () => heard.length === 3);
    door.server.close();
    await door.drain(0);
    expect(await asked).toEqual(Array(3).fill({ status: 'rejected', reason: unavailable('cannot be asked') }));
    await expect(peers.ask(address, message(4), patientMs)).rejects.toEqual(unavailable('cannot be asked'));
    const successor = await openNode(() => done, { port });
    await waitUntil('it is reached again', () =>
      peers.ask(address, message(5), patientMs).then(
        () => true,
        () => false,
      ),
    );
    expect(new Set(successor.heard)).toEqual(new Set([message(5)]));
    expect(peers.warnings.length).toBeGreaterThan(0);
  });

  test('fails when nobody listens', async () => {
    const { address, door } = await openNode();
    door.server.close();
    await expect(openPeers().ask(address, message(1), patientMs)).rejects.toEqual(unavailable('ECONNREFUSED'));
  });

  test('is not sent after its time, when the node lets us in only then', async () => {
    let received = '';
    const late = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        received += bytes.toString();
      });
    });
    late.listen(0, '127.0.0.1');
    await once(late, 'listening');
    onTestFinished(() => void late.close());
    const sockets: Socket[] = [];
    late.on('connection', (socket) => void sockets.push(socket));
    const peers = openPeers();
    const address = `127.0.0.1:${(late.address() as AddressInfo).port}`;
    await expect(peers.ask(address, message(1), 50)).rejects.toEqual(unavailable('did not answer within 50 ms'));
    await waitUntil('it said hello', () => received.includes('HELLO') || received.includes('hello'));
    // HELLO and CLIENT SETNAME are answered; whatever was waiting for that would follow now.
    sockets[0]!.write('%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n');
    const next = peers.ask(address, message(2), patientMs);
    await waitUntil('the next question arrives', () => received.includes('"revision":2'));
    expect(received).not.toContain('"revision":1');
    sockets[0]!.write('$15\r\n{"kind":"done"}\r\n');
    expect(await next).toEqual(done);
  });
});

describe('a reply that is none', () => {
  test('an error of the node is a failure', async () => {
    const { address } = await openNode(() => Promise.reject(new Error('broken')));
    const asked = openPeers().ask(address, message(1), patientMs);
    await expect(asked).rejects.toEqual(unavailable('ERR internal error'));
    expect(inspect(await Promise.allSettled([asked]), { depth: null })).not.toContain('revision');
  });

  test('what cannot be understood is not believed', async () => {
    const { address } = await openNode(() => ({ kind: 'sure' }) as never);
    await expect(openPeers().ask(address, message(1), patientMs)).rejects.toThrow('reply.kind must be one of');
  });

  test('a server that is no node says so', async () => {
    const { port } = await openDoor();
    await expect(openPeers().ask(`127.0.0.1:${port}`, message(1), patientMs)).rejects.toEqual(
      unavailable('This server is no node of a cluster'),
    );
  });
});

describe('token and TLS', () => {
  test.each([
    ['the right one', 'secret', undefined],
    ['a wrong one', 'guess', 'WRONGPASS'],
    ['none', undefined, 'NOAUTH'],
  ])('a node with a token is shown %s', async (_, token, problem) => {
    const { address, heard } = await openNode(() => done, { tokens: ['secret'] });
    const asked = openPeers({ token }).ask(address, message(1), patientMs);
    if (problem) await expect(asked).rejects.toEqual(unavailable(problem));
    else expect(await asked).toEqual(done);
    // Errors end up in logs, and those of the client library hold the command that failed.
    expect(inspect(await Promise.allSettled([asked]), { depth: null })).not.toContain('guess');
    expect(heard).toHaveLength(problem ? 0 : 1);
  });

  test('a token that nobody needs is no problem', async () => {
    const { address } = await openNode();
    expect(await openPeers({ token: 'secret' }).ask(address, message(1), patientMs)).toEqual(done);
  });

  test('both sides show a certificate', async () => {
    const { ca, server, client, stranger } = await makeCertificates();
    const { address, heard } = await openNode(() => done, { tls: { ...server, ca }, tokens: ['secret'] });
    expect(await openPeers({ token: 'secret', tls: { ca, ...client } }).ask(address, message(1), patientMs)).toEqual(
      done,
    );
    for (const tls of [undefined, { ca }, { ca, ...stranger }, { ...client }]) {
      await expect(openPeers({ token: 'secret', tls }).ask(address, message(2), patientMs)).rejects.toEqual(
        unavailable('cannot be asked'),
      );
    }
    expect(heard).toEqual([message(1)]);
  });
});

describe('connections', () => {
  test('that the node closed are opened again, at the next question and without a pause', async () => {
    const clock = new TestClock(0);
    const { address, meter } = await openNode(() => done, { clock, limits: { idleMs: 1000 } });
    const peers = openPeers();
    for (const revision of [1, 2]) {
      expect(await peers.ask(address, message(revision), patientMs)).toEqual(done);
      await waitUntil('the node closes what is idle', async () => {
        await clock.advance(1000);
        return meter.connections === 0 && peers.size === 0;
      });
    }
    expect(peers.warnings).toEqual([]);
  });

  test('that nobody uses are closed', async () => {
    const { address, meter } = await openNode();
    const peers = openPeers({ idleMs: 20 });
    await peers.ask(address, message(1), patientMs);
    await waitUntil('it is closed', () => meter.connections === 0 && peers.size === 0);
    expect(await peers.ask(address, message(2), patientMs)).toEqual(done);
  });

  test('are bounded: the one unused for longest makes room, and when all are in use nobody is asked', async () => {
    // Whoever asked may have closed only its half: it is let go after this time.
    const silent = () => openNode(() => silence, { limits: { requestMs: 100 } });
    const nodes = await Promise.all([openNode(), openNode(), silent(), silent()]);
    const [first, second, third, fourth] = nodes.map(({ address }) => address) as [string, string, string, string];
    const peers = openPeers({ connections: 2 });
    await peers.ask(first, message(1), patientMs);
    await peers.ask(second, message(1), patientMs);
    const waiting = [peers.ask(third, message(1), patientMs)];
    await waitUntil('the first is closed', () => nodes[0]!.meter.connections === 0);
    expect(nodes[1]!.meter.connections).toBe(1);
    waiting.push(peers.ask(fourth, message(1), patientMs));
    await expect(peers.ask(first, message(2), patientMs)).rejects.toEqual(unavailable('2 connections'));
    expect(peers.size).toBe(2);
    peers.close();
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(peers.ask(first, message(3), patientMs)).rejects.toEqual(unavailable('ending'));
    await waitUntil('all are closed', () => nodes.every(({ meter }) => meter.connections === 0));
  });

  test('that are being opened end with the rest', async () => {
    const { address, heard, meter } = await openNode();
    const peers = openPeers();
    const asked = peers.ask(address, message(1), patientMs);
    peers.close();
    await expect(asked).rejects.toEqual(unavailable('cannot be asked'));
    expect(heard).toEqual([]);
    expect(meter.connections).toBe(0);
  });
});
