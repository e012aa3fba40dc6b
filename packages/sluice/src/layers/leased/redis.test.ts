/** Borrowers in processes of their own, over a real Redis: stopped, killed and cut off, and judged together. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type FaultProxy, type RedisServer, startFaultProxy, startRedis, waitUntil } from '@sluice/test-servers';
import { build } from 'rolldown';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { limiter } from '../../limit/limiter.ts';
import { freshPrefix } from '../../stores/redis/clients.test-support.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import { type AuditReport, audit } from '../../testing/auditor/auditor.ts';
import type { GrantBetween } from '../../testing/auditor/grant.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { layered } from '../layered.ts';
import { type Clients, clientsOf, scriptCallsDuring } from '../real-redis.test-support.ts';
import type { BorrowerOrders, BorrowerReport } from './child-borrower.test-support.ts';
import { leased } from './leased.ts';
import type { LeasedOptions } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-leased-'));
const program = join(folder, 'borrower.mjs');
let server: RedisServer;
let clients: Clients;
beforeAll(async () => {
  // Processes run plain JavaScript: the borrower is bundled once.
  await build({
    input: fileURLToPath(new URL('./child-borrower.test-support.ts', import.meta.url)),
    platform: 'node',
    output: { file: program, format: 'esm' },
    logLevel: 'silent',
  });
  server = await startRedis();
  clients = await clientsOf(server);
});
afterAll(async () => {
  clients.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe('borrowers in processes of their own', () => {
  const policies: readonly Policy[] = [
    slidingLog({ limit: 60, window: 500 }),
    gcra({ limit: 120, window: 1000, burst: 40 }),
  ];
  const keys = ['hot', 'hotter'];
  const leaseMs = 120;
  const random = seededRandom(inject('propertySeed'));

  const alive = new Set<ChildProcess>();
  const files: string[] = [];
  afterEach(() => {
    for (const child of alive) child.kill('SIGKILL');
    alive.clear();
    files.length = 0;
  });

  function start(prefix: string, own: Partial<BorrowerOrders> = {}): ChildProcess {
    const grantsFile = join(folder, `grants-${files.length}-${prefix.replace(':', '')}`);
    files.push(grantsFile);
    const orders: BorrowerOrders = {
      port: server.port,
      prefix,
      policies,
      keys,
      lease: { lease: leaseMs, minSlice: 8, maxShare: 0.4 },
      grantsFile,
      mostCalls: 25,
      // Mostly for as long as it may be kept, sometimes for longer.
      holdMsMost: 1.2 * leaseMs,
      isEndless: false,
      seed: inject('propertySeed') + files.length,
      ...own,
    };
    const child = fork(program, [JSON.stringify(orders)], { execArgv: [] });
    alive.add(child);
    child.once('exit', () => alive.delete(child));
    return child;
  }

  async function end(child: ChildProcess): Promise<BorrowerReport> {
    const reported = once(child, 'message');
    child.send('over');
    const [report] = await reported;
    return report as BorrowerReport;
  }

  async function stopAndGo(child: ChildProcess, ms: number): Promise<void> {
    child.kill('SIGSTOP');
    await sleep(ms);
    child.kill('SIGCONT');
  }

  /** What all of them were granted so far, by policy. A line that was being written by whoever was killed is no line. */
  function grants(): GrantBetween[][] {
    const all = policies.map((): GrantBetween[] => []);
    for (const file of files) {
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      for (const line of lines) {
        const [place, key = '', sentMs, receivedMs] = line.split(' ');
        all[Number(place)]!.push({ key, sentMs: Number(sentMs), receivedMs: Number(receivedMs) });
      }
    }
    return all;
  }

  function verdicts(): AuditReport[] {
    return grants().map((each, place) => audit(each, policies[place]!));
  }

  async function untilAllWereGranted(): Promise<void> {
    await waitUntil('everybody was granted something', () =>
      files.every((file) => readFileSync(file, 'utf8').includes('\n')),
    );
  }

  it('stopped past their leases, killed, and cut off, never use more than the policies promise', async () => {
    const prefix = freshPrefix();
    const proxy = await startFaultProxy(server);
    const stopped = start(prefix);
    start(prefix, { port: proxy.port });
    const killed = start(prefix);
    await untilAllWereGranted();
    for (let round = 0; round < 8; round += 1) {
      await stopAndGo(stopped, 150 + random() * 250);
      if (round % 2 === 0) proxy.cut();
      else {
        // The server has lent, and nobody hears of it.
        proxy.dropReplies();
        await sleep(30);
        proxy.cut();
        proxy.resume();
      }
      if (round === 3) {
        killed.kill('SIGKILL');
        start(prefix);
      }
      // Longer than a lease: what is lent meanwhile must not be used when the answer is there.
      if (round === 5) {
        await server.pause();
        await sleep(200);
        server.resume();
      }
      await sleep(100);
    }
    const reports = await Promise.all([...alive].map(end));
    await proxy.stop();
    for (const report of verdicts()) {
      expect(report.ok, report.describe()).toBe(true);
      // Some seconds of two hot keys: nobody refused everything to be safe.
      expect(report.grants).toBeGreaterThan(100);
    }
    const sum = (count: (report: BorrowerReport) => number) => reports.reduce((all, report) => all + count(report), 0);
    expect(sum(({ decidedHere }) => decidedHere)).toBeGreaterThan(sum(({ borrows }) => borrows));
    expect(sum(({ returned }) => returned)).toBeGreaterThan(0);
    // The ones that were cut off were told so, and nobody was told anything else.
    for (const { errors } of reports)
      expect(Object.keys(errors).filter((code) => code !== 'store-unavailable')).toEqual([]);
    expect(sum(({ errors }) => errors['store-unavailable'] ?? 0)).toBeGreaterThan(0);
  });

  describe('that borrow all there is, and are stopped until it is there again,', () => {
    const orders: Partial<BorrowerOrders> = {
      lease: { lease: leaseMs, minSlice: 60, maxShare: 1 },
      mostCalls: 100,
      holdMsMost: 800,
    };

    it('do not have it twice', async () => {
      const child = start(freshPrefix(), orders);
      await untilAllWereGranted();
      for (let round = 0; round < 3; round += 1) {
        await stopAndGo(child, 700);
        await sleep(200);
      }
      await end(child);
      for (const report of verdicts()) expect(report.ok, report.describe()).toBe(true);
    });

    it('are found out when nothing ends what they hold', async () => {
      const child = start(freshPrefix(), { ...orders, isEndless: true });
      await untilAllWereGranted();
      await waitUntil('both policies are broken', async () => {
        await stopAndGo(child, 700);
        await sleep(200);
        return verdicts().every(({ ok }) => !ok);
      });
    });
  });
});

describe('over Redis, what is borrowed', () => {
  const hourly = slidingLog({ limit: 20, window: '1h' });
  const lease: LeasedOptions = { lease: '300ms', minSlice: 10, maxShare: 0.5 };

  /** What the server has left, asked past the layer. */
  async function remainingIn(prefix: string, name: string): Promise<number> {
    const policy = slidingLog({ limit: 20, window: 3_600_300 });
    const store = redisStore({ client: clients.ioredis, prefix });
    const [peeked] = await store.apply([{ name, key: 'alice', policy, cost: 0, operation: 'peek' }]);
    return peeked!.remaining;
  }

  it('and not spent goes to another borrower when the lease is over, also to one that was refused before', async () => {
    const prefix = freshPrefix();
    const borrowers = clients.each((_, client) => {
      // Long enough for the other to ask in vain, on a machine that is busy too.
      const layer = leased({ ...lease, lease: '2s' });
      return { layer, limits: limiter(hourly, { store: layered(redisStore({ client, prefix }), layer), name: 'api' }) };
    });
    const [here, there] = borrowers as [(typeof borrowers)[0], (typeof borrowers)[0]];
    expect((await here.limits.check('alice')).allowed).toBe(true);
    // Half of it is over there for now.
    expect((await there.limits.check('alice', 11)).allowed).toBe(false);
    await waitUntil('the rest is given back', () => here.layer.stats().returned === 9);
    // The window is an hour: nothing else could make room.
    await waitUntil('the other has it', async () => (await there.limits.check('alice', 11)).allowed);
    for (let i = 0; i < 8; i += 1) expect((await there.limits.check('alice')).allowed).toBe(true);
    expect((await there.limits.check('alice')).allowed).toBe(false);
    expect((await here.limits.check('alice')).allowed).toBe(false);
  });

  it('costs no trip until it is spent', async () => {
    const limits = limiter(slidingLog({ limit: 10_000, window: '1h' }), {
      name: 'api',
      store: layered(
        redisStore({ client: clients.ioredis, prefix: freshPrefix() }),
        leased({ lease: '1m', minSlice: 500 }),
      ),
    });
    const trips = await scriptCallsDuring(server, async () => {
      for (let i = 0; i < 500; i += 1) expect((await limits.check('alice')).allowed).toBe(true);
    });
    expect(trips).toBe(1);
  });

  it('goes back at once when the borrower is closed, and stays spent when it dies', async () => {
    const prefix = freshPrefix();
    const store = redisStore({ client: clients.ioredis, prefix });
    const closed = leased(lease);
    await limiter(hourly, { store: layered(store, closed), name: 'closed' }).check('alice', 3);
    await closed.close();
    expect(await remainingIn(prefix, 'closed')).toBe(17);
    const died = leased({ ...lease, clock: { now: () => performance.now(), sleep: () => new Promise(() => {}) } });
    await limiter(hourly, { store: layered(store, died), name: 'died' }).check('alice', 3);
    await sleep(500);
    expect(await remainingIn(prefix, 'died')).toBe(10);
  });

  it('does not keep a process from ending when the server is gone', async () => {
    const gone = await startRedis();
    const own = await clientsOf(gone);
    const layers = await Promise.all(
      own.each(async (name, client) => {
        const layer = leased({ ...lease, lease: '1h' });
        await limiter(hourly, { store: layered(redisStore({ client }), layer), name }).check('alice');
        return layer;
      }),
    );
    await gone.kill();
    await Promise.all(layers.map((layer) => layer.close()));
    own.close();
    await gone.stop();
  });

  describe('through a connection that is cut', () => {
    let proxy: FaultProxy;
    let cut: Clients;
    afterEach(async () => {
      cut.close();
      await proxy.stop();
    });

    it('before the answer is spent, everybody in line is told, and the next call goes on', async () => {
      proxy = await startFaultProxy(server);
      cut = await clientsOf(proxy);
      const trials = cut.each((name, client) => async () => {
        const prefix = freshPrefix();
        const layer = leased({ lease: '300ms', minSlice: 5, maxShare: 0.25 });
        const limits = limiter(hourly, { store: layered(redisStore({ client, prefix }), layer), name });
        const used = async () => 20 - (await remainingIn(prefix, name));
        await waitUntil('it is connected', async () => (await limits.check('somebody else')).allowed);
        proxy.dropReplies();
        const asked = Array.from({ length: 4 }, () => limits.check('alice').catch((error) => error.code));
        await waitUntil('the server has lent', async () => (await used()) > 0);
        expect(await used()).toBe(5);
        proxy.cut();
        proxy.resume();
        expect(await Promise.all(asked)).toEqual(Array.from({ length: 4 }, () => 'store-unavailable'));
        const isAllowed = async () => (await limits.check('alice')).allowed;
        await waitUntil('it is connected again', isAllowed);
        await layer.close();
        // What was lent and never heard of is spent, and what was spent since; nothing else is.
        expect(await used()).toBe(6);
      });
      for (const trial of trials) await trial();
    });
  });
});
