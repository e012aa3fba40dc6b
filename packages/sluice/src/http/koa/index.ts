export type { Outcome, Refused } from '../middleware/options.ts';
export { type KoaMiddleware, type KoaRateLimitOptions, type RefusalHandler, rateLimit } from './rate-limit.ts';
