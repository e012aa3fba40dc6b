// A member is a process of its own here, killed and stopped by signals while requests are under way.
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  closeAll,
  connectionsToPort,
  forwarded,
  MemoryBody,
  MemoryExchange,
  memberProcess,
  settings,
} from './upstream.test-support.ts';

afterEach(closeAll);

const hangs = "console.log('asked');";
const beginsAndHangs = "response.writeHead(200, { 'content-length': 10 }); response.write('hello');";
const answers = "request.resume().on('end', () => response.end('ok'));";

describe('kill -9 of a member', () => {
  it('before the head of its answer: failed by a reset, nothing was answered', async () => {
    const { port, says, kill } = await memberProcess(hangs);
    const connections = connectionsToPort(port);
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    await says('asked');
    await kill();
    expect(await result).toMatchObject({ kind: 'failed', reason: 'reset', isAnswered: false, mayHaveArrived: true });
    expect(exchange.status).toBe(0);
    expect(connections.stats().open).toBe(0);
  });

  it('after the head of its answer: the client notices that it is not whole', async () => {
    const { port, kill } = await memberProcess(beginsAndHangs);
    const connections = connectionsToPort(port);
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    await waitUntil('it has begun', () => exchange.text === 'hello');
    await kill();
    expect(await result).toMatchObject({ kind: 'failed', reason: 'reset', isAnswered: true, mayHaveArrived: true });
    expect(exchange.isAborted).toBe(true);
  });

  it('makes the next request fail to connect, though connections to it were kept', async () => {
    const { port, kill } = await memberProcess(answers);
    const connections = connectionsToPort(port);
    expect(await forwarded(new MemoryExchange(), connections)).toMatchObject({ kind: 'answered' });
    expect(connections.stats().idle).toBe(1);
    await kill();
    // The kept connection may not have been noticed as dead yet: a GET is repeated on a fresh one, and that is refused.
    expect(await forwarded(new MemoryExchange(), connections)).toMatchObject({ kind: 'failed', reason: 'connect' });
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });

  it('under many requests: each ends, in a whole answer or in a failure, and no connection is left over', async () => {
    const { port, kill } = await memberProcess("setTimeout(() => response.end('ok'), Math.random() * 20);");
    const connections = connectionsToPort(port, { connections: 8 });
    const exchanges = Array.from({ length: 400 }, (_, i) => {
      if (i % 2 === 0) return new MemoryExchange();
      return new MemoryExchange({ method: 'POST', body: new MemoryBody().give('hello').end(), framing: 5 });
    });
    const results = exchanges.map((exchange) => forwarded(exchange, connections));
    await Promise.race(results.slice(100));
    await kill();
    const kinds = { answered: 0, failed: 0 };
    for (const [i, result] of (await Promise.all(results)).entries()) {
      if (result.kind !== 'answered' && result.kind !== 'failed') throw new Error(result.kind);
      kinds[result.kind] += 1;
      expect(exchanges[i]!.text).toBe(result.kind === 'answered' ? 'ok' : '');
    }
    expect(kinds.answered).toBeGreaterThan(0);
    expect(kinds.failed).toBeGreaterThan(0);
    expect(connections.stats()).toEqual({ open: 0, idle: 0, waiting: 0 });
  });
});

describe('SIGSTOP of a member', () => {
  it('makes a request on a kept connection time out; after SIGCONT it is as before', async () => {
    const clock = new TestClock();
    const { port, stop, child } = await memberProcess(answers);
    const connections = connectionsToPort(port, { clock });
    await forwarded(new MemoryExchange(), connections);
    await stop();
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    await new Promise(setImmediate);
    clock.advance(settings.timeouts.responseMs + 1);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed-out', mayHaveArrived: true });
    expect(connections.stats().open).toBe(0);
    child.kill('SIGCONT');
    expect(await forwarded(new MemoryExchange(), connections)).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('makes a request on a new connection time out: the kernel connects, nobody answers', async () => {
    const clock = new TestClock();
    const { port, stop } = await memberProcess(answers);
    await stop();
    const timeouts = { ...settings.timeouts, connectMs: 1e9 };
    const connections = connectionsToPort(port, { clock, timeouts });
    const result = forwarded(new MemoryExchange({ method: 'POST' }), connections);
    await waitUntil('it is late', () => {
      clock.advance(timeouts.responseMs);
      return connections.stats().open === 0;
    });
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed-out', mayHaveArrived: true });
  });

  it('in the middle of an answer makes it time out, and the client notices', async () => {
    const clock = new TestClock();
    const { port, stop } = await memberProcess(beginsAndHangs);
    const connections = connectionsToPort(port, { clock });
    const exchange = new MemoryExchange();
    const result = forwarded(exchange, connections);
    await waitUntil('it has begun', () => exchange.text === 'hello');
    await stop();
    clock.advance(settings.timeouts.idleMs + 1);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'timed-out', isAnswered: true });
    expect(exchange.isAborted).toBe(true);
  });
});
