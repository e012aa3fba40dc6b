// Real sockets and real time-outs, as short as they can be; nothing here waits for longer than it has to.
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Certificates, makeCertificates } from '../service/certificates.test-support.ts';
import {
  answeringLater,
  checkBytes,
  type Json,
  type Opened,
  type OpenOptions,
  open,
  RawClient,
} from './http-door.test-support.ts';

const check = checkBytes({ subject: { user: '42' } });
const health = 'GET /healthz HTTP/1.1\r\nHost: sluice\r\n\r\n';

const toClose: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

async function opening(...given: Parameters<typeof open>): Promise<Opened> {
  const opened = await open(...given);
  toClose.push(() => opened.close());
  return opened;
}

function clientOf({ port }: Opened, allowHalfOpen = false): RawClient {
  const client = new RawClient(port, { allowHalfOpen });
  toClose.unshift(() => client.close());
  return client;
}

/** A service whose checks are answered when the test says so. */
async function openingHeld(options: OpenOptions = {}) {
  const held: (() => void)[] = [];
  const opened = await opening(options, (service) => ({
    ...service,
    check: (subject, call) =>
      new Promise((resolve) => {
        held.push(() => resolve(service.check(subject, call)));
      }),
  }));
  return { opened, held };
}

describe('slow clients', () => {
  it.each([
    ['half a head', 'POST /v1/check HTTP/1.1\r\nHost: slu'],
    ['a head without its body', check.slice(0, -5)],
    ['one byte', 'P'],
  ])('are told so after %s, and others are served meanwhile', async (_, bytes) => {
    const opened = await opening({ limits: { requestMs: 200 } });
    const slow = Array.from({ length: 20 }, () => clientOf(opened));
    for (const client of slow) await client.send(bytes);
    expect((await opened.ask('POST', '/v1/check', { subject: {} })).status).toBe(200);
    for (const client of slow) {
      const response = await client.response();
      expect([response?.status, response?.headers['content-type']]).toEqual([408, 'application/problem+json']);
      expect(JSON.parse(response?.body ?? '').detail).toBe('The request did not arrive whole in time.');
      await client.closed;
    }
    expect(opened.meter.timedOut).toBe(20);
  });

  it('that drip their bytes gain nothing by it', async () => {
    const opened = await opening({ limits: { requestMs: 200 } });
    const client = clientOf(opened);
    const drip = setInterval(() => client.socket.write('x'), 20);
    toClose.unshift(() => clearInterval(drip));
    await client.send('GET /healthz HTTP/1.1\r\nX-Slow: ');
    expect((await client.response())?.status).toBe(408);
    await client.closed;
  });

  it('that say nothing are let go, before their first request and after it, whichever way it took', async () => {
    const opened = await opening({ limits: { idleMs: 150 } });
    const [silent, short, long] = [clientOf(opened), clientOf(opened), clientOf(opened)];
    await short.send(check);
    await long.send(health);
    expect([(await short.response())?.status, (await long.response())?.status]).toEqual([200, 200]);
    await Promise.all([silent.closed, short.closed, long.closed]);
    await waitUntil('all connections are gone', () => opened.meter.connections === 0);
    expect(opened.meter.timedOut).toBeGreaterThanOrEqual(2);
  });
});

describe('too much', () => {
  it('of connections is refused, and there is room again when one ends', async () => {
    const opened = await opening({ limits: { connections: 3 } });
    const clients = [clientOf(opened), clientOf(opened), clientOf(opened)];
    for (const client of clients) await client.send(check);
    for (const client of clients) expect((await client.response())?.status).toBeDefined();
    const fourth = clientOf(opened);
    await fourth.closed;
    expect(opened.meter).toMatchObject({ connections: 3, refusedConnections: 1 });
    clients[0]?.close();
    await waitUntil('a place is free', () => opened.meter.connections === 2);
    const next = clientOf(opened);
    await next.send(health);
    expect((await next.response())?.status).toBe(200);
  });

  it('of headers is refused', async () => {
    const opened = await opening();
    const client = clientOf(opened);
    await client.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    const response = await client.response();
    expect([response?.status, JSON.parse(response?.body ?? '').detail]).toEqual([
      431,
      'The headers are longer than is read. Send fewer or shorter ones.',
    ]);
  });

  it('of a body is refused before it is sent, when its length is known and far too great', async () => {
    const opened = await opening();
    const client = clientOf(opened);
    await client.send(
      `POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n{`,
    );
    const response = await client.response();
    expect([response?.status, response?.headers.connection]).toEqual([413, 'close']);
    await client.closed;
  });

  it('of a body in chunks is refused as soon as that shows', async () => {
    const opened = await opening();
    const client = clientOf(opened);
    await client.send(
      'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `${(10_000).toString(16)}\r\n${' '.repeat(10_000)}\r\n`;
    for (let i = 0; i < 40; i += 1) client.socket.write(chunk);
    expect((await client.response())?.status).toBe(413);
    await client.closed;
  });

  it('of unanswered requests on one connection is refused', async () => {
    const { opened, held } = await openingHeld({ limits: { pipelineDepth: 4 } });
    // The first goes through node:http, and so do the others after it.
    const client = clientOf(opened);
    await client.send(health);
    expect((await client.response())?.status).toBe(200);
    await client.send(checkBytes({ subject: { ip: '203.0.113.9' } }).repeat(6));
    await waitUntil('some are asked', () => held.length === 4 && opened.meter.requests === 7);
    for (const answer of held) answer();
    const statuses: (number | undefined)[] = [];
    for (let i = 0; i < 6; i += 1) statuses.push((await client.response())?.status);
    expect(statuses).toEqual([200, 200, 200, 200, 503, 503]);
    await client.send(health);
    expect((await client.response())?.status).toBe(200);
  });

  it('of requests on the short way waits in the client’s own buffers', async () => {
    const { opened, held } = await openingHeld();
    const client = clientOf(opened);
    await client.send(check.repeat(3));
    await waitUntil('the first is asked', () => held.length === 1);
    expect(opened.meter.requests).toBe(1);
    for (let i = 0; i < 3; i += 1) {
      await waitUntil('the next is asked', () => held.length > i);
      held[i]?.();
      expect((await client.response())?.status).toBe(i < 2 ? 200 : 429);
    }
  });
});

describe('a client that has closed its half', () => {
  it('is let go after the last answer, and not only when it was idle for long', async () => {
    const { opened, held } = await openingHeld();
    const client = clientOf(opened, true);
    client.socket.end(check.repeat(3));
    for (let i = 0; i < 3; i += 1) {
      await waitUntil('the next is asked', () => held.length > i);
      // Meanwhile the end has been read.
      await new Promise((resolve) => setTimeout(resolve, 10));
      held[i]?.();
      expect((await client.response())?.status).toBe(i < 2 ? 200 : 429);
    }
    await client.closed;
    await waitUntil('it is closed on our side, too', () => opened.meter.connections === 0);
  });

  it.each([
    ['nothing', ''],
    ['a check', check],
  ])('is let go at once after %s', async (_, bytes) => {
    const opened = await opening();
    const client = clientOf(opened, true);
    client.socket.end(bytes);
    await client.closed;
    await waitUntil('it is closed on our side, too', () => opened.meter.connections === 0);
  });

  it.each([
    ['a check, and what is for node:http', check + health],
    ['what is for node:http, and a check', health + check],
  ])('gets the answers that come later, too: %s', async (_, bytes) => {
    const { opened, held } = await openingHeld();
    const client = clientOf(opened, true);
    client.socket.end(bytes);
    await waitUntil('it is asked', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    held[0]?.();
    expect([(await client.response())?.status, (await client.response())?.status]).toEqual([200, 200]);
    await client.closed;
    await waitUntil('it is closed on our side, too', () => opened.meter.connections === 0);
  });

  it('is let go when what follows its checks was not whole', async () => {
    const { opened, held } = await openingHeld();
    const client = clientOf(opened, true);
    client.socket.end(check + check.slice(0, 30));
    await waitUntil('it is asked', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    held[0]?.();
    expect((await client.response())?.status).toBe(200);
    await client.closed;
    await waitUntil('it is closed on our side, too', () => opened.meter.connections === 0);
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['words', 'hello there\r\n\r\n'],
    ['bytes', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['another version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    [
      'two ways to say where the body ends',
      'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'],
    ['a blank before the colon', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a RESP client', '*1\r\n$4\r\nPING\r\n'],
  ])('is answered with a problem, and the connection ends: %s', async (_, bytes) => {
    const opened = await opening();
    const client = clientOf(opened);
    await client.send(bytes);
    const response = await client.response();
    expect([response?.status, response?.headers['content-type'], response?.headers.connection]).toEqual([
      400,
      'application/problem+json',
      'close',
    ]);
    expect(JSON.parse(response?.body ?? '').detail).toMatch(/^This is not HTTP\/1\.1 \(HPE_/);
    await client.closed;
    expect(opened.meter.malformed).toBeGreaterThan(0);
  });

  it('has two hosts, of which whoever is in front may have read the other one', async () => {
    for (const line of ['GET /healthz', 'POST /v1/check']) {
      const client = clientOf(await opening());
      await client.send(`${line} HTTP/1.1\r\nHost: sluice\r\nhOST: other\r\n\r\n`);
      const response = await client.response();
      expect([response?.status, JSON.parse(response?.body ?? '{}').detail]).toEqual([
        400,
        'There is more than one Host header. Send one (RFC 9112, 3.2).',
      ]);
    }
  });

  it('has no host', async () => {
    const client = clientOf(await opening());
    await client.send('GET /healthz HTTP/1.1\r\n\r\n');
    const response = await client.response();
    expect([response?.status, JSON.parse(response?.body ?? '').detail]).toEqual([
      400,
      'The Host header is missing, which HTTP/1.1 requires.',
    ]);
  });

  it('is fine without one in HTTP/1.0, and with the whole address in the request line', async () => {
    const opened = await opening();
    const old = clientOf(opened);
    await old.send('GET /healthz HTTP/1.0\r\n\r\n');
    expect((await old.response())?.status).toBe(200);
    const proxied = clientOf(opened);
    await proxied.send('GET http://sluice:8080/healthz?x=1 HTTP/1.1\r\nHost: sluice\r\n\r\n');
    expect((await proxied.response())?.status).toBe(200);
    await proxied.send('OPTIONS * HTTP/1.1\r\nHost: sluice\r\n\r\n');
    expect((await proxied.response())?.headers.allow).toBe('DELETE, GET, HEAD, OPTIONS, POST, PUT');
    await proxied.send('GET /v1/keys/per-user/\xfc HTTP/1.1\r\nHost: sluice\r\n\r\n');
    expect((await proxied.response())?.status).toBe(400);
  });
});

describe('drain', () => {
  it('lets idle connections go after a moment, finishes what was begun, and says that the connection closes', async () => {
    const { opened, held } = await openingHeld();
    const [silent, idleShort, idleLong, busyShort, busyLong] = Array.from({ length: 5 }, () => clientOf(opened)) as [
      RawClient,
      RawClient,
      RawClient,
      RawClient,
      RawClient,
    ];
    await idleShort.send(checkBytes({ policy: { algorithm: 'gcra', limit: 1, window: '1m' }, key: 'k' }));
    await idleLong.send(health);
    expect([(await idleShort.response())?.status, (await idleLong.response())?.status]).toEqual([200, 200]);
    await busyShort.send(check);
    await busyLong.send(check.slice(0, 20), check.slice(20));
    await waitUntil('both are asked', () => held.length === 2);
    opened.door.server.close();
    const drained = opened.door.drain(60_000);
    await Promise.all([silent.closed, idleShort.closed, idleLong.closed]);
    for (const answer of held) answer();
    const responses = [await busyShort.response(), await busyLong.response()];
    expect(responses.map((response) => [response?.status, response?.headers.connection])).toEqual([
      [200, 'close'],
      [200, 'close'],
    ]);
    await drained;
    expect(opened.meter.connections).toBe(0);
  });

  it('answers one more request on a connection that was idle, and says that it closes', async () => {
    const opened = await opening();
    const [short, long] = [clientOf(opened), clientOf(opened)];
    await long.send(health);
    expect((await long.response())?.status).toBe(200);
    const one = checkBytes({ policy: { algorithm: 'gcra', limit: 5, window: '1m' }, key: 'k' });
    await short.send(one);
    expect((await short.response())?.status).toBe(200);
    const drained = opened.door.drain(60_000);
    await Promise.all([short.send(one), long.send(health)]);
    for (const client of [short, long]) {
      expect((await client.response())?.headers.connection).toBe('close');
      await client.closed;
    }
    await drained;
  });

  it.each([false, true])(
    'answers all that came, says at the last that it closes, and resets nothing (later: %s)',
    async (isLater) => {
      const opened = await opening({}, isLater ? answeringLater : undefined);
      const client = clientOf(opened);
      const errors: unknown[] = [];
      client.socket.on('error', (error) => errors.push(error));
      const one = checkBytes({ policy: { algorithm: 'gcra', limit: 100, window: '1m' }, key: 'k' });
      await client.send(one);
      expect((await client.response())?.status).toBe(200);
      const drained = opened.door.drain(60_000);
      await client.send(one.repeat(5));
      const seen: unknown[] = [];
      for (let i = 0; i < 5; i += 1) {
        const response = await client.response();
        seen.push([JSON.parse(response?.body ?? '{}').remaining, response?.headers.connection]);
        // What comes after it is not asked, and no reason to cut it off.
        client.socket.write(one);
      }
      expect(seen).toEqual([
        [98, 'keep-alive'],
        [97, 'keep-alive'],
        [96, 'keep-alive'],
        [95, 'keep-alive'],
        [94, 'close'],
      ]);
      await client.closed;
      await drained;
      expect([errors, opened.meter.requests]).toEqual([[], 6]);
    },
  );

  it.each([false, true])('finishes what has only begun behind a check (later: %s)', async (isLater) => {
    const opened = await opening({}, isLater ? answeringLater : undefined);
    const client = clientOf(opened);
    await client.send(check);
    expect((await client.response())?.status).toBe(200);
    const drained = opened.door.drain(60_000);
    await client.send(check + health.slice(0, 10), health.slice(10));
    const responses = [await client.response(), await client.response()];
    expect(responses.map((response) => [response?.status, response?.headers.connection])).toEqual([
      [200, 'keep-alive'],
      [200, 'close'],
    ]);
    await client.closed;
    await drained;
  });

  it('cuts off who sends on and on after the last answer, and who never ends', async () => {
    const opened = await opening();
    const [endless, mute] = [true, true].map((allowHalfOpen) => {
      const socket = connect({ port: opened.port, host: '127.0.0.1', allowHalfOpen });
      socket.on('error', () => {}).resume();
      toClose.unshift(() => socket.destroy());
      return socket;
    }) as [Socket, Socket];
    for (const socket of [endless, mute]) {
      socket.write(check);
      await once(socket, 'data');
    }
    const sending = setInterval(() => endless.write(Buffer.alloc(64 * 1024)), 1);
    toClose.unshift(() => clearInterval(sending));
    // `drain` ends only when no connection is left, or after this time.
    const startMs = performance.now();
    await opened.door.drain(60_000);
    expect(performance.now() - startMs).toBeLessThan(30_000);
    expect(opened.meter.connections).toBe(0);
  });

  it('waits no longer than it was told', async () => {
    const { opened, held } = await openingHeld();
    const [short, long, half] = [clientOf(opened), clientOf(opened), clientOf(opened)];
    await short.send(check);
    await long.send(check.slice(0, 20), check.slice(20));
    await half.send(check.slice(0, 20));
    await waitUntil('both are asked', () => held.length === 2);
    opened.door.server.close();
    await opened.door.drain(50);
    await Promise.all([short.closed, long.closed, half.closed]);
    // An answer that comes now has nobody to go to.
    for (const answer of held) answer();
    expect(opened.meter.connections).toBe(0);
  });

  it('turns new connections away while the socket is still another’s', async () => {
    const { opened, held } = await openingHeld();
    const busy = clientOf(opened);
    await busy.send(check);
    await waitUntil('it is asked', () => held.length === 1);
    const drained = opened.door.drain(60_000);
    await clientOf(opened).closed;
    held[0]?.();
    expect((await busy.response())?.status).toBe(200);
    await drained;
  });
});

describe('TLS', () => {
  let certificates: Certificates;
  beforeAll(async () => {
    certificates = await makeCertificates();
  });

  /** One request over TLS: its status, and where it took that from. */
  function askTls(
    port: number,
    options: object,
    path = '/v1/check',
  ): Promise<{ status: number | undefined; body: string }> {
    return new Promise((resolve, reject) => {
      const method = path === '/v1/check' ? 'POST' : 'GET';
      const headers = { 'Content-Type': 'application/json' };
      const sent = request(
        { host: '127.0.0.1', port, path, method, headers, servername: 'localhost', ...options },
        (response) => {
          let body = '';
          response.on('data', (data) => {
            body += data;
          });
          response.on('end', () => resolve({ status: response.statusCode, body }));
        },
      );
      sent.on('error', reject);
      sent.end(method === 'POST' ? JSON.stringify({ subject: { user: '42' } }) : undefined);
    });
  }

  it('serves both ways, and tells plain clients nothing', async () => {
    const { ca, server } = certificates;
    const opened = await opening({ tls: { ...server, ca: undefined } });
    expect(await askTls(opened.port, { ca })).toMatchObject({
      status: 200,
      body: expect.stringContaining('"per-user"'),
    });
    expect(await askTls(opened.port, { ca }, '/healthz')).toMatchObject({ status: 200 });
    await expect(askTls(opened.port, {})).rejects.toThrow(/certificate/);
    const plain = clientOf(opened);
    await plain.send(check);
    await plain.closed;
    expect(await askTls(opened.port, { ca })).toMatchObject({ status: 200 });
  });

  it('asks clients for a certificate of the authority where there is one', async () => {
    const { ca, server, client, stranger } = certificates;
    const opened = await opening({ tls: { ...server, ca } });
    expect((await askTls(opened.port, { ca, ...client })).status).toBe(200);
    await expect(askTls(opened.port, { ca })).rejects.toThrow();
    await expect(askTls(opened.port, { ca, ...stranger })).rejects.toThrow();
  });

  it('answers a client that has closed its half, and lets it go', async () => {
    const { ca, server } = certificates;
    const { opened, held } = await openingHeld({ tls: { ...server, ca: undefined } });
    const where = { host: '127.0.0.1', port: opened.port, ca, servername: 'localhost', allowHalfOpen: true };
    const socket = connectTls(where as Json);
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('end', () => socket.end());
    await once(socket, 'secureConnect');
    socket.end(check);
    await waitUntil('it is asked', () => held.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    held[0]?.();
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    await waitUntil('it is closed on our side, too', () => opened.meter.connections === 0);
  });

  it('drains', async () => {
    const { ca, server } = certificates;
    const opened = await opening({ tls: { ...server, ca: undefined } });
    const socket = connectTls({ host: '127.0.0.1', port: opened.port, ca, servername: 'localhost' } as Json);
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    opened.door.server.close();
    socket.resume();
    await Promise.all([opened.door.drain(10_000), closed]);
  });
});
