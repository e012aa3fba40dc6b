// Over one real Redis server: requests per second, waits and processor time beside every peer; bytes per key; what the layers save.
import { startRedis } from '@sluice/test-servers';
import { runPieces } from './pieces.mjs';
import { bytes } from './redis-bytes.mjs';
import { denied, leases } from './redis-layers.mjs';
import { fourRules, oneRule } from './redis-speed.mjs';

/** @param {import('../run.mjs').Run} run */
export async function redis(run) {
  const server = await startRedis();
  try {
    const pieces = { 'one-rule': oneRule, 'four-rules': fourRules, bytes, denied, leases };
    const named = Object.entries(pieces).map(([name, piece]) => [
      name,
      async (/** @type {import('../run.mjs').Run} */ run) => {
        await server.call('FLUSHALL');
        return piece(server, run);
      },
    ]);
    return await runPieces(Object.fromEntries(named), run);
  } finally {
    await server.stop();
  }
}
