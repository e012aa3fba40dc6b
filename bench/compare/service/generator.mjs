// The service's own generator (packages/server/src/load), in a process of its own, on the generator's core.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generatorCore, onCore } from './cores.mjs';

const execute = promisify(execFile);
const program = fileURLToPath(new URL('../../../packages/server/program/generator.js', import.meta.url));

/**
 * @typedef {import('../../../packages/server/src/load/load-order.ts').LoadOrder} LoadOrder
 * @typedef {import('../../../packages/server/src/load/load-order.ts').LoadReport} LoadReport
 * @typedef {import('../../../packages/server/src/load/load-order.ts').Question} Question
 */

export const questions = /** @satisfies {Record<string, Question>} */ ({
  http: { protocol: 'http', path: '/v1/check', body: '{"subject":{"user":"{key}"}}' },
  resp: { protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '100', '1000', '60'] },
  grpc: { protocol: 'grpc', domain: 'bench', entry: 'user', value: '{key}' },
});

const keys = 100_000;

/**
 * @param {Pick<LoadOrder, 'port' | 'question' | 'connections' | 'loop' | 'durationMs'> & Partial<LoadOrder>} order
 * @returns {Promise<LoadReport>}
 */
export async function generate(order) {
  /** @type {LoadOrder} */
  const whole = { host: '127.0.0.1', keys, keyOrder: 'random', warmUpMs: 0, ...order };
  const args = [program, JSON.stringify(whole)];
  const { stdout } = await execute(...onCore(generatorCore, process.execPath, args), {
    timeout: whole.warmUpMs + whole.durationMs + 60_000,
  });
  return JSON.parse(stdout);
}
