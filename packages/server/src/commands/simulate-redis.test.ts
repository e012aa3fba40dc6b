/** `sluice simulate --redis`, over real servers: the same page as in memory, nothing left behind, and mistakes in a sentence. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisServer, startRedis, waitUntil } from '@sluice/test-servers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { programs } from '../programs.ts';
import { patienceMs } from '../simulate/redis-place.ts';
import { type SimulateOptions, simulate } from '../simulate/simulate.ts';
import { edge } from './simulate.test-support.ts';

const broken = edge.replace('worstWindow == 20', 'worstWindow == 21');
const unlimited = `name: No limit
about: Nothing refuses anybody.
duration: 2s
service: 10ms
traffic: [{ shape: steady, rate: 10/s }]
servers: 1
balance: round-robin
expect: [completed == 20]
`;
/** Millions of calls: nobody waits for its end. */
const endless = `name: Long
about: Millions of calls.
duration: 1d
traffic: [{ shape: steady, rate: 400/s, clients: { count: 1000 } }]
limit: { algorithm: gcra, limit: 10, window: 1s }
`;

let folder: string;
let server: RedisServer;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-redis-'));
  mkdirSync(at('ready'));
  for (const [name, text] of Object.entries({ edge, broken, unlimited })) writeFileSync(at(`ready/${name}.yaml`), text);
  writeFileSync(at('endless.yaml'), endless);
  server = await startRedis();
  // Somebody's, and not ours to remove.
  await server.call('SET', 'sluice:{alice}per-user', 'kept');
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const others: RedisServer[] = [];
async function another(config: Record<string, string> = {}): Promise<RedisServer> {
  const started = await startRedis({ config });
  others.push(started);
  return started;
}
afterEach(async () => {
  for (const other of others.splice(0)) await other.stop();
});

const urlOf = ({ port }: { port: number }, credentials = '') => `redis://${credentials}127.0.0.1:${port}`;

interface Terminal {
  readonly signal?: AbortSignal;
  readonly heard?: (text: string) => void;
}

async function run(options: SimulateOptions, { signal, heard }: Terminal = {}) {
  let stdout = '';
  let stderr = '';
  const exitCode = await simulate(options, {
    environment: {},
    scenarios: at('ready'),
    signal,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: {
      isTTY: heard !== undefined,
      columns: 60,
      write(text: string) {
        stderr += text;
        heard?.(text);
      },
    },
  });
  return { exitCode, stdout, stderr };
}

const keysIn = (redis: RedisServer) => redis.call<string[]>('KEYS', '*');
const onlyTheirs = ['sluice:{alice}per-user'];

describe('sluice simulate --redis', () => {
  it('says what it says in memory, decided in Redis, and leaves nothing there', async () => {
    await server.call('CONFIG', 'RESETSTAT');
    const redis = urlOf(server);
    for (const more of [{}, { json: true }]) {
      const inRedis = await run({ target: 'edge', redis, ...more });
      expect(inRedis).toEqual({ ...(await run({ target: 'edge', ...more })), exitCode: 0, stderr: '' });
    }
    const scripts = /cmdstat_evalsha:calls=(\d+)/.exec(await server.call<string>('INFO', 'commandstats'))?.[1];
    // Two runs, two variants, twenty calls.
    expect(Number(scripts)).toBeGreaterThanOrEqual(80);
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  it('ends with 1 when a claim does not hold, and writes a picture', async () => {
    const { exitCode } = await run({ target: 'broken', redis: urlOf(server), svg: at('broken.svg') });
    expect(exitCode).toBe(1);
    expect(readFileSync(at('broken.svg'), 'utf8')).toContain('The edge of a window');
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  it('runs all, and tells how many have nothing to put there', async () => {
    const { exitCode, stdout, stderr } = await run({ all: true, redis: urlOf(server) });
    expect([exitCode, stderr]).toEqual([1, '1 of 3 scenarios have no limit: nothing of them lives in Redis.\n']);
    expect(stdout).toBe((await run({ all: true })).stdout);
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  it('runs what has no limit as it is, and says so', async () => {
    const { exitCode, stdout, stderr } = await run({ target: 'unlimited', redis: urlOf(server) });
    expect([exitCode, stderr]).toEqual([0, 'This scenario has no limit: nothing of it lives in Redis.\n']);
    expect(stdout).toBe((await run({ target: 'unlimited' })).stdout);
    // It needs nobody to be there; but what is no address is none.
    const gone = await another();
    await gone.kill();
    expect(await run({ target: 'unlimited', redis: urlOf(gone) })).toEqual({ exitCode, stdout, stderr });
    expect(await run({ target: 'unlimited', redis: 'foo' })).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: '--redis must be an address that begins with redis:// or rediss://.\n',
    });
  });

  it('shows how far it is, and leaves nothing behind when it is interrupted', async () => {
    const interrupt = new AbortController();
    let written = 0;
    const heard = (text: string) => {
      if (!text.includes('%') || interrupt.signal.aborted) return;
      void keysIn(server).then((keys) => {
        written = keys.length;
        interrupt.abort();
      });
    };
    const ended = await run({ target: at('endless.yaml'), redis: urlOf(server) }, { signal: interrupt.signal, heard });
    expect(ended).toMatchObject({ exitCode: 130, stdout: '' });
    // Shown, and gone.
    expect(ended.stderr.split('\r\u001b[2K').slice(-2)).toEqual([
      expect.stringMatching(/^simulating [━─]+ +\d+ %$/),
      '',
    ]);
    expect(written).toBeGreaterThan(100);
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  it('does not wait for a Redis that stands still before it has begun', async () => {
    const still = await another();
    await still.pause();
    const interrupt = new AbortController();
    const ended = run({ target: 'edge', redis: urlOf(still) }, { signal: interrupt.signal });
    const fromMs = performance.now();
    interrupt.abort();
    expect(await ended).toEqual({ exitCode: 130, stdout: '', stderr: '' });
    expect(performance.now() - fromMs).toBeLessThan(patienceMs);
    still.resume();
  });

  it('uses the user, the password and the database of the address', async () => {
    const locked = await another({ requirepass: 'se:cret' });
    expect(await run({ target: 'edge', redis: `${urlOf(locked, ':se%3Acret@')}/3` })).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
    expect(await locked.call<string>('INFO', 'keyspace')).not.toContain('db');
  });
});

describe('sluice simulate --redis, of mistakes', () => {
  const told = async (redis: string) => {
    const { exitCode, stdout, stderr } = await run({ target: 'edge', redis });
    expect([exitCode, stdout]).toEqual([2, '']);
    return stderr;
  };

  it.each([
    ['127.0.0.1:6379', '--redis must be an address that begins with redis:// or rediss://.\n'],
    [
      'redis://:secret@host:port',
      '--redis is not an address. It is written redis://user:password@host:port, special characters percent-encoded.\n',
    ],
    [
      'redis://',
      '--redis is not an address. It is written redis://user:password@host:port, special characters percent-encoded.\n',
    ],
    [
      'redis://:secret@127.0.0.1:6379/abc',
      '--redis must name the database by its number, such as redis://host:port/3.\n',
    ],
    [
      'redis://:secret@127.0.0.1:6379?db=abc',
      '--redis must name the database by its number, such as redis://host:port/3.\n',
    ],
  ])('%s is no address, and is not repeated', async (redis, sentence) => {
    expect(await told(redis)).toBe(sentence);
  });

  it('nobody there', async () => {
    const gone = await another();
    await gone.kill();
    expect(await told(urlOf(gone, 'me:secret@'))).toBe(`Nobody listens at ${urlOf(gone)}.\n`);
    expect(await told('redis://nowhere.invalid')).toBe('The host of redis://nowhere.invalid is not known.\n');
  });

  it('a wrong password, or none', async () => {
    const locked = await another({ requirepass: 'secret' });
    expect(await told(urlOf(locked, ':wrong@'))).toBe(
      `Redis at ${urlOf(locked)} does not accept this user and password.\n`,
    );
    expect(await told(urlOf(locked))).toBe(
      `Redis at ${urlOf(locked)} wants a password: redis://:password@host:port.\n`,
    );
  });

  it('a read-only replica', async () => {
    const replica = await another({ replicaof: `127.0.0.1 ${server.port}` });
    expect(await told(urlOf(replica))).toBe(`Redis at ${urlOf(replica)} is a read-only replica. Name its primary.\n`);
  });

  it('a database that is not there', async () => {
    expect(await told(`${urlOf(server)}/99`)).toBe(
      `Redis at ${urlOf(server)}/99 cannot be used: ERR DB index is out of range.\n`,
    );
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  it('a Redis that ends in the middle: what was written is told', async () => {
    const mortal = await another();
    const ended = run({ target: at('endless.yaml'), redis: urlOf(mortal) });
    await waitUntil('it has begun', async () => (await keysIn(mortal)).length > 100);
    await mortal.kill();
    const { exitCode, stdout, stderr } = await ended;
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^The connection to Redis at \S+ was lost\.\nNobody listens at \S+\. Keys that begin with sluice:simulate:[0-9a-f-]{36}: may be left in Redis at \S+\.\n$/,
    );
  });
});

describe('sluice simulate --redis, the program', () => {
  it('ends with 2 and one line, without a stack', async () => {
    const gone = await another();
    await gone.kill();
    const [code, stderr] = await new Promise<readonly [unknown, string]>((resolve) => {
      const args = [programs.main, 'simulate', at('ready/edge.yaml'), '--redis', urlOf(gone)];
      execFile(process.execPath, args, (error, _stdout, said) => resolve([error?.code, said]));
    });
    expect([code, stderr]).toEqual([2, `Nobody listens at ${urlOf(gone)}.\n`]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('removes its keys on %s', async (signal) => {
    const args = [programs.main, 'simulate', at('endless.yaml'), '--redis', urlOf(server)];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await waitUntil('it has begun', async () => (await keysIn(server)).length > 100);
    child.kill(signal);
    expect(await ended).toEqual([130, null]);
    expect(await keysIn(server)).toEqual(onlyTheirs);
  });

  const left = /Keys that begin with sluice:simulate:[0-9a-f-]{36}: may be left in Redis at \S+\.\n$/;

  /** Interrupted while its Redis stands still: the exit code, and what is said. */
  async function interrupted(redis: RedisServer, ...signals: NodeJS.Signals[]) {
    const args = [programs.main, 'simulate', at('endless.yaml'), '--redis', urlOf(redis)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    const ended = once(child, 'close');
    await waitUntil('it has begun', async () => (await keysIn(redis)).length > 100);
    await redis.pause();
    const fromMs = performance.now();
    for (const signal of signals) child.kill(signal);
    const [code] = await ended;
    expect(performance.now() - fromMs).toBeLessThan(patienceMs);
    redis.resume();
    return [code, stderr] as const;
  }

  it('does not wait long for a Redis that stands still when it is interrupted, and says what is left', async () => {
    const [code, stderr] = await interrupted(await another(), 'SIGINT');
    expect([code, stderr]).toEqual([130, expect.stringMatching(left)]);
    expect(stderr).toMatch(/^Redis at \S+ does not answer\./);
  });

  it('ends at once when it is interrupted again, and says what is left', async () => {
    const [code, stderr] = await interrupted(await another(), 'SIGINT', 'SIGTERM');
    expect([code, stderr]).toEqual([130, expect.stringMatching(left)]);
    expect(stderr).toMatch(/^Keys/);
  });
});
