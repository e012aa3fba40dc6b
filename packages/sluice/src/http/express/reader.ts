import type { Request } from 'express';
import type { RequestReader } from '../middleware/request-reader.ts';
import { nodeReader, pathOf } from '../node/reader.ts';

/** How Express's requests are read. */
export const expressReader: RequestReader<Request> = {
  ...nodeReader,
  // In a router `url` is what is left of it; a rule means the whole path, wherever the limiter is mounted.
  path: ({ originalUrl }) => pathOf(originalUrl),
  ownAddress: (request) => request.ip,
  ownTrust,
};

function ownTrust({ app }: Request): 'none' | 'some' | 'everyone' {
  const setting: unknown = app.get('trust proxy');
  if (setting === true) return 'everyone';
  return setting === false || setting === undefined || setting === 0 ? 'none' : 'some';
}
