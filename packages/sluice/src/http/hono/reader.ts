import type { Context, Env } from 'hono';
import { isFromCloudflare, peerAddressOf } from '../fetch/peer-address.ts';
import { decodedPath } from '../middleware/decoded-path.ts';
import type { RequestReader } from '../middleware/request-reader.ts';

/** How Hono's requests are read. What the server handed over beside the request, Hono has in `c.env`. */
export function honoReader<E extends Env>(options: {
  readonly address?: (c: Context<E>) => string | undefined;
}): RequestReader<Context<E>> {
  return {
    peerAddress: (c) => (options.address ? options.address(c) : peerAddressOf(c.req.raw, c.env)),
    header: (c, name) => c.req.header(name),
    method: (c) => c.req.method,
    // Hono has decoded it, but for what would be a separator.
    path: (c) => decodedPath(c.req.path),
    // Cloudflare is a proxy that says who it stands for, in a header of its own; and `address` knows what it does.
    ownTrust: (c) => (options.address || isFromCloudflare(c.req.raw) ? 'some' : 'none'),
    // A sub-app that is mounted, not routed, has contexts of its own.
    identity: (c) => c.req.raw,
  };
}
