// The studio's files: who gets them, with which headers, and that nothing else is to be had.
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Opened, type OpenOptions, open, RawClient } from './http-door.test-support.ts';
import { page, picture, type SiteFolder, script, siteFolder } from './site.test-support.ts';
import { contentSecurityPolicy, readSite } from './site.ts';

let folder: SiteFolder;
let opened: Opened;
beforeAll(() => {
  folder = siteFolder();
});
afterAll(() => folder.remove());
beforeEach(() => reopen({}));
afterEach(() => opened.close());

async function reopen(options: OpenOptions): Promise<void> {
  await opened?.close();
  opened = await open({ site: readSite(folder.path), ...options });
}

const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

interface Got {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** As they came. */
  readonly bytes: Buffer;
}

/** Without the unpacking that `fetch` does. */
function getRaw(path: string, headers: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    get({ port: opened.port, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers as Record<string, string>, bytes });
      });
    }).on('error', reject);
  });
}

describe('the studio', () => {
  it('is what a browser gets at /, and others get the text', async () => {
    const { status, type, text } = await opened.ask('GET', '/', undefined, browser);
    expect([status, type, text]).toEqual([200, 'text/html; charset=utf-8', page]);
    const asText = await opened.ask('GET', '/');
    expect([asText.type, asText.headers.get('vary')]).toEqual(['text/plain; charset=utf-8', 'Accept']);
    expect(asText.text).toContain('/v1/status');
    expect(asText.text).not.toContain('assets');
  });

  it.each([
    ['/assets/index-3f2a.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/assets/style-77.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/assets/picture-1.png', 'image/png', 'public, max-age=31536000, immutable'],
    ['/favicon.svg', 'image/svg+xml', 'no-cache'],
    ['/index.html', 'text/html; charset=utf-8', 'no-cache'],
    ['/', 'text/html; charset=utf-8', 'no-cache'],
  ])('has %s as %s, kept: %s; and lets it do nothing but its own', async (path, type, cacheControl) => {
    const { status, headers } = await getRaw(path, browser);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': cacheControl,
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  it('has a policy that allows nothing from elsewhere, nothing inline, and no frame', () => {
    expect(contentSecurityPolicy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });

  it('is not sent again to whoever has it', async () => {
    for (const [path, vary] of [
      ['/', 'Accept, Accept-Encoding'],
      ['/assets/index-3f2a.js', 'Accept-Encoding'],
    ] as const) {
      const { headers } = await getRaw(path, { ...browser, 'accept-encoding': 'br' });
      const tag = headers.etag as string;
      expect(headers.vary).toBe(vary);
      for (const known of [tag, `"other", ${tag}`, tag.replace('W/', ''), '*']) {
        const again = await getRaw(path, { ...browser, 'if-none-match': known });
        expect([known, again.status, again.bytes.length]).toEqual([known, 304, 0]);
        expect(again.headers).toMatchObject({ etag: tag, vary, 'content-security-policy': contentSecurityPolicy });
      }
      expect((await getRaw(path, { ...browser, 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, BR;q=0.5', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['br;q=0.0, gzip; q=0', undefined],
    ['deflate', undefined],
    ['', undefined],
  ])('is packed for who accepts %j: %s', async (accepted, encoding) => {
    for (let i = 0; i < 2; i += 1) {
      const { headers, bytes } = await getRaw('/assets/index-3f2a.js', { 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBe(encoding);
      expect(headers['content-length']).toBe(String(bytes.length));
      const unpack = { br: brotliDecompressSync, gzip: gunzipSync, none: (same: Buffer) => same };
      expect(unpack[(encoding as 'br' | 'gzip' | undefined) ?? 'none'](bytes).toString()).toBe(script);
      if (encoding) expect(bytes.length).toBeLessThan(script.length / 5);
    }
  });

  it('is not packed twice: a picture is sent as it is', async () => {
    const { headers, bytes } = await getRaw('/assets/picture-1.png', { 'accept-encoding': 'br, gzip' });
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
    expect(bytes).toEqual(picture);
  });

  it('tells its head alone, and takes nothing', async () => {
    const head = await opened.ask('HEAD', '/assets/index-3f2a.js', undefined, { 'Accept-Encoding': 'identity' });
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(script.length)]);
    expect((await opened.ask('PUT', '/assets/index-3f2a.js', '{}')).status).toBe(405);
    expect((await opened.ask('OPTIONS', '/')).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it.each([
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/assets/..\\..\\secret.txt',
    '/assets//index-3f2a.js',
    '//assets/index-3f2a.js',
    '/assets',
    '/assets/',
    '/assets/index-3f2a.js/',
    '/assets/index-3f2a.js%00.css',
    '/ASSETS/INDEX-3F2A.JS',
    '/./index.html',
    'http://127.0.0.1/../secret.txt',
    '/package.json',
    '/__proto__',
  ])('has nothing at %s', async (path) => {
    const client = new RawClient(opened.port);
    await client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nConnection: close\r\n\r\n`);
    const response = await client.response();
    expect(response?.status).toBe(404);
    expect(response?.body).not.toContain('a secret');
    await client.closed;
  });

  it('needs no token, and what it shows does', async () => {
    await reopen({ tokens: ['secret'] });
    expect((await opened.ask('GET', '/', undefined, browser)).text).toBe(page);
    expect((await opened.ask('GET', '/assets/index-3f2a.js')).text).toBe(script);
    for (const path of ['/v1/status', '/v1/live', '/v1/rules', '/metrics', '/openapi.json']) {
      expect((await opened.ask('GET', path, undefined, browser)).status, path).toBe(401);
    }
  });

  it('is where the administration is, and not where only checks are', async () => {
    await reopen({ serves: 'administration' });
    expect((await opened.ask('GET', '/', undefined, browser)).text).toBe(page);
    await reopen({ serves: 'checks' });
    expect((await opened.ask('GET', '/', undefined, browser)).type).toBe('text/plain; charset=utf-8');
    expect((await opened.ask('GET', '/assets/index-3f2a.js')).status).toBe(404);
  });

  it('leaves the text to browsers too where it was not built, behind the token', async () => {
    await opened.close();
    opened = await open({ tokens: ['secret'] });
    expect((await opened.ask('GET', '/', undefined, browser)).status).toBe(401);
    const { type, headers } = await opened.ask('GET', '/', undefined, { ...browser, Authorization: 'Bearer secret' });
    expect([type, headers.get('vary')]).toEqual(['text/plain; charset=utf-8', null]);
  });

  it('is said to be a page in the OpenAPI document', async () => {
    const { json } = await opened.ask('GET', '/openapi.json');
    expect(Object.keys(json.paths['/'].get.responses[200].content)).toEqual([
      'text/plain; charset=utf-8',
      'text/html; charset=utf-8',
    ]);
    expect(Object.keys(json.paths).filter((path) => path.startsWith('/assets'))).toEqual([]);
  });
});
