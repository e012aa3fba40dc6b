/** The command as users call it: the built program, with measurements of a fraction of a second. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { describe, expect, it } from 'vitest';
import type { MachineFigures } from '../load/machine-figures.ts';
import type { Plan } from '../plan/plan.ts';
import type { BenchFile } from '../plan/plan-figures.ts';
import { programs } from '../programs.ts';
import { version } from '../version.ts';

/** It measures for seconds; a busy machine may take its time all the same. */
const longestMs = 170_000;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const bench = (...args: string[]) => run('bench', ...args);

function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [programs.main, ...args], { timeout: longestMs }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // There is no such process.
  }
}

const tiny = ['--seconds', '0.2', '--keys', '2000'];

describe('sluice bench', { timeout: longestMs + 10_000 }, () => {
  it('writes figures of every protocol as JSON, and its progress elsewhere', async () => {
    const { code, stdout, stderr } = await bench('--quick', ...tiny, '--json');
    expect(stderr).toContain('how many it can do');
    expect(code, stderr).toBe(0);
    const figures = JSON.parse(stdout) as MachineFigures;
    expect(figures).toMatchObject({ kind: 'sluice-bench', format: 1, version });
    expect(Object.keys(figures).sort()).toEqual(
      ['date', 'format', 'kind', 'machine', 'memory', 'plan', 'protocols', 'settings', 'version'].sort(),
    );
    expect(new Date(figures.date).toISOString()).toBe(figures.date);
    expect(figures.machine).toEqual({
      cpuModel: expect.any(String),
      cores: expect.any(Number),
      memoryBytes: expect.any(Number),
      platform: process.platform,
      architecture: process.arch,
      nodeVersion: process.version,
    });
    expect(figures.settings).toEqual({ secondsPerMeasurement: 0.2, threads: 1, loadRatio: 0.7 });
    expect(figures.protocols.map(({ protocol, pipelined }) => [protocol, pipelined])).toEqual([
      ['http', 1],
      ['resp', 1],
      ['resp', 64],
      ['grpc', 1],
      ['grpc', 16],
    ]);
    for (const one of figures.protocols) {
      expect(one).toMatchObject({ errors: 0 });
      expect(one.checksPerSecondPerCore).toBeGreaterThan(0);
      expect(one.processorUsPerCheck).toBeGreaterThanOrEqual(0);
      expect(Object.keys(one.atLoad).sort()).toEqual(
        ['checksPerSecond', 'maxMs', 'p50Ms', 'p999Ms', 'p99Ms', 'sentLateP99Ms'].sort(),
      );
      expect(one.atLoad.p50Ms).toBeLessThanOrEqual(one.atLoad.p99Ms);
    }
    expect(figures.memory).toMatchObject({ keys: 2000 });
    expect(figures.memory.rssBytes).toBeGreaterThan(10_000_000);
  });

  it('prints a table, and writes the figures of the chosen protocols into a file, of which a plan is made', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-test-'));
    try {
      const file = join(folder, 'figures.json');
      const { code, stdout, stderr } = await bench(...tiny, '--protocols', 'http', '--json', file);
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/checks\/s per core +cpu us +at checks\/s +p50 ms +p99 ms +p99.9 ms +errors/);
      expect(stdout).toMatch(/^HTTP \/v1\/check +[\d,]+ /m);
      expect(stdout).toMatch(
        /2,000 keys: \d+ MB resident, too few keys to see what one takes: give --keys 200000 or more/,
      );
      const { protocols, memory, plan: figures } = JSON.parse(readFileSync(file, 'utf8')) as MachineFigures & BenchFile;
      expect(protocols.map(({ protocol }) => protocol)).toEqual(['http']);
      expect(memory).not.toHaveProperty('bytesPerKey');
      // A node asks the owner as sluice/client does: a plan for HTTP needs both.
      expect(figures.clients.map(({ client, errors }) => [client, errors])).toEqual([
        ['smart', 0],
        ['http', 0],
      ]);
      const asked = ['--rps', '5k', '--users', '2k', '--limit', '10/1s', '--latency', '10s', '--figures', file];
      const planned = await run('plan', ...asked, '--client', 'http', '--json');
      expect(planned.code, planned.stderr).toBe(0);
      // The plan measures only what depends on the question.
      expect(planned.stderr).toMatch(/^bytes of a key: sliding-log[^\n]*\n$/);
      const { size, figures: used } = JSON.parse(planned.stdout) as Plan & { figures: BenchFile['plan'] };
      expect(size.nodes).toBeGreaterThan(0);
      expect(used.clients).toEqual(figures.clients);
      const missing = await run('plan', ...asked, '--client', 'grpc');
      expect(missing.stderr).toContain('has no figures of the client "grpc". Add --measure to measure it.');
      expect(missing.code).toBe(2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('takes its service along when it is told to end', async () => {
    const child = spawn(process.execPath, [programs.main, 'bench', '--protocols', 'resp'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await once(child.stderr!, 'data');
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    expect(children).not.toEqual([]);
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(1);
    await waitUntil('the service has ended', () => !children.some(isRunning));
  });

  it.each([
    [['--protocols', 'resp,smtp'], 'got "smtp"'],
    [['--seconds', '0'], 'from 0.1 to 3600'],
    [['--keys', 'many'], 'from 100 to 100000000'],
    [['--fast'], "unknown option '--fast'"],
    [['--json', '/nowhere/figures.json'], '--json must name a file that can be written'],
  ])('ends with 2 when called with %j', async (args, message) => {
    const { code, stderr } = await bench(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
