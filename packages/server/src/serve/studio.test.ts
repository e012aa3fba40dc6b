/** The studio's side of a service as it runs: what those who watch are told of real traffic, through one thread and through several. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SluiceService, startSluice, startSluiceCluster, waitUntil } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { type Watcher, watch } from '../http/live.test-support.ts';
import { page, script, siteFolder } from '../http/site.test-support.ts';
import { studioFolder } from '../http/site.ts';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';

const toEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end();
});

const token = 'a-token';
const authorization = `Bearer ${token}`;
const rules = `rules:\n  - { name: daily, key: user, algorithm: sliding-log, limit: 3, window: 1d }\n`;

async function start(...given: Parameters<typeof startSluice>): Promise<SluiceService> {
  const service = await startSluice(...given);
  toEnd.push(() => service.stop());
  return service;
}

async function watched(url: string): Promise<Watcher> {
  const watcher = await watch(url, { authorization });
  toEnd.push(() => watcher.leave());
  return watcher;
}

async function until(watcher: Watcher, isSeen: (snapshot: LiveSnapshot) => boolean): Promise<LiveSnapshot> {
  for (;;) {
    const snapshot = await watcher.nextSnapshot();
    if (isSeen(snapshot)) return snapshot;
  }
}

const ofRule = ({ rules: list }: LiveSnapshot, name: string) => list.find((rule) => rule.name === name);

async function check(url: string, user: string): Promise<number> {
  const body = JSON.stringify({ subject: { user } });
  const headers = { authorization, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/check`, { method: 'POST', headers, body });
  await response.text();
  return response.status;
}

describe.each([1, 2])('the service with %i threads', (workers) => {
  const config = `${rules}workers: ${workers}\nsecurity: { token: ${token} }\n`;

  it('tells all who watch what all threads and doors have counted, until it ends, and nobody without a token', async () => {
    const service = await start({ config });
    for (const path of ['/v1/live', '/v1/status']) expect((await fetch(service.url + path)).status).toBe(401);
    const watchers = await Promise.all(Array.from({ length: 4 }, () => watched(service.url)));
    for (const watcher of watchers) {
      expect(ofRule(await watcher.nextSnapshot(), 'daily')).toMatchObject({ isConfigured: true, allowed: 0 });
    }
    // A connection each, so that every thread has some.
    const statuses = await Promise.all(Array.from({ length: 8 }, () => check(service.url, 'ann')));
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    const clients = Array.from({ length: 4 }, () => new Redis(service.respPort, { password: token }));
    toEnd.push(() => clients.map((client) => client.disconnect()));
    await Promise.all(clients.map((client) => client.call('CL.THROTTLE', 'bob', 0, 1, 86_400)));
    for (const watcher of watchers) {
      const seen = await until(watcher, (snapshot) => ofRule(snapshot, 'cl.throttle')?.refused === 3);
      expect(seen).toMatchObject({ kind: 'service', isReady: true, cluster: null, store: { type: 'memory', keys: 2 } });
      expect(ofRule(seen, 'daily')).toMatchObject({ allowed: 3, refused: 5, errors: 0 });
      expect(ofRule(seen, 'cl.throttle')).toMatchObject({ isConfigured: false, allowed: 1 });
      expect(seen.topRefused.map(({ rule, key, refusals }) => [rule, key, refusals])).toEqual([
        ['daily', 'ann', 5],
        ['cl.throttle', 'bob', 3],
      ]);
      expect(seen.atMs).toBeGreaterThan(seen.startedAtMs);
    }
    for (const client of clients) client.disconnect();
    await service.end('SIGTERM');
    for (const watcher of watchers) await watcher.ended();
  });

  it('tells who watches that rules or overrides have changed, whichever thread was asked', async () => {
    const service = await start({ config });
    const watcher = await watched(service.url);
    expect((await watcher.nextSnapshot()).revision).toEqual({ rules: 0, overrides: 0 });
    const headers = { authorization, 'content-type': 'application/json', connection: 'close' };
    const ask = async (method: string, path: string, body?: string) =>
      (await fetch(service.url + path, { method, headers, ...(body && { body }) })).status;
    for (let i = 0; i < 4; i += 1) expect(await ask('PUT', `/v1/overrides/daily/${i}`, '{"limit":9}')).toBe(204);
    expect(await ask('DELETE', '/v1/overrides/daily?key=3')).toBe(204);
    await until(watcher, ({ revision }) => revision.rules === 0 && revision.overrides === 5);
    expect(await ask('POST', '/v1/reload')).toBe(200);
    await until(watcher, ({ revision }) => revision.rules === 1 && revision.overrides === 5);
  });

  it('has the studio for browsers, from every thread', async () => {
    const site = siteFolder();
    toEnd.push(() => site.remove());
    const url = await startLibrary(`workers: ${workers}`, site.path);
    const pages = Array.from({ length: 6 }, async () => {
      const headers = { accept: 'text/html', connection: 'close' };
      return (await fetch(url, { headers })).text();
    });
    expect(new Set(await Promise.all(pages))).toEqual(new Set([page]));
    expect(await (await fetch(`${url}/assets/index-3f2a.js`)).text()).toBe(script);
    expect(await (await fetch(url)).text()).toContain('a rate-limit service');
  });
});

it('the studio is not there where the configuration says so', async () => {
  const site = siteFolder();
  toEnd.push(() => site.remove());
  const url = await startLibrary('workers: 1\nstudio: false', site.path);
  const response = await fetch(url, { headers: { accept: 'text/html' } });
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect((await fetch(`${url}/assets/index-3f2a.js`)).status).toBe(404);
});

it('the banner says where the studio is, if it was built; which keeps to its own policy', async () => {
  const service = await start({ config: 'workers: 1', args: ['--banner'] });
  await waitUntil('the banner is printed', () => service.log().includes('Try:'));
  const isBuilt = studioFolder() !== undefined;
  expect(service.log().includes(`\n  studio  ${service.url}/\n`)).toBe(isBuilt);
  const text = await (await fetch(service.url, { headers: { accept: 'text/html' } })).text();
  expect(text.includes('a rate-limit service')).toBe(!isBuilt);
  // Nothing inline, nothing from elsewhere, and all that it names is there.
  expect(text).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|<[^>]*\s(?:on\w+|style)=|="https?:/i);
  for (const [, path = ''] of text.matchAll(/(?:src|href)="\.?\/([^"]+)"/g)) {
    expect((await fetch(`${service.url}/${path}`)).status, path).toBe(200);
  }
});

it('a node of a cluster tells who owns what', async () => {
  const cluster = await startSluiceCluster({ config: rules, nodes: 2 });
  toEnd.push(() => cluster.stop());
  const [node] = cluster.nodes;
  const seen = async (): Promise<LiveSnapshot> => (await fetch(`${node!.url}/v1/status`)).json() as never;
  await waitUntil('both have shards', async () => new Set((await seen()).cluster?.owners).size === 2);
  const { cluster: view, store } = await seen();
  expect(store.type).toBe('owned');
  expect(view?.members.map(({ isSelf }) => isSelf).sort()).toEqual([false, true]);
  expect(view?.members.every(({ address }) => /^127\.\d+\.\d+\.\d+:\d+$/.test(address))).toBe(true);
  expect(view?.owners.length).toBe(view?.standbys.length);
  expect(view?.revision).toBeGreaterThan(0);
});

/** As a program that starts the service itself, with a site of its own. It ends with its standard input. */
async function startLibrary(config: string, folder: string): Promise<string> {
  const built = (path: string) => JSON.stringify(new URL(`../../dist/${path}`, import.meta.url).href);
  const program = `
    import { readConfig, startService } from ${built('index.js')};
    import { serviceLog } from ${built('operations/log.js')};
    const text = ${JSON.stringify(`${config}\nlisten: { http: 0, grpc: false, resp: false }\n`)};
    const { config } = readConfig({ text });
    const { listening } = await startService({
      config, watched: [], readConfig: () => readConfig({ text }), log: serviceLog({ level: 'warn', secrets: [] }),
      studioFolder: ${JSON.stringify(folder)}, onDeath(error) { throw error; },
    });
    process.stdin.on('end', () => process.exit()).resume();
    console.log('port ' + listening.http.port);
  `;
  const file = join(folder, '..', 'program.mjs');
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  toEnd.push(() => {
    child.stdin.end();
    return ended;
  });
  let said = '';
  child.stdout.on('data', (bytes) => {
    said += bytes;
  });
  await waitUntil('it listens', () => /port \d+\n/.test(said));
  return `http://127.0.0.1:${/port (\d+)/.exec(said)?.[1]}`;
}
