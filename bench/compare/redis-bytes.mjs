// What a key costs in Redis: the server's `used_memory` with so many keys less that without them, expiries and tables included.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingLog,
  slidingSlots,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'sluice';
import { redisStore } from 'sluice/redis';
import { table } from '../table.mjs';
import { redisBars } from './bars.mjs';
import { ioredis } from './contenders/redis.mjs';
import { keyText } from './redis-work.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {import('./redis-race.mjs').RedisServer} RedisServer
 * @typedef {Awaited<ReturnType<typeof ioredis>>} Client
 */

// After one call of a hundred per hour a bucket is as good as new in 36 seconds: loading takes less, and is looked at.
const windowMs = 3_600_000;
const limits = { limit: 100, window: windowMs };
const calls = limits.limit;

const policies = [
  gcra(limits),
  tokenBucket(limits),
  tokenBucket({ ...limits, refill: 'interval' }),
  leakyBucket(limits),
  fixedWindow(limits),
  slidingWindow(limits),
  slidingSlots(limits),
  slidingLog(limits),
  smooth(limits),
  concurrency({ limit: limits.limit, lease: windowMs }),
];

const manyKeys = 100_000;
// A hundred calls each.
const fewKeys = 5000;
const keysPerBatch = 100;

const slots = 'sliding-slots';
const sortedSet = 'a sorted set with an entry per call';

/** @param {RedisServer} server @param {Run} run */
export async function bytes(server, { print, progress }) {
  progress(`redis, bytes per key: ${policies.length} policies, one call each`);
  /** @type {{ name: string, bytesPerKey: number }[]} */
  const once = [];
  for (const policy of policies) {
    const isInterval = 'refill' in policy && policy.refill === 'interval';
    const name = isInterval ? `${policy.algorithm}, refill interval` : policy.algorithm;
    const bytesPerKey = await bytesPerKeyOf(server, manyKeys, (client, keys) => callOnce(client, policy, keys));
    once.push({ name, bytesPerKey });
  }
  progress(`redis, bytes per key: ${calls} calls each`);
  /** @type {typeof once} */
  const full = [];
  for (const policy of [slidingSlots(limits), slidingLog(limits)]) {
    const fill = (/** @type {Client} */ client, /** @type {number} */ keys) => callOften(client, policy, keys);
    full.push({ name: policy.algorithm, bytesPerKey: await bytesPerKeyOf(server, fewKeys, fill) });
  }
  full.push({ name: sortedSet, bytesPerKey: await bytesPerKeyOf(server, fewKeys, fillSortedSets) });

  const of = (/** @type {typeof once} */ rows, /** @type {string} */ name) =>
    rows.find((row) => row.name === name)?.bytesPerKey ?? Number.NaN;
  const whole = (/** @type {number} */ value) => Math.round(value).toLocaleString('en');
  print(
    table(`bytes per key in Redis: ${manyKeys.toLocaleString('en')} keys of 17 characters, one call each`, [
      ['', 'bytes'],
      ...once.map(({ name, bytesPerKey }) => [name, whole(bytesPerKey)]),
    ]),
  );
  print(
    table(`bytes per key in Redis: ${fewKeys.toLocaleString('en')} keys, ${calls} calls each, spread over the window`, [
      ['', 'bytes', 'x the sorted set'],
      ...full.map(({ name, bytesPerKey }) => [
        name,
        whole(bytesPerKey),
        (bytesPerKey / of(full, sortedSet)).toFixed(2),
      ]),
    ]),
  );
  const bars = [
    { name: 'bytes per key, gcra', reached: of(once, 'gcra'), atMost: redisBars.gcraBytesPerKey },
    {
      name: `bytes per key, ${slots} of ${calls} calls, x ${sortedSet}`,
      reached: of(full, slots) / of(full, sortedSet),
      atMost: redisBars.slotsOfSortedSet,
    },
  ];
  return { rows: { once, full }, bars };
}

/**
 * @param {RedisServer} server
 * @param {number} keys
 * @param {(client: Client, keys: number) => Promise<void>} fill
 */
async function bytesPerKeyOf(server, keys, fill) {
  // The server keeps a script for good once it knows it: that is no key's.
  await withClient(server, (client) => fill(client, keysPerBatch));
  await server.call('FLUSHALL');
  const emptyBytes = await usedBytes(server);
  await withClient(server, (client) => fill(client, keys));
  const fullBytes = await usedBytes(server);
  const held = await server.call('DBSIZE');
  if (held !== keys) throw new Error(`Redis holds ${held} keys, not ${keys}: some ended before they were measured`);
  if (!(Number(await server.call('PTTL', String(await server.call('RANDOMKEY')))) > 0)) {
    throw new Error('a key in Redis has no expiry, which takes memory too');
  }
  await server.call('FLUSHALL');
  return (fullBytes - emptyBytes) / keys;
}

/**
 * The buffers of a connection are no key's: none is there when memory is read.
 * @param {RedisServer} server
 * @param {(client: Client) => Promise<void>} use
 */
async function withClient(server, use) {
  const client = await ioredis(server);
  try {
    await use(client);
  } finally {
    client.disconnect();
  }
}

/** Tables that grew are moved in the background, and are there twice meanwhile. @param {RedisServer} server */
async function usedBytes(server) {
  const readings = [];
  for (let i = 0; i < 100; i += 1) {
    const info = String(await server.call('INFO', 'memory'));
    readings.push(Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
    const latest = readings.slice(-5);
    if (latest.length === 5 && Math.max(...latest) - Math.min(...latest) < 4096)
      return /** @type {number} */ (latest[4]);
    await sleep(100);
  }
  throw new Error(`the memory of Redis does not settle: ${readings.slice(-5).join(', ')}`);
}

/**
 * @param {number} keys
 * @returns {Generator<string[]>}
 */
function* batches(keys) {
  for (let from = 0; from < keys; from += keysPerBatch) {
    yield Array.from({ length: keysPerBatch }, (_, i) => keyText(from + i));
  }
}

/**
 * @param {Client} client
 * @param {import('sluice').Policy} policy
 * @param {number} keys
 */
async function callOnce(client, policy, keys) {
  const store = redisStore({ client });
  const operation = policy.algorithm === 'concurrency' ? 'acquire' : 'check';
  for (const batch of batches(keys)) {
    mustPass(await store.apply(batch.map((key) => ({ name: 'api', key, policy, cost: 1, operation }))));
  }
}

/**
 * All but the last call on times of our own, so that an hour is over in seconds. The last one on the server's: only those set
 * an expiry.
 * @param {Client} client
 * @param {import('sluice').Policy} policy
 * @param {number} keys
 */
async function callOften(client, policy, keys) {
  const store = redisStore({ client });
  const times = spreadTimes();
  for (const batch of batches(keys)) {
    const checks = batch.map((key) => ({ name: 'api', key, policy, cost: 1 }));
    for (const atMs of times.slice(0, -1)) mustPass(await store.apply(checks, atMs));
    mustPass(await store.apply(checks));
  }
}

/**
 * What is written most: the time as the score, and a member that no other call has.
 * @param {Client} client
 * @param {number} keys
 */
async function fillSortedSets(client, keys) {
  const times = spreadTimes();
  for (const batch of batches(keys)) {
    const pipeline = client.pipeline();
    for (const key of batch) {
      const entries = times.flatMap((atMs) => [atMs, `${atMs}-${Math.random().toString(36).slice(2, 10)}`]);
      pipeline.zadd(`api:${key}`, ...entries).pexpire(`api:${key}`, windowMs);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}

/** Whole milliseconds, oldest first, the last of them about now; all within one window when the last call is made. */
function spreadTimes() {
  const nowMs = Date.now();
  const stepMs = Math.floor((0.95 * windowMs) / calls);
  return Array.from({ length: calls }, (_, i) => nowMs - (calls - 1 - i) * stepMs);
}

/** @param {readonly import('sluice').Decision[]} decisions */
function mustPass(decisions) {
  const refused = decisions.filter(({ allowed }) => !allowed);
  if (refused.length > 0) throw new Error(`${refused.length} of ${decisions.length} calls were refused`);
}
