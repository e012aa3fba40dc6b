// What is measured: a framework, bare or behind a limiter. The folder `frameworks` has one file for each.
import { once } from 'node:events';
import { createRequire } from 'node:module';

export const requirePeer = createRequire(new URL('../../peers/package.json', import.meta.url));

/** What everybody answers with. */
export const hello = 'hello';
/** A server waits for its turn longer than the usual five seconds. */
export const keepAliveTimeout = 60_000;

/**
 * @typedef {{ limit: number, windowMs: number }} Limit
 * @typedef {'x-ratelimit' | 'draft-6'} Dialect
 * @typedef {{ policy: import('sluice').Policy, headers?: Dialect }} SluiceOptions
 *
 * Where there is no server, the handler itself. Beside the request it is given what knows the client's address.
 * @typedef {(request: Request, info: { remoteAddr: { hostname: string } }) => Response | Promise<Response>} Handler
 *
 * A server that listens on a port of 127.0.0.1, or the handler.
 * @typedef {import('node:http').Server | Handler} Started
 * @typedef {Started | Promise<Started>} Starting
 *
 * @typedef {{ bare(): Starting, sluice(options: SluiceOptions): Starting, usual(limit: Limit): Starting }} Framework
 *
 * `sluice` writes the headers that the usual limiter writes, `sluice untold` those that it writes without being told. `sluice roomier` has a
 * limit so much higher that at each request all is as if the client had never come, and our store may have forgotten it: to the usual limiters
 * that makes no difference.
 * @typedef {'bare' | 'sluice' | 'sluice roomier' | 'sluice untold' | 'usual'} Kind
 * @typedef {{ framework: string, kind: Kind, limit: Limit, dialect: Dialect }} Order
 */

/**
 * A server, when it listens.
 * @template {import('node:http').Server} Server
 * @param {Server} server
 */
export async function listening(server) {
  server.keepAliveTimeout = keepAliveTimeout;
  if (!server.listening) await once(server, 'listening');
  return server;
}
