export type { Outcome, Refused } from '../middleware/options.ts';
export {
  type ClientHits,
  type ExpressRateLimitStore,
  type ExpressRateLimitStoreOptions,
  expressRateLimitStore,
} from './express-rate-limit-store.ts';
export { type ExpressMiddleware, type ExpressRateLimitOptions, type RefusalHandler, rateLimit } from './rate-limit.ts';
