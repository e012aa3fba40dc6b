// A contender and its laps: so many requests, and the processor time that they took of it.
import { serverCore } from '../service/cores.mjs';
import { startProcess } from './process.mjs';

/**
 * @typedef {{ name: string, order: import('./contender.mjs').Order, status: number }} Entry
 *
 * `us` is processor time per request.
 * @typedef {{ us: number, perSecond: number }} Lap
 *
 * A warm-up says how many milliseconds it took, and may be answered with anything: a limit has to be used up before it refuses.
 * @typedef {{
 *   name: string, warmUp(requests: number): Promise<number>, lap(requests: number): Promise<Lap>, stop(): Promise<void>,
 * }} Lane
 */

/**
 * @param {Entry} entry
 * @param {Awaited<ReturnType<typeof startProcess>> | undefined} generator of requests over TCP; without one they come from its own process
 * @returns {Promise<Lane>}
 */
export async function startLane({ name, order, status }, generator) {
  const contender = await startProcess(serverCore, 'contender-process.mjs', [JSON.stringify(order)]);
  const { port } = contender.first;
  if (port !== undefined) await mustBeLimited(port, order);

  /** @type {(requests: number, status?: number) => Promise<import('./contender-process.mjs').Lap>} */
  async function send(requests, status) {
    if (generator === undefined) return contender.ask({ requests, status });
    const beforeUs = await contender.ask('usage');
    const { ms, wrong } = await generator.ask({ port, requests, status });
    return { processorUs: (await contender.ask('usage')) - beforeUs, ms, wrong };
  }

  return {
    name,
    async warmUp(requests) {
      return (await send(requests)).ms;
    },
    async lap(requests) {
      const { processorUs, ms, wrong } = await send(requests, status);
      // A fast wrong answer is no result.
      if (wrong > 0) throw new Error(`${order.framework}, ${name}: ${wrong} of ${requests} answers were not ${status}`);
      return { us: processorUs / requests, perSecond: (1000 * requests) / ms };
    },
    stop: contender.stop,
  };
}

/**
 * Whoever limits says so, and in the headers that all of them write.
 * @param {number} port
 * @param {import('./contender.mjs').Order} order
 */
async function mustBeLimited(port, { framework, kind, dialect }) {
  const { headers } = await fetch(`http://127.0.0.1:${port}/`);
  const isLimited = headers.has(dialect === 'draft-6' ? 'ratelimit-remaining' : 'x-ratelimit-remaining');
  if (isLimited === (kind !== 'bare') || kind === 'sluice untold') return;
  throw new Error(`${framework}, ${kind}: the headers are ${[...headers.keys()].join(', ')}`);
}
