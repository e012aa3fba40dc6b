/** The access log of a running gateway. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { afterAll, expect, it } from 'vitest';
import { ask, gateway, member } from '../gateway.test-support.ts';
import { openAccessLog } from './access-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'access-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

const linesOf = (file: string) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1);

it('has a line for each request, with the rule that refused it and the member that answered', async () => {
  const one = await member((_, response) => response.end('hello'));
  const { url } = await gateway({
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'fixed-window', limit: 1, window: '1h', match: { path: '/a' } }],
    gateway: {
      accessLog: { path: join(folder, 'json.log'), format: 'json' },
      routes: [{ name: 'api', match: { path: '/a' } }],
      upstreams: { app: { members: [one.id] } },
    },
  });
  const headers = { authorization: 'Basic YW5uOnNlY3JldA==', 'user-agent': 'test/1' };
  await ask(`${url}/a?x=1`, { headers });
  await ask(`${url}/a`, { headers });
  await ask(`${url}/b`, { method: 'DELETE' });
  await waitUntil('they are written', () => linesOf('json.log').length === 3);
  const entries = linesOf('json.log').map((line) => JSON.parse(line) as object);
  const common = { client: '127.0.0.1', protocol: 'HTTP/1.1' };
  expect(entries).toMatchObject([
    { ...common, target: '/a?x=1', status: 200, bytes: 5, route: 'api', rule: null, upstream: one.id, attempts: 1 },
    { ...common, target: '/a', status: 429, route: 'api', rule: 'per-ip', upstream: null, attempts: 0 },
    { ...common, method: 'DELETE', target: '/b', status: 404, route: null, userAgent: null },
  ]);
  expect(readFileSync(join(folder, 'json.log'), 'utf8')).not.toMatch(/YW5u|ann|secret/);
});

it('goes on in a new file after the old one was moved away', async () => {
  const one = await member();
  const running = await gateway({
    gateway: { accessLog: { path: join(folder, 'moved.log') }, upstreams: { app: { members: [one.id] } } },
  });
  await ask(`${running.url}/before`);
  await waitUntil('it is written', () => linesOf('moved.log').length === 1);
  renameSync(join(folder, 'moved.log'), join(folder, 'moved.log.1'));
  running.reopenAccessLog();
  await ask(`${running.url}/after`);
  await waitUntil('it is written anew', () => linesOf('moved.log').length === 1);
  expect([linesOf('moved.log.1')[0], linesOf('moved.log')[0]]).toEqual([
    expect.stringContaining('"GET /before HTTP/1.1" 200'),
    expect.stringContaining('"GET /after HTTP/1.1" 200'),
  ]);
});

it('goes on in the old file where the new one cannot be opened, and closes the old one once', async () => {
  const errors: string[] = [];
  const quiet = () => undefined;
  const log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (fields: object, message: string) =>
      errors.push(`${message}: ${(fields as { err: { code: string } }).err.code}`),
  };
  mkdirSync(join(folder, 'logs'));
  const accessLog = openAccessLog({ path: join(folder, 'logs/access.log'), format: 'combined' }, log);
  await waitUntil('it is opened', () => existsSync(join(folder, 'logs/access.log')));
  renameSync(join(folder, 'logs'), join(folder, 'rotated'));
  accessLog.reopen();
  accessLog.reopen();
  mkdirSync(join(folder, 'logs'));
  accessLog.reopen();
  await waitUntil('it is opened anew', () => existsSync(join(folder, 'logs/access.log')));
  await accessLog.close();
  const refused = 'the access log cannot be opened anew, and goes on in the old file: ENOENT';
  expect(errors).toEqual([refused, refused]);
});

it('has everything when the gateway has ended', async () => {
  const one = await member();
  const running = await gateway({
    gateway: { accessLog: { path: join(folder, 'ended.log') }, upstreams: { app: { members: [one.id] } } },
  });
  for (let i = 0; i < 20; i += 1) await ask(`${running.url}/${i}`);
  await running.stop();
  expect(linesOf('ended.log')).toHaveLength(20);
});
