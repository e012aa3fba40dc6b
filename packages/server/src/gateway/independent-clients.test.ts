/** The whole gateway as a process, asked by programs that have nothing to do with it: curl, nghttp and ws, before a plain Node server. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureDebianPackage, type GatewayProcess, startGateway, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { makeCertificates } from '../service/certificates.test-support.ts';

const run = promisify(execFile);
let curl: string;
let nghttp: string;
let upstream: Server;
let plain: GatewayProcess;
let secure: GatewayProcess;
let folder: string;
/** Bodies that were sent after the upstream had said `100 Continue`. */
let continued = 0;
let left = 0;

beforeAll(async () => {
  curl = await ensureDebianPackage('curl', ['curl']);
  nghttp = await ensureDebianPackage('nghttp', ['nghttp2-client']);
  folder = mkdtempSync(join(tmpdir(), 'sluice-clients-'));
  const { ca, server } = await makeCertificates();
  for (const [name, bytes] of Object.entries({ ca, cert: server.cert, key: server.key }))
    writeFileSync(join(folder, `${name}.pem`), bytes);
  upstream = createServer((request, response) => void answer(request, response));
  upstream.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/no') {
      response.writeHead(413, { connection: 'close' }).end('too much');
      return;
    }
    continued += 1;
    response.writeContinue();
    void answer(request, response);
  });
  const sockets = new WebSocketServer({ server: upstream });
  sockets.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', () => {
      left += 1;
    });
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  const upstreams = { items: { members: [`127.0.0.1:${port}`] } };
  plain = await startGateway({ gateway: { upstreams } });
  const tls = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  secure = await startGateway({ gateway: { upstreams, tls } });
});

afterAll(async () => {
  await plain?.stop();
  await secure?.stop();
  upstream?.closeAllConnections();
  upstream?.close();
  rmSync(folder, { recursive: true });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (request.url === '/trailers') {
    response.writeHead(200, { trailer: 'x-sum', 'content-type': 'text/plain' });
    response.write('with trailers');
    response.addTrailers({ 'x-sum': '42' });
    response.end();
    return;
  }
  if (request.url === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 1; i <= 3; i += 1) response.write(`data: ${i}\n\n`);
    // It stays open: what was sent must arrive before it ends.
    request.socket.once('close', () => {
      left += 1;
    });
    return;
  }
  const { method, url, headers, trailers } = request;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ method, url, headers, trailers, bytes: body.length }));
}

const tlsArgs = () => ['--cacert', join(folder, 'ca.pem')];

describe.each([
  { name: 'HTTP/1.1', version: '1.1', args: () => ['--http1.1', plain.url] },
  { name: 'HTTP/1.0', version: '1.1', args: () => ['--http1.0', plain.url] },
  { name: 'HTTP/2 by prior knowledge', version: '2', args: () => ['--http2-prior-knowledge', plain.url] },
  { name: 'HTTP/1.1 over TLS', version: '1.1', args: () => [...tlsArgs(), '--http1.1', secureUrl()] },
  { name: 'HTTP/2 over TLS', version: '2', args: () => [...tlsArgs(), '--http2', secureUrl()] },
])('curl by $name', ({ name, version, args }) => {
  const ask = async (path: string, ...more: string[]) => {
    const all = args();
    const url = all.pop() as string;
    const { stdout } = await run(curl, ['-sS', '--max-time', '30', ...all, ...more, `${url}${path}`]);
    return stdout;
  };

  test('is forwarded with its method, target and headers', async () => {
    const seen = JSON.parse(await ask('/a?b=c', '-H', 'X-Own: 1', '-X', 'DELETE'));
    expect(seen).toMatchObject({ method: 'DELETE', url: '/a?b=c', headers: { 'x-own': '1' }, bytes: 0 });
    expect(seen.headers.forwarded).toContain('for=127.0.0.1');
  });

  test('has its version in the answer', async () => {
    expect(await ask('/', '-o', '/dev/null', '-w', '%{http_version} %{http_code}')).toBe(`${version} 200`);
  });

  test('a large body arrives whole', async () => {
    const file = join(folder, 'large');
    writeFileSync(file, Buffer.alloc(3_000_000, 'x'));
    const seen = JSON.parse(await ask('/upload', '-T', file, '-H', 'Expect:'));
    expect(seen).toMatchObject({ method: 'PUT', bytes: 3_000_000 });
  });

  // HTTP/1.0 has no 100, and no trailers.
  if (name === 'HTTP/1.0') return;

  test('trailers come after the body', async () => {
    const text = await ask('/trailers', '-D', '-', '-H', 'TE: trailers');
    expect(text).toContain('with trailers');
    expect(text.toLowerCase()).toContain('x-sum: 42');
  });

  if (version === '2') return;

  test('who waits for 100 Continue is told to go on by the upstream', async () => {
    const before = continued;
    const file = join(folder, 'expected');
    writeFileSync(file, Buffer.alloc(2_000_000, 'x'));
    const seen = JSON.parse(
      await ask('/upload', '-T', file, '-H', 'Expect: 100-continue', '--expect100-timeout', '20'),
    );
    expect(seen.bytes).toBe(2_000_000);
    expect(continued).toBe(before + 1);
  });

  test('who waits for 100 Continue is spared sending what is not wanted', async () => {
    const file = join(folder, 'unwanted');
    writeFileSync(file, Buffer.alloc(2_000_000, 'x'));
    const told = await ask(
      '/no',
      '-T',
      file,
      '-H',
      'Expect: 100-continue',
      '--expect100-timeout',
      '20',
      '-w',
      ' %{http_code} %{size_upload}',
    );
    expect(told).toBe('too much 413 0');
  });
});

function secureUrl(): string {
  return `https://localhost:${secure.port}`;
}

test('nghttp sends a body with trailers by HTTP/2, and the upstream has both', async () => {
  const file = join(folder, 'small');
  writeFileSync(file, 'hello');
  const { stdout } = await run(nghttp, ['-d', file, '--trailer', 'x-checksum: abc', `${plain.url}/echo`]);
  expect(JSON.parse(stdout)).toMatchObject({ method: 'POST', bytes: 5, trailers: { 'x-checksum': 'abc' } });
});

test('nghttp has many streams on one connection answered', async () => {
  const { stdout } = await run(nghttp, ['-n', '-s', '-m', '20', `${plain.url}/many`]);
  expect(stdout.match(/ 200 /g)?.length).toBe(20);
});

describe.each([
  { name: 'plain', url: () => plain.url.replace('http', 'ws'), options: () => ({}) },
  { name: 'TLS', url: () => `wss://localhost:${secure.port}`, options: () => ({ rejectUnauthorized: false }) },
])('WebSocket, $name', ({ url, options }) => {
  test('both sides hear what the other says, and that it leaves', async () => {
    const before = left;
    const socket = new WebSocket(`${url()}/socket`, options());
    await once(socket, 'open');
    const long = 'x'.repeat(1_000_000);
    for (const text of ['hello', 'and again', long]) {
      socket.send(text);
      const [data] = await once(socket, 'message');
      expect(String(data) === text).toBe(true);
    }
    socket.close();
    await once(socket, 'close');
    await waitUntil('the upstream knows that it left', () => left === before + 1);
  });
});

test('server-sent events arrive as they are sent, and the upstream knows when the client leaves', async () => {
  const before = left;
  const request = send(`${plain.url}/events`);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  response.on('error', () => undefined);
  await waitUntil('three events are there', () => text === 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
  request.destroy();
  await waitUntil('the upstream knows that it left', () => left === before + 1);
});
