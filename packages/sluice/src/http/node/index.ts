export type { Outcome, RateLimitOptions, Refused } from '../middleware/options.ts';
export { type NodeMiddleware, type NodeRateLimitOptions, type RefusalHandler, rateLimit } from './rate-limit.ts';
