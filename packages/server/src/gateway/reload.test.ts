/** Another configuration while requests are under way: nothing is dropped, and what stays is kept. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { get as getSecurely, Agent as SecureAgent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import { ask, gateway, member, metric } from './gateway.test-support.ts';

describe('a reload', () => {
  it('drops no request, whatever changes under load', async () => {
    const members = [await member(), await member(), await member()];
    const ids = members.map(({ id }) => id);
    const configs = [
      { gateway: { upstreams: { app: { members: ids.slice(0, 2) } } } },
      { gateway: { upstreams: { app: { members: ids.slice(1) } } } },
      { gateway: { upstreams: { app: { members: ids, balancer: 'round-robin' } } } },
      { gateway: { upstreams: { other: { members: ids.slice(0, 1), breaker: true } } } },
      {
        rules: [{ name: 'wide', key: 'ip', algorithm: 'gcra', limit: 1e6, window: '1s' }],
        gateway: { upstreams: { app: { members: ids, connections: 7, slowStart: '1s' } } },
      },
    ];
    const running = await gateway(configs[0]!);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const statuses: unknown[] = [];
    let isOver = false;
    const callers = Array.from({ length: 8 }, async () => {
      while (!isOver) statuses.push(await statusOf(running.url, agent));
    });
    for (let i = 1; i <= 15; i += 1) {
      const before = statuses.length;
      const report = await running.configure(configs[i % configs.length]!);
      expect(report).toMatchObject({ isApplied: true, problems: [] });
      await waitUntil('more are answered', () => statuses.length > before + 20);
    }
    isOver = true;
    await Promise.all(callers);
    agent.destroy();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(members.every(({ seen }) => seen.length > 0)).toBe(true);
  });

  it('lets a request end where it began, and sends the next one elsewhere', async () => {
    const held: (() => void)[] = [];
    const old = await member((_, response) => held.push(() => response.end('old')));
    const fresh = await member((_, response) => response.end('new'));
    const running = await gateway({ gateway: { upstreams: { app: { members: [old.id] } } } });
    const first = ask(running.url);
    await waitUntil('it is there', () => held.length === 1);
    await running.configure({ gateway: { upstreams: { other: { members: [fresh.id] } } } });
    expect((await ask(running.url)).body).toBe('new');
    held[0]!();
    expect((await first).body).toBe('old');
  });

  it('changes nothing where the configuration is wrong, and says what is', async () => {
    const one = await member();
    const running = await gateway({ gateway: { upstreams: { app: { members: [one.id] } } } });
    for (const wrong of [
      { gateway: { upstreams: {} } },
      { gateway: { upstreams: { app: { members: ['nonsense'] } } } },
      { gateway: { accessLog: { path: '/nowhere/at/all' }, upstreams: { app: { members: [one.id] } } } },
    ]) {
      const report = await running.configure(wrong);
      expect(report.isApplied).toBe(false);
      expect(report.problems.length).toBeGreaterThan(0);
      expect((await ask(running.url)).status).toBe(200);
    }
    expect(await metric(running, 'sluice_config_reloads_total{result="failure"}')).toBe(3);
  });

  it('keeps what was used, the overrides, the counts, and the state of members that stay', async () => {
    const one = await member((_, response) => response.writeHead(503).end());
    const rules = [{ name: 'per-ip', key: 'ip', algorithm: 'fixed-window', limit: 3, window: '1h' }];
    const upstream = { members: [one.id], outliers: false, retries: { attempts: 0 } };
    const breaker = { minimumCalls: 2, open: '1h' };
    const running = await gateway({ rules, gateway: { upstreams: { app: { ...upstream, breaker } } } });
    const two = await member();
    expect([(await ask(running.url)).status, (await ask(running.url)).status]).toEqual([503, 503]);
    const state = `sluice_upstream_breaker_state{upstream="app",member="${one.id}"}`;
    expect(await metric(running, state)).toBe(2);
    await running.service.override('per-ip', '127.0.0.1', { limit: 4 });
    await running.configure({
      rules,
      gateway: {
        upstreams: { app: { ...upstream, members: [two.id, one.id], breaker: { ...breaker, minimumCalls: 5 } } },
      },
    });
    expect(await metric(running, state)).toBe(2);
    expect(
      await metric(running, `sluice_upstream_requests_total{upstream="app",member="${one.id}",status="5xx"}`),
    ).toBe(2);
    expect([(await ask(running.url)).body, (await ask(running.url)).body]).toEqual([
      String(two.port),
      String(two.port),
    ]);
    expect((await ask(running.url)).status).toBe(429);
    expect(await metric(running, 'sluice_gateway_requests_total{route="default",status="4xx"}')).toBe(1);
    await running.configure({
      gateway: { upstreams: { app: { ...upstream, balancer: 'random', members: [one.id, two.id], breaker } } },
    });
    expect(await metric(running, state)).toBe(2);
    expect(await metric(running, `sluice_upstream_member_share{upstream="app",member="${one.id}"}`)).toBe(0);
    await running.configure({ gateway: { upstreams: { app: { ...upstream, breaker: false } } } });
    expect(await metric(running, `sluice_upstream_member_share{upstream="app",member="${one.id}"}`)).toBe(1);
  });

  it('keeps a member out that does not pass its checks, whatever changes beside them', async () => {
    const dead = await member((request, response) => response.writeHead(request.url === '/healthz' ? 500 : 200).end());
    const well = await member();
    const health = { path: '/healthz', interval: '20ms', unhealthyAfter: 2 };
    const config = (upstream: object) => ({
      gateway: { upstreams: { app: { members: [dead.id, well.id], balancer: 'round-robin', health, ...upstream } } },
    });
    const running = await gateway(config({ slowStart: '1s' }));
    const share = `sluice_upstream_member_share{upstream="app",member="${dead.id}"}`;
    await waitUntil('it is out', async () => (await metric(running, share)) === 0);
    for (const change of [{ slowStart: '2s' }, { health: { ...health, interval: '1h' } }, { balancer: 'random' }]) {
      await running.configure(config(change));
      expect(await metric(running, share)).toBe(0);
    }
    expect(await metric(running, `sluice_upstream_ejections_total{upstream="app",member="${dead.id}"}`)).toBe(1);
  });

  it('says in the log what it has changed', async () => {
    const one = await member();
    const config = (weight: number) => ({
      gateway: { upstreams: { app: { members: [{ address: one.id, weight }] } } },
    });
    const running = await gateway(config(1));
    await running.configure(config(1));
    await running.configure(config(2));
    expect(running.said).toEqual([
      'the configuration was read again {"added":[],"changed":[],"removed":[],"settings":["gateway.upstreams.app"]}',
    ]);
  });

  it('keeps the connections to members that stay', async () => {
    const sockets = new Set<unknown>();
    const one = await member((request, response) => {
      sockets.add(request.socket);
      response.end();
    });
    const config = (weight: number) => ({
      gateway: { upstreams: { app: { members: [{ address: one.id, weight }] } } },
    });
    const running = await gateway(config(1));
    await ask(running.url);
    await running.configure(config(2));
    await ask(running.url);
    expect(sockets.size).toBe(1);
  });

  it('asks clients for a certificate of the same authority, until a restart brings another', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
    const { ca, server, client } = await makeCertificates();
    const file = (name: string, content: Buffer) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const [certificate, key, clientAuthority] = [
      file('server.pem', server.cert),
      file('server.key', server.key),
      file('ca.pem', ca),
    ];
    const one = await member();
    const config = (tls: object) => ({
      gateway: { tls: { certificate, key, ...tls }, upstreams: { app: { members: [one.id] } } },
    });
    const running = await gateway(config({ clientAuthority }));
    const url = `https://localhost:${running.port}/`;
    const reloaded = await running.configure(config({}));
    expect(reloaded).toMatchObject({ isApplied: true, needsRestart: ['gateway.tls.clientAuthority'] });
    expect(await statusOf(url, new SecureAgent({ ca, ...client }))).toBe(200);
    expect(await statusOf(url, new SecureAgent({ ca }))).toBeInstanceOf(Error);
    await running.stop();
    rmSync(folder, { recursive: true });
  });

  it('is asked for at the administration, which also says whether it is ready', async () => {
    const one = await member();
    const running = await gateway({ gateway: { upstreams: { app: { members: [one.id] } } } });
    expect((await ask(`${running.adminUrl}/readyz`)).status).toBe(200);
    expect((await ask(`${running.adminUrl}/healthz`)).status).toBe(200);
    const reloaded = await ask(`${running.adminUrl}/v1/reload`, { method: 'POST' });
    expect([reloaded.status, JSON.parse(reloaded.body)]).toEqual([200, expect.objectContaining({ isApplied: true })]);
    // What the administration answers is not for clients.
    expect((await ask(`${running.url}/metrics`)).body).toBe(String(one.port));
  });
});

it('brings back what was used in the last run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-state-'));
  const one = await member();
  const config = {
    rules: [{ name: 'per-ip', key: 'ip', algorithm: 'sliding-log', limit: 2, window: '1h' }],
    snapshot: { path: join(folder, 'state') },
    gateway: { upstreams: { app: { members: [one.id] } } },
  };
  const before = await gateway(config);
  expect((await ask(before.url)).status).toBe(200);
  await before.stop();
  const after = await gateway(config);
  expect([(await ask(after.url)).status, (await ask(after.url)).status]).toEqual([200, 429]);
  await after.stop();
  rmSync(folder, { recursive: true });
});

function statusOf(url: string, agent: Agent): Promise<unknown> {
  return new Promise((resolve) => {
    const send = agent instanceof SecureAgent ? getSecurely : get;
    send(url, { agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
      response.on('error', resolve);
    }).on('error', resolve);
  });
}
