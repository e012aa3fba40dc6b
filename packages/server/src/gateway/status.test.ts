/** What those who watch a gateway see of its upstreams. */
import { waitUntil } from '@sluice/test-servers';
import { afterEach, expect, test } from 'vitest';
import { watch } from '../http/live.test-support.ts';
import { siteFolder } from '../http/site.test-support.ts';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';
import { ask, gateway, member } from './gateway.test-support.ts';

const toEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end();
});

test('a member that is down has an open circuit and is not used; what is under way is counted', async () => {
  const waiting: (() => void)[] = [];
  const well = await member((_, response) => {
    waiting.push(() => response.end('well'));
  });
  const down = await member();
  await down.stop();
  const running = await gateway({
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 2, window: '1h' }],
    gateway: {
      routes: [
        { name: 'breaking', match: { path: '/breaking' }, upstream: 'breaking', rules: [] },
        { name: 'plain', upstream: 'plain' },
      ],
      upstreams: {
        breaking: {
          members: [down.id],
          outliers: false,
          retries: { attempts: 0 },
          breaker: { failureRatio: 0.5, minimumCalls: 3, open: '1h' },
        },
        plain: { members: [well.id], outliers: false },
      },
    },
  });
  const watcher = await watch(running.adminUrl);
  toEnd.push(() => watcher.leave());
  const before = await watcher.nextSnapshot();
  expect(before).toMatchObject({ kind: 'gateway', isReady: true, store: { type: 'memory' }, cluster: null });
  expect(before.upstreams).toEqual([
    { name: 'breaking', members: [{ id: down.id, circuit: 'closed', isUsable: true, inFlight: 0 }] },
    { name: 'plain', members: [{ id: well.id, circuit: 'none', isUsable: true, inFlight: 0 }] },
  ]);

  for (let i = 0; i < 3; i += 1) expect((await ask(`${running.url}/breaking`)).status).toBe(502);
  const answers = [ask(running.url), ask(running.url)];
  await waitUntil('both are at the member', () => waiting.length === 2);
  expect((await ask(running.url)).status).toBe(429);
  let seen: LiveSnapshot = before;
  while (ruleOf(seen)?.refused !== 1) seen = await watcher.nextSnapshot();
  expect(seen.upstreams).toEqual([
    { name: 'breaking', members: [{ id: down.id, circuit: 'open', isUsable: false, inFlight: 0 }] },
    { name: 'plain', members: [{ id: well.id, circuit: 'none', isUsable: true, inFlight: 2 }] },
  ]);
  expect(ruleOf(seen)).toMatchObject({ isConfigured: true, allowed: 2 });
  expect(seen.topRefused).toMatchObject([{ rule: 'per-ip', key: '127.0.0.1', refusals: 1 }]);
  for (const answer of waiting) answer();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
});

test('a check at the door of the administration takes from the rules of the gateway', async () => {
  const app = await member();
  const config = {
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 2, window: '1h' }],
    gateway: {
      routes: [
        { name: 'free', match: { path: '/free' }, upstream: 'app', rules: [] },
        { name: 'rest', upstream: 'app' },
      ],
      upstreams: { app: { members: [app.id] } },
    },
  };
  const running = await gateway(config);
  const check = async (route: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ subject: { ip: '127.0.0.1', route } });
    const answer = await ask(`${running.adminUrl}/v1/check`, { method: 'POST', headers, body });
    return [answer.status, JSON.parse(answer.body).decisions.length];
  };
  expect(await check('free')).toEqual([200, 0]);
  expect(await check('rest')).toEqual([200, 1]);
  expect((await ask(running.url)).status).toBe(200);
  expect((await ask(running.url)).status).toBe(429);
  expect(await check('rest')).toEqual([429, 1]);
  expect((await ask(`${running.url}/free`)).status).toBe(200);
});

test('who watches is told that rules or overrides have changed', async () => {
  const app = await member();
  const rule = { name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 2, window: '1h' };
  const config = { gateway: { routes: [{ name: 'all', upstream: 'app' }], upstreams: { app: { members: [app.id] } } } };
  const running = await gateway({ ...config, rules: [rule] });
  const revision = async () => JSON.parse((await ask(`${running.adminUrl}/v1/status`)).body).revision;
  expect(await revision()).toEqual({ rules: 0, overrides: 0 });
  expect(await running.configure({ ...config, rules: [{ ...rule, limit: 0 }] })).toMatchObject({ isApplied: false });
  expect(await revision()).toEqual({ rules: 0, overrides: 0 });
  expect(await running.configure({ ...config, rules: [{ ...rule, limit: 3 }] })).toMatchObject({ isApplied: true });
  expect(await revision()).toEqual({ rules: 1, overrides: 0 });
  const headers = { 'content-type': 'application/json' };
  const put = { method: 'PUT', headers, body: '{"limit":9}' };
  expect((await ask(`${running.adminUrl}/v1/overrides/per-ip/192.0.2.1`, put)).status).toBe(204);
  expect(await revision()).toEqual({ rules: 1, overrides: 1 });
});

test('the studio is at the door of the administration, and requests for it at the front are forwarded', async () => {
  const site = siteFolder();
  toEnd.push(() => site.remove());
  const app = await member();
  const running = await gateway(
    { gateway: { routes: [{ name: 'all', upstream: 'app' }], upstreams: { app: { members: [app.id] } } } },
    { studioFolder: site.path },
  );
  const headers = { accept: 'text/html' };
  expect((await ask(running.adminUrl, { headers })).body).toContain('<title>Studio</title>');
  expect((await ask(running.url, { headers })).body).toBe(String(app.port));
});

function ruleOf({ rules }: LiveSnapshot) {
  return rules.find(({ name }) => name === 'per-ip');
}
