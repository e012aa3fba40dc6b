// Ours and the libraries people use today over one Redis server, each by the call that its own middleware makes for a request.
// All of those on ioredis have a client with the same options.
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { gcra, limiter, rules } from 'sluice';
import { denyCache, layered, leased } from 'sluice/layers';
import { redisStore } from 'sluice/redis';

const requirePeer = createRequire(new URL('../../peers/package.json', import.meta.url));

/**
 * `rules`: how many limits one request has to pass. As elsewhere here, at most `limit` at once, of which `perWindow` come back.
 * @typedef {{ host: string, port: number, limit: number, perWindow: number, windowMs: number, rules: number }} RedisSetting
 *
 * Whether the request may go.
 * @typedef {(key: string) => Promise<boolean>} Ask
 *
 * @typedef {(setting: RedisSetting) => Promise<Ask>} RedisContender
 */

/** Where our store refuses to work with a client that might count a call twice; the peers get the same. */
const clientOptions = { autoResendUnfulfilledCommands: false };

/** @param {{ host: string, port: number }} server */
export async function ioredis({ host, port }, options = {}) {
  const client = new Redis({ host, port, lazyConnect: true, ...clientOptions, ...options });
  await client.connect();
  return client;
}

/** @param {{ host: string, port: number }} server */
async function nodeRedis({ host, port }) {
  const client = createClient({ socket: { host, port } });
  // Without a listener its errors would be thrown at nobody; with one the calls still reject, and the round fails.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/**
 * @param {import('sluice').Store<'async'>} store
 * @param {RedisSetting} setting
 * @returns {Ask}
 */
export function askSluice(store, { limit, perWindow, windowMs, rules: count }) {
  const policy = gcra({ limit: perWindow, window: windowMs, burst: limit });
  if (count === 1) {
    const subject = limiter(policy, { store, name: 'rule-0' });
    return (key) => subject.check(key).then(isAllowed);
  }
  const names = Array.from({ length: count }, (_, i) => `rule-${i}`);
  const subject = rules(
    names.map((name, i) => ({ name, policy, key: fields[i] ?? 'user' })),
    { store },
  );
  return (user) => {
    const [everybody, path, ip] = keysOf(user);
    return subject.check({ everybody, path, ip, user }).then(isAllowed);
  };
}

const fields = ['everybody', 'path', 'ip', 'user'];
const paths = 50;

/**
 * The four limits that a service has: for all together, per path, per address and per user.
 * @param {string} user
 */
function keysOf(user) {
  return ['everybody', `/path-${Number(user.slice(-2)) % paths}`, `ip:${user}`, user];
}

const isAllowed = (/** @type {{ allowed: boolean }} */ { allowed }) => allowed;

/**
 * A peer knows no rules that hold together: so many calls, all at once, is the best that can be written with it.
 * @param {RedisSetting} setting
 * @param {(name: string) => Ask | Promise<Ask>} create
 * @returns {Promise<Ask>}
 */
async function oneOrMany({ rules: count }, create) {
  const each = await Promise.all(Array.from({ length: count }, (_, i) => create(`rule-${i}`)));
  const [first] = each;
  if (first && count === 1) return first;
  return async (key) => {
    const keys = keysOf(key);
    const answers = await Promise.all(each.map((ask, i) => ask(keys[i] ?? key)));
    return answers.every(Boolean);
  };
}

/**
 * @param {RedisSetting} setting
 * @param {object} client
 * @param {object} [options]
 */
function rateLimiterFlexible(setting, client, options) {
  const { RateLimiterRedis } = requirePeer('rate-limiter-flexible');
  return oneOrMany(setting, (name) => {
    const subject = new RateLimiterRedis({
      storeClient: client,
      keyPrefix: name,
      points: setting.limit,
      duration: setting.windowMs / 1000,
      ...options,
    });
    // A refusal is a rejected promise, and so is an error; only the one is an answer.
    return (key) => subject.consume(key).then(isTrue, isRefused);
  });
}

const isTrue = () => true;
const isRefused = (/** @type {unknown} */ reason) => {
  if (reason instanceof Error) throw reason;
  return false;
};

/** By the name it is printed under. @type {Record<string, RedisContender>} */
export const redisContenders = {
  'sluice, ioredis': async (setting) => askSluice(redisStore({ client: await ioredis(setting) }), setting),
  'sluice, ioredis, one at a time': async (setting) =>
    askSluice(redisStore({ client: await ioredis(setting), mostTogether: 1 }), setting),
  'sluice, node-redis': async (setting) => askSluice(redisStore({ client: await nodeRedis(setting) }), setting),
  'sluice, ioredis, denyCache': async (setting) =>
    askSluice(layered(redisStore({ client: await ioredis(setting) }), denyCache()), setting),
  'sluice, ioredis, leased': async (setting) => askSluice(await leasedStore(setting, '1s'), setting),
  'rate-limiter-flexible, ioredis': async (setting) => rateLimiterFlexible(setting, await ioredis(setting)),
  'rate-limiter-flexible, ioredis, auto-pipelining': async (setting) =>
    rateLimiterFlexible(setting, await ioredis(setting, { enableAutoPipelining: true })),
  'rate-limiter-flexible, node-redis': async (setting) =>
    rateLimiterFlexible(setting, await nodeRedis(setting), { useRedisPackage: true }),
  'rate-limiter-flexible, ioredis, in-memory block': async (setting) =>
    rateLimiterFlexible(setting, await ioredis(setting), { inMemoryBlockOnConsumed: setting.limit }),
  'rate-limit-redis, ioredis': expressRateLimit,
  '@fastify/rate-limit, ioredis': fastifyRateLimit,
  // What is left when nothing is asked: the callers, their clock and their promises.
  nothing: async () => () => answer,
};

const answer = Promise.resolve(true);

/**
 * @param {{ host: string, port: number }} server
 * @param {import('sluice').Duration} lease
 */
export async function leasedStore(server, lease) {
  // Leases hold a key to a policy of their own: were it the same key, the store alone would change it back at each turn.
  const store = redisStore({ client: await ioredis(server), prefix: 'leased:' });
  return layered(store, leased({ lease }));
}

/** The store of express-rate-limit, which asks it for `increment` and compares. @type {RedisContender} */
async function expressRateLimit(setting) {
  const { RedisStore } = requirePeer('rate-limit-redis');
  const client = await ioredis(setting);
  return oneOrMany(setting, async (name) => {
    const sendCommand = (/** @type {[string, ...string[]]} */ ...args) => client.call(...args);
    const store = new RedisStore({ sendCommand, prefix: `${name}:` });
    await store.init({ windowMs: setting.windowMs });
    return async (key) => (await store.increment(key)).totalHits <= setting.limit;
  });
}

/** Its store is not exported, but can be had by its path; the plugin waits for its callback in a promise, as here. @type {RedisContender} */
async function fastifyRateLimit(setting) {
  const RedisStore = requirePeer('@fastify/rate-limit/store/RedisStore.js');
  const { limit, windowMs } = setting;
  const client = await ioredis(setting);
  return oneOrMany(setting, (name) => {
    const store = new RedisStore(false, false, client, `${name}-`);
    return (key) =>
      new Promise((resolve, reject) => {
        const onResult = (/** @type {Error | null} */ error, /** @type {{ current: number }} */ result) =>
          error ? reject(error) : resolve(result.current <= limit);
        store.incr(key, onResult, windowMs, limit);
      });
  });
}
