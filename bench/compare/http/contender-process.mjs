// One contender in a process of its own. It does what its parent says: tells the processor time that it took so far, or answers so many
// requests by itself.
import { gcra } from 'sluice';
import { clients } from './clients.mjs';
import { memoryClients } from './memory-connection.mjs';

/**
 * @typedef {'usage' | { requests: number, status?: number }} Word without a status, any will do
 * @typedef {{ processorUs: number, ms: number, wrong: number }} Lap
 */

/** @type {import('./contender.mjs').Order} */
const order = JSON.parse(process.argv[2] ?? '');
const started = await start(order);
/** @type {ReturnType<typeof memoryClients> | undefined} */
let send;

process.on('message', async (/** @type {Word} */ word) => {
  process.send?.(word === 'usage' ? processorUs() : await lap(word.requests, word.status));
});
process.on('disconnect', () => process.exit());
const address = typeof started === 'function' ? null : started.address();
process.send?.({ port: typeof address === 'object' ? address?.port : undefined });

/** @param {import('./contender.mjs').Order} order @returns {Promise<import('./contender.mjs').Started>} */
async function start({ framework: name, kind, limit, dialect }) {
  const { framework } = await import(`./frameworks/${name}.mjs`);
  if (kind === 'bare') return framework.bare();
  if (kind === 'usual') return framework.usual(limit);
  const policy = gcra({ limit: limit.limit * (kind === 'sluice roomier' ? 100 : 1), window: limit.windowMs });
  return framework.sluice(kind === 'sluice untold' ? { policy } : { policy, headers: dialect });
}

function processorUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/**
 * @param {number} requests
 * @param {number | undefined} status
 * @returns {Promise<Lap>}
 */
async function lap(requests, status) {
  send ??= typeof started === 'function' ? callsOf(started) : memoryClients(started);
  const beforeUs = processorUs();
  const startMs = performance.now();
  const wrong = await send(requests, status);
  return { processorUs: processorUs() - beforeUs, ms: performance.now() - startMs, wrong };
}

/**
 * The like of `memoryClients`, for a handler: one call after another.
 * @param {import('./contender.mjs').Handler} handle
 * @returns {(requests: number, status: number | undefined) => Promise<number>}
 */
function callsOf(handle) {
  return async (requests, status) => {
    let wrong = 0;
    for (let i = 0; i < requests; i += 1) {
      const hostname = clients[i % clients.length] ?? '';
      const response = await handle(new Request('http://127.0.0.1/'), { remoteAddr: { hostname } });
      if (status !== undefined && response.status !== status) wrong += 1;
    }
    return wrong;
  };
}
