export {
  type ApproximateLayer,
  type ApproximateOptions,
  type ApproximateStats,
  approximate,
} from './approximate/approximate.ts';
export type { Exchange, ExchangeReply, PostedMessage, UsageMessage } from './approximate/exchange.ts';
export { type MemoryExchangeOptions, memoryExchange } from './approximate/memory-exchange.ts';
export { type RedisExchangeOptions, redisExchange } from './approximate/redis-exchange.ts';
export {
  type DegradeEvents,
  type DegradeLayer,
  type DegradeOptions,
  type DegradeStats,
  degrade,
} from './degrade/degrade.ts';
export { type DenyCacheLayer, type DenyCacheOptions, type DenyCacheStats, denyCache } from './deny-cache/deny-cache.ts';
export { type Layer, layered, type ModeKeepingLayer, type ModeThrough } from './layered.ts';
export { type LeasedLayer, leased } from './leased/leased.ts';
export type { LeasedStats } from './leased/leased-store.ts';
export type { LeasedOptions } from './leased/settings.ts';
export { type PreLimitLayer, type PreLimitOptions, type PreLimitStats, preLimit } from './pre-limit/pre-limit.ts';
export { type SplitLayer, type SplitOptions, split } from './split/split.ts';
