// What nobody can be faster than: redis-benchmark, a client in C that looks at no answer, with the very calls that our store
// makes for the same work.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureDebianPackage } from '@sluice/test-servers';
import { redisStore } from 'sluice/redis';
import { askSluice, ioredis } from './contenders/redis.mjs';
import { keyText, redisSettingOf, withRandomKeys } from './redis-work.mjs';

const execute = promisify(execFile);
const longestMs = 60_000;

/**
 * @typedef {import('./redis-race.mjs').RedisServer} RedisServer
 * @typedef {import('./redis-work.mjs').RedisWorkload} RedisWorkload
 *
 * A call and how many requests are in it.
 * @typedef {{ call: string[], together: number }} Shape
 */

/**
 * The calls that our store makes for as many requests of one turn of the event loop as are in flight at the workload.
 * @param {RedisServer} server
 * @param {RedisWorkload} workload
 * @param {{ mostTogether?: number }} [options] of the store
 * @returns {Promise<Shape>}
 */
export async function shapeOf(server, workload, options = {}) {
  const setting = redisSettingOf(workload, server);
  const client = await ioredis(setting);
  /** @type {string[][]} */
  let calls = [];
  // Every command of this client goes through here, whichever of its methods was called.
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    calls.push([command.name.toUpperCase(), ...command.args.map(String)]);
    return send(command, stream);
  };
  const ask = askSluice(redisStore({ client, ...options }), setting);
  const keys = Array.from({ length: workload.concurrency }, (_, i) => keyText(i));
  // The first time the server may not know the script by its hash yet.
  await Promise.all(keys.map(ask));
  calls = [];
  await Promise.all(keys.map(ask));
  client.disconnect();
  const [call = []] = calls;
  if (call[0] !== 'EVALSHA') throw new Error(`our store called ${call[0]}, not EVALSHA`);
  // A key for each rule.
  return { call, together: Number(call[2]) / workload.rules };
}

/**
 * As many requests in flight as at the workload: the calls of this shape, on so many connections.
 * @param {string} name
 * @param {RedisServer} server
 * @param {RedisWorkload} workload
 * @param {Shape} shape
 * @param {number} connections
 * @returns {Promise<import('./redis-race.mjs').Lane>}
 */
export async function startFloor(name, server, workload, { call, together }, connections) {
  const program = await ensureDebianPackage('redis-benchmark', ['redis-tools']);
  const command = call.map(withRandomKeys);
  const pipelined = Math.max(1, Math.round(workload.concurrency / together / connections));
  // A first guess; each lap corrects it for the next.
  let callsPerSecond = 10_000 / together;

  return {
    name,
    async lap(ms) {
      // It sends whole pipelines only.
      const turns = Math.max(1, Math.round((callsPerSecond * ms) / 1000 / pipelined / connections));
      const calls = turns * pipelined * connections;
      const numbers = { h: server.host, p: server.port, c: connections, P: pipelined, n: calls, r: workload.keys };
      const options = Object.entries(numbers).flatMap(([letter, value]) => [`-${letter}`, String(value)]);
      const { stdout } = await execute(program, [...options, '--csv', ...command], { timeout: longestMs });
      const { perSecond, p50Ms, p99Ms } = figuresOf(stdout);
      callsPerSecond = perSecond;
      return { calls: calls * together, ms: (1000 * calls) / perSecond, p50Ms, p99Ms, clientUs: Number.NaN };
    },
    stop() {},
  };
}

/** Its title is the whole command, quotes and all; the figures are what the last line ends with. @param {string} output */
export function figuresOf(output) {
  const line = /((?:,"[\d.]+"){7})\s*$/.exec(output)?.[1];
  const figures = Array.from((line ?? '').matchAll(/[\d.]+/g), ([figure]) => Number(figure));
  const [perSecond, _meanMs, _leastMs, p50Ms, _p95Ms, p99Ms] = figures;
  if (!perSecond || p50Ms === undefined || p99Ms === undefined) {
    throw new Error(`redis-benchmark did not say how fast it was: ${output.slice(-200)}`);
  }
  return { perSecond, p50Ms, p99Ms };
}
