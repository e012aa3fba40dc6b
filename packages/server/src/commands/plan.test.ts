/** The command as users call it: the built program, with figures from a file or measurements of a fraction of a second. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEtcd, waitUntil } from '@sluice/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { etcdClient } from '../cluster/etcd/etcd-client.ts';
import { someFigures, someStore } from '../plan/plan.test-support.ts';
import type { Plan } from '../plan/plan.ts';
import type { PlanFigures } from '../plan/plan-figures.ts';
import { programs } from '../programs.ts';

const longestMs = 170_000;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [programs.main, 'plan', ...args],
      { timeout: longestMs, maxBuffer: 1e8 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

const traffic = ['--rps', '5M', '--users', '4M', '--limit', '100/1m'];

let folder: string;
const file = (name: string) => join(folder, name);
const write = (name: string, figures: unknown) => {
  writeFileSync(file(name), JSON.stringify(figures));
  return file(name);
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-plan-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('sluice plan', { timeout: longestMs + 10_000 }, () => {
  it('prints a plan by figures of a file, and measures nothing', async () => {
    const { code, stdout, stderr } = await run(...traffic, '--figures', write('figures.json', someFigures));
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^A plan for 5,000,000 checks\/s of 4,000,000 users\.$/m);
    expect(stdout).toMatch(/^ {2}nodes +\d+ +computed/m);
    expect(stdout).toContain('How it is calculated');
  });

  it('has another plan when a measured figure is another, or an answer is', async () => {
    const nodesBy = async (figures: PlanFigures, ...args: string[]) => {
      const { stdout, stderr } = await run(...traffic, '--json', '--figures', write('changed.json', figures), ...args);
      expect(stderr).toBe('');
      const { size } = JSON.parse(stdout) as Plan;
      return size.clusters * size.nodes;
    };
    const usual = await nodesBy(someFigures);
    const clients = someFigures.clients.map((one) => ({
      ...one,
      atMost: one.atMost.map((speed) => ({ ...speed, processorUs: 2 * speed.processorUs })),
    }));
    expect(await nodesBy({ ...someFigures, clients })).toBeGreaterThan(1.4 * usual);
    expect(await nodesBy(someFigures, '--load', '0.35')).toBeGreaterThan(1.4 * usual);
    expect(await nodesBy(someFigures, '--standby', 'off')).toBeLessThan(usual);
  });

  it('measures by itself, saves what it found, and plans the same by that', async () => {
    const saved = file('saved.json');
    const asked = ['--rps', '50k', '--users', '20k', '--limit', '10/1s', '--client', 'redis', '--latency', '10s'];
    const first = await run(...asked, '--seconds', '0.2', '--save', saved, '--json');
    expect(first.stderr).toContain('how many it can do');
    expect(first.code, first.stderr).toBe(0);
    const figures = JSON.parse(readFileSync(saved, 'utf8')) as PlanFigures;
    expect(figures).toMatchObject({
      kind: 'sluice-plan',
      policy: { algorithm: 'sliding-log', limit: 10, window: 1000 },
    });
    expect(figures.clients.map(({ client, errors }) => [client, errors])).toEqual([['redis', 0]]);
    const [{ atMost, requestBytes, replyBytes }] = figures.clients as [PlanFigures['clients'][number]];
    expect(atMost.map(({ pipelined }) => pipelined)).toEqual([1, 64]);
    for (const { checksPerSecond } of atMost) expect(checksPerSecond).toBeGreaterThan(0);
    // *3 SLUICE.CHECK per-user and a key of 20 bytes.
    expect(requestBytes).toBe(64);
    expect(replyBytes).toBeGreaterThan(20);
    expect(figures.stores[0]).toMatchObject({ keyBytes: 20, checksPerKey: 2.5 });
    expect(figures.stores[0]!.bytesPerKey).toBeGreaterThan(20);
    const second = await run(...asked, '--figures', saved, '--json');
    expect(second.stderr).toBe('');
    const { size } = JSON.parse(second.stdout) as Plan;
    expect(size).toEqual((JSON.parse(first.stdout) as Plan).size);
  });

  it('measures keys anew that are not like those of the file', async () => {
    const figures = write('other.json', { ...someFigures, stores: [{ ...someStore, checksPerKey: 1 }] });
    const { code, stdout, stderr } = await run(
      '--rps',
      '1k',
      '--users',
      '10k',
      '--limit',
      '5/10s',
      '--figures',
      figures,
      '--json',
    );
    expect(stderr).toMatch(/^bytes of a key: sliding-log/);
    expect(code).toBe(0);
    const found = JSON.parse(stdout) as { figures: PlanFigures };
    expect(found.figures.stores.map(({ policy }) => policy.limit)).toEqual([100, 5]);
  });

  it('ends with 1 when there is no plan', async () => {
    const { code, stdout, stderr } = await run(
      ...traffic,
      '--round-trip',
      '20ms',
      '--figures',
      write('figures.json', someFigures),
    );
    expect(stdout).toBe('');
    expect(stderr).toMatch(/more than the 10 ms asked for/);
    expect(code).toBe(1);
  });

  it.each([
    [[], "required option '--rps <count>' not specified"],
    [['--rps', 'many', '--users', '5', '--limit', '1/1s'], 'got "many"'],
    [['--rps', '5', '--users', '5', '--limit', '100'], '--limit must be written such as 100/1m'],
    [[...traffic, '--algorithm', 'guessing'], 'Allowed choices are'],
    [[...traffic, '--client', 'smtp'], 'Allowed choices are smart, redis, http, grpc'],
    [[...traffic, '--load', '1'], 'above 0 and below 1'],
    [[...traffic, '--standby', 'on'], '"off" or a whole number'],
    [[...traffic, '--key-bytes', '3'], 'from 12 to 1024'],
    [[...traffic, '--etcd', 'localhost'], 'addresses such as http://127.0.0.1:2379'],
    [[...traffic, '--figures', '/nowhere/figures.json'], '--figures must name a file that can be read'],
    [[...traffic, '--save', '/nowhere/figures.json'], '--save must name a file that can be written'],
    [['--rps', '5', '--users', '0.5', '--limit', '1/1s'], 'a whole number such as 5000, 40k or 50M, got "0.5"'],
    [[...traffic, '--ttl', '1ms'], 'It must be at least 500ms, got "1ms"'],
    [[...traffic, '--grace', '9s'], '--grace must be at most a quarter of --ttl, which is 10000 ms, got 9000 ms'],
    [[...traffic, '--durable-from', '5s'], 'It must be at least 1m, got "5s"'],
    [[...traffic, '--figures', 'f.json', '--etcd', 'http://127.0.0.1:1'], '--etcd is measured with, and --figures'],
    [[...traffic, '--fast'], "unknown option '--fast'"],
  ])('ends with 2 when called with %j', async (args, message) => {
    const { code, stderr } = await run(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('ends with 2 when the file has no figures, or none of the client', async () => {
    const none = await run(...traffic, '--figures', write('none.json', { kind: 'sluice-bench' }));
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('write it again with "sluice bench --json"')]);
    const figures = write('few.json', { ...someFigures, clients: someFigures.clients.slice(0, 1) });
    const few = await run(...traffic, '--client', 'redis', '--figures', figures);
    expect([few.code, few.stderr]).toEqual([2, expect.stringContaining('has no figures of the client "redis"')]);
  });

  it('ends with 2 when the figures are damaged, and says which', async () => {
    const { idleRssBytes: _, ...damaged } = someFigures;
    const { code, stderr } = await run(...traffic, '--figures', write('damaged.json', damaged));
    expect([code, stderr]).toEqual([2, expect.stringContaining('idleRssBytes must be a number above 0, got nothing')]);
  });

  it('leaves no file behind when there is nothing to save', async () => {
    const { code } = await run(...traffic, '--save', file('never.json'), '--figures', '/nowhere/figures.json');
    expect([code, existsSync(file('never.json'))]).toEqual([2, false]);
  });

  it('looks for etcd before it measures', async () => {
    const { code, stdout, stderr } = await run(
      ...traffic,
      '--etcd',
      'http://127.0.0.1:1',
      '--save',
      file('early.json'),
    );
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^etcd does not answer at http:\/\/127\.0\.0\.1:1: .* Start it, or plan without --etcd\.$/m);
    expect(stderr).not.toContain('how many it can do');
    expect(existsSync(file('early.json'))).toBe(false);
  });

  it('has a help page with every option, its default among it', async () => {
    const { code, stdout } = await run('--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/--ttl <time>[\s\S]*\(default: 10s\)/);
    // An example with another client comes after what measures every client into the file that it reads.
    expect(stdout).toMatch(/sluice bench --json figures\.json.*\n.*--client grpc .*--figures figures\.json/);
    expect(stdout).toContain('Exit codes: 0 a plan, 1 there is none or etcd cannot follow, 2 bad usage.');
  });

  it('leaves nothing in etcd, neither when it is done nor when it is told to end', async () => {
    const etcd = await startEtcd({ members: 1 });
    const quiet = () => {};
    const client = etcdClient({
      endpoints: etcd.endpoints,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    const keysLeft = async () => {
      const read = [{ key: '/sluice/', isPrefix: true }];
      const { found } = await client.transact({ compare: [], change: [], read }, 5000);
      return found.flat().map(({ key }) => key);
    };
    try {
      const asked = ['--rps', '1k', '--users', '100', '--limit', '10/1s', '--latency', '10s', '--seconds', '0.1'];
      const measuring = [...asked, '--etcd', etcd.endpoints.join(',')];
      const ended = await run(...measuring, '--save', file('etcd.json'));
      expect(ended.stderr).toContain('a node of a cluster');
      expect(JSON.parse(readFileSync(file('etcd.json'), 'utf8'))).toHaveProperty('etcd.ownedReadUs');
      expect(await keysLeft()).toEqual([]);

      for (const moment of ['etcd: transactions', 'a node of a cluster']) {
        const longer = ['--seconds', moment === 'etcd: transactions' ? '2' : '0.1'];
        const child = spawn(process.execPath, [programs.main, 'plan', ...measuring, ...longer], {
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        const closed = once(child, 'exit');
        let said = '';
        for await (const text of child.stderr.setEncoding('utf8')) {
          said += text;
          if (!said.includes(moment)) continue;
          await waitUntil('there is something in etcd', async () => (await keysLeft()).length > 0);
          break;
        }
        child.kill('SIGINT');
        expect(await closed).toEqual([1, null]);
        expect(await keysLeft()).toEqual([]);
      }
    } finally {
      client.close();
      await etcd.stop();
    }
  });
});
