/** What a process takes of the machine, whichever program it runs. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface ProcessUsage {
  readonly rssBytes: number;
  /** Of all its threads, since it started. */
  readonly processorMs: number;
}

/** Linux counts processor time in hundredths of a second, whatever its own clock is. */
const msPerTick = 10;

export async function processUsage(pid: number): Promise<ProcessUsage> {
  return process.platform === 'linux' ? linuxUsage(pid) : usageByPs(pid);
}

async function linuxUsage(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  // The name of the program comes second, in parentheses, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  return {
    rssBytes: 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]),
    processorMs: msPerTick * (userTicks + systemTicks),
  };
}

const run = promisify(execFile);

async function usageByPs(pid: number): Promise<ProcessUsage> {
  const { stdout } = await run('ps', ['-o', 'rss=,time=', '-p', String(pid)]);
  const [rss, time = ''] = stdout.trim().split(/\s+/);
  return { rssBytes: 1024 * Number(rss), processorMs: 1000 * secondsOf(time) };
}

/** `1-02:03:04.50`, of which only minutes and seconds are always there. */
function secondsOf(time: string): number {
  const [days, clock] = time.includes('-') ? time.split('-') : ['0', time];
  return (clock ?? '').split(':').reduce((sum, part) => 60 * sum + Number(part), 0) + 86_400 * Number(days);
}
