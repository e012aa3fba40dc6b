/** What is not a plain request and a plain answer, all the way through. */
import { createServer, request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, expect, it } from 'vitest';
import { ask, gateway, member, metric } from './gateway.test-support.ts';

const toStop: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

it('hands a connection over where both sides want another protocol', async () => {
  const server = createServer();
  server.on('upgrade', (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
    socket.on('data', (bytes) => socket.write(`heard ${bytes}`));
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  toStop.push(() => server.close());
  const { port: memberPort } = server.address() as AddressInfo;
  const running = await gateway({ gateway: { upstreams: { app: { members: [`127.0.0.1:${memberPort}`] } } } });
  const client = connect(running.port, '127.0.0.1');
  let heard = '';
  client.on('data', (bytes) => {
    heard += bytes;
  });
  client.write('GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await waitUntil('it is switched', () => heard.includes('\r\n\r\n'));
  expect(heard).toMatch(/^HTTP\/1\.1 101 /);
  client.write('hello');
  await waitUntil('it is answered', () => heard.endsWith('heard hello'));
  const inFlight = 'sluice_gateway_requests_in_flight{route="default"}';
  expect(await metric(running, inFlight)).toBe(1);
  client.end();
  await waitUntil('it has ended', async () => (await metric(running, inFlight)) === 0);
  expect(await metric(running, 'sluice_gateway_requests_total{route="default",status="1xx"}')).toBe(1);
});

it('passes on events as they come', async () => {
  const send: ((text: string) => void)[] = [];
  const one = await member((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    send.push((text) => (text === '' ? response.end() : response.write(text)));
  });
  const running = await gateway({ gateway: { upstreams: { app: { members: [one.id] } } } });
  let heard = '';
  let hasEnded = false;
  const request = httpRequest(running.url, (response) => {
    response.on('data', (bytes) => {
      heard += bytes;
    });
    response.on('end', () => {
      hasEnded = true;
    });
  });
  request.end();
  await waitUntil('it is asked', () => send.length === 1);
  for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
    send[0]!(text);
    await waitUntil('it came', () => heard.endsWith(text));
  }
  send[0]!('');
  await waitUntil('it has ended', () => hasEnded);
  expect(heard).toBe('data: 1\n\ndata: 2\n\n');
});

it('speaks HTTP/2 with clients, and counts, limits and reports as ever', async () => {
  const one = await member((_, response, body) => response.end(`heard ${body}`));
  const running = await gateway({
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'fixed-window', limit: 2, window: '1h' }],
    gateway: { upstreams: { app: { members: [one.id] } } },
  });
  const session = connectHttp2(running.url);
  toStop.push(() => session.close());
  const ask = (body: string) =>
    new Promise<{ status: unknown; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': '/x', 'x-forwarded-for': '10.0.0.1' });
      let headers: Record<string, unknown> = {};
      let text = '';
      stream.on('response', (head) => {
        headers = head;
      });
      stream.setEncoding('utf8');
      stream.on('data', (chunk) => {
        text += chunk;
      });
      stream.on('end', () => resolve({ status: headers[':status'], headers, text }));
      stream.on('error', reject);
      stream.end(body);
    });
  const answers = [await ask('a'), await ask('b'), await ask('c')];
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [200, 'heard a'],
    [200, 'heard b'],
    [429, expect.stringContaining('quota-exceeded')],
  ]);
  expect(answers[0]!.headers['ratelimit-policy']).toBe('"per-ip";q=2;w=3600');
  expect(one.seen[0]!.headers).toMatchObject({ via: '2 sluice', 'x-forwarded-for': '127.0.0.1' });
});

it('cancels at the member what a client no longer waits for', async () => {
  let isCancelled = false;
  const one = await member((request) => {
    request.socket.on('close', () => {
      isCancelled = true;
    });
  });
  const running = await gateway({ gateway: { upstreams: { app: { members: [one.id] } } } });
  const client = connect(running.port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitUntil('it is asked', () => one.seen.length === 1);
  client.resetAndDestroy();
  await waitUntil('it is cancelled', () => isCancelled);
  await waitUntil('it is counted', async () => {
    return (await metric(running, 'sluice_gateway_requests_total{route="default",status="gone"}')) === 1;
  });
});

it('counts only those as gone that left: not whom it refused itself, nor whose answer a member broke off', async () => {
  const one = await member((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('some');
    response.socket?.end();
  });
  const running = await gateway({
    gateway: { limits: { bodyBytes: '1kb' }, upstreams: { app: { members: [one.id] } } },
  });
  const client = connect(running.port, '127.0.0.1');
  client.write(
    `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n${'x'.repeat(0x800)}\r\n0\r\n\r\n`,
  );
  const session = connectHttp2(running.url);
  const stream = session.request({ ':method': 'POST' });
  stream.on('error', () => undefined);
  stream.end('x'.repeat(0x800));
  toStop.push(() => [client.destroy(), session.destroy()]);
  await ask(running.url).catch(() => undefined);
  const ended = (status: string) =>
    metric(running, `sluice_gateway_requests_total{route="default",status="${status}"}`);
  await waitUntil('all are counted', async () => {
    return (await metric(running, 'sluice_gateway_request_duration_seconds_count{route="default"}')) === 3;
  });
  expect([await ended('2xx'), await ended('4xx'), await ended('gone')]).toEqual([1, 2, 0]);
});
