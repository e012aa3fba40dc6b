import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { type FetchRateLimitOptions, rateLimit } from './index.ts';
import { peerAddressOf } from './peer-address.ts';

const get = (headers: Record<string, string> = {}) => new Request('http://localhost/', { headers });
const fromCloudflare = (headers: Record<string, string>) => Object.assign(get(headers), { cf: { colo: 'AMS' } });
const claimed = { 'cf-connecting-ip': '203.0.113.5' };
const bun = { requestIP: () => ({ address: '203.0.113.1', family: 'IPv4', port: 1 }) };
const deno = { remoteAddr: { transport: 'tcp', hostname: '203.0.113.2', port: 1 } };
const node = { incoming: { socket: { remoteAddress: '203.0.113.3' } } };

const policy = gcra({ limit: 1, window: '1m' });
const answerOf = (options: FetchRateLimitOptions) =>
  rateLimit(options)(async (_request: Request, ..._rest: unknown[]) => new Response());

describe('the address of a request', () => {
  const rows: [what: string, request: Request, details: unknown, address: string | undefined][] = [
    ['what Bun says', get(), bun, '203.0.113.1'],
    ['what Deno says', get(), deno, '203.0.113.2'],
    ['what @hono/node-server says', get(), node, '203.0.113.3'],
    ['what is handed over as `server`', get(), { server: bun }, '203.0.113.1'],
    ['what Cloudflare says', fromCloudflare(claimed), {}, '203.0.113.5'],
    ['what Cloudflare says, whatever the bindings are called', fromCloudflare(claimed), deno, '203.0.113.5'],
    ['none, where only the caller says that it is Cloudflare', get(claimed), undefined, undefined],
    ['none, where Cloudflare does not say', fromCloudflare({}), {}, undefined],
    ['none, where nothing is handed over', get(), undefined, undefined],
    ['none, where Bun does not know the request', get(), { requestIP: () => null }, undefined],
    ['none, on a Unix socket of Deno', get(), { remoteAddr: { transport: 'unix', path: '/x' } }, undefined],
    ['none, on a Unix socket of Node', get(), { incoming: { socket: {} } }, undefined],
    ['none, where it is no text', get(), { remoteAddr: { hostname: 7 } }, undefined],
    ['none, where it is Next that calls', get(), { params: Promise.resolve({}) }, undefined],
    ['none, where null is handed over', get(), null, undefined],
    ['none, where a text is', get(), 'deno', undefined],
  ];
  it.each(rows)('is %s', (_what, request, details, address) => {
    expect(peerAddressOf(request, details)).toBe(address);
  });

  it('is asked of Bun’s server as a method of it', () => {
    class Server {
      #address = '203.0.113.1';
      requestIP() {
        return { address: this.#address };
      }
    }
    expect(peerAddressOf(get(), new Server())).toBe('203.0.113.1');
  });

  it('is what `address` makes of all that is handed over', async () => {
    const answer = rateLimit({
      policy,
      address: (request, first: { ip: string }, second: number) => `${first.ip}${second}${request.method}`,
    })((_request: Request, _first: { ip: string }, _second: number) => new Response());
    expect((await answer(get(), { ip: 'a' }, 1)).status).toBe(200);
    expect((await answer(get(), { ip: 'a' }, 1)).status).toBe(429);
    expect((await answer(get(), { ip: 'a' }, 2)).status).toBe(200);
  });

  it('is each request’s own, also for a key that took its time to find nobody', async () => {
    const answer = answerOf({
      policy,
      key: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return undefined;
      },
    });
    const asked = ['203.0.113.1', '203.0.113.2'].map((hostname) => answer(get(), { remoteAddr: { hostname } }));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await answer(get(), deno)).status).toBe(429);
  });
});

describe('what is handed over beside a request', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');

  it.each<[string, object]>([
    ['by its address', {}],
    ['by a key', { key: async () => undefined }],
    ['by an address that cannot be told', { address: () => fail() }],
  ])('is forgotten with it, where it is limited %s', async (_how, options) => {
    const answer = answerOf({ policy, warn: false, ...options });
    const call = async () => {
      const bindings = { remoteAddr: { hostname: '203.0.113.2' } };
      await answer(get(), bindings).catch(() => {});
      return new WeakRef(bindings);
    };
    const bindings = await call();
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(bindings.deref()).toBeUndefined();
  });
});

function fail(): never {
  throw new Error('no address');
}

describe('a request without an address', () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  const noAddress = /has no address.*address, where the middleware takes one.*#behind-a-proxy/;
  type Row = [what: string, given: object, request: () => Request, details: unknown, warned: RegExp[]];
  const rows: Row[] = [
    ['is warned of where nothing says it', {}, get, undefined, [noAddress]],
    ['is warned of where a trusted proxy does not', { trustProxy: 1 }, get, undefined, [noAddress]],
    [
      'is warned of where a proxy does that is not trusted',
      {},
      () => get(forwarded),
      undefined,
      [/no proxy is trusted/, noAddress],
    ],
    ['is not where a trusted proxy says it', { trustProxy: 1 }, () => get(forwarded), undefined, []],
    ['is not where the server says it', {}, get, deno, []],
    ['is not where `address` says it', { address: () => 'x' }, () => get(forwarded), undefined, []],
    ['is not where Cloudflare says it', {}, () => fromCloudflare({ ...claimed, ...forwarded }), undefined, []],
    ['is not where there is a key', { key: () => 'alice' }, get, undefined, []],
    [
      'is not where what is known of it says it',
      { policy: undefined, rules: [{ name: 'x', policy, key: 'ip' }], subject: () => ({ ip: '203.0.113.9' }) },
      get,
      undefined,
      [],
    ],
    ['is not where no rule goes by it', { policy: undefined, rules: [{ name: 'x', policy }] }, get, undefined, []],
  ];
  it.each(rows)('%s', async (_what, given, request, details, warned) => {
    const heard: string[] = [];
    const { policy: own, ...options } = { policy, warn: (text: string) => heard.push(text), ...given };
    const answer = answerOf({ ...options, ...(own && { policy: own }) } as FetchRateLimitOptions);
    for (let i = 0; i < 3; i += 1) await answer(request(), details);
    expect(heard).toHaveLength(warned.length);
    for (const [i, text] of warned.entries()) expect(heard[i]).toMatch(text);
  });

  it('is limited together with all others that have none', async () => {
    const answer = answerOf({ policy, warn: false });
    expect((await answer(get())).status).toBe(200);
    expect((await answer(get())).status).toBe(429);
    expect((await answer(get(), deno)).status).toBe(200);
  });
});
