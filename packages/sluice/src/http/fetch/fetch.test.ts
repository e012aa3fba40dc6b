// What only fetch-style handlers have. What all frameworks have is in conformance.test.ts.
import { afterEach, describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import type { StartedApp } from '../middleware/conformance.test-support.ts';
import { rateLimit } from './index.ts';
import { serve } from './serve.test-support.ts';

const policy = gcra({ limit: 10, window: '1m' });

describe('a limited handler', () => {
  const apps: StartedApp[] = [];
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });

  it('that streams keeps its place until the client has all of it, or leaves', async () => {
    const limit = rateLimit({ policy: concurrency({ limit: 1 }) });
    let finish: () => void = () => {};
    const stream = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('all of it'));
          finish = () => controller.close();
        },
      });
    const app = await serve(limit((request) => new Response(request.url.endsWith('/stream') ? stream() : 'hello')));
    apps.push(app);
    const status = async () => {
      const answered = await fetch(`${app.url}/hello`);
      await answered.text();
      return answered.status;
    };
    const whenFree = async () => {
      let seen = 0;
      for (let tries = 0; tries < 500 && seen !== 200; tries += 1) seen = await status();
      return seen;
    };

    const whole = await fetch(`${app.url}/stream`);
    expect(await status()).toBe(429);
    finish();
    expect(await whole.text()).toBe('all of it');
    expect(await whenFree()).toBe(200);

    const left = new AbortController();
    await fetch(`${app.url}/stream`, { signal: left.signal });
    expect(await status()).toBe(429);
    left.abort();
    expect(await whenFree()).toBe(200);
  });

  it('is given what it is called with, all of it', async () => {
    const seen: unknown[] = [];
    const answer = rateLimit({ policy, key: () => 'alice' })((...given: [Request, ...unknown[]]) => {
      seen.push(given);
      return new Response();
    });
    const request = new Request('http://localhost/');
    const rest = [{ params: 1 }, 'two', 3];
    await answer(request, ...rest);
    expect(seen).toEqual([[request, ...rest]]);
  });

  it('is limited by the path and the method of its request', async () => {
    const urls: [url: string, path: string][] = [
      ['http://localhost', '/'],
      ['http://localhost?x=/y', '/'],
      ['http://localhost/a/b?c=/d', '/a/b'],
      ['http://localhost/a#b', '/a'],
      ['http://localhost:8080/%2F/a', '///a'],
      ['https://[::1]:8080/a/../b', '/b'],
    ];
    for (const [url, path] of urls) {
      const results: RulesResult[] = [];
      const limit = rateLimit({
        rules: [{ name: 'x', policy, match: { method: 'POST', path } }],
        onResult: (_request, result) => results.push(result),
        warn: false,
      });
      await limit(() => new Response())(new Request(url, { method: 'POST' }));
      expect([url, results[0]?.decisions.length]).toEqual([url, 1]);
    }
  });

  it('is not called for what is refused', async () => {
    let calls = 0;
    const limit = rateLimit({ policy: gcra({ limit: 1, window: '1m' }), key: () => 'alice' });
    const answer = limit(() => {
      calls += 1;
      return new Response();
    });
    for (const status of [200, 429, 429]) {
      expect((await answer(new Request('http://localhost/'))).status).toBe(status);
    }
    expect(calls).toBe(1);
  });
});

describe('what is given', () => {
  it.each<[unknown, string]>([
    [{ policy, address: 'ip' }, 'address must be a function, got "ip".'],
    [{ policy, adress: () => 'x' }, 'rateLimit options has no field "adress". It takes policy, '],
    [{ policy, adress: () => 'x' }, ', warn, address.'],
    [undefined, 'what rateLimit options is given must be an object'],
    [null, 'what rateLimit options is given must be an object'],
  ])('as options %j is refused when it is made', (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message);
  });

  it('as a handler must be one', () => {
    expect(() => rateLimit({ policy })(new Response() as never)).toThrow('what limit() is given must be a handler');
  });
});
