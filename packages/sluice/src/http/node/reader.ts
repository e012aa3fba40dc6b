import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { decodedPath } from '../middleware/decoded-path.ts';
import type { RequestReader } from '../middleware/request-reader.ts';

/** How requests of Node's own servers are read. */
export const nodeReader: RequestReader<IncomingMessage | Http2ServerRequest> = {
  peerAddress: ({ socket }) => socket?.remoteAddress,
  header: ({ headers }, name) => headers[name],
  method: ({ method }) => method ?? 'GET',
  path: ({ url }) => resolvedPathOf(url ?? '/'),
};

/**
 * The path of a request's target as routers of frameworks read it, decoded and without the query. Targets may be written in ways that frameworks
 * route all the same, and what a rule does not recognise it does not limit: `http://any.example/log-in`, `/log-in#`, `/%6Cog-in`.
 */
export function pathOf(target: string): string {
  const path = withoutQuery(target);
  return decodedPath(path.startsWith('/') ? path : path.replaceAll('\\', '/').replace(schemeAndHost, '') || '/');
}

/**
 * The path of a request's target as `new URL(target, base)` reads it, decoded and without the query. Handlers of Node's own servers have no router and
 * mostly ask that; to it `/./log-in`, `/x/../log-in` and `//any.example/log-in` are `/log-in` too.
 */
export function resolvedPathOf(target: string): string {
  const path = withoutQuery(target);
  if (!readByUrlOtherwise.test(path) || path === '*') return decodedPath(path);
  return URL.canParse(path, anyBase) ? decodedPath(new URL(path, anyBase).pathname) : pathOf(target);
}

const schemeAndHost = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i;
const readByUrlOtherwise = /^(?:[^/]|$)|^\/\/|\\|\/(?:\.|%2e)|[\t\n\r]/i;
const anyBase = 'http://localhost';

function withoutQuery(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}
