import type { IncomingMessage } from 'node:http';
import type { RequestReader } from '../middleware/request-reader.ts';

/** How requests of Node's own server are read. */
export const nodeReader: RequestReader<IncomingMessage> = {
  peerAddress: ({ socket }) => socket?.remoteAddress,
  header: ({ headers }, name) => headers[name],
  method: ({ method }) => method ?? 'GET',
  path: ({ url }) => pathOf(url ?? '/'),
};

/** A request's target without its query. */
export function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? url : url.slice(0, at);
}
