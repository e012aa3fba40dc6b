import { expressReader } from '../express/reader.ts';
import { fastifyReader } from '../fastify/reader.ts';
import type { RequestReader } from '../middleware/request-reader.ts';
import { nodeReader } from '../node/reader.ts';
import type { Call } from './call.ts';
import type { NestRequest } from './options.ts';

/** Nest does not say what it runs on; its requests show it. */
function readerOf(request: NestRequest): RequestReader<never> {
  if (request.raw !== undefined) return fastifyReader;
  return request.app === undefined ? nodeReader : expressReader;
}

/** How the requests of Nest's platforms are read. */
export const nestReader: RequestReader<Call> = {
  peerAddress: ({ request }) => readerOf(request).peerAddress(request as never),
  header: ({ request }, name) => readerOf(request).header(request as never, name),
  method: ({ request }) => readerOf(request).method(request as never),
  path: ({ request }) => readerOf(request).path(request as never),
  ownAddress: ({ request }) => readerOf(request).ownAddress?.(request as never),
  ownTrust: ({ request }) => readerOf(request).ownTrust?.(request as never) ?? 'none',
  identity: ({ identity }) => identity,
};
