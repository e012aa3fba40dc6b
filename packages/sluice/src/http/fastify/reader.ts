import type { FastifyRequest } from 'fastify';
import { clientIpReader } from '../client-ip.ts';
import type { RequestReader } from '../middleware/request-reader.ts';
import { pathOf } from '../node/reader.ts';

/** How Fastify's requests are read. */
export const fastifyReader: RequestReader<FastifyRequest> = {
  peerAddress: ({ raw }) => raw.socket?.remoteAddress,
  header: ({ raw }, name) => raw.headers[name],
  method: ({ method }) => method,
  path: ({ url }) => pathOf(url),
  ownAddress: ({ ip }) => ip,
  ownTrust,
};

type Trust = 'none' | 'some' | 'everyone';

// One application makes all of its requests from one class or from children of it, and trusts the same for all of them.
const trusts = new WeakMap<object, Trust | 'not everyone'>();

/**
 * Fastify does not tell what `trustProxy` was set to; what it makes of a header does. Whether it trusts anybody is judged by the first request
 * that has one and comes from a machine of one's own: who does not believe that one believes no proxy, as newer versions do not where a number of
 * them was set.
 */
function ownTrust(request: FastifyRequest): Trust {
  if (!('ips' in request)) return 'none';
  const kind: object = Object.getPrototypeOf(request);
  const known = trusts.get(kind) ?? remember(kind, believes(kind, stranger) ? 'everyone' : 'not everyone');
  if (known !== 'not everyone') return known;
  const { socket, headers } = request.raw;
  const peer = socket?.remoteAddress ?? '';
  if (headers['x-forwarded-for'] === undefined || !isOwnMachine(peer)) return 'some';
  return remember(kind, believes(kind, peer) ? 'some' : 'none');
}

function remember<T extends Trust | 'not everyone'>(kind: object, trust: T): T {
  trusts.set(kind, trust);
  return trust;
}

// Addresses that nobody has (RFC 5737).
const stranger = '192.0.2.1';
const somebody = '198.51.100.1';

function believes(kind: object, remoteAddress: string): boolean {
  const raw = { socket: { remoteAddress }, headers: { 'x-forwarded-for': somebody } };
  const request: FastifyRequest = Object.create(kind, { raw: { value: raw } });
  return request.ip === somebody;
}

const behindOwnProxy = clientIpReader({ trustProxy: ['loopback', 'private'] });

function isOwnMachine(peerAddress: string): boolean {
  return behindOwnProxy(peerAddress, somebody) === somebody;
}
