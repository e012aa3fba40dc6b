// Clients that others wrote: curl, nghttp, h2load, and openssl's certificates.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { ensureDebianPackage, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Certificates, makeCertificates } from '../../service/certificates.test-support.ts';
import type { Exchange } from '../exchange.ts';
import { count, echo, get, hello, open } from './front.test-support.ts';
import { http2Client } from './http2/http2-client.test-support.ts';

let folder = '';
let certificates: Certificates;
let curl: (...args: string[]) => Promise<string>;
let nghttp: (...args: string[]) => Promise<string>;
let h2load: (...args: string[]) => Promise<string>;

const file = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-front-clients-'));
  const program =
    (path: string) =>
    async (...args: string[]) => {
      const { stdout, stderr } = await promisify(execFile)(path, args, { maxBuffer: 64e6, timeout: 50_000 });
      return stdout + stderr;
    };
  curl = program(await ensureDebianPackage('curl', ['curl']));
  nghttp = program(await ensureDebianPackage('nghttp', ['nghttp2-client']));
  h2load = program(await ensureDebianPackage('h2load', ['nghttp2-client']));
  certificates = await makeCertificates();
});
afterAll(() => rmSync(folder, { recursive: true }));

const withTrailers = (exchange: Exchange) => {
  const sink = exchange.answer({ status: 200, headers: [] }, 'chunked');
  sink.write(Buffer.from('hello\n'));
  sink.end(['x-sum', '7']);
};

describe('curl', () => {
  it.each([
    ['HTTP/1.1', '--http1.1', 'HTTP/1.1'],
    ['HTTP/1.0', '--http1.0', 'HTTP/1.0'],
    ['HTTP/2 by prior knowledge', '--http2-prior-knowledge', 'HTTP/2.0'],
    // It asks for an upgrade, and goes on without.
    ['an upgrade to HTTP/2', '--http2', 'HTTP/1.1'],
  ])('is served by %s', async (_, option, protocol) => {
    const { port, exchanges } = await open(hello);
    expect(await curl('-sS', option, `http://127.0.0.1:${port}/a?b=c`)).toBe('GET /a?b=c');
    expect(exchanges.map(({ client }) => client.protocol)).toEqual([protocol]);
  });

  it.each(['--http1.1', '--http2-prior-knowledge'])('uploads and downloads megabytes (%s)', async (option) => {
    const { port } = await open(echo, { limits: { bodyBytes: 50e6 } });
    const sent = file('large', Buffer.alloc(20e6, 'sluice'));
    const got = join(folder, 'got');
    for (const how of [
      ['-T', sent],
      ['-T', sent, '-H', 'Transfer-Encoding: chunked'],
    ]) {
      if (option === '--http2-prior-knowledge' && how.length > 2) continue;
      await curl('-sS', option, ...how, '-o', got, `http://127.0.0.1:${port}/`);
      expect(await promisify(execFile)('cmp', [sent, got])).toMatchObject({ stdout: '' });
    }
  });

  it('waits for 100 Continue before it sends a large body, and sends none where the answer is no', async () => {
    const { port } = await open(
      (exchange) => {
        if (exchange.request.target === '/yes') count(exchange);
        else exchange.answerWhole({ status: 403, headers: [] }, 'no');
      },
      { limits: { bodyBytes: 10e6 } },
    );
    const sent = file('body', Buffer.alloc(5e6));
    const put = (target: string) =>
      curl(
        '-sSv',
        '-T',
        sent,
        '-H',
        'Expect: 100-continue',
        '--expect100-timeout',
        '30',
        `http://127.0.0.1:${port}${target}`,
      );
    const yes = await put('/yes');
    expect(yes).toContain('< HTTP/1.1 100 Continue');
    expect(yes).toContain('5000000 bytes');
    const no = await put('/no');
    expect(no).toContain('< HTTP/1.1 403 Forbidden');
    expect(no).not.toContain('100 Continue');
    expect(no).toMatch(/HTTP error before end of send|Closing connection/);
  });

  it.each(['--http1.1', '--http2-prior-knowledge'])('gets trailers when it can take them (%s)', async (option) => {
    const { port } = await open(withTrailers);
    const url = `http://127.0.0.1:${port}/`;
    expect(await curl('-sS', option, '-D', '-', '-H', 'TE: trailers', url)).toMatch(
      /hello\n(.*\n)*x-sum: 7|x-sum: 7(.*\n)*/i,
    );
    expect(await curl('-sS', option, '-D', '-', url)).not.toContain('x-sum');
  });

  it('is refused in words', async () => {
    const { port } = await open(hello);
    const output = await curl('-sSi', '-X', 'get', `http://127.0.0.1:${port}/`);
    expect(output).toMatch(/^HTTP\/1\.1 501 Not Implemented/);
    expect(output).toContain('"detail":"A method must be in capitals."');
  });
});

describe('nghttp', () => {
  it('is served, with a body and trailers both ways', async () => {
    const { port } = await open(echo);
    const output = await nghttp(
      '-v',
      '-d',
      file('small', 'hello'),
      '-H',
      'te: trailers',
      '--trailer',
      'x-sum: 7',
      '--no-content-length',
      `http://127.0.0.1:${port}/a`,
    );
    expect(output).toMatch(/recv .*:status: 200/);
    expect(output).toMatch(/recv .*x-sum: 7/);
    expect(output).toMatch(/recv SETTINGS frame[\s\S]*SETTINGS_MAX_CONCURRENT_STREAMS\(0x03\):100/);
  });
});

describe('h2load', () => {
  it.each([
    ['HTTP/1.1', ['--h1']],
    ['HTTP/2', ['-m', '20']],
  ])('gets every answer by %s', async (_, options) => {
    const { port, front } = await open(hello);
    const output = await h2load('-n', '2000', '-c', '10', ...options, `http://127.0.0.1:${port}/`);
    expect(output).toContain('2000 succeeded, 0 failed, 0 errored');
    expect(front.meter).toMatchObject({ requests: 2000, malformed: 0 });
  });
});

describe('TLS', () => {
  const authority = () => file('ca.pem', certificates.ca);
  const secure = (hasAuthority = false) => ({
    tls: { ...certificates.server, ca: hasAuthority ? certificates.ca : undefined },
  });

  it.each([
    ['HTTP/2 by ALPN', '--http2', 'HTTP/2.0'],
    ['HTTP/1.1 by ALPN', '--http1.1', 'HTTP/1.1'],
    ['HTTP/1.1 without ALPN', '--no-alpn', 'HTTP/1.1'],
  ])('brings curl to %s', async (_, option, protocol) => {
    const { port, exchanges, front } = await open(hello, secure());
    expect(await curl('-sS', option, '--cacert', authority(), `https://localhost:${port}/a`)).toBe('GET /a');
    expect(exchanges[0]?.client).toMatchObject({ protocol, isTls: true, address: '127.0.0.1' });
    expect(front.meter.requests).toBe(1);
  });

  it('offers no HTTP/2 where there is none', async () => {
    const { port, exchanges } = await open(hello, { ...secure(), http2: false });
    await curl('-sS', '--http2', '--cacert', authority(), `https://localhost:${port}/a`);
    expect(exchanges[0]?.client.protocol).toBe('HTTP/1.1');
  });

  it('uploads and downloads megabytes by both', async () => {
    const { port } = await open(echo, { ...secure(), limits: { bodyBytes: 50e6 } });
    const sent = file('large', Buffer.alloc(10e6, 'sluice'));
    const got = join(folder, 'got');
    for (const option of ['--http1.1', '--http2']) {
      await curl('-sS', option, '--cacert', authority(), '-T', sent, '-o', got, `https://localhost:${port}/`);
      expect(await promisify(execFile)('cmp', [sent, got])).toMatchObject({ stdout: '' });
    }
  });

  it('asks clients for a certificate of the authority where there is one', async () => {
    const { port } = await open(hello, secure(true));
    const ask = (options: object) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = httpsRequest({
          host: '127.0.0.1',
          servername: 'localhost',
          port,
          ca: certificates.ca,
          agent: false,
          ...options,
        });
        asked.on('response', (response) => resolve(response.statusCode));
        asked.on('error', reject);
        asked.end();
      });
    expect(await ask(certificates.client)).toBe(200);
    await expect(ask({})).rejects.toThrow();
    await expect(ask(certificates.stranger)).rejects.toThrow();
  });

  it('half closes and drains as without', async () => {
    const held: Exchange[] = [];
    const { port, front } = await open((exchange) => void held.push(exchange), secure());
    const socket = connectTls(<ConnectionOptions>{
      host: '127.0.0.1',
      port,
      ca: certificates.ca,
      servername: 'localhost',
      allowHalfOpen: true,
    });
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.end(get('/a'));
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const other = http2Client(port, { ca: certificates.ca }, 'https');
    const asked = other.ask({ ':path': '/b' });
    while (held.length === 1) await new Promise((resolve) => setImmediate(resolve));
    const drained = front.drain(60_000);
    for (const exchange of held) hello(exchange);
    expect((await asked).body).toBe('GET /b');
    other.session.close();
    await Promise.all([closed, drained]);
    expect(received).toMatch(/connection: close[\s\S]*GET \/a$/);
    expect(front.meter.connections).toBe(0);
  });

  it.each([
    ['says nothing', ''],
    ['says half of its hello', '\x16\x03\x01\x02'],
  ])('does not wait for ever for a client that %s, nor keeps the place of one that has left', async (_, bytes) => {
    const { client, front } = await open(hello, { ...secure(), limits: { headMs: 100 } });
    const [staying, left] = [client(), client()];
    await Promise.all([staying.send(bytes), left.send(bytes)]);
    await waitUntil('both are there', () => front.meter.connections === 2);
    left.close();
    await staying.closed;
    await waitUntil('both are gone', () => front.meter.connections === 0);
    expect(front.meter.malformed).toBe(2);
  });

  it('tells plain clients nothing, and takes new certificates while it runs', async () => {
    const { port, client, front } = await open(hello, secure());
    const plain = client();
    await plain.send(get('/'));
    await plain.closed;
    expect(plain.received).not.toContain('HTTP');
    expect(front.meter.malformed).toBe(1);
    const { stranger } = certificates;
    front.renewCertificate({ ...stranger, ca: undefined });
    await expect(curl('-sS', '--cacert', authority(), `https://localhost:${port}/`)).rejects.toThrow(/certificate/);
    expect(await curl('-sSk', `https://localhost:${port}/`)).toBe('GET /');
  });
});
