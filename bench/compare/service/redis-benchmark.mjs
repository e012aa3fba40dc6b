// redis-benchmark as a generator.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureDebianPackage } from '@sluice/test-servers';
import { figuresOf } from '../redis-floor.mjs';
import { onCore } from './cores.mjs';

const execute = promisify(execFile);
const longestMs = 120_000;
export const connections = 50;
export const keys = 100_000;

/**
 * @typedef {{ pipelined: number, threads?: number, core: string | undefined }} Way
 *
 * Lets it run for about so long; each run corrects its guess of how many commands that is. With the processor time it took itself.
 * @param {{ pid: number, port: number }} server
 * @param {string} name
 * @param {readonly string[]} command
 * @param {Way} way
 * @returns {Promise<import('./race.mjs').Lane & { generatorUs(): number }>}
 */
export async function redisBenchmarkLane({ pid, port }, name, command, { pipelined, threads = 1, core }) {
  const program = await ensureDebianPackage('redis-benchmark', ['redis-tools']);
  let perSecond = 20_000;
  let generatorUs = Number.NaN;
  return {
    name,
    pid,
    generatorUs: () => generatorUs,
    async lap(ms) {
      // It sends whole pipelines only.
      const batch = pipelined * connections;
      const requests = batch * Math.max(1, Math.round((perSecond * ms) / 1000 / batch));
      const numbers = {
        '-p': port,
        '-c': connections,
        '-P': pipelined,
        '-n': requests,
        '-r': keys,
        '--threads': threads,
      };
      const options = Object.entries(numbers).flatMap(([option, value]) =>
        option === '--threads' && value === 1 ? [] : [option, String(value)],
      );
      // The shell says what its children took.
      const script = ['-c', '"$@" || exit; times', 'sh', program, ...options, '--csv', ...command];
      const { stdout } = await execute(...onCore(core, 'sh', script), { timeout: longestMs });
      const at = stdout.search(/^\d+m[\d.]+s \d+m[\d.]+s$/m);
      const figures = figuresOf(stdout.slice(0, at));
      perSecond = figures.perSecond;
      generatorUs = childrenUs(stdout.slice(at)) / requests;
      // An error reply ends it with a message and a code, which is thrown above.
      return { requests, ms: (1000 * requests) / perSecond, p50Ms: figures.p50Ms, p99Ms: figures.p99Ms, errors: 0 };
    },
  };
}

/** Of the second line: user and system time of the children. @param {string} times */
function childrenUs(times) {
  const line = times.trim().split('\n')[1] ?? '';
  return Array.from(
    line.matchAll(/(\d+)m([\d.]+)s/g),
    ([, minutes, seconds]) => 6e7 * Number(minutes) + 1e6 * Number(seconds),
  ).reduce((sum, us) => sum + us, 0);
}
