import { connect as connectHttp2 } from 'node:http2';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { get, hello, open, post } from './front.test-support.ts';
import { http2Client } from './http2/http2-client.test-support.ts';

function holding() {
  const held: Exchange[] = [];
  const handle = (exchange: Exchange) => {
    if (exchange.request.target === '/held') held.push(exchange);
    else hello(exchange);
  };
  return { held, handle };
}

describe('drain', () => {
  it('lets idle connections go after a moment, finishes what was begun, and says that the connection closes', async () => {
    const { held, handle } = holding();
    const { front, client } = await open(handle);
    const [silent, idle, busy] = [client(), client(), client()];
    await idle.ask(get('/'));
    await busy.send(get('/held') + get('/after'));
    await waitUntil('it is asked', () => held.length === 1 && front.meter.connections === 3);
    const drained = front.drain(60_000);
    await Promise.all([silent.closed, idle.closed]);
    hello(held[0] as Exchange);
    expect(await busy.response()).toMatchObject({ body: 'GET /held', headers: { connection: 'close' } });
    // The one behind was not begun: the client knows by `close` that it may send it elsewhere.
    expect(await busy.response()).toBeUndefined();
    await drained;
    expect(front.meter).toMatchObject({ connections: 0, requests: 2 });
  });

  it('ends a connection behind an answer that began before it, though that did not say so', async () => {
    const { held, handle } = holding();
    const { front, client } = await open(handle);
    const [busy, idle] = [client(), client()];
    await idle.ask(get('/'));
    await busy.send(get('/held'));
    await waitUntil('it is asked', () => held.length === 1);
    const sink = (held[0] as Exchange).answer({ status: 200, headers: [] }, 5);
    sink.write(Buffer.from('he'));
    await busy.until('he');
    const drained = front.drain(60_000);
    await idle.closed;
    sink.write(Buffer.from('llo'));
    sink.end();
    expect(await busy.response()).toMatchObject({ status: 200, body: 'hello' });
    await busy.closed;
    await drained;
    expect(front.meter.connections).toBe(0);
  });

  it('answers a request that was on its way on a connection that was idle', async () => {
    const { front, client } = await open(hello);
    const one = client();
    await one.ask(get('/1'));
    const drained = front.drain(60_000);
    expect(await one.ask(get('/2'))).toMatchObject({ body: 'GET /2', headers: { connection: 'close' } });
    await one.closed;
    await drained;
  });

  it('takes no new connections', async () => {
    const { held, handle } = holding();
    const { front, client } = await open(handle);
    await client().send(get('/held'));
    await waitUntil('it is asked', () => held.length === 1);
    const drained = front.drain(60_000);
    expect(await client().closed).toBe(true);
    hello(held[0] as Exchange);
    await drained;
  });

  it('waits no longer than it was told, whatever is under way', async () => {
    const { held, handle } = holding();
    const { front, client, port } = await open(handle);
    const [waiting, half, upgraded] = [client(), client(), client()];
    await waiting.send(get('/held'));
    await half.send(post('/held', 'hello').slice(0, 20));
    await upgraded.send(get('/held', ['Connection: upgrade', 'Upgrade: websocket']));
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': '/held' });
    stream.on('error', () => {});
    await waitUntil('all are asked', () => held.length === 3);
    held.find(({ upgrade }) => upgrade !== undefined)?.switchProtocols({ status: 101, headers: [] });
    await front.drain(50);
    await Promise.all([waiting.closed, half.closed, upgraded.closed]);
    expect(held.map(({ isGone, status }) => [isGone, status]).sort()).toEqual([
      [false, 101],
      [true, 0],
      [true, 0],
    ]);
    expect(front.meter.connections).toBe(0);
  });

  it('tells HTTP/2 clients to go, takes what is on its way, and finishes it', async () => {
    const { held, handle } = holding();
    const { front, port } = await open(handle);
    const one = http2Client(port);
    const goaways: number[] = [];
    one.session.on('goaway', (_code, lastStream) => goaways.push(lastStream));
    const first = one.ask({ ':path': '/held' });
    await waitUntil('it is asked', () => held.length === 1);
    const late = one.ask({ ':path': '/late' });
    const drained = front.drain(60_000);
    expect((await late).body).toBe('GET /late');
    await waitUntil('it was told to go', () => goaways.length > 0);
    expect(goaways).toEqual([3]);
    hello(held[0] as Exchange);
    expect((await first).body).toBe('GET /held');
    one.session.close();
    await drained;
  });
});
