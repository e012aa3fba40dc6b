// How many requests a second over Redis, and how long each waits, beside every peer and beside redis-benchmark.
import { figure, table } from '../table.mjs';
import { redisBars } from './bars.mjs';
import { shapeOf, startFloor } from './redis-floor.mjs';
import { redisRace, startRedisLane } from './redis-race.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {import('./redis-race.mjs').RedisServer} RedisServer
 * @typedef {import('./redis-race.mjs').Result} Result
 * @typedef {import('./redis-work.mjs').RedisWorkload} RedisWorkload
 */

const keys = 10_000;
const inFlight = /** @type {const} */ ([64, 256]);

const ours = 'sluice, ioredis';
const reference = 'rate-limiter-flexible, ioredis';
const contenders = [
  ours,
  'sluice, ioredis, one at a time',
  'sluice, node-redis',
  reference,
  'rate-limiter-flexible, ioredis, auto-pipelining',
  'rate-limiter-flexible, node-redis',
  'rate-limit-redis, ioredis',
  '@fastify/rate-limit, ioredis',
];
// The first makes the calls that our store makes by itself; the second, those it makes one at a time; the third is how
// redis-benchmark is mostly used.
const floorTogether = 'redis-benchmark, same calls';
const floorPipelined = 'redis-benchmark, one at a time';
const floorConnections = 'redis-benchmark, one at a time, a connection each';

/** @param {RedisServer} server @param {Run} run */
export async function oneRule(server, run) {
  const rows = [];
  const bars = [];
  for (const concurrency of inFlight) {
    const results = await race(server, { concurrency, rules: 1, keys }, run);
    const what = `1 rule, ${concurrency} in flight`;
    rows.push({ concurrency, results });
    bars.push({
      name: `${what}: ${ours}, x ${reference}`,
      reached: ratio(results, 'perSecond', ours, reference),
      atLeast: redisBars.oneRuleSpeed[concurrency],
    });
    if (concurrency === 64) {
      bars.push({
        name: `${what}: p99 of ${ours}, x ${reference}`,
        reached: ratio(results, 'p99Ms', ours, reference),
        atMost: redisBars.oneRuleP99,
      });
    }
    bars.push(...floorBars(what, results));
  }
  return { rows, bars };
}

/** @param {RedisServer} server @param {Run} run */
export async function fourRules(server, run) {
  const rows = [];
  const bars = [];
  for (const concurrency of inFlight) {
    const results = await race(server, { concurrency, rules: 4, keys }, run);
    const what = `4 rules, ${concurrency} in flight`;
    rows.push({ concurrency, results });
    bars.push({
      name: `${what}: ${ours}, x ${reference}`,
      reached: ratio(results, 'perSecond', ours, reference),
      atLeast: redisBars.fourRulesSpeed,
    });
    bars.push(...floorBars(what, results));
  }
  return { rows, bars };
}

/** @param {string} what @param {readonly Result[]} results */
function floorBars(what, results) {
  return [floorTogether, floorConnections].map((floor) => ({
    name: `${what}: ${ours}, x ${floor}`,
    reached: ratio(results, 'perSecond', ours, floor),
    atLeast: redisBars.ofFloor,
  }));
}

/**
 * @param {RedisServer} server
 * @param {RedisWorkload} workload
 * @param {Run} run
 */
async function race(server, workload, { rounds, print, progress }) {
  const { concurrency, rules } = workload;
  const what = `${rules === 1 ? '1 rule' : `${rules} rules`}, ${concurrency} in flight`;
  progress(`redis, ${what}: ${rounds} rounds`);
  await server.call('FLUSHALL');
  const lanes = [];
  for (const name of contenders) lanes.push(await startRedisLane(name, server, workload));
  const same = await shapeOf(server, workload);
  const single = await shapeOf(server, workload, { mostTogether: 1 });
  lanes.push(await startFloor(floorTogether, server, workload, same, 1));
  lanes.push(await startFloor(floorPipelined, server, workload, single, 1));
  lanes.push(await startFloor(floorConnections, server, workload, single, concurrency));
  const results = await redisRace(server, lanes, rounds);
  print(speedTable(`${what}, ${keys.toLocaleString('en')} keys: requests`, results, reference));
  return results;
}

/**
 * @param {string} title
 * @param {readonly Result[]} results
 * @param {string} reference
 */
export function speedTable(title, results, reference) {
  const head = ['', 'per second', 'slowest', 'fastest', 'p50 ms', 'p99 ms', 'server us', 'client us', 'per call'];
  return table(title, [
    [...head, `x ${reference}`],
    ...results.map((result) =>
      result.failure
        ? [result.name, result.failure]
        : [
            result.name,
            figure(result.perSecond),
            figure(result.slowestPerSecond),
            figure(result.fastestPerSecond),
            figure(result.p50Ms),
            figure(result.p99Ms),
            figure(result.serverUs),
            figure(result.clientUs),
            figure(result.requestsPerCall),
            figure(ratio(results, 'perSecond', result.name, reference)),
          ],
    ),
  ]);
}

/**
 * @param {readonly Result[]} results
 * @param {'perSecond' | 'p99Ms'} field
 * @param {string} one
 * @param {string} other
 */
export function ratio(results, field, one, other) {
  const of = (/** @type {string} */ name) => results.find((result) => result.name === name)?.[field] ?? Number.NaN;
  return of(one) / of(other);
}
