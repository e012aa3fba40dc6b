// The work over Redis: which keys, and what they are answered.
import { settingOf } from './workloads.mjs';

/**
 * `concurrency`: so many callers, each of which asks again when it has its answer. `rules`: limits that a request has to pass.
 * @typedef {{ concurrency: number, rules: number, keys: number, refused?: boolean }} RedisWorkload
 */

const digits = 12;

/** As redis-benchmark writes its random numbers, so that it asks for the same keys. @param {number} i */
export function keyText(i) {
  return `user:${String(i).padStart(digits, '0')}`;
}

/** The text with what redis-benchmark puts a random number for where a key's own was. @param {string} text */
export function withRandomKeys(text) {
  return text.replace(/(?<=user:)\d{12}/g, '__rand_int__');
}

/**
 * @param {RedisWorkload} workload
 * @param {{ host: string, port: number }} server
 * @returns {import('./contenders/redis.mjs').RedisSetting}
 */
export function redisSettingOf({ keys, rules, refused = false }, { host, port }) {
  const { limit, perWindow, windowMs } = settingOf({ keys, refused });
  return { host, port, limit, perWindow, windowMs, rules };
}
