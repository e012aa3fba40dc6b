import type { Context } from 'koa';
import type { RequestReader } from '../middleware/request-reader.ts';
import { nodeReader, pathOf } from '../node/reader.ts';

/** How Koa's contexts are read. */
export const koaReader: RequestReader<Context> = {
  peerAddress: ({ req }) => nodeReader.peerAddress(req),
  header: ({ req }, name) => req.headers[name],
  method: ({ req }) => nodeReader.method(req),
  // In a mounted application `path` is what is left of it; a rule means the whole path, wherever the limiter is mounted.
  path: ({ originalUrl }) => pathOf(originalUrl),
  ownAddress: ({ ip }) => ip,
  ownTrust,
};

/** With `proxy` alone Koa takes the first address of the header, which is whatever the caller wrote there. */
function ownTrust({ app }: Context): 'none' | 'some' | 'everyone' {
  if (!app.proxy) return 'none';
  return app.maxIpsCount > 0 ? 'some' : 'everyone';
}
