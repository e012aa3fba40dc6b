import { join } from 'node:path';
import { type RunningService, readConfig, startService } from 'sluice-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceLog } from '../packages/server/src/operations/log.ts';
import { root } from './repository.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly allowed: boolean;
    readonly tightest: { readonly rule: string; readonly remaining: number; readonly limit: number };
    readonly decisions: readonly { readonly rule: string; readonly remaining: number; readonly allowed: boolean }[];
  };
}

describe('examples/saas', () => {
  let running: RunningService;
  let url = '';

  beforeAll(async () => {
    const path = join(root, 'examples/saas/sluice.yaml');
    const overrides = { 'listen.http': 0, 'listen.grpc': false, 'listen.resp': false, workers: 1 };
    const readAgain = () => readConfig({ path, overrides });
    const read = readAgain();
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    running = await startService({
      ...read,
      readConfig: readAgain,
      log: serviceLog({ level: 'silent' }),
      onDeath(error) {
        throw error;
      },
    });
    url = `http://127.0.0.1:${running.listening.http?.port}`;
  });

  afterAll(() => running.stop());

  async function check(subject: Record<string, string>, cost = 1): Promise<Answer> {
    const response = await fetch(`${url}/v1/check`, { method: 'POST', body: JSON.stringify({ subject, cost }) });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] };
  }

  it('gives a free user 10 calls a minute, and a user without a plan no more', async () => {
    for (const subject of [
      { user: 'free-1', tier: 'free' },
      { user: 'nobody' },
      { user: 'odd', tier: 'constructor' },
    ]) {
      for (let i = 9; i >= 0; i -= 1) {
        const { status, body } = await check(subject);
        expect([status, body.tightest.rule, body.tightest.remaining]).toEqual([200, 'per-user', i]);
      }
      const { status, headers, body } = await check(subject);
      expect([status, body.tightest.rule]).toEqual([429, 'per-user']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
      expect(headers.get('x-ratelimit-limit')).toBe('10');
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
    }
  });

  it('gives a paid user 1,000', async () => {
    const subject = { user: 'paid-1', tier: 'paid' };
    expect((await check(subject, 999)).body.tightest).toMatchObject({ rule: 'per-user', limit: 1000, remaining: 1 });
    expect((await check(subject)).status).toBe(200);
    expect((await check(subject)).status).toBe(429);
  });

  it('lets a paid user upload 5 times, and charges nobody for the sixth', async () => {
    const subject = { user: 'paid-2', tier: 'paid', path: '/upload' };
    for (let i = 0; i < 5; i += 1) expect((await check(subject)).status).toBe(200);
    const refused = await check(subject);
    expect([refused.status, refused.body.tightest.rule]).toEqual([429, 'uploads']);
    expect(refused.headers.get('ratelimit')).toContain('"uploads";r=0');
    expect(refused.headers.get('ratelimit-policy')).toContain('"uploads";q=5;w=60');
    // Elsewhere the user goes on; the refused upload took nothing.
    const elsewhere = await check({ ...subject, path: '/' });
    expect(elsewhere.body.decisions.find(({ rule }) => rule === 'per-user')).toMatchObject({ remaining: 994 });
  });

  /** The second answer after a first one that took all there is: asked again, of somebody else, where a second lay between them. */
  async function secondOf(
    pair: (attempt: number) => readonly [first: Record<string, string>, second: Record<string, string>],
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const [first, second] = pair(attempt);
      const startMs = performance.now();
      expect((await check(first, 100)).status).toBe(200);
      const answer = await check(second, 100);
      if (performance.now() - startMs < 1000 || attempt === 20) return answer;
    }
  }

  it('bites per address, whoever asks from there', async () => {
    const user = { user: 'paid-3', tier: 'paid' };
    const { status, body } = await secondOf((attempt) => {
      const ip = `198.51.100.${attempt}`;
      return [{ ip }, { ...user, ip }];
    });
    expect([status, body.tightest.rule]).toEqual([429, 'per-ip']);
    expect((await check({ ...user, ip: '198.51.100.200' }, 50)).status).toBe(200);
    // One customer's IPv6 addresses are one key.
    const neighbour = await secondOf((attempt) => [
      { ip: `2001:db8:${attempt}:2::1` },
      { ip: `2001:db8:${attempt}:2:ffff::9` },
    ]);
    expect(neighbour.status).toBe(429);
  });

  it('bites for everybody together', async () => {
    // 500,000 at once from 5,000 addresses: more than there is, even if it takes seconds.
    const batches = Array.from({ length: 5 }, async (_, batch) => {
      const items = Array.from({ length: 1000 }, (_, i) => ({
        subject: { ip: `203.${batch}.${i >> 8}.${i & 255}` },
        cost: 100,
      }));
      const response = await fetch(`${url}/v1/check/batch`, { method: 'POST', body: JSON.stringify({ items }) });
      return ((await response.json()) as { results: Answer['body'][] }).results;
    });
    const results = (await Promise.all(batches)).flat();
    const refused = results.filter(({ allowed }) => !allowed);
    expect(results).toHaveLength(5000);
    expect(refused.length).toBeGreaterThan(0);
    for (const { tightest } of refused) expect(tightest.rule).toBe('global');
    expect(results.length - refused.length).toBeGreaterThanOrEqual(490);
  });
});
