/**
 * A process that belongs to this one: signalled by its own id, and dead when this process is, however that ends.
 *
 * Two nets hold that. On 'exit' everything still alive gets SIGKILL, which also ends a stopped process. And where
 * `setpriv` exists (every Debian has it) the kernel sends the same when this process dies without any goodbye.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { findOnPath } from './debian-package.ts';
import { waitUntil } from './wait-until.ts';

export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Where its output goes; errors quote the end of it. */
  readonly logFile: string;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export type EndingSignal = 'SIGKILL' | 'SIGTERM';

export interface OwnedProcess {
  readonly pid: number;
  readonly state: 'running' | 'paused' | 'ended';
  /** Sends the signal and waits for the end. No effect on a process that has ended. */
  end(signal: EndingSignal): Promise<void>;
  /** SIGSTOP; resolves when the kernel has really stopped it. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): void;
  /** The end of its output. */
  log(): string;
}

const alive = new Set<ChildProcess>();

process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export async function startProcess(options: ProcessOptions): Promise<OwnedProcess> {
  const { command, args, folder, logFile, env = {} } = options;
  const tied = findOnPath('setpriv') ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const [program, ...rest] = [...tied, command, ...args];
  const output = openSync(logFile, 'a');
  let isEnded = false;
  let isPaused = false;
  const child = spawn(program!, rest, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  });
  const started = new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      isEnded = true;
      alive.delete(child);
      resolve();
    });
  });
  try {
    await started;
  } finally {
    closeSync(output);
  }
  alive.add(child);
  // A test that forgets to stop its server must not keep the test runner from ending.
  child.unref();
  const pid = child.pid!;
  const resume = () => {
    child.kill('SIGCONT');
    isPaused = false;
  };

  return {
    pid,
    get state() {
      if (isEnded) return 'ended';
      return isPaused ? 'paused' : 'running';
    },
    async end(signal) {
      if (isEnded) return;
      child.ref();
      child.kill(signal);
      // A stopped process takes no SIGTERM until it goes on.
      if (signal !== 'SIGKILL' && isPaused) resume();
      await withinSeconds(20, ended, `process ${pid} (${command}) to end after ${signal}`);
    },
    async pause() {
      if (isEnded) throw new Error(`Process ${pid} has ended and cannot be paused. Start it again first.`);
      child.kill('SIGSTOP');
      isPaused = true;
      // The signal is on its way when kill returns; until it arrives the process can still answer.
      await waitUntil(`process ${pid} stands still`, () => isStopped(pid), { everyMs: 1 });
    },
    resume,
    log: () => lastLines(logFile),
  };
}

function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') return true;
  // "pid (name) state ...": the name may hold anything, so the state is what follows the last bracket.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
}

async function withinSeconds(seconds: number, promise: Promise<void>, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${seconds} s in vain for ${what}.`)), seconds * 1000);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
