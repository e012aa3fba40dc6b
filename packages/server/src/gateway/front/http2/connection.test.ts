import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import type { Body, Exchange, Sink } from '../../exchange.ts';
import type { Framing } from '../../wire/message.ts';
import { count, echo, get, hello, limits, open } from '../front.test-support.ts';
import { endHeaders, endStream, frame, frames, http2Client, literal, preface } from './http2-client.test-support.ts';

function holding() {
  const held: Exchange[] = [];
  return { held, handle: (exchange: Exchange) => void held.push(exchange) };
}

/** Speaks bytes; the head of a request as it is told, which no client library would send. */
async function raw(port: number, client: ReturnType<Awaited<ReturnType<typeof open>>['client']>, ...parts: Buffer[]) {
  await client.send(Buffer.concat([preface, frame(frames.settings, 0, 0), ...parts]));
  return port;
}

const pseudo = (method: string, path: string, authority = 'shop.example') => [
  literal(':method', method),
  literal(':scheme', 'http'),
  literal(':path', path),
  literal(':authority', authority),
];
const head = (flags: number, lines: Buffer[]) => frame(frames.headers, flags | endHeaders, 1, Buffer.concat(lines));

describe('a request of HTTP/2', () => {
  it('becomes what it would be by HTTP/1.1', async () => {
    const { port, exchanges, front } = await open(hello);
    const response = await http2Client(port).ask({
      ':path': '/a?b=c',
      ':authority': 'shop.example:81',
      'x-one': ['1', '2'],
      cookie: ['a=1', 'b=2'],
    });
    expect(response).toMatchObject({ status: 200, body: 'GET /a?b=c', resetCode: 0 });
    expect(response.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '10' });
    expect(response.headers.date).toBeDefined();
    const [{ request, client, framing, body, upgrade }] = exchanges as [Exchange];
    expect(request).toMatchObject({ method: 'GET', target: '/a?b=c', authority: 'shop.example:81' });
    expect(request.headers).toEqual(['x-one', '1', 'x-one', '2', 'cookie', 'a=1; b=2']);
    expect(client).toMatchObject({ address: '127.0.0.1', protocol: 'HTTP/2.0', isTls: false });
    expect([framing, body, upgrade]).toEqual([0, undefined, undefined]);
    expect(front.meter).toMatchObject({ requests: 1, connections: 1, malformed: 0 });
  });

  it('brings its body and its trailers, and takes those of the answer', async () => {
    const { port, exchanges } = await open(echo);
    const one = http2Client(port);
    const sum = { 'x-sum': '7' };
    expect(await one.ask({ ':method': 'POST', te: 'trailers' }, 'hello', sum)).toMatchObject({
      body: 'hello',
      trailers: sum,
    });
    expect(await one.ask({ ':method': 'POST' }, 'hello', sum)).toMatchObject({ body: 'hello', trailers: {} });
    expect(await one.ask({ ':method': 'POST', 'content-length': 5 }, 'hello')).toMatchObject({
      body: 'hello',
      headers: { 'content-length': '5' },
    });
    expect(await one.ask({ ':method': 'POST', te: 'trailers' }, '')).toMatchObject({ status: 200, body: '' });
    expect(exchanges.map(({ framing }) => framing)).toEqual(['chunked', 'chunked', 5, 'chunked']);
  });

  it('is one of many at once, each answered when it is ready', async () => {
    const { held, handle } = holding();
    const { port } = await open(handle);
    const one = http2Client(port);
    const asked = ['/1', '/2', '/3'].map((path) => one.ask({ ':path': path }));
    await waitUntil('all are asked', () => held.length === 3);
    for (const exchange of held.reverse()) hello(exchange);
    expect((await Promise.all(asked)).map(({ body }) => body)).toEqual(['GET /1', 'GET /2', 'GET /3']);
  });

  it.each([
    ['CONNECT', [literal(':method', 'CONNECT'), literal(':authority', 'a.example:443')], '501'],
    ['a method in small letters', pseudo('get', '/'), '501'],
    ['a path with a fragment', pseudo('GET', '/a#b'), '400'],
    ['a path with a backslash', pseudo('GET', '/a\\b'), '400'],
    ['an authority with a user', pseudo('GET', '/', 'me@shop.example'), '400'],
    ['another host than the authority', [...pseudo('GET', '/'), literal('host', 'other.example')], '400'],
    ['a length in disguise', [...pseudo('GET', '/'), literal('content_length', '5')], '400'],
    ['an expectation that nobody knows', [...pseudo('GET', '/'), literal('expect', 'x')], '417'],
  ])('is refused with a status where HTTP/1.1 would be: %s', async (_, lines, status) => {
    const { port, client, exchanges, front } = await open(hello);
    const one = client();
    await raw(port, one, head(endStream, lines));
    // HPACK leaves the digits of a status as they are, but for those it knows by number (400 is 0x8c).
    await waitUntil(
      'it is answered',
      () => one.received.includes('problem+json') || one.received.includes(`"status":${status}`),
    );
    expect([exchanges.length, front.meter.malformed]).toEqual([0, 1]);
  });

  it.each([
    ['Connection', [...pseudo('GET', '/'), literal('connection', 'close')]],
    ['Transfer-Encoding', [...pseudo('POST', '/'), literal('transfer-encoding', 'chunked')]],
    ['Upgrade', [...pseudo('GET', '/'), literal('upgrade', 'websocket')]],
    ['TE with more than trailers', [...pseudo('GET', '/'), literal('te', 'gzip')]],
    ['capitals', [...pseudo('GET', '/'), literal('X-A', '1')]],
    ['a path that is an address', pseudo('GET', 'http://other.example/')],
    ['two hosts', [...pseudo('GET', '/'), literal('host', 'shop.example'), literal('host', 'shop.example')]],
    ['two paths', [...pseudo('GET', '/'), literal(':path', '/b')]],
    ['no path', [literal(':method', 'GET'), literal(':scheme', 'http'), literal(':authority', 'a.example')]],
  ])('is no request at all with %s', async (_, lines) => {
    const { port, client, exchanges, front } = await open(hello);
    const one = client();
    await raw(port, one, head(endStream, lines));
    // A reset of stream 1, or the end of the connection.
    const isReset = () => Buffer.from(one.received, 'latin1').includes(Buffer.from([frames.reset, 0, 0, 0, 0, 1]));
    await waitUntil('it is reset', () => isReset() || one.isClosed || one.received.includes('problem+json'));
    expect(exchanges).toHaveLength(0);
    expect((await http2Client(port).ask({})).status).toBe(200);
    expect(front.meter.requests).toBe(1);
  });

  it('loses a header whose value would end its line', async () => {
    const { port, client, exchanges } = await open(hello);
    await raw(
      port,
      client(),
      head(endStream, [...pseudo('GET', '/'), literal('x-a', '1\r\nx-b: 2'), literal('x-c', '3')]),
    );
    await waitUntil('it is asked', () => exchanges.length === 1);
    expect(exchanges[0]?.request.headers).toEqual(['x-c', '3']);
  });

  it.each([
    ['longer', ['hello', '!']],
    ['shorter', ['hell']],
  ])('whose body is %s than it says is reset, and its reader is told', async (_, pieces) => {
    const failures: Error[] = [];
    const ends: unknown[] = [];
    const { port, client, exchanges } = await open((exchange) => {
      exchange.body?.read({
        chunk() {},
        end: (trailers) => ends.push(trailers),
        failed: (error) => failures.push(error),
      });
    });
    const data = pieces.map((piece, at) =>
      frame(frames.data, at === pieces.length - 1 ? endStream : 0, 1, Buffer.from(piece)),
    );
    await raw(port, client(), head(0, [...pseudo('POST', '/'), literal('content-length', '5')]), ...data);
    await waitUntil('it has failed', () => failures.length === 1);
    expect([ends, exchanges[0]?.isGone]).toEqual([[], true]);
  });

  it('with too many or too long headers is refused', async () => {
    const { port, exchanges } = await open(hello);
    const one = http2Client(port);
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x-${at}`, '1']));
    const refused = [await one.ask(many), await one.ask({ 'x-long': 'x'.repeat(30_000) }).catch(() => undefined)];
    for (const response of refused) expect(response?.status === 431 || response?.resetCode !== 0).toBe(true);
    expect(exchanges).toHaveLength(0);
    expect((await http2Client(port).ask({})).status).toBe(200);
  });

  it.each([
    ['that says so', { 'content-length': 200_000 }],
    ['that does not', {}],
  ])('with a body that is too long, %s, gets 413', async (_, headers) => {
    const { port, front } = await open(count);
    const response = await http2Client(port).ask({ ':method': 'POST', ...headers }, 'x'.repeat(200_000));
    expect([response.status, front.meter.malformed]).toEqual([413, 1]);
  });

  it('is told to continue when its body is read', async () => {
    const { held, handle } = holding();
    const { port } = await open(handle);
    const asked = http2Client(port).ask({ ':method': 'POST', expect: '100-continue' }, 'hello');
    await waitUntil('it is asked', () => held.length === 1);
    expect(held[0]?.expectsContinue).toBe(true);
    count(held[0] as Exchange);
    expect((await asked).body).toBe('5 bytes');
  });
});

describe('an answer by HTTP/2', () => {
  it.each([
    ['HEAD', 200, 11, '11'],
    ['GET', 304, 11, '11'],
    ['GET', 204, 0, undefined],
    ['GET', 205, 11, undefined],
    ['GET', 200, 0, '0'],
  ] as const)('to %s with %i and framing %s has no body', async (method, status, framing, length) => {
    const { port, exchanges } = await open((exchange) => {
      const sink = exchange.answer({ status, headers: [] }, framing);
      if (framing > 0) sink.write(Buffer.from('hello world'));
      sink.end();
    });
    const response = await http2Client(port).ask({ ':method': method });
    expect([response.status, response.headers['content-length'], response.body]).toEqual([status, length, '']);
    expect(exchanges[0]).toMatchObject({ status, bodyBytes: 0, isGone: false });
  });

  it('has each cookie in a line, lists in one, and no word of a connection', async () => {
    const headers = [
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'vary',
      'a',
      'vary',
      'b',
      'etag',
      'x',
      'etag',
      'y',
      'connection',
      'close',
    ];
    const { port } = await open((exchange) => exchange.answerWhole({ status: 200, headers }, 'x'));
    const { headers: got } = await http2Client(port).ask({});
    expect(got).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], vary: 'a, b', etag: 'x, y' });
    expect(got.connection).toBeUndefined();
  });

  it('may have a head as long as heads may be', async () => {
    const long = 'x'.repeat(40_000);
    const headers = ['x-a', long, 'x-b', long];
    const { port } = await open((exchange) => exchange.answerWhole({ status: 200, headers }, 'hello'), {
      limits: { headBytes: 100_000 },
    });
    const client = http2Client(port, { settings: { maxHeaderListSize: 200_000 } });
    expect(await client.ask({})).toMatchObject({ body: 'hello', headers: { 'x-a': long, 'x-b': long } });
  });

  it('may come after others that only inform', async () => {
    const { port } = await open((exchange) => {
      exchange.inform({ status: 103, headers: ['link', '</a.css>'] });
      hello(exchange);
    });
    expect(await http2Client(port).ask({})).toMatchObject({ informed: [103], status: 200 });
  });

  it.each([
    ['broken off', 'chunked' as Framing, (sink: Sink) => sink.abort()],
    ['broken off, of a known length', 10, (sink: Sink) => sink.abort()],
    ['shorter than it said', 10, (sink: Sink) => sink.end()],
    ['longer than it said', 10, (sink: Sink) => sink.write(Buffer.alloc(20))],
  ])('that is %s ends in a reset', async (_, framing, finish) => {
    const { port, exchanges } = await open((exchange) => {
      const sink = exchange.answer({ status: 200, headers: [] }, framing);
      sink.write(Buffer.from('part'));
      setImmediate(finish, sink);
    });
    const response = await http2Client(port).ask({});
    expect([response.status, response.resetCode]).toEqual([200, constants.NGHTTP2_INTERNAL_ERROR]);
    expect(exchanges[0]?.isGone).toBe(true);
  });

  it('before the body has come stands, and the client is told not to send the rest', async () => {
    const { port } = await open((exchange) => exchange.answerWhole({ status: 403, headers: [] }, 'no'));
    const one = http2Client(port);
    expect(await one.ask({ ':method': 'POST' }, Buffer.alloc(1_000_000))).toMatchObject({
      status: 403,
      body: 'no',
      resetCode: 0,
    });
    expect(await one.ask({ ':method': 'POST', 'content-length': 5 }, 'hello')).toMatchObject({
      status: 403,
      body: 'no',
      resetCode: 0,
    });
  });

  it('before the body has come keeps nothing of it, though whoever read it pauses it then', async () => {
    const { port, front } = await open((exchange) => {
      const body = exchange.body as Body;
      const chunk = () => {
        exchange.answerWhole({ status: 403, headers: [] }, 'no');
        body.pause();
      };
      body.read({ chunk, end() {}, failed() {} });
    });
    const one = http2Client(port);
    expect(await one.ask({ ':method': 'POST' }, Buffer.alloc(60_000))).toMatchObject({ status: 403, body: 'no' });
    one.session.close();
    await waitUntil('the connection has ended', () => front.meter.connections === 0);
  });
});

describe('a client of HTTP/2 that leaves', () => {
  it('is gone, whether it resets its stream or ends its connection', async () => {
    const { held, handle } = holding();
    const { port } = await open(handle);
    const { session } = http2Client(port);
    for (const leave of ['reset', 'cancel', 'destroy'] as const) {
      const stream = session.request({ ':path': `/${leave}` });
      stream.on('error', () => {});
      await waitUntil('it is asked', () => held.length === 1);
      const [exchange] = held.splice(0) as [Exchange];
      let isTold = false;
      exchange.whenGone(() => {
        isTold = true;
      });
      if (leave === 'destroy') session.destroy();
      else stream.close(leave === 'reset' ? constants.NGHTTP2_INTERNAL_ERROR : constants.NGHTTP2_CANCEL);
      await waitUntil('it is gone', () => exchange.isGone);
      expect(isTold).toBe(true);
      // Nobody is there, and nothing breaks.
      hello(exchange);
      exchange.answer({ status: 200, headers: [] }, 'chunked').end();
    }
  });

  it('in the middle of its body is told to whoever reads it', async () => {
    const failures: Error[] = [];
    const ends: unknown[] = [];
    const { port, client, exchanges } = await open((exchange) => {
      exchange.body?.read({
        chunk() {},
        end: (trailers) => ends.push(trailers),
        failed: (error) => failures.push(error),
      });
    });
    const one = client();
    await raw(port, one, head(0, pseudo('POST', '/')), frame(frames.data, 0, 1, Buffer.from('hello')));
    await waitUntil('it is asked', () => exchanges.length === 1);
    await one.send(frame(frames.reset, 0, 1, Buffer.alloc(4)));
    await waitUntil('it has failed', () => failures.length === 1);
    expect(ends).toEqual([]);
  });
});

describe('too much by HTTP/2', () => {
  it('of streams at once is refused', async () => {
    const { held, handle } = holding();
    const { port, client } = await open(handle, { limits: { streams: 3 } });
    const heads = Array.from({ length: 8 }, (_, at) =>
      frame(frames.headers, endStream | endHeaders, 2 * at + 1, Buffer.concat(pseudo('GET', `/${at}`))),
    );
    await raw(port, client(), ...heads);
    await waitUntil('the first are asked', () => held.length === 3);
    await sleep(50);
    expect(held).toHaveLength(3);
  });

  it('of streams that are reset at once ends the connection, and no other (rapid reset)', async () => {
    const { held, handle } = holding();
    const { port, client, front } = await open(handle);
    const one = client();
    await raw(port, one);
    let stream = 1;
    const flood = () => {
      const parts: Buffer[] = [];
      for (let i = 0; i < 100; i += 1, stream += 2) {
        parts.push(frame(frames.headers, endStream | endHeaders, stream, Buffer.concat(pseudo('GET', '/'))));
        parts.push(frame(frames.reset, 0, stream, Buffer.from([0, 0, 0, 8])));
      }
      return one.send(Buffer.concat(parts));
    };
    for (let i = 0; i < 40 && !one.isClosed; i += 1) await flood();
    await waitUntil('it was told to go', () => one.isClosed || one.received.includes('\x00\x00\x08\x07\x00'));
    expect(held.length).toBeLessThan(2500);
    expect(held.every(({ isGone }) => isGone)).toBe(true);
    const other = http2Client(port).ask({});
    await waitUntil('another is asked', () => held.some(({ isGone }) => !isGone));
    hello(held.at(-1) as Exchange);
    expect((await other).status).toBe(200);
    expect(front.meter.requests).toBe(held.length);
  });

  it.each([
    [
      'CONTINUATION frames',
      () => [
        frame(frames.headers, 0, 1, pseudo('GET', '/')[0]),
        ...Array.from({ length: 2000 }, () => frame(frames.continuation, 0, 1, literal('x-a', 'y'.repeat(100)))),
      ],
    ],
    ['SETTINGS', () => Array.from({ length: 20_000 }, () => frame(frames.settings, 0, 0))],
    ['PINGs', () => Array.from({ length: 20_000 }, () => frame(frames.ping, 0, 0, Buffer.alloc(8)))],
    ['nonsense', () => [Buffer.alloc(5000, 0xff)]],
  ])('of %s leaves the others alone', async (_, parts) => {
    const { port, client } = await open(hello);
    const one = client();
    // It does not read the answers either.
    one.socket.pause();
    await Promise.race([raw(port, one, ...parts()), sleep(200)]);
    expect((await http2Client(port).ask({})).status).toBe(200);
    expect((await client().ask(get('/')))?.status).toBe(200);
    one.close();
  });
});

describe('time by HTTP/2', () => {
  it('is up for one that says nothing behind its preface', async () => {
    const { client, clock, front } = await open(hello);
    const one = client();
    await one.send(preface);
    await one.until('\x00\x00');
    clock.advance(limits.headMs + 300);
    await one.closed;
    expect(front.meter.timedOut).toBe(1);
  });

  it('is up for sessions without streams, politely', async () => {
    const { port, clock, front } = await open(hello);
    const one = http2Client(port);
    await one.ask({});
    let isTold = false;
    one.session.on('goaway', () => {
      isTold = true;
    });
    await waitUntil('it is told to go', async () => {
      clock.advance(limits.headMs / 2);
      await sleep(5);
      return isTold;
    });
    await waitUntil('it is gone', () => front.meter.connections === 0);
    expect(front.meter.timedOut).toBe(1);
  });

  it('is up for a body that stops coming', async () => {
    const { port, clock, exchanges } = await open(count);
    const { session } = http2Client(port);
    const stream = session.request({ ':method': 'POST' });
    let status: number | undefined;
    stream.on('response', (headers) => {
      status = headers[':status'];
    });
    stream.on('error', () => {});
    stream.write('hello');
    await waitUntil('it is asked', () => exchanges.length === 1);
    await waitUntil('it is refused', async () => {
      clock.advance(limits.headMs / 2);
      await sleep(5);
      return status === 408;
    });
    expect(exchanges[0]?.isGone).toBe(true);
  });

  it('is up for a client that does not take its answer', async () => {
    const { port, clock, exchanges, front } = await open((exchange) => {
      exchange.answerWhole({ status: 200, headers: [] }, Buffer.alloc(1e6));
    });
    const { session } = http2Client(port);
    const stream = session.request({});
    stream.on('error', () => {});
    stream.pause();
    await waitUntil('it is asked', () => exchanges.length === 1);
    let isClosed = false;
    stream.on('close', () => {
      isClosed = true;
    });
    await waitUntil('it is reset', async () => {
      clock.advance(limits.headMs / 2);
      await sleep(5);
      return isClosed || front.meter.timedOut > 0;
    });
    expect(front.meter.timedOut).toBe(1);
  });
});
