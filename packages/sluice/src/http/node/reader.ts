import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { RequestReader } from '../middleware/request-reader.ts';

/** How requests of Node's own servers are read. */
export const nodeReader: RequestReader<IncomingMessage | Http2ServerRequest> = {
  peerAddress: ({ socket }) => socket?.remoteAddress,
  header: ({ headers }, name) => headers[name],
  method: ({ method }) => method ?? 'GET',
  path: ({ url }) => pathOf(url ?? '/'),
};

/**
 * The path of a request's target, without the query. Targets may be written in ways that frameworks route all the same, and what a rule does
 * not recognise it does not limit: `http://any.example/log-in`, `/log-in#`, and with a `#` even `/api\log-in#`.
 */
export function pathOf(target: string): string {
  const at = target.indexOf('?');
  const path = at === -1 ? target : target.slice(0, at);
  return target.startsWith('/') && !target.includes('#') ? path : plainPath(path);
}

const schemeAndHost = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i;

function plainPath(path: string): string {
  const [withoutFragment = ''] = path.split('#');
  return withoutFragment.replaceAll('\\', '/').replace(schemeAndHost, '') || '/';
}
