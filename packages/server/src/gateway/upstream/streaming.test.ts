import { once } from 'node:events';
import { createServer } from 'node:http';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { BadMessage } from '../wire/message.ts';
import {
  answering,
  closeAll,
  connectionsTo,
  forwarded,
  MemoryBody,
  MemoryExchange,
  member,
  ok,
  settings,
  settled,
} from './upstream.test-support.ts';

afterEach(closeAll);

const { responseMs, idleMs } = settings.timeouts;
// What one read of a socket brings: it was read before anybody knew that the client is full.
const readBytes = 64 * 1024;

describe('back-pressure', () => {
  it('a client that reads slowly slows the member down: 200 MB pass, and never more than one read is held', async () => {
    const room = 32 * 1024;
    const total = 200 * 1024 * 1024;
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const { connections, requested } = await member();
    const exchange = new MemoryExchange({ room });
    const result = forwarded(exchange, connections);
    const { socket } = await requested();
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
    let written = 0;
    const fill = () => {
      while (written < total) {
        written += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('drain', fill);
    fill();
    await waitUntil('the client is full', () => exchange.isWaitedFor);
    // Nobody reads: what the member could get rid of is in the kernel's buffers, and the rest waits at the member.
    await waitUntil('the member is full', async () => {
      const before = written;
      for (let i = 0; i < 50; i += 1) await new Promise(setImmediate);
      return written === before;
    });
    expect(written - socket.writableLength).toBeLessThan(total / 4);
    expect(exchange.bodyBytes).toBeLessThanOrEqual(room + readBytes);
    await drained(exchange, () => exchange.isEnded);
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
    expect(exchange.bodyBytes).toBe(total);
    expect(exchange.heldBytesMost).toBeLessThanOrEqual(room + readBytes);
    expect(connections.stats().idle).toBe(1);
  });

  it('a member that reads slowly slows the client down', async () => {
    const { connections, requested } = await member();
    const body = new MemoryBody();
    const result = forwarded(new MemoryExchange({ method: 'POST', body }), connections);
    const { socket } = await requested();
    socket.pause();
    const piece = Buffer.alloc(64 * 1024);
    let given = 0;
    await waitUntil('the client is paused', () => {
      for (; given < 2000 && !body.isPaused; given += 1) body.give(piece);
      return body.isPaused;
    });
    expect(given).toBeLessThan(2000);
    for (let i = 0; i < 10; i += 1) body.give(piece);
    await new Promise(setImmediate);
    expect(body.waitingParts).toBeGreaterThanOrEqual(9);
    body.end();
    socket.resume();
    await waitUntil('it went on', () => body.waitingParts === 0);
    socket.write(ok);
    expect(await result).toMatchObject({ kind: 'answered' });
  });

  it('an answer whose last bytes fill the client leaves a connection that is read again', async () => {
    const { connections, sides } = await answering('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const exchange = new MemoryExchange({ room: 1 });
    const result = forwarded(exchange, connections);
    await waitUntil('it has begun', () => exchange.status === 200);
    sides[0]!.write('2\r\nok\r\n0\r\n\r\n');
    expect(await result).toMatchObject({ kind: 'answered' });
    expect([exchange.isWaitedFor, connections.stats().idle]).toEqual([true, 1]);
    sides[0]!.socket.end();
    await waitUntil('its end is noticed', () => connections.stats().open === 0);
    exchange.drain();
  });

  async function drained(exchange: MemoryExchange, isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      if (exchange.isWaitedFor) exchange.drain();
      await new Promise(setImmediate);
    }
  }
});

describe('an answer that comes before the request is whole', () => {
  it('is passed on, and the connection is not used again', async () => {
    const { connections, requested } = await member();
    const body = new MemoryBody().give('hello');
    const exchange = new MemoryExchange({ method: 'POST', body });
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nno!');
    expect(await result).toMatchObject({ kind: 'answered', status: 413 });
    expect([exchange.text, connections.stats().open, body.isPaused]).toEqual(['no!', 0, true]);
  });

  it('is passed on although the member hung up and the next bytes cannot be written', async () => {
    const server = createServer((_, response) => {
      response.writeHead(413, { connection: 'close' }).end('too large');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connections = connectionsTo(server);
    for (let i = 0; i < 20; i += 1) {
      const body = new MemoryBody();
      const exchange = new MemoryExchange({ method: 'POST', body });
      const result = forwarded(exchange, connections);
      // On and on, several writes in one turn: the first after the member's close brings a reset, the second fails.
      while (!exchange.isEnded && connections.stats().open > 0) {
        for (let k = 0; k < 3; k += 1) if (!body.isPaused) body.give(Buffer.alloc(64 * 1024));
        await new Promise(setImmediate);
      }
      expect(await result).toMatchObject({ kind: 'answered', status: 413 });
      expect(exchange.text).toBe('too large');
    }
    server.close();
  });

  it('that is missing when nothing more can be written is a failure', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const body = new MemoryBody();
    const result = forwarded(new MemoryExchange({ method: 'POST', body }), connections);
    (await requested()).socket.destroy();
    await waitUntil('it is given up', () => {
      for (let k = 0; k < 3; k += 1) if (!body.isPaused) body.give(Buffer.alloc(64 * 1024));
      clock.advance(1000);
      return connections.stats().open === 0;
    });
    expect(await result).toMatchObject({ kind: 'failed', reason: 'reset', isAnswered: false, mayHaveArrived: true });
  });

  it('goes on while the request does: both directions at once', async () => {
    const { connections, requested } = await member();
    const body = new MemoryBody().give('1');
    const exchange = new MemoryExchange({ method: 'POST', body });
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    for (const letter of 'abc') {
      body.give(letter);
      await waitUntil(`${letter} has come`, () => side.received.includes(`1\r\n${letter}\r\n`));
      side.write(`1\r\n${letter}\r\n`);
      await waitUntil(`${letter} came back`, () => exchange.text.endsWith(letter));
    }
    body.end();
    await waitUntil('the request is whole', () => side.received.endsWith('0\r\n\r\n'));
    side.write('0\r\n\r\n');
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
    expect([exchange.text, connections.stats().idle]).toEqual(['abc', 1]);
  });
});

describe('Expect: 100-continue', () => {
  async function expecting(clock = new TestClock()) {
    const { connections, requested } = await member({ clock });
    const body = new MemoryBody().give('hello').end();
    const exchange = new MemoryExchange({ method: 'POST', body, framing: 5, expectsContinue: true });
    const result = forwarded(exchange, connections);
    const side = await requested();
    return { connections, body, exchange, result, side, clock };
  }

  it('is forwarded, and the body is read only when the member says 100', async () => {
    const { body, side, result, connections } = await expecting();
    expect(side.received).toBe(
      'POST / HTTP/1.1\r\nhost: example.com\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n',
    );
    expect(body.reader).toBeUndefined();
    side.write('HTTP/1.1 100 Continue\r\n\r\n');
    await waitUntil('the body has come', () => side.received.endsWith('hello'));
    side.write(ok);
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
    expect(connections.stats().idle).toBe(1);
  });

  it('and after a second of silence the body is sent all the same', async () => {
    const { side, result, clock } = await expecting();
    clock.advance(1100);
    await waitUntil('the body has come', () => side.received.endsWith('hello'));
    side.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}`);
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('with a final answer instead: it is passed on, the body is never read, the connection is not used again', async () => {
    const { side, result, exchange, body, connections } = await expecting();
    side.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno');
    expect(await result).toMatchObject({ kind: 'answered', status: 401 });
    expect([exchange.text, body.reader, connections.stats().open]).toEqual(['no', undefined, 0]);
  });
});

describe('a client that leaves', () => {
  it.each([
    ['before the head', ''],
    ['in the middle of the answer', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning'],
  ])('%s: the member is cut off', async (_, text) => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write(text);
    await waitUntil('it has come', () => text === '' || exchange.bodyBytes > 0);
    exchange.leave();
    expect(await result).toEqual({ kind: 'gone' });
    await waitUntil('the member notices', () => side.isEnded);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });

  it('while it is waited for', async () => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange({ room: 10 });
    const result = forwarded(exchange, connections);
    (await requested()).write(`HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n${'x'.repeat(50)}`);
    await waitUntil('it is full', () => exchange.isWaitedFor);
    exchange.leave();
    expect(await result).toEqual({ kind: 'gone' });
    exchange.drain();
    expect(connections.stats().open).toBe(0);
  });

  it('while it waits in line gives up its place', async () => {
    const { connections, requested } = await member({ connections: 1 });
    const first = forwarded(new MemoryExchange(), connections);
    const side = await requested();
    const exchange = new MemoryExchange();
    const second = forwarded(exchange, connections);
    exchange.leave();
    expect(await second).toEqual({ kind: 'gone' });
    expect(connections.stats().waiting).toBe(0);
    side.write(ok);
    expect(await first).toMatchObject({ kind: 'answered' });
    expect(connections.stats().idle).toBe(1);
  });

  it('or whose body turns out to be none: the member is cut off', async () => {
    const { connections, requested } = await member();
    const body = new MemoryBody().give('hello');
    const result = forwarded(new MemoryExchange({ method: 'POST', body }), connections);
    const side = await requested();
    body.fail(new BadMessage(400, 'a bad chunk'));
    expect(await result).toEqual({ kind: 'gone' });
    await waitUntil('the member notices', () => side.isEnded);
    // The end of the body was never written: the member cannot take what it got for the whole.
    expect(side.received).not.toMatch(/0\r\n\r\n$/);
  });
});

describe('a member that is late', () => {
  it('with the head of its answer, counted from when the request was whole', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const body = new MemoryBody().give('hello');
    const result = forwarded(new MemoryExchange({ method: 'PUT', body }), connections);
    await requested();
    // The client takes its time.
    clock.advance(10 * responseMs);
    await settled();
    body.end();
    clock.advance(responseMs - 1);
    await settled();
    expect(connections.stats().open).toBe(1);
    clock.advance(1000);
    expect(await result).toEqual({
      kind: 'failed',
      reason: 'timed-out',
      message: `no answer within ${responseMs} ms`,
      isAnswered: false,
      mayHaveArrived: true,
    });
    expect(connections.stats().open).toBe(0);
  });

  it('to whoever stood still meanwhile is not late: what has come is read first', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const result = forwarded(new MemoryExchange(), connections);
    const side = await requested();
    // As a process wakes up: with its timers, before it reads anything.
    await new Promise((resolve) => setTimeout(resolve));
    side.write(ok);
    clock.advance(responseMs + 1000);
    expect(await result).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('with its head, though it keeps sending hints', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    clock.advance(responseMs - 1);
    side.write('HTTP/1.1 103 Early Hints\r\n\r\n');
    await waitUntil('the hint has come', () => exchange.informed.length === 1);
    clock.advance(1000);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed-out' });
  });

  it('in the middle of its answer: the client notices', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n1');
    await waitUntil('it has begun', () => exchange.bodyBytes === 1);
    clock.advance(idleMs - 1);
    side.write('2');
    await waitUntil('it went on', () => exchange.bodyBytes === 2);
    clock.advance(idleMs - 1);
    await settled();
    expect(exchange.isAborted).toBe(false);
    clock.advance(1000);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed-out', isAnswered: true });
    expect(exchange.isAborted).toBe(true);
  });

  it('only because the client reads slowly is not late', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const exchange = new MemoryExchange({ room: 1 });
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab');
    await waitUntil('the client is full', () => exchange.isWaitedFor);
    clock.advance(10 * idleMs);
    await settled();
    expect(exchange.isAborted).toBe(false);
    exchange.drain();
    side.write('cd');
    expect(await result).toMatchObject({ kind: 'answered' });
  });

  it('to take the request', async () => {
    const clock = new TestClock();
    const { connections, requested } = await member({ clock });
    const body = new MemoryBody();
    const result = forwarded(new MemoryExchange({ method: 'POST', body }), connections);
    (await requested()).socket.pause();
    await waitUntil(
      'the member is full',
      () => {
        if (!body.isPaused) body.give(Buffer.alloc(64 * 1024));
        return body.isPaused;
      },
      { everyMs: 0 },
    );
    // It may be full of what is only on its way: until nothing moves any more.
    await waitUntil('nothing moves', async () => {
      for (let i = 0; i < 50; i += 1) await new Promise(setImmediate);
      while (!body.isPaused) body.give(Buffer.alloc(64 * 1024));
      for (let i = 0; i < 50; i += 1) await new Promise(setImmediate);
      return body.isPaused;
    });
    clock.advance(idleMs + 1000);
    expect(await result).toMatchObject({
      kind: 'failed',
      reason: 'timed-out',
      message: `the member took nothing of the request for ${idleMs} ms`,
    });
  });
});

describe('a member that dies', () => {
  it.each([
    ['before its answer, by closing', '', 'end', false],
    ['before its answer, by a reset', '', 'resetAndDestroy', false],
    ['in the middle of its head', 'HTTP/1.1 200 OK\r\nconte', 'end', false],
    ['in the middle of a known length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello', 'end', true],
    [
      'in the middle of a known length, by a reset',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello',
      'resetAndDestroy',
      true,
    ],
    ['in the middle of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhello', 'end', true],
    ['between chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 'end', true],
    ['in an answer without a length, by a reset', 'HTTP/1.1 200 OK\r\n\r\nhello', 'resetAndDestroy', true],
  ] as const)('%s', async (_, text, death, isAnswered) => {
    const { connections, requested } = await member();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    const side = await requested();
    side.write(text);
    if (isAnswered) await waitUntil('it has begun', () => exchange.text === 'hello');
    side.socket[death]();
    expect(await result).toMatchObject({ kind: 'failed', reason: 'reset', isAnswered, mayHaveArrived: true });
    expect([exchange.isAborted, exchange.isEnded]).toEqual([isAnswered, false]);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });
});
