/** A service in a process of its own on free loopback ports, with something to ask behind every door. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { programs } from '../programs.ts';
import type { Protocol, Question } from './load-order.ts';

export interface ServiceProcess {
  readonly pid: number;
  readonly host: string;
  readonly ports: Readonly<Record<Protocol, number>>;
  stop(): Promise<void>;
}

export interface ServiceProcessOptions {
  readonly workers: number;
  readonly maxKeys: number;
  /** What the rule about users says. Default: a limit that nobody reaches. */
  readonly policy?: { readonly algorithm: string; readonly limit: number; readonly window: number | string };
  /** The section `store`, beside `maxKeys`. Default: memory. */
  readonly store?: Readonly<Record<string, unknown>>;
}

/** Nobody is ever refused: a refusal costs less than a grant. */
const neverReached = 1_000_000;
export const benchRule = 'per-user';
const domain = 'bench';
const field = 'user';

/** Never reached either: more per key than any of these generators asks. */
export const questions = {
  http: { protocol: 'http', path: '/v1/check', body: `{"subject":{"${field}":"{key}"}}` },
  resp: { protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '1000000', '1000000', '60'] },
  grpc: { protocol: 'grpc', domain, entry: field, value: '{key}' },
  /** One request, and the key is there for a day. */
  lasting: { protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '1', '1', '86400'] },
} as const satisfies Record<string, Question>;

const longestStartMs = 30_000;
const longestEndMs = 10_000;

export async function startServiceProcess(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const child = await startIn(folder, options);
  // Nothing is left behind when this process is told to end in the middle.
  const endAtOnce = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', endAtOnce);
  async function stop(): Promise<void> {
    await end(child);
    process.off('exit', endAtOnce);
    await rm(folder, { recursive: true, force: true });
  }
  try {
    return { pid: child.pid!, host: '127.0.0.1', ports: await portsOf(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startIn(folder: string, options: ServiceProcessOptions): Promise<ChildProcess> {
  const { workers, maxKeys, store = { type: 'memory' } } = options;
  const { algorithm, limit, window } = options.policy ?? { algorithm: 'gcra', limit: neverReached, window: '1m' };
  const config = {
    rules: [{ name: benchRule, key: field, algorithm, limit, window }],
    store: { ...store, maxKeys },
    logs: { level: 'info' },
    workers,
    listen: { host: '127.0.0.1', http: 0, grpc: 0, resp: 0 },
    envoy: { directory: folder },
  };
  const envoy = {
    domain,
    descriptors: [{ key: field, rate_limit: { unit: 'minute', requests_per_unit: neverReached } }],
  };
  // JSON is YAML. The service's own file has another ending, or it would be read as one of Envoy's.
  await writeFile(join(folder, 'sluice.json'), JSON.stringify(config));
  await writeFile(join(folder, 'envoy.yaml'), JSON.stringify(envoy));
  // Without the settings of whoever calls, which would win over the file.
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_')));
  return spawn(process.execPath, [programs.main, 'serve', '--config', join(folder, 'sluice.json')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Waits for the line of the log that says where it listens. */
async function portsOf(child: ChildProcess): Promise<Record<Protocol, number>> {
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), longestStartMs);
  try {
    for await (const line of createInterface({ input: child.stdout! })) {
      const { listening } = JSON.parse(line) as { listening?: Readonly<Record<string, string>> };
      if (listening === undefined) continue;
      const portOf = (door: Protocol) => Number(listening[door]?.split(':').at(-1));
      return { http: portOf('http'), resp: portOf('resp'), grpc: portOf('grpc') };
    }
  } finally {
    clearTimeout(timer);
    // What it says later is read and dropped: a full pipe would stop it.
    child.stdout?.resume();
  }
  throw new Error(`The service did not start within ${longestStartMs / 1000} s. ${errors.trim()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), longestEndMs);
  await closed;
  clearTimeout(timer);
}
