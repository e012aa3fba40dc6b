import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonOf } from './member-connection.ts';
import type { MemberSettings } from './member-connections.ts';
import { memberIdleMs } from './member-idle.ts';
import {
  answering,
  closeAll,
  connectionsToPort,
  forwarded,
  fullPort,
  MemoryBody,
  MemoryExchange,
  member,
  ok,
  settings,
  settled,
} from './upstream.test-support.ts';

afterEach(closeAll);

const get = () => new MemoryExchange();
const post = () =>
  new MemoryExchange({ method: 'POST', body: new MemoryBody().give('hello').end(), framing: 'chunked' });
const { connectMs, idleMs } = settings.timeouts;

describe('the reason why there is no connection', () => {
  it('is that of every address of the name, where there are several', () => {
    const refused = ['connect ECONNREFUSED ::1:80', 'connect ECONNREFUSED 127.0.0.1:80'];
    const errors = refused.map((message) => new Error(message));
    expect(reasonOf(new AggregateError(errors))).toBe(refused.join(', '));
    expect(reasonOf(errors[0]!)).toBe(refused[0]);
  });
});

describe('connections', () => {
  it('are used again, the one that was used last first', async () => {
    const { connections, sides, requested } = await member();
    const first = forwarded(get(), connections);
    const a = await requested(0);
    const second = forwarded(get(), connections);
    const b = await requested(1);
    a.write(ok);
    await first;
    b.write(ok);
    await second;
    expect(connections.stats()).toEqual({ open: 2, idle: 2, waiting: 0 });
    const third = forwarded(get(), connections);
    await requested(1, 2);
    b.write(ok);
    await third;
    expect([sides.length, a.requests, b.requests]).toEqual([2, 1, 2]);
  });

  it('are never more than so many; who comes later waits in line', async () => {
    const { connections, sides, requested } = await member({ connections: 1 });
    const targets = ['/1', '/2', '/3'];
    const results = targets.map((target) => forwarded(new MemoryExchange({ target }), connections));
    for (let i = 1; i <= 3; i += 1) {
      const side = await requested(0, i);
      expect(connections.stats()).toEqual({ open: 1, idle: 0, waiting: 3 - i });
      side.write(ok);
      await results[i - 1];
    }
    expect(sides[0]!.received.match(/GET \S+/g)).toEqual(['GET /1', 'GET /2', 'GET /3']);
  });

  it('that are not kept make room for the next in line', async () => {
    const { connections, sides } = await answering(
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
      {
        connections: 2,
      },
    );
    const results = await Promise.all(Array.from({ length: 10 }, () => forwarded(get(), connections)));
    expect(results.every(({ kind }) => kind === 'answered')).toBe(true);
    expect([sides.length, connections.stats().open]).toEqual([10, 0]);
  });

  it('are waited for no longer than it may take to connect', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ connections: 1, clock });
    const first = forwarded(get(), connections);
    const side = await requested();
    const second = forwarded(get(), connections);
    clock.advance(connectMs - 1);
    await settled();
    expect(connections.stats().waiting).toBe(1);
    clock.advance(1000);
    expect(await second).toEqual({
      kind: 'failed',
      reason: 'busy',
      message: `no connection became free within ${connectMs} ms`,
      isAnswered: false,
      mayHaveArrived: false,
    });
    side.write(ok);
    expect(await first).toMatchObject({ kind: 'answered' });
  });

  it('are waited for by a bounded number of requests', async () => {
    const { connections, requested } = await member({ connections: 1 });
    const exchanges = Array.from({ length: 1025 }, get);
    const results = exchanges.map((exchange) => forwarded(exchange, connections));
    await requested();
    expect(await forwarded(get(), connections)).toMatchObject({ kind: 'failed', reason: 'busy' });
    expect(connections.stats().waiting).toBe(1024);
    for (const exchange of exchanges) exchange.leave();
    await Promise.all(results);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });

  it('that nobody uses for a while are closed', async () => {
    const clock = new TestClock();
    const { connections, sides } = await answering(ok, { clock });
    await forwarded(get(), connections);
    clock.advance(idleMs - 1000);
    await settled();
    expect(connections.stats().idle).toBe(1);
    clock.advance(2000);
    await waitUntil('it is closed', () => sides[0]!.isEnded);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });

  it('that are overdue are not used, even if nobody has looked yet', async () => {
    // A clock whose sleepers are never woken: nobody looks.
    const clock = new TestClock();
    clock.sleep = () => new Promise(() => {});
    const { connections, sides } = await answering(ok, { clock });
    await forwarded(get(), connections);
    clock.advance(idleMs);
    await forwarded(get(), connections);
    expect(sides.length).toBe(2);
  });

  it('are closed before the member says it does so itself', async () => {
    const clock = new TestClock();
    const { connections } = await answering(
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=100\r\ncontent-length: 0\r\n\r\n',
      { clock },
    );
    await forwarded(get(), connections);
    clock.advance(4100);
    await waitUntil('it is closed', () => connections.stats().open === 0);
  });

  it.each([
    [['keep-alive', 'timeout=5'], 4000],
    [['keep-alive', 'max=100, timeout=60'], 59_000],
    [['keep-alive', 'timeout=1'], 500],
    [['keep-alive', 'timeout=0'], 0],
    [['keep-alive', 'max=5'], Number.POSITIVE_INFINITY],
    [['connection', 'keep-alive'], Number.POSITIVE_INFINITY],
  ] as const)('after %j are idle for at most %d ms', (headers, ms) => {
    expect(memberIdleMs(headers)).toBe(ms);
  });

  it('that the member closes while they are idle are noticed', async () => {
    const { connections, sides } = await answering(ok);
    await forwarded(get(), connections);
    sides[0]!.socket.end();
    await waitUntil('it is gone', () => connections.stats().open === 0);
    expect(await forwarded(get(), connections)).toMatchObject({ kind: 'answered' });
    expect(sides.length).toBe(2);
  });

  it('that the member resets while they are idle are noticed', async () => {
    const { connections, sides } = await answering(ok);
    await forwarded(get(), connections);
    sides[0]!.socket.resetAndDestroy();
    await waitUntil('it is gone', () => connections.stats().open === 0);
  });

  it('on which the member speaks unasked are destroyed: its words would be taken for the next answer', async () => {
    const { connections, sides } = await answering(ok);
    await forwarded(get(), connections);
    sides[0]!.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged');
    await waitUntil('it is gone', () => connections.stats().open === 0);
    const exchange = get();
    await forwarded(exchange, connections);
    expect(exchange.text).toBe('ok');
  });

  it('are closed when the member is not used any more: idle ones at once, busy ones after their answer', async () => {
    const { connections, sides, requested } = await member();
    const first = forwarded(get(), connections);
    (await requested(0)).write(ok);
    await first;
    const second = forwarded(get(), connections);
    await requested(0, 2);
    const third = forwarded(get(), connections);
    (await requested(1)).write(ok);
    await third;
    connections.close();
    await waitUntil('the idle one is closed', () => sides[1]!.isEnded);
    expect(connections.stats()).toEqual({ open: 1, idle: 0, waiting: 0 });
    sides[0]!.write(ok);
    expect(await second).toMatchObject({ kind: 'answered' });
    expect(connections.stats().open).toBe(0);
  });

  it('still serve who comes after the close, and are not kept', async () => {
    const { connections } = await answering(ok, { connections: 1 });
    connections.close();
    const results = await Promise.all([forwarded(get(), connections), forwarded(get(), connections)]);
    expect(results.map(({ kind }) => kind)).toEqual(['answered', 'answered']);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });
});

describe('a member that cannot be reached', () => {
  it('is a failure to connect, and the request has not arrived', async () => {
    const connections = connectionsToPort(await closedPort());
    expect(await forwarded(get(), connections)).toEqual({
      kind: 'failed',
      reason: 'connect',
      message: expect.stringContaining('ECONNREFUSED'),
      isAnswered: false,
      mayHaveArrived: false,
    });
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });

  it('fails all who wait, one after the other', async () => {
    const connections = connectionsToPort(await closedPort(), { connections: 1 });
    const results = await Promise.all(Array.from({ length: 20 }, () => forwarded(get(), connections)));
    expect(results.every((result) => result.kind === 'failed' && result.reason === 'connect')).toBe(true);
  });

  it('whose line is full times out after connectMs', async () => {
    const clock = new TestClock();
    const connections = connectionsToPort(await fullPort(), { clock });
    const result = forwarded(get(), connections);
    await settled();
    clock.advance(connectMs + 1);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'connect', mayHaveArrived: false });
    expect(connections.stats().open).toBe(0);
  });

  it('is not connected to any more when the client has left', async () => {
    const clock = new TestClock();
    const connections = connectionsToPort(await fullPort(), { clock });
    const exchange = get();
    const result = forwarded(exchange, connections);
    exchange.leave();
    expect(await result).toEqual({ kind: 'gone' });
    expect(connections.stats().open).toBe(0);
  });
});

describe('a kept connection that dies under a request before anything of an answer', () => {
  /** Answers the first request of its first connection, and closes that when the second comes. */
  function closing(given: Partial<MemberSettings> = {}) {
    let accepted = 0;
    return member(given, (side) => {
      accepted += 1;
      const isFirst = accepted === 1;
      side.socket.on('data', () => {
        if (isFirst && side.requests > 1) side.socket.destroy();
        else if (side.received.endsWith('\r\n\r\n')) side.write(ok);
      });
    });
  }

  it('is replaced by a fresh one, and an idempotent request is repeated', async () => {
    const { connections, sides } = await closing();
    await forwarded(get(), connections);
    const exchange = new MemoryExchange({ method: 'PUT', body: new MemoryBody().give('hello').end() });
    expect(await forwarded(exchange, connections)).toMatchObject({ kind: 'answered', status: 200 });
    expect(sides.length).toBe(2);
    expect(sides[1]!.received).toMatch(/^PUT .*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/s);
    expect(connections.stats()).toEqual({ open: 1, idle: 1, waiting: 0 });
  });

  it.each([
    ['a request that must not be done twice', post],
    // What its protocol does with it, nobody here knows.
    ['an upgrade', () => new MemoryExchange({ upgrade: 'websocket' })],
  ])('fails %s', async (_, exchange) => {
    const { connections, sides } = await closing();
    await forwarded(get(), connections);
    expect(await forwarded(exchange(), connections)).toMatchObject({
      kind: 'failed',
      reason: 'reset',
      isAnswered: false,
      mayHaveArrived: true,
    });
    expect([sides.length, connections.stats().open]).toEqual([1, 0]);
  });

  it('fails a request whose body was not kept', async () => {
    const { connections, sides } = await closing();
    await forwarded(get(), connections);
    const body = new MemoryBody().give(Buffer.alloc(100_000)).end();
    const exchange = new MemoryExchange({ method: 'PUT', body });
    expect(await forwarded(exchange, connections)).toMatchObject({ kind: 'failed', reason: 'reset' });
    expect(sides.length).toBe(1);
  });

  it('does not repeat for ever: a fresh connection that dies is a failure', async () => {
    let answered = 0;
    const { connections, sides } = await member({}, (side) => {
      side.socket.on('data', () => {
        answered += 1;
        if (answered === 1) side.write(ok);
        else side.socket.destroy();
      });
    });
    await forwarded(get(), connections);
    expect(await forwarded(get(), connections)).toMatchObject({ kind: 'failed', reason: 'reset' });
    expect(sides.length).toBe(2);
  });

  it('is not replaced when a part of an answer had come: the member has seen the request', async () => {
    const { connections, sides, requested } = await member();
    const first = forwarded(get(), connections);
    const side = await requested();
    side.write(ok);
    await first;
    const second = forwarded(get(), connections);
    await requested(0, 2);
    side.write('HTTP/1.1 200 OK\r\nconte');
    side.socket.end();
    expect(await second).toMatchObject({ kind: 'failed', reason: 'reset', isAnswered: false, mayHaveArrived: true });
    expect(sides.length).toBe(1);
  });

  it('lets the repeated request go before those who wait in line', async () => {
    const { connections, sides } = await closing({ connections: 1 });
    await forwarded(new MemoryExchange(), connections);
    const results = ['/repeated', '/waiting'].map((target) => forwarded(new MemoryExchange({ target }), connections));
    expect((await Promise.all(results)).map(({ kind }) => kind)).toEqual(['answered', 'answered']);
    expect(sides[1]!.received.match(/GET \S+/g)).toEqual(['GET /repeated', 'GET /waiting']);
  });
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
