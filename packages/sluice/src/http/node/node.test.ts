import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { type NodeRateLimitOptions, rateLimit } from './index.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serving(options: NodeRateLimitOptions): Promise<string> {
  const limit = rateLimit(options);
  server = createServer((request, response) => limit(request, response, () => response.end('hello')));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('rateLimit of node:http', () => {
  it('lets in what fits, and answers 429 with everything a client needs to know to what does not', async () => {
    const url = await serving({ policy: gcra({ limit: 1, window: '1m' }) });
    const first = await fetch(url);
    expect([first.status, await first.text()]).toEqual([200, 'hello']);
    expect(first.headers.get('ratelimit')).toBe('"default";r=0;t=60');
    const second = await fetch(url);
    expect(second.status).toBe(429);
    expect(second.headers.get('retry-after')).toBe('60');
    expect(second.headers.get('content-type')).toBe('application/problem+json');
    expect(await second.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] });
  });
});
