import { decodedPath } from '../middleware/decoded-path.ts';
import type { RequestReader } from '../middleware/request-reader.ts';
import { isFromCloudflare, peerAddressOf } from './peer-address.ts';

/** The client's address, from what the server hands over. */
export type AddressOf<R, Rest extends readonly unknown[]> = (request: R, ...rest: Rest) => string | undefined;

/**
 * How requests of fetch-style handlers are read.
 *
 * @param restOf what the handler was called with beside the request
 */
export function fetchReader<R extends Request, Rest extends unknown[]>(
  options: { readonly address?: AddressOf<R, Rest> },
  restOf: (request: R) => Rest,
): RequestReader<R> {
  return {
    peerAddress: (request) =>
      options.address ? options.address(request, ...restOf(request)) : peerAddressOf(request, restOf(request)[0]),
    header: ({ headers }, name) => headers.get(name) ?? undefined,
    method: ({ method }) => method,
    path: ({ url }) => decodedPath(pathOf(url)),
    // Cloudflare is a proxy that says who it stands for, in a header of its own; and `address` knows what it does.
    ownTrust: (request) => (options.address || isFromCloudflare(request) ? 'some' : 'none'),
  };
}

/** The path of an absolute URL, without its query. Requests have it in its normal form, so that nothing has to be parsed. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  return start === -1 ? '/' : url.slice(start).replace(/[?#].*/s, '');
}
