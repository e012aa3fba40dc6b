export type { Outcome, Refused } from '../middleware/options.ts';
export { type FetchLimit, type FetchRateLimitOptions, type RefusalHandler, rateLimit } from './rate-limit.ts';
export type { AddressOf } from './reader.ts';
