import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  closeAll,
  forwarded,
  MemberSide,
  MemoryBody,
  MemoryExchange,
  member,
  ok,
  settings,
} from './upstream.test-support.ts';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeAll();
});

/** The front's end of a client's connection, and the client's. */
async function clientConnection(): Promise<{ front: Socket; client: MemberSide }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [front] = (await once(server, 'connection')) as [Socket];
  server.close();
  sockets.push(socket, front);
  return { front, client: new MemberSide(socket) };
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-key: 1\r\n\r\n';

async function tunnelled(given: { clock?: TestClock; first?: string } = {}) {
  const upstream = await member(given.clock === undefined ? {} : { clock: given.clock });
  const { front, client } = await clientConnection();
  const exchange = new MemoryExchange({ upgrade: 'websocket', connection: front });
  const result = forwarded(exchange, upstream.connections, { responseHeaders: ['x-added', '2'] });
  const side = await upstream.requested();
  side.write(switching + (given.first ?? ''));
  await waitUntil('it has switched', () => exchange.status === 101);
  const { connections, requested } = upstream;
  return { connections, requested, front, client, exchange, result, side };
}

describe('a switch of protocols', () => {
  it('is asked for, and granted with the headers of the member', async () => {
    const { side, exchange } = await tunnelled();
    expect(side.received).toContain('upgrade: websocket\r\nconnection: upgrade\r\n');
    expect(exchange.head!.headers).toEqual(['x-key', '1', 'x-added', '2', 'upgrade', 'websocket']);
  });

  it('lets bytes pass both ways, those too that came right behind the head', async () => {
    const { side, client, connections } = await tunnelled({ first: 'at once ' });
    client.write('from the client');
    side.write('from the member');
    await waitUntil('both came', () => client.received.length > 22 && side.received.endsWith('from the client'));
    expect(client.received).toBe('at once from the member');
    expect(connections.stats()).toEqual({ open: 1, idle: 0, waiting: 0 });
  });

  it('may be refused: then the answer is passed on like any other', async () => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange({ upgrade: 'websocket' });
    const result = forwarded(exchange, connections);
    (await requested()).write(ok);
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
    expect([exchange.text, connections.stats().idle]).toEqual(['ok', 1]);
  });

  it.each(['h2c', 'H2C', 'websocket, h2c', 'HTTP/2.0', 'TLS/1.0'])(
    'to %s is not asked for: in that tunnel requests would pass every rule',
    async (upgrade) => {
      const { connections, requested } = await member();
      const exchange = new MemoryExchange({ upgrade });
      const result = forwarded(exchange, connections);
      const side = await requested();
      expect(side.received).toBe('GET / HTTP/1.1\r\nhost: example.com\r\n\r\n');
      side.write(switching);
      expect(await result).toMatchObject({ kind: 'failed', reason: 'malformed', isAnswered: false });
    },
  );

  it('before the request was whole is malformed: the rest of the body would be taken for the other protocol', async () => {
    const { connections, requested } = await member();
    const body = new MemoryBody().give('hello');
    const exchange = new MemoryExchange({ method: 'POST', body, upgrade: 'websocket' });
    const result = forwarded(exchange, connections);
    (await requested()).write(switching);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'malformed', isAnswered: false });
  });

  it.each(['client', 'member'] as const)('ends one way when the %s ends, and the other way later', async (who) => {
    const { side, client, result, connections } = await tunnelled();
    const [first, second] = who === 'client' ? [client, side] : [side, client];
    first.write('last words');
    first.socket.end();
    await waitUntil('the end has come', () => second.isEnded);
    expect(second.received).toMatch(/last words$/);
    second.write('still here');
    await waitUntil('the other way is open', () => first.received.endsWith('still here'));
    expect(connections.stats().open).toBe(1);
    second.socket.end();
    expect(await result).toMatchObject({ kind: 'answered', status: 101 });
    await waitUntil('both are closed', () => first.isClosed && second.isClosed);
    expect(connections.stats().open).toBe(0);
  });

  it.each(['client', 'member'] as const)('ends both ways when the %s is reset', async (who) => {
    const { side, client, result, connections } = await tunnelled();
    const [first, second] = who === 'client' ? [client, side] : [side, client];
    first.socket.resetAndDestroy();
    expect(await result).toMatchObject({ kind: 'answered', status: 101 });
    await waitUntil('the other is closed', () => second.isEnded || second.isClosed);
    expect(connections.stats().open).toBe(0);
  });

  it('ends when nothing passes for idleMs, and not before', async () => {
    const clock = new TestClock();
    const { side, client, result } = await tunnelled({ clock });
    const { idleMs } = settings.timeouts;
    clock.advance(idleMs - 1);
    client.write('ping');
    await waitUntil('it has come', () => side.received.endsWith('ping'));
    clock.advance(idleMs - 1);
    side.write('pong');
    await waitUntil('it came back', () => client.received.endsWith('pong'));
    clock.advance(idleMs + 1000);
    expect(await result).toMatchObject({ kind: 'answered', status: 101 });
    await waitUntil('both are closed', () => side.isEnded && client.isEnded);
  });

  it.each(['client', 'member'] as const)('is no faster than the %s reads', async (who) => {
    const { side, client, front, connections, requested } = await tunnelled();
    const [reader, writer] = who === 'client' ? [client, side] : [side, client];
    reader.socket.pause();
    // All different: bytes that were overwritten while they waited would be noticed.
    const pieces = Array.from({ length: 50 }, (_, i) => Buffer.alloc(1024 * 1024, `piece ${i} `));
    const before = reader.received;
    let written = 0;
    const fill = () => {
      while (written < pieces.length && writer.socket.write(pieces[written++]!));
    };
    writer.socket.on('drain', fill);
    fill();
    await waitUntil('nothing moves', async () => {
      const unsent = writer.socket.writableLength + written;
      for (let i = 0; i < 50; i += 1) await new Promise(setImmediate);
      return writer.socket.writableLength + written === unsent;
    });
    // Another connection is read meanwhile, into the same buffer.
    const other = forwarded(new MemoryExchange(), connections);
    (await requested(1)).write(`HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n${'#'.repeat(60_000)}`);
    expect(await other).toMatchObject({ kind: 'answered' });
    expect(written).toBeLessThan(pieces.length / 2);
    expect(front.writableLength + front.readableLength).toBeLessThan(1024 * 1024);
    reader.socket.resume();
    const all = before + Buffer.concat(pieces).toString('latin1');
    await waitUntil('all of it has come', () => reader.received.length >= all.length);
    expect(reader.received === all).toBe(true);
  });
});
