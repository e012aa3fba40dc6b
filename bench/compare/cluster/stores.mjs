// The ways to limit across machines, each as a store; what is asked of it is the same for all.
import { memoryStore } from 'sluice';
import { clusterStore } from 'sluice/client';
import { approximate, layered, leased, redisExchange } from 'sluice/layers';
import { redisStore } from 'sluice/redis';
import { ioredis } from '../contenders/redis.mjs';

/** @typedef {{ servers: readonly string[], deadline?: import('sluice').Duration }} Place */

// Strictness is worth as much at either, and trips are saved in proportion to it.
const lease = '1s';
const interval = '100ms';
export const exchangeMs = 100;

const maxKeys = 1_000_000;

/** By the name it is printed under. @satisfies {Record<string, (place: Place) => Promise<import('sluice').Store>>} */
export const stores = {
  central: async (/** @type {Place} */ { servers }) => redisStore({ client: await redisAt(servers) }),
  owned: async (/** @type {Place} */ { servers, deadline = '10ms' }) => clusterStore({ nodes: servers, deadline }),
  approximate: async (/** @type {Place} */ { servers }) => {
    const exchange = redisExchange({ client: await redisAt(servers) });
    return layered(memoryStore({ maxKeys }), approximate({ exchange, interval }));
  },
  // Leases hold a key to a policy of their own: were it the same key, the store alone would change it back at each turn.
  leased: async (/** @type {Place} */ { servers }) =>
    layered(redisStore({ client: await redisAt(servers), prefix: 'leased:' }), leased({ lease })),
};

/** @param {readonly string[]} servers */
function redisAt([server = '']) {
  const [host = '', port] = server.split(':');
  return ioredis({ host, port: Number(port) });
}
