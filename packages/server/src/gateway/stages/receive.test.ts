/** Clients that send some of their body and then nothing, and what they cost others. Real members, real sockets. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { TestClock } from 'sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, gateway, member, metric, type TestGateway, type TestMember } from '../gateway.test-support.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A client that says this, and nothing more unless told to. */
function saying({ port }: TestGateway, text: string): Socket & { heard: string } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { heard: '' });
  socket.on('data', (bytes) => {
    socket.heard += bytes.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.write(text);
  open.push(() => socket.destroy());
  return socket;
}

const head = (headers: string) => `POST /x HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`;
const connectionsOf = (running: TestGateway, { id }: TestMember) =>
  metric(running, `sluice_upstream_connections{upstream="app",member="${id}",state="busy"}`);
const underWay = (running: TestGateway) => metric(running, 'sluice_gateway_requests_in_flight{route="default"}');

describe('a client that sends a part of its body and then nothing', () => {
  const uploads: [what: string, text: string, rest: string, body: string][] = [
    ['a small body', `${head('Content-Length: 10')}a`, 'bcdefghij', 'abcdefghij'],
    ['chunks', `${head('Transfer-Encoding: chunked')}1\r\na\r\n`, '2\r\nbc\r\n0\r\n\r\n', 'abc'],
    [
      'the beginning of a large one',
      `${head('Content-Length: 100000')}a`,
      'b'.repeat(99_999),
      `a${'b'.repeat(99_999)}`,
    ],
  ];

  it.each(uploads)('has no connection meanwhile: %s', async (_, text, rest, body) => {
    const one = await member();
    const running = await gateway({
      gateway: { upstreams: { app: { members: [one.id], connections: 1, timeouts: { connect: '1s' } } } },
    });
    const slow = Array.from({ length: 3 }, () => saying(running, text));
    await waitUntil('they are under way', async () => (await underWay(running)) === 3);
    expect((await ask(running.url)).status).toBe(200);
    slow[0]!.write(rest);
    await waitUntil('it is answered', () => slow[0]!.heard.includes(`\r\n\r\n${one.port}`));
    expect(one.seen.map((seen) => seen.body)).toEqual(['', body]);
  });

  it('has none by HTTP/2 either', async () => {
    const one = await member();
    const running = await gateway({
      gateway: { upstreams: { app: { members: [one.id], connections: 1, timeouts: { connect: '1s' } } } },
    });
    const session = connectHttp2(running.url);
    open.push(() => session.destroy());
    session.on('error', () => undefined);
    const streams = Array.from({ length: 3 }, () => {
      const stream = session.request({ ':method': 'POST', ':path': '/x', 'content-length': '3' });
      stream.on('error', () => undefined).write('a');
      return stream;
    });
    await waitUntil('they are under way', async () => (await underWay(running)) === 3);
    expect((await ask(running.url)).status).toBe(200);
    const answered = once(streams[0]!, 'response');
    streams[0]!.end('bc');
    expect((await answered)[0]).toMatchObject({ ':status': 200 });
    expect(one.seen.map(({ body }) => body)).toEqual(['', 'abc']);
  });

  it('takes no probe of a circuit, and is no failure of anybody when it leaves', async () => {
    const clock = new TestClock(1_000_000);
    let isWell = false;
    const one = await member((_, response) => response.writeHead(isWell ? 200 : 503).end());
    const breaker = { failureRatio: 0.5, minimumCalls: 1, open: '1s', halfOpenCalls: 1 };
    const upstream = { members: [one.id], outliers: false, retries: { attempts: 0 }, breaker };
    const running = await gateway({ gateway: { upstreams: { app: upstream } } }, { clock });
    expect((await ask(running.url)).status).toBe(503);
    isWell = true;
    clock.advance(1_000);
    const slow = saying(running, `${head('Content-Length: 10')}a`);
    await waitUntil('it is under way', async () => (await underWay(running)) === 1);
    expect((await ask(running.url)).status).toBe(200);
    slow.destroy();
    await waitUntil('it has left', async () => (await underWay(running)) === 0);
    expect(one.seen).toHaveLength(2);
  });

  it('is told so in the end', async () => {
    const clock = new TestClock(1_000_000);
    const one = await member();
    const running = await gateway(
      { gateway: { limits: { idle: '10s' }, upstreams: { app: { members: [one.id] } } } },
      { clock },
    );
    const slow = saying(running, `${head('Content-Length: 10')}a`);
    await waitUntil('it is under way', async () => (await underWay(running)) === 1);
    clock.advance(11_000);
    await waitUntil('it is answered', () => slow.heard.startsWith('HTTP/1.1 408 '));
    expect([one.seen.length, await underWay(running)]).toEqual([0, 0]);
  });
});

it('asks the member before a client that waits for 100 Continue sends its body', async () => {
  const one = await member();
  const running = await gateway({ gateway: { upstreams: { app: { members: [one.id] } } } });
  const client = saying(running, head('Content-Length: 2\r\nExpect: 100-continue'));
  await waitUntil('it may go on', () => client.heard.startsWith('HTTP/1.1 100 '));
  expect(await connectionsOf(running, one)).toBe(1);
  client.write('ok');
  await waitUntil('it is answered', () => client.heard.includes('HTTP/1.1 200 '));
  expect(one.seen.map(({ body }) => body)).toEqual(['ok']);
});

it('passes a large body on as it comes, once so much of it is there as is kept', async () => {
  const one = await member();
  const running = await gateway({
    gateway: { upstreams: { app: { members: [one.id], retries: { bodyBytes: '1kb' } } } },
  });
  const client = saying(running, head('Content-Length: 1025') + 'x'.repeat(1_023));
  await waitUntil('it is under way', async () => (await underWay(running)) === 1);
  expect(await connectionsOf(running, one)).toBe(0);
  client.write('y');
  await waitUntil('it goes on', async () => (await connectionsOf(running, one)) === 1);
  client.write('z');
  await waitUntil('it is answered', () => client.heard.includes('HTTP/1.1 200 '));
  expect(one.seen[0]!.body).toBe(`${'x'.repeat(1_023)}yz`);
});

it('waits for nothing where nothing is to be kept', async () => {
  const one = await member();
  const running = await gateway({
    gateway: { upstreams: { app: { members: [one.id], retries: { bodyBytes: '1b' } } } },
  });
  const client = saying(running, head('Transfer-Encoding: chunked'));
  await waitUntil('it goes on', async () => (await connectionsOf(running, one)) === 1);
  client.write('2\r\nok\r\n0\r\n\r\n');
  await waitUntil('it is answered', () => client.heard.includes('HTTP/1.1 200 '));
  expect(one.seen.map(({ body }) => body)).toEqual(['ok']);
});
