/** Instances in processes of their own, over a real Redis, before a real upstream: cut off, failing, and killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RedisServer, startRedis, waitUntil } from '@sluice/test-servers';
import { build } from 'rolldown';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Clients, clientsOf } from '../../layers/real-redis.test-support.ts';
import { freshPrefix } from '../../stores/redis/clients.test-support.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import { circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import type { InstanceOrder, InstanceOrders, InstanceReport } from './instance.test-support.ts';
import { sharedCircuit } from './shared-circuit.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-shared-circuit-'));
const program = join(folder, 'instance.mjs');
let redis: RedisServer;
let clients: Clients;
beforeAll(async () => {
  // Processes run plain JavaScript: the instance is bundled once.
  await build({
    input: fileURLToPath(new URL('./instance.test-support.ts', import.meta.url)),
    platform: 'node',
    output: { file: program, format: 'esm' },
    logLevel: 'silent',
  });
  redis = await startRedis();
  clients = await clientsOf(redis);
});
afterAll(async () => {
  clients.close();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

/** A port that nobody listens on. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('three processes before one upstream', () => {
  let upstream: Server;
  let upstreamPort: number;
  const failsFor = new Set<string>();
  const children = new Map<string, ChildProcess>();
  const reports = new Map<string, InstanceReport>();

  beforeEach(async () => {
    upstream = createServer((request, response) => {
      response.statusCode = failsFor.has(String(request.headers.instance)) ? 503 : 200;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    upstreamPort = (upstream.address() as AddressInfo).port;
  });
  afterEach(async () => {
    for (const child of children.values()) child.kill('SIGKILL');
    children.clear();
    reports.clear();
    failsFor.clear();
    upstream.closeAllConnections();
    upstream.close();
    await once(upstream, 'close');
  });

  function start(prefix: string, instance: string): void {
    const orders: InstanceOrders = { redisPort: redis.port, prefix, instance, upstreamPort };
    const child = fork(program, [JSON.stringify(orders)], { execArgv: [] });
    child.on('message', (report) => reports.set(instance, report as InstanceReport));
    children.set(instance, child);
  }

  function order(instance: string, what: InstanceOrder): void {
    children.get(instance)!.send(what);
  }

  /** Until the latest that an instance said is so. */
  function until(instance: string, claim: string, isSo: (report: InstanceReport) => boolean): Promise<void> {
    return waitUntil(`${instance}: ${claim}`, () => isSo(reports.get(instance)!));
  }

  /** Until an instance has seen as much more as makes it sure that nothing changes any more. */
  async function untilProbedAgain(instance: string): Promise<void> {
    const failedProbes = ({ changes }: InstanceReport) =>
      changes.filter((change) => /probes-failed/.test(change)).length;
    const before = failedProbes(reports.get(instance)!);
    await until(instance, 'its probes have failed twice more', (report) => failedProbes(report) >= before + 2);
  }

  it('one with a bad network opens its own circuit only; two that really fail open the third; what is killed is forgotten', async () => {
    const prefix = freshPrefix();
    for (const instance of ['a', 'b', 'c']) start(prefix, instance);
    for (const instance of ['a', 'b', 'c'])
      await until(instance, 'sees three', ({ view, made }) => view.members === 3 && made > 10);

    // The bad network of one: nobody answers, however often it tries.
    order('a', { upstreamPort: await deadPort() });
    await until('b', 'sees that a reports', ({ view }) => view.reports === 1);
    await untilProbedAgain('a');
    for (const instance of ['b', 'c']) {
      const { made } = reports.get(instance)!;
      await until(instance, 'has made more calls', (report) => report.made > made + 20);
      expect(reports.get(instance)).toMatchObject({ changes: [], failed: 0, view: { members: 3, reports: 1 } });
    }
    expect(reports.get('a')!.changes.slice(0, 3)).toEqual([
      'closed > open: consecutive-failures',
      'open > half-open: time-over',
      'half-open > open: probes-failed',
    ]);

    // The upstream fails for another: the third is spared that.
    failsFor.add('b');
    await until('c', 'was opened', ({ changes }) => changes.length > 0);
    expect(reports.get('c')).toMatchObject({ failed: 0, view: { members: 3, reports: 2, isReporting: false } });
    await until('c', 'saw with its own eyes that it works', ({ changes }) => changes.length >= 3);
    const seen = ['closed > open: by-hand', 'open > half-open: time-over', 'half-open > closed: probes-passed'];
    expect(reports.get('c')!.changes).toEqual(seen);
    await untilProbedAgain('b');
    // The others still report; it goes by what it sees.
    expect(reports.get('c')).toMatchObject({ changes: seen, failed: 0, view: { reports: 2, isQuorum: true } });

    // Killed while it reports: its report ends by itself, and so does its weight.
    const killed = children.get('b')!;
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    await until('c', 'sees that b is gone', ({ view }) => view.members === 2 && view.reports === 1 && !view.isQuorum);

    // The network of the first is back, and one of two leaves as it should.
    order('a', { upstreamPort });
    await until('c', 'sees that nobody reports', ({ view }) => view.reports === 0);
    expect(reports.get('a')!.changes.at(-1)).toBe('half-open > closed: probes-passed');
    order('c', 'leave');
    await until('c', 'has left', ({ hasLeft }) => hasLeft);
    await until('a', 'is alone', ({ view }) => view.members === 1);
    expect(reports.get('c')!.changes).toEqual(seen);
    expect([reports.get('a')!.syncErrors, reports.get('c')!.syncErrors]).toEqual([[], []]);
  });
});

describe('over a real Redis', () => {
  it('counts every instance once, over clients of either family', async () => {
    const prefix = freshPrefix();
    const circuits = clients.each((_, client) => [
      sharedCircuit(circuitBreaker(), { store: redisStore({ client, prefix }), name: 'upstream' }),
      sharedCircuit(circuitBreaker(), { store: redisStore({ client, prefix }), name: 'upstream', instance: 'one' }),
    ]);
    const [first, second, third, sameName] = circuits.flat();
    for (const circuit of [first!, second!, third!, sameName!]) await circuit.sync();
    expect(sameName!.view()).toMatchObject({ members: 3, isMember: false });
    first!.trip();
    await first!.sync();
    await third!.sync();
    expect(third!.view()).toMatchObject({ members: 3, reports: 1, isQuorum: false });
    second!.trip();
    await second!.sync();
    await third!.sync();
    expect(third!.view()).toMatchObject({ members: 3, reports: 2, isQuorum: true, isReporting: false });
    expect(third!.state).toBe('open');
    for (const circuit of [first!, second!, third!]) await circuit.leave();
    await sameName!.sync();
    expect(sameName!.view()).toMatchObject({ members: 1, reports: 0, isMember: true });
    await sameName!.leave();
  });

  it('goes on alone while Redis stands still, and together when it does not', async () => {
    const store = redisStore({ client: clients.ioredis, prefix: freshPrefix() });
    const circuit = sharedCircuit(circuitBreaker({ consecutiveFailures: 1 }), { store, name: 'upstream' });
    await redis.pause();
    try {
      expect(await circuit.run(() => 7)).toBe(7);
      await expect(circuit.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
      await expect(circuit.run(() => 7)).rejects.toMatchObject({ code: 'circuit-open' });
      expect(circuit.view()).toMatchObject({ members: 0, isMember: false });
    } finally {
      redis.resume();
    }
    await waitUntil('it is counted and its report is', () => circuit.view().isReporting);
    expect(circuit.view()).toMatchObject({ members: 1, reports: 1 });
    await circuit.leave();
  });
});
