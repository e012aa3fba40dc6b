// What layers in front of the store save: refused keys that are remembered, and quotas that are borrowed.
import { table } from '../table.mjs';
import { redisBars } from './bars.mjs';
import { answerOf } from './child.mjs';
import { redisRace, startRedisLane } from './redis-race.mjs';
import { ratio, speedTable } from './redis-speed.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {import('./redis-race.mjs').RedisServer} RedisServer
 * @typedef {import('./redis-work.mjs').RedisWorkload} RedisWorkload
 */

const alone = 'sluice, ioredis';
const oneAtATime = 'sluice, ioredis, one at a time';

/** Keys that are all refused. @param {RedisServer} server @param {Run} run */
export async function denied(server, run) {
  const withLayer = 'sluice, ioredis, denyCache';
  const peers = ['rate-limiter-flexible, ioredis', 'rate-limiter-flexible, ioredis, in-memory block'];
  const workload = { concurrency: 64, rules: 1, keys: 1000, refused: true };
  const names = [alone, oneAtATime, withLayer, ...peers, 'nothing'];
  const results = await race(server, '1,000 keys, all refused, 64 in flight', names, workload, run);
  const reached = ratio(results, 'perSecond', withLayer, alone);
  return {
    rows: results,
    bars: [{ name: `refused keys: ${withLayer}, x ${alone}`, reached, atLeast: redisBars.denyCacheSpeed }],
  };
}

// While others had their turn all leases ended, and slices grow with what is asked for: some leases long.
const leaseRunUpMs = 3000;

/** Few keys that are asked for all the time. @param {RedisServer} server @param {Run} run */
export async function leases(server, run) {
  const withLayer = 'sluice, ioredis, leased';
  const workload = { concurrency: 64, rules: 1, keys: 1000 };
  const names = [alone, oneAtATime, withLayer, 'nothing'];
  const results = await race(server, '1,000 hot keys, 64 in flight', names, workload, run, leaseRunUpMs);
  run.progress('redis, 1,000 hot keys: the auditor');
  await server.call('FLUSHALL');
  const audit = await answerOf('redis-audit.mjs', [JSON.stringify({ host: server.host, port: server.port })]);
  run.print(auditText(audit));
  const bars = [
    {
      name: `hot keys: ${withLayer}, x ${alone}`,
      reached: ratio(results, 'perSecond', withLayer, alone),
      atLeast: redisBars.leasedSpeed,
    },
    {
      name: 'hot keys: promises broken, by the auditor',
      reached: audit.violations ?? Number.NaN,
      atMost: redisBars.violations,
    },
  ];
  return { rows: { results, audit }, bars };
}

/** @param {{ failure?: string, calls: number, unanswered: number, text: string }} audit */
function auditText({ failure, calls, unanswered, text }) {
  const title = '100 hot keys, 2 nodes with leases, asked for more than is allowed: the auditor';
  if (failure) return table(title, [[failure]]);
  const asked = `${calls.toLocaleString('en')} calls, ${unanswered.toLocaleString('en')} not answered in time`;
  return table(title, [[asked], ...text.split('\n').map((line) => [line])]);
}

/**
 * @param {RedisServer} server
 * @param {string} title
 * @param {readonly string[]} names
 * @param {RedisWorkload} workload
 * @param {Run} run
 * @param {number} [runUpMs]
 */
async function race(server, title, names, workload, { rounds, print, progress }, runUpMs) {
  progress(`redis, ${title}: ${rounds} rounds`);
  const lanes = [];
  for (const name of names) lanes.push(await startRedisLane(name, server, workload));
  const results = await redisRace(server, lanes, rounds, runUpMs);
  print(speedTable(`${title}: requests`, results, alone));
  return results;
}
