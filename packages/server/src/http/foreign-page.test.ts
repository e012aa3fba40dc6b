// What a page of another site can make a browser do here: nothing, and it reads nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Opened, type OpenOptions, open, RawClient } from './http-door.test-support.ts';

let opened: Opened;
beforeEach(async () => {
  opened = await open();
});
afterEach(() => opened.close());

async function reopen(options: OpenOptions): Promise<void> {
  await opened.close();
  opened = await open(options);
}

/** As it is on the wire: `fetch` does not let its caller say where it is from. */
async function send(method: string, path: string, headers: readonly string[], body = ''): Promise<number | undefined> {
  const client = new RawClient(opened.port);
  const own = headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: 127.0.0.1:${opened.port}`];
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  await client.send(`${method} ${path} HTTP/1.1\r\n${[...own, ...headers, ...length].join('\r\n')}\r\n\r\n${body}`);
  const response = await client.response();
  client.close();
  const shared = Object.keys(response?.headers ?? {}).filter((name) => name.startsWith('access-control'));
  expect(shared).toEqual([]);
  return response?.status;
}

const json = 'Content-Type: application/json';
const override = '{"limit":1000000}';
const check = '{"subject":{"user":"42"}}';

const text = 'Content-Type: text/plain';
const form = 'Content-Type: application/x-www-form-urlencoded';
const envoy = '{"domain":"mongo_cps","descriptors":[{"entries":[{"key":"a","value":"b"}]}]}';

const browsers = (port: number) => [
  'Sec-Fetch-Site: cross-site',
  'Sec-Fetch-Site: same-site',
  'Origin: https://example.com',
  'Origin: null',
  `Origin: http://127.0.0.1:${port + 1}`,
  `Origin: http://127.0.0.1:${port}.example.com`,
];

// biome-ignore format: aligned rows
const attempts: [method: string, path: string, headers: readonly string[], status: number, body: string][] = [
  // What needs no leave of ours before it is sent.
  [ 'POST',   '/v1/check',                 [],     415, check ],
  [ 'POST',   '/v1/check',                 [text], 415, check ],
  [ 'POST',   '/v1/check',                 [form], 415, check ],
  [ 'POST',   '/v1/check/batch',           [],     415, `{"items":[${check}]}` ],
  [ 'POST',   '/v1/check/batch',           [text], 415, `{"items":[${check}]}` ],
  [ 'POST',   '/json',                     [],     403, envoy ],
  [ 'POST',   '/json',                     [text], 403, envoy ],
  [ 'POST',   '/v1/reload',                [],     403, '' ],
  [ 'GET',    '/v1/live',                  [],     403, '' ],
  [ 'GET',    '/v1/rules',                 [],     403, '' ],
  // What a browser asks for leave first.
  [ 'POST',   '/json',                     [json], 403, envoy ],
  [ 'PUT',    '/v1/overrides/per-user/42', [json], 403, override ],
  [ 'DELETE', '/v1/overrides/per-user/42', [],     403, '' ],
  [ 'DELETE', '/v1/keys/per-user/42',      [],     403, '' ],
];

describe('a page of another site', () => {
  it.each(attempts)('may not %s %s (%j): %i', async (method, path, headers, status, body) => {
    for (const from of browsers(opened.port)) {
      expect([from, await send(method, path, [...headers, from], body)]).toEqual([from, status]);
    }
    expect((await opened.ask('GET', '/v1/overrides')).json).toEqual({ overrides: [] });
    expect((await opened.ask('GET', '/v1/status')).json.rules[0]).toMatchObject({ allowed: 0, refused: 0 });
  });

  it('is given no leave when its browser asks for it', async () => {
    const asking = ['Origin: https://example.com', 'Access-Control-Request-Method: PUT', 'Sec-Fetch-Site: cross-site'];
    for (const path of ['/v1/overrides/per-user/42', '/v1/live', '/v1/check', '/v1/check/batch', '/json']) {
      expect(await send('OPTIONS', path, asking)).toBe(204);
    }
  });

  it('may have a link that somebody follows', async () => {
    const followed = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'];
    expect(await send('GET', '/metrics', followed)).toBe(200);
    expect(await send('GET', '/', followed)).toBe(200);
    expect(await send('POST', '/v1/reload', followed)).toBe(403);
  });

  it('may not have a frame, which nobody sees and which would hold a stream', async () => {
    for (const element of ['iframe', 'frame', 'embed', 'object']) {
      const framed = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', `Sec-Fetch-Dest: ${element}`];
      expect([element, await send('GET', '/v1/live', framed)]).toEqual([element, 403]);
    }
  });
});

describe('a server that passes the headers of a browser on', () => {
  it('is answered its checks, which say that they are JSON', async () => {
    const free = '{"subject":{"ip":"203.0.113.9"}}';
    for (const from of browsers(opened.port)) {
      expect([from, await send('POST', '/v1/check', [json, from], free)]).toEqual([from, 200]);
    }
    expect(await send('POST', '/v1/check/batch', [json, 'Sec-Fetch-Site: cross-site'], `{"items":[${free}]}`)).toBe(
      200,
    );
  });
});

describe('a page of this site, and whoever is no browser', () => {
  it.each([
    ['Sec-Fetch-Site: same-origin', 'Origin: http://proxied.example'],
    ['Sec-Fetch-Site: none'],
    ['Origin: http://127.0.0.1:PORT'],
    ['X-Other: 1'],
  ])('may do all of it: %s %s', async (...given) => {
    const from = given.map((line) => line.replace('PORT', String(opened.port)));
    expect(await send('PUT', '/v1/overrides/per-user/42', [json, ...from], override)).toBe(204);
    expect(await send('DELETE', '/v1/overrides/per-user/42', from)).toBe(204);
    expect(await send('POST', '/v1/check', [json, ...from], check)).toBe(200);
    expect(await send('GET', '/v1/live', from)).toBe(200);
  });
});

describe('a page whose name was made to mean this machine', () => {
  const rebound = 'Host: attacker.example:8080';

  it('gets nothing of the administration', async () => {
    expect(await send('GET', '/v1/rules', [rebound])).toBe(403);
    expect(await send('GET', '/v1/live', [rebound])).toBe(403);
    expect(await send('PUT', '/v1/overrides/per-user/42', [json, rebound], override)).toBe(403);
    expect(await send('GET', '/v1/rules', ['Host: 127.0.0.1.attacker.example'])).toBe(403);
    // These hold nothing that is not public.
    expect(await send('GET', '/', [rebound])).toBe(200);
    expect(await send('GET', '/healthz', [rebound])).toBe(200);
  });

  it('may not check at the port of the administration, which is for those who try', async () => {
    await reopen({ serves: 'administration' });
    expect(await send('POST', '/v1/check', [json, rebound], check)).toBe(403);
    expect(await send('POST', '/v1/check', [json], check)).toBe(200);
  });

  it('is not taken for the names that this machine has', async () => {
    for (const host of [
      'localhost',
      'LOCALHOST:8080',
      'localhost.',
      'a.localhost',
      '127.0.0.1',
      '[::1]:80',
      'sluice',
    ]) {
      expect([host, await send('GET', '/v1/rules', [`Host: ${host}`])]).toEqual([host, 200]);
    }
  });

  it('has no token, so that names do not matter where one is needed', async () => {
    await reopen({ tokens: ['secret'] });
    expect(await send('GET', '/v1/rules', [rebound])).toBe(401);
    expect(await send('GET', '/v1/rules', [rebound, 'Authorization: Bearer secret'])).toBe(200);
  });
});
