export type { Outcome, Refused } from '../middleware/options.ts';
export type { RateLimitHook, RefusalHandler } from './limit-hook.ts';
export {
  type FastifyHookOptions,
  type FastifyRateLimitOptions,
  type FastifyRouteOptions,
  type LimitingHook,
  rateLimit,
} from './rate-limit.ts';
