export type { Outcome, Refused } from '../middleware/options.ts';
export { RateLimit, SkipRateLimit } from './decorators.ts';
export type {
  NestOwnOptions,
  NestRateLimitOptions,
  NestRequest,
  NestResponse,
  RateLimitModuleOptions,
  RefusalHandler,
} from './options.ts';
export { RateLimitException } from './rate-limit-exception.ts';
export { RateLimitGuard, rateLimit } from './rate-limit-guard.ts';
export { RateLimitModule, type RateLimitModuleAsyncOptions } from './rate-limit-module.ts';
