export type { Outcome, Refused } from '../middleware/options.ts';
export { type HonoRateLimitOptions, type RefusalHandler, rateLimit } from './rate-limit.ts';
