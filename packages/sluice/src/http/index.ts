export type { Answered } from './answered.ts';
export { clientIp } from './client-ip.ts';
export { policyName } from './policy-name.ts';
export { type ProblemBody, problemBody, statusOf } from './problem-body.ts';
export {
  type HeaderDialect,
  type RateLimitHeaderOptions,
  type RateLimitHeaders,
  rateLimitHeaders,
} from './rate-limit-headers.ts';
