export type { HeaderSource, HeaderValue } from '../protect/rate-limit-headers/header-lines.ts';
export {
  type ParseRateLimitHeadersOptions,
  parseRateLimitHeaders,
} from '../protect/rate-limit-headers/parse-rate-limit-headers.ts';
export type { ParsedPolicy, ParsedRateLimit } from '../protect/rate-limit-headers/parsed.ts';
export type { NumberForm } from '../protect/rate-limit-headers/waits.ts';
export type { Answered } from './answered.ts';
export {
  type ClientIpOptions,
  type ClientIpReader,
  clientIp,
  clientIpReader,
  type ForwardingHeader,
  type TrustedProxies,
} from './client-ip.ts';
export { policyName } from './policy-name.ts';
export { type ProblemBody, problemBody, statusOf } from './problem-body.ts';
export {
  type HeaderDialect,
  type RateLimitHeaderOptions,
  type RateLimitHeaders,
  rateLimitHeaders,
} from './rate-limit-headers.ts';
