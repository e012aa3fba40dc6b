// Real sockets; a handler per test; time-outs by a clock that the test owns.
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import type { Exchange, Sink } from '../../exchange.ts';
import type { Framing, HeaderList } from '../../wire/message.ts';
import { count, echo, get, hello, limits, open, post, postChunked, pour, settled } from '../front.test-support.ts';

/** Holds exchanges until the test answers them. */
function holding() {
  const held: Exchange[] = [];
  return { held, handle: (exchange: Exchange) => void held.push(exchange) };
}

const answering = (status: number, framing: Framing, pieces: readonly string[], trailers: HeaderList = []) => {
  return (exchange: Exchange) => {
    const sink = exchange.answer({ status, headers: [] }, framing);
    for (const piece of pieces) sink.write(Buffer.from(piece));
    sink.end(trailers);
  };
};

describe('a connection', () => {
  it('is kept for the next request, and says what was asked', async () => {
    const { client, exchanges, front } = await open(hello);
    const one = client();
    for (const target of ['/a', '/b?c=d', '/']) {
      expect(await one.ask(get(target))).toMatchObject({ status: 200, body: `GET ${target}` });
    }
    expect(exchanges.map(({ request, client }) => [request.target, request.authority, client.protocol])).toEqual([
      ['/a', 'shop.example', 'HTTP/1.1'],
      ['/b?c=d', 'shop.example', 'HTTP/1.1'],
      ['/', 'shop.example', 'HTTP/1.1'],
    ]);
    expect(exchanges[0]?.client).toMatchObject({ address: '127.0.0.1', port: one.socket.localPort, isTls: false });
    expect(front.meter).toMatchObject({ connections: 1, requests: 3, malformed: 0 });
  });

  it.each([
    ['HTTP/1.1', get('/a', [], '1.1'), undefined, false],
    ['HTTP/1.1, asked to close', get('/a', ['Connection: close'], '1.1'), 'close', true],
    ['HTTP/1.0', get('/a', [], '1.0'), 'close', true],
    ['HTTP/1.0, asked to keep', get('/a', ['Connection: keep-alive'], '1.0'), 'keep-alive', false],
  ])('is closed after the answer or not: %s', async (_, request, connection, isClosed) => {
    const { client } = await open(hello);
    const one = client();
    expect((await one.ask(request))?.headers.connection).toBe(connection);
    if (isClosed) expect(await one.closed).toBe(false);
    else expect((await one.ask(get('/b')))?.status).toBe(200);
  });

  it('answers requests that come together in order, one at a time', async () => {
    const { held, handle } = holding();
    const { client, front } = await open(handle);
    const one = client();
    await one.send(get('/1') + post('/2', 'hello') + get('/3'));
    for (const target of ['/1', '/2', '/3']) {
      await waitUntil('it is asked', () => held.at(-1)?.request.target === target);
      expect(front.meter.requests).toBe(held.length);
      hello(held.at(-1) as Exchange);
      expect((await one.response())?.body).toContain(target);
    }
  });

  it('writes the answers to requests that came together in order when all are there at once', async () => {
    const { client } = await open(hello);
    const one = client();
    await one.send(Array.from({ length: 200 }, (_, at) => get(`/${at}`)).join(''));
    for (let at = 0; at < 200; at += 1) expect((await one.response())?.body).toBe(`GET /${at}`);
  });

  it('reads a bounded amount ahead of its answers', async () => {
    const { held, handle } = holding();
    const { client, front } = await open(handle);
    const one = client();
    const sent = pour(one.socket, Buffer.from(get(`/${'x'.repeat(1000)}`).repeat(500)), 100e6);
    await waitUntil('the first is asked', () => held.length === 1);
    // What the kernel and a few hundred kilobytes of ours cannot hold waits with the client.
    expect(await settled(() => sent.bytes)).toBeLessThan(20e6);
    expect(front.meter.requests).toBe(1);
  });

  it('reads a head as long as heads may be, and no longer', async () => {
    const headBytes = 200_000;
    const { client } = await open(hello, { limits: { headBytes } });
    expect(await client().ask(get('/', [`X: ${'x'.repeat(headBytes - 100)}`]))).toMatchObject({ status: 200 });
    expect(await client().ask(get('/', [`X: ${'x'.repeat(headBytes)}`]))).toMatchObject({ status: 431 });
  });

  it('asks nothing more for a client that does not take its answers', async () => {
    const { client, front } = await open((exchange) => {
      exchange.answerWhole({ status: 200, headers: [] }, Buffer.alloc(100_000));
    });
    const one = client();
    one.socket.pause();
    await one.send(get('/').repeat(10_000));
    expect(await settled(() => front.meter.requests)).toBeLessThan(200);
  });

  it('is refused when there are too many, and taken when one has gone', async () => {
    const { client, front } = await open(hello, { limits: { connections: 2 } });
    const [first, second] = [client(), client()];
    await first.ask(get('/'));
    await second.ask(get('/'));
    const third = client();
    await third.closed;
    expect(front.meter).toMatchObject({ connections: 2, refusedConnections: 1 });
    first.close();
    await waitUntil('there is room', () => front.meter.connections === 1);
    expect((await client().ask(get('/')))?.status).toBe(200);
  });
});

describe('the body of a request', () => {
  it.each([
    ['with a length', post('/', 'hello world'), 'hello world', {}],
    ['in chunks', `${postChunked('/', ['hello ', 'world'])}0\r\n\r\n`, 'hello world', {}],
    [
      'in chunks with trailers',
      `${postChunked('/', ['x'], ['TE: trailers'])}0\r\nX-Sum: 7\r\n\r\n`,
      'x',
      { 'x-sum': '7' },
    ],
    ['in chunks with trailers that nobody wants back', `${postChunked('/', ['x'])}0\r\nX-Sum: 7\r\n\r\n`, 'x', {}],
    ['that is empty', post('/', ''), 'POST /', {}],
  ])('%s comes through, whole or byte by byte', async (_, request, body, trailers) => {
    const { client } = await open(echo);
    const one = client();
    expect(await one.ask(request)).toMatchObject({ status: 200, body, trailers });
    for (const byte of request) await one.send(byte);
    expect(await one.response()).toMatchObject({ status: 200, body, trailers });
    expect(await one.ask(get('/after'))).toMatchObject({ body: 'GET /after' });
  });

  it('waits with the client until somebody reads it', async () => {
    const { held, handle } = holding();
    const { client } = await open(handle, { limits: { bodyBytes: 100e6 } });
    const one = client();
    await one.send(post('/', '').replace('Content-Length: 0', 'Content-Length: 50000000'));
    const sent = pour(one.socket, Buffer.alloc(1e6), 50e6);
    await waitUntil('it is asked', () => held.length === 1);
    expect(await settled(() => sent.bytes)).toBeLessThan(20e6);
    count(held[0] as Exchange);
    expect((await one.response())?.body).toBe('50000000 bytes');
  });

  it('stops where its reader pauses, to the chunk, and goes on', async () => {
    const seen: string[] = [];
    let body: Exchange['body'];
    const { client } = await open((exchange) => {
      if (exchange.body === undefined) return hello(exchange);
      body = exchange.body;
      body.read({
        chunk(bytes) {
          seen.push(bytes.toString());
          body?.pause();
        },
        end: () => hello(exchange),
        failed() {},
      });
    });
    const one = client();
    await one.send(`${postChunked('/', ['one', 'two', 'three'])}0\r\n\r\n${get('/next')}`);
    for (const expected of [['one'], ['one', 'two'], ['one', 'two', 'three']]) {
      await waitUntil('a chunk has come', () => seen.length === expected.length);
      await sleep(5);
      expect(seen).toEqual(expected);
      expect(one.received).toBe('');
      body?.resume();
    }
    expect((await one.response())?.body).toBe('POST /');
    expect((await one.response())?.body).toBe('GET /next');
  });

  it('of a request that is answered is no longer its reader’s, whatever that does', async () => {
    const bodies: Exchange['body'][] = [];
    const { client } = await open((exchange) => {
      bodies.push(exchange.body);
      if (bodies.length > 1) return;
      exchange.body?.read({ chunk: () => exchange.body?.pause(), end() {}, failed() {} });
      setImmediate(hello, exchange);
    });
    const one = client();
    await one.send(
      `${postChunked('/1', ['x', 'y'])}0\r\n\r\n${post('/2', '', ['Expect: 100-continue']).replace('h: 0', 'h: 5')}`,
    );
    expect((await one.response())?.body).toBe('POST /1');
    await waitUntil('the next is asked', () => bodies.length === 2);
    bodies[0]?.resume();
    await sleep(5);
    expect(one.received).toBe('');
  });

  it('of a client that has left is told to whoever comes to read it', async () => {
    const { held, handle } = holding();
    const { client } = await open(handle);
    const one = client();
    await one.send(post('/', 'hello').slice(0, -1));
    await waitUntil('it is asked', () => held.length === 1);
    one.socket.resetAndDestroy();
    await waitUntil('it is gone', () => held[0]?.isGone === true);
    const failures: Error[] = [];
    held[0]?.body?.read({ chunk() {}, end() {}, failed: (error) => failures.push(error) });
    expect(failures).toHaveLength(1);
  });

  it('is refused with 413 before it is sent, when it says that it is too long', async () => {
    const { client, exchanges, front } = await open(echo);
    const one = client();
    const response = await one.ask(post('/', '', []).replace('Content-Length: 0', 'Content-Length: 100001'));
    expect([response?.status, response?.headers.connection, exchanges.length]).toEqual([413, 'close', 0]);
    expect(JSON.parse(response?.body ?? '')).toMatchObject({
      status: 413,
      detail: 'A body must be at most 100000 bytes.',
    });
    await one.closed;
    expect(front.meter.malformed).toBe(1);
  });

  it('is refused with 413 as soon as its chunks are too long, and whoever reads it is told', async () => {
    const failures: Error[] = [];
    let isGone = false;
    const { client, exchanges } = await open((exchange) => {
      exchange.whenGone(() => {
        isGone = true;
      });
      exchange.body?.read({ chunk() {}, end() {}, failed: (error) => failures.push(error) });
    });
    const one = client();
    const response = await one.ask(postChunked('/', Array(101).fill('x'.repeat(1000))));
    expect([response?.status, response?.headers.connection]).toEqual([413, 'close']);
    await one.closed;
    expect([failures.length, isGone, exchanges[0]?.status]).toEqual([1, true, 413]);
    // An answer that comes now has nobody to go to, and is no mistake.
    hello(exchanges[0] as Exchange);
  });

  it.each([
    ['with a length', post('/', 'hello world').slice(0, -4)],
    ['in chunks', postChunked('/', ['hello'])],
  ])('%s that breaks off is told to its reader, and nobody is answered', async (_, request) => {
    const failures: Error[] = [];
    const { client, exchanges } = await open((exchange) => {
      exchange.body?.read({ chunk() {}, end() {}, failed: (error) => failures.push(error) });
    });
    const one = client();
    await one.send(request);
    one.socket.end();
    expect(await one.response()).toBeUndefined();
    await waitUntil('it has failed', () => failures.length === 1);
    expect(exchanges[0]?.isGone).toBe(true);
  });

  it('that turns out to be malformed is refused with 400, and what follows is never read', async () => {
    const { client, exchanges } = await open(count);
    const one = client();
    const response = await one.ask(`${postChunked('/', ['hello'])}zz\r\n${get('/hidden')}`);
    expect(response?.status).toBe(400);
    await one.closed;
    expect(exchanges.map(({ request }) => request.target)).toEqual(['/']);
  });
});

describe('100-continue', () => {
  const expecting = post('/', 'hello', ['Expect: 100-continue']);
  const head = expecting.slice(0, -5);

  it('is sent when the body is first read, and not before', async () => {
    const { held, handle } = holding();
    const { client } = await open(handle);
    const one = client();
    await one.send(head);
    await waitUntil('it is asked', () => held.length === 1);
    await sleep(20);
    expect([one.received, held[0]?.expectsContinue]).toEqual(['', true]);
    count(held[0] as Exchange);
    expect((await one.response())?.status).toBe(100);
    expect((await one.ask('hello'))?.body).toBe('5 bytes');
    await one.send(get('/next'));
    await waitUntil('the next is asked', () => held.length === 2);
    expect(held[1]?.expectsContinue).toBe(false);
  });

  it('is left out when the body is already there', async () => {
    const { client } = await open(count);
    expect(await client().ask(expecting)).toMatchObject({ status: 200, body: '5 bytes' });
  });

  it('is left out when the answer is no, and the connection ends: the body may come or not', async () => {
    const { client } = await open((exchange) => exchange.answerWhole({ status: 403, headers: [] }, 'no'));
    const one = client();
    expect(await one.ask(head)).toMatchObject({ status: 403, body: 'no', headers: { connection: 'close' } });
    expect(await one.closed).toBe(false);
  });
});

describe('an answer before the body has come', () => {
  const refuse = (exchange: Exchange) => exchange.answerWhole({ status: 403, headers: [] }, 'no');

  it('keeps the connection where the rest is small, and throws that away', async () => {
    const { client, exchanges } = await open((exchange) => (exchange.body ? refuse(exchange) : hello(exchange)));
    const one = client();
    const request = post('/', 'GET /hidden HTTP/1.1\r\n\r\n');
    expect((await one.ask(request.slice(0, -10)))?.status).toBe(403);
    expect(await one.ask(request.slice(-10) + get('/next'))).toMatchObject({ status: 200, body: 'GET /next' });
    expect(exchanges.map(({ request }) => request.target)).toEqual(['/', '/next']);
  });

  it.each([
    ['a long body', post('/', 'x'.repeat(90_000))],
    ['chunks', postChunked('/', Array(60).fill('y'.repeat(1000)))],
  ])('closes it after %s, so that the client can read the answer while it still sends', async (_, request) => {
    const { client, exchanges } = await open(refuse);
    const one = client();
    await one.send(request.slice(0, 200));
    expect(await one.response()).toMatchObject({ status: 403, body: 'no', headers: { connection: 'close' } });
    await one.send(request.slice(200) + get('/hidden'));
    // Not a reset: that would have taken the answer with it.
    expect(await one.closed).toBe(false);
    expect(exchanges).toHaveLength(1);
  });

  it.each([
    ['a long body', post('/', 'x'.repeat(90_000)).slice(0, 200)],
    ['chunks', postChunked('/', ['x'])],
  ])('closes it after %s of which some was read: nobody reads the rest of it', async (_, request) => {
    const { client } = await open((exchange) => {
      exchange.body?.read({ chunk: () => refuse(exchange), end() {}, failed() {} });
    });
    expect(await client().ask(request)).toMatchObject({ status: 403, headers: { connection: 'close' } });
  });

  it('and a body that never ends is not thrown away for ever', async () => {
    const { client, clock } = await open((exchange) => {
      exchange.body?.read({ chunk() {}, end() {}, failed() {} });
      exchange.answer({ status: 403, headers: [] }, 0).end();
    });
    const one = client();
    expect((await one.ask(postChunked('/', ['x'])))?.headers.connection).toBeUndefined();
    const sending = setInterval(() => one.socket.write(`3e8\r\n${'y'.repeat(1000)}\r\n`), 1);
    await waitUntil('it was ended', () => one.isClosed);
    clearInterval(sending);
    clock.advance(2000);
    await one.closed;
  });
});

describe('an answer', () => {
  const rows: [name: string, request: string, handle: (exchange: Exchange) => void, headers: object, body: string][] = [
    ['of known length', get('/'), answering(200, 5, ['he', 'llo']), { 'content-length': '5' }, 'hello'],
    ['of no length', get('/'), answering(200, 0, []), { 'content-length': '0' }, ''],
    ['in chunks', get('/'), answering(200, 'chunked', ['he', 'llo']), { 'transfer-encoding': 'chunked' }, 'hello'],
    [
      'in chunks, empty ones left out',
      get('/'),
      answering(200, 'chunked', ['a', '', 'b']),
      { 'transfer-encoding': 'chunked' },
      'ab',
    ],
    [
      'of a member that ends its connection',
      get('/'),
      answering(200, 'until-close', ['x']),
      { 'transfer-encoding': 'chunked' },
      'x',
    ],
    [
      'in chunks to HTTP/1.0',
      get('/', ['Connection: keep-alive'], '1.0'),
      answering(200, 'chunked', ['x']),
      { connection: 'close' },
      'x',
    ],
    [
      'as text that is not ASCII',
      get('/'),
      (exchange) => exchange.answerWhole({ status: 200, headers: [] }, 'für'),
      { 'content-length': '4' },
      'fÃ¼r',
    ],
    [
      'as bytes',
      get('/'),
      (exchange) => exchange.answerWhole({ status: 200, headers: [] }, Buffer.from([1, 255])),
      { 'content-length': '2' },
      '\x01\xff',
    ],
    [
      'that is large',
      get('/'),
      (exchange) => exchange.answerWhole({ status: 200, headers: [] }, Buffer.alloc(300_000, 'z')),
      { 'content-length': '300000' },
      'z'.repeat(300_000),
    ],
  ];
  it.each(rows)('%s is framed for its client', async (_, request, handle, headers, body) => {
    const { client } = await open(handle);
    const response = await client().ask(request);
    expect(response).toMatchObject({ status: 200, headers });
    expect(response?.body).toBe(body);
    expect(new Date(response?.headers.date ?? '').getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it.each([
    ['HEAD', 200, 11, '11'],
    ['HEAD', 200, 'chunked', undefined],
    ['GET', 304, 11, '11'],
    ['GET', 304, 0, undefined],
    ['GET', 204, 0, undefined],
  ] as const)(
    'to %s with %i and framing %s has no body, and the next one follows',
    async (method, status, framing, length) => {
      const { client, exchanges } = await open((exchange) => {
        if (exchange.request.target === '/next') hello(exchange);
        else answering(status, framing, framing === 0 ? [] : ['hello world'])(exchange);
      });
      const one = client();
      await one.send(get('/').replace('GET', method) + get('/next'));
      const response = await one.response({ isBodyless: true });
      expect([response?.status, response?.headers['content-length']]).toEqual([status, length]);
      expect((await one.response())?.body).toBe('GET /next');
      expect([exchanges[0]?.status, exchanges[0]?.bodyBytes]).toEqual([status, 0]);
    },
  );

  it.each([
    ['with', ['TE: trailers'], { 'x-sum': '7' }],
    ['with, among others', ['TE: gzip;q=0.5, Trailers'], { 'x-sum': '7' }],
    ['without', [], {}],
  ])('has trailers for a client that can take them: %s', async (_, lines, trailers) => {
    const { client } = await open(answering(200, 'chunked', ['x'], ['x-sum', '7']));
    expect(await client().ask(get('/', lines))).toMatchObject({ body: 'x', trailers });
  });

  it('keeps the date it has', async () => {
    const { client } = await open((exchange) => exchange.answerWhole({ status: 200, headers: ['date', 'then'] }, ''));
    expect((await client().ask(get('/')))?.headers.date).toBe('then');
  });

  it('may come after others that only inform, which HTTP/1.0 does not know', async () => {
    const { client } = await open((exchange) => {
      exchange.inform({ status: 103, headers: ['link', '</a.css>'] });
      hello(exchange);
    });
    const one = client();
    expect(await one.ask(get('/'))).toMatchObject({ status: 103, headers: { link: '</a.css>' } });
    expect((await one.response())?.status).toBe(200);
    expect((await client().ask(get('/', [], '1.0')))?.status).toBe(200);
  });

  it.each([
    ['longer', ['hello', '!']],
    ['shorter', ['hell']],
  ])(
    'that is %s than it said breaks the connection: the client must not take its next answer from it',
    async (_, pieces) => {
      const { client } = await open(answering(200, 5, pieces));
      const one = client();
      await one.send(get('/'));
      await one.closed;
      expect(one.received).not.toMatch(/hello!|HTTP.*HTTP/s);
      if (pieces.length === 1) expect(await one.response()).toBeUndefined();
    },
  );

  it.each([
    ['with a length', get('/'), 100 as Framing, false],
    ['in chunks', get('/'), 'chunked' as Framing, false],
    ['until the connection ends', get('/', [], '1.0'), 'chunked' as Framing, true],
  ])('that is broken off %s is seen not to be whole', async (_, request, framing, isReset) => {
    let sink: Sink | undefined;
    const { client, exchanges } = await open((exchange) => {
      sink = exchange.answer({ status: 200, headers: [] }, framing);
      sink.write(Buffer.from('part'));
    });
    const one = client();
    await one.send(request);
    await one.until('part');
    let isTold = false;
    exchanges[0]?.whenGone(() => {
      isTold = true;
    });
    sink?.abort();
    expect(await one.closed).toBe(isReset);
    expect(one.received.endsWith('0\r\n\r\n')).toBe(false);
    expect(isTold).toBe(false);
    // Whoever has not noticed may go on.
    expect(sink?.write(Buffer.from('more'))).toBe(true);
    sink?.end();
  });

  it('is given once', async () => {
    const { client, exchanges } = await open(hello);
    await client().ask(get('/'));
    expect(() => hello(exchanges[0] as Exchange)).toThrow('This request has its answer: 200.');
  });

  it('with a header that would end its line is refused, and another can be given', async () => {
    const { client } = await open((exchange) => {
      expect(() => exchange.answerWhole({ status: 200, headers: ['x', 'a\r\nset-cookie: b'] }, '')).toThrow();
      hello(exchange);
    });
    expect((await client().ask(get('/')))?.body).toBe('GET /');
  });
});

describe('a client that leaves', () => {
  it('with a reset is gone at once, whether it waits or is sent to', async () => {
    const { held, handle } = holding();
    const { client } = await open(handle);
    for (const begin of [
      () => {},
      (exchange: Exchange) => void exchange.answer({ status: 200, headers: [] }, 'chunked'),
    ]) {
      const one = client();
      await one.send(get('/'));
      await waitUntil('it is asked', () => held.length === 1);
      const [exchange] = held.splice(0) as [Exchange];
      begin(exchange);
      let isTold = 0;
      exchange.whenGone(() => {
        isTold += 1;
      });
      one.socket.resetAndDestroy();
      await waitUntil('it is gone', () => exchange.isGone);
      expect(isTold).toBe(1);
      exchange.whenGone(() => {
        isTold += 1;
      });
      expect(isTold).toBe(2);
    }
  });

  it('by closing is found out, while one that only half closed is answered', async () => {
    const { held, handle } = holding();
    const { client, clock } = await open(handle);
    const [left, waiting] = [client(), client()];
    await left.send(get('/left'));
    await waitUntil('it is asked', () => held.length === 1);
    await waiting.send(get('/waiting'));
    await waitUntil('it is asked', () => held.length === 2);
    left.socket.destroy();
    waiting.socket.end();
    await waitUntil('the one that closed is gone', () => {
      clock.advance(300);
      return held[0]?.isGone === true;
    });
    expect(held[1]?.isGone).toBe(false);
    hello(held[1] as Exchange);
    for (let probe = 0; probe < 2; probe += 1) expect((await waiting.response())?.status).toBe(100);
    expect(await waiting.response()).toMatchObject({ body: 'GET /waiting', headers: { connection: 'close' } });
    await waiting.closed;
  });

  it('in the middle of its answer is noticed by whoever writes it, who need not wait for room', async () => {
    let sink: Sink | undefined;
    const { client, exchanges } = await open((exchange) => {
      sink = exchange.answer({ status: 200, headers: [] }, 'chunked');
      while (sink.write(Buffer.alloc(60_000)));
    });
    const one = client();
    await one.send(get('/'));
    await one.until('\r\n\r\n');
    one.socket.pause();
    while (sink?.write(Buffer.alloc(60_000)));
    let isDrained = false;
    sink?.whenDrained(() => {
      isDrained = true;
    });
    one.close();
    await waitUntil('it is gone', () => exchanges[0]?.isGone === true);
    expect(isDrained).toBe(true);
  });

  it('half way, having said all it has to say, gets all of its answers', async () => {
    const { client } = await open((exchange) => void setImmediate(hello, exchange));
    const one = client();
    await one.send(get('/1') + get('/2') + get('/3'));
    one.socket.end();
    for (const target of ['/1', '/2', '/3']) expect((await one.response())?.body).toBe(`GET ${target}`);
    expect(await one.closed).toBe(false);
  });

  it('after half a head gets nothing', async () => {
    const { client, exchanges } = await open(hello);
    const one = client();
    await one.send('GET / HTTP/1.1\r\nHost: sh');
    one.socket.end();
    await one.closed;
    expect([one.received, exchanges.length]).toEqual(['', 0]);
  });
});

describe('another protocol', () => {
  const upgrade = get('/chat', ['Connection: Upgrade', 'Upgrade: websocket']);

  it('gets the connection itself, with what was sent already', async () => {
    const { client, exchanges, front } = await open((exchange) => {
      const socket = exchange.switchProtocols({ status: 101, headers: ['x-by', 'member'] });
      socket.on('data', (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()));
      socket.on('end', () => socket.end('bye'));
      socket.resume();
    });
    const one = client();
    expect(await one.ask(`${upgrade}early `)).toMatchObject({
      status: 101,
      headers: { connection: 'upgrade', upgrade: 'websocket', 'x-by': 'member' },
    });
    await one.send('late');
    await one.until('EARLY LATE');
    expect(exchanges[0]).toMatchObject({ upgrade: 'websocket', status: 101 });
    expect(front.meter.connections).toBe(1);
    one.socket.end();
    await one.until('bye');
    await one.closed;
    await waitUntil('it is not counted any more', () => front.meter.connections === 0);
  });

  it('gets what a client sent that has nothing more to send, and its end', async () => {
    const { held, handle } = holding();
    const { client, front, clock } = await open(handle);
    const one = client();
    one.socket.end(`${upgrade}early`);
    await waitUntil('its end was seen: it is asked whether it is still there', () => {
      clock.advance(300);
      return one.received.includes('100 Continue');
    });
    const socket = held[0]!.switchProtocols({ status: 101, headers: [] });
    let received = '';
    socket.on('data', (bytes: Buffer) => {
      received += bytes;
    });
    socket.on('end', () => socket.end(`got ${received}`));
    await one.until('got early');
    await one.closed;
    await waitUntil('it is not counted any more', () => front.meter.connections === 0);
  });

  it('that is refused leaves HTTP as it was', async () => {
    const { client } = await open(hello);
    const one = client();
    expect((await one.ask(upgrade + get('/next')))?.body).toBe('GET /chat');
    expect((await one.response())?.body).toBe('GET /next');
  });

  it.each([
    [
      'another HTTP',
      get('/', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']),
    ],
    ['nothing', get('/')],
  ])('is not to be had by who asks for %s', async (_, request) => {
    const { client } = await open((exchange) => {
      expect(exchange.upgrade).toBeUndefined();
      expect(() => exchange.switchProtocols({ status: 101, headers: [] })).toThrow();
      hello(exchange);
    });
    expect((await client().ask(request))?.status).toBe(200);
  });
});

describe('time', () => {
  it('is up for a head that is not whole, however its bytes are spread', async () => {
    const { client, clock, front } = await open(hello);
    const one = client();
    for (const byte of 'GET / HTTP/1.1\r\nX: ') {
      await one.send(byte);
      await sleep(1);
      clock.advance(limits.headMs / 10);
    }
    const response = await one.response();
    expect([response?.status, response?.headers.connection]).toEqual([408, 'close']);
    await one.closed;
    expect(front.meter).toMatchObject({ timedOut: 1, malformed: 0, requests: 0 });
  });

  it('is not up for what had come while the gateway itself stood still', async () => {
    const { client, clock } = await open(hello);
    const [beginning, idle] = [client(), client()];
    await beginning.send('GET / HTTP/1.1\r\n');
    await idle.ask(get('/'));
    // As a process wakes up: with its timers, before it reads anything.
    await sleep(0);
    beginning.socket.write('Host: a\r\n\r\n');
    idle.socket.write(get('/'));
    clock.advance(limits.idleMs + 1);
    expect([(await beginning.response())?.status, (await idle.response())?.status]).toEqual([200, 200]);
  });

  it('is up without a word for connections that have asked nothing, and those that ask nothing more', async () => {
    const { client, clock, front } = await open(hello);
    const [silent, idle] = [client(), client()];
    await idle.ask(get('/'));
    await waitUntil('both are there', () => front.meter.connections === 2);
    clock.advance(limits.headMs + 1);
    await silent.closed;
    await waitUntil('it is not counted any more', () => front.meter.connections === 1);
    expect(silent.received).toBe('');
    clock.advance(limits.idleMs - limits.headMs - 2);
    expect((await idle.ask(get('/')))?.status).toBe(200);
    clock.advance(limits.idleMs + 1);
    await idle.closed;
    expect([idle.received, front.meter.timedOut]).toEqual(['', 2]);
  });

  it('is up for a body that stops coming, while its reader waits for it', async () => {
    const failures: Error[] = [];
    const { client, clock, exchanges } = await open((exchange) => {
      exchange.body?.read({ chunk() {}, end() {}, failed: (error) => failures.push(error) });
    });
    const one = client();
    await one.send(post('/', 'hello').slice(0, -1));
    await waitUntil('it is asked', () => exchanges.length === 1);
    clock.advance(limits.idleMs);
    await sleep(5);
    expect(exchanges[0]?.isGone).toBe(false);
    clock.advance(300);
    expect((await one.response())?.status).toBe(408);
    expect([failures.length, exchanges[0]?.isGone, exchanges[0]?.status]).toEqual([1, true, 408]);
  });

  it('is not counted while nobody reads the body, or the answer is being made', async () => {
    const { held, handle } = holding();
    const { client, clock } = await open(handle);
    const one = client();
    await one.send(post('/', 'hello').slice(0, -1));
    await waitUntil('it is asked', () => held.length === 1);
    clock.advance(limits.idleMs * 10);
    await sleep(5);
    count(held[0] as Exchange);
    await one.send('o');
    expect((await one.response())?.body).toBe('5 bytes');
    await one.send(get('/'));
    await waitUntil('it is asked', () => held.length === 2);
    clock.advance(limits.idleMs * 10);
    await sleep(5);
    hello(held[1] as Exchange);
    expect((await one.response())?.status).toBe(200);
  });

  it('is up for a client that does not take its answer', async () => {
    const { client, clock, exchanges, front } = await open((exchange) => {
      exchange.answerWhole({ status: 200, headers: [] }, Buffer.alloc(50e6));
    });
    const one = client();
    one.socket.pause();
    await one.send(get('/'));
    await waitUntil('it is asked', () => exchanges.length === 1);
    await waitUntil('it is let go', async () => {
      clock.advance(limits.idleMs / 4);
      await sleep(5);
      return front.meter.connections === 0;
    });
    expect(front.meter.timedOut).toBe(1);
  });

  it('is not up for one that takes it slowly', async () => {
    const { client, clock, front } = await open((exchange) => {
      exchange.answerWhole({ status: 200, headers: [] }, Buffer.alloc(80e6));
    });
    const one = client();
    let receivedBytes = 0;
    one.socket.removeAllListeners('data');
    one.socket.on('data', (bytes) => {
      receivedBytes += bytes.length;
      one.socket.pause();
      clock.advance(limits.idleMs / 300);
      setImmediate(() => one.socket.resume());
    });
    await one.send(get('/'));
    await waitUntil('all of it has come', () => receivedBytes > 80e6);
    expect(front.meter).toMatchObject({ timedOut: 0, connections: 1 });
  });
});
