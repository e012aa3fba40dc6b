export type {
  Balancer,
  BalancerOptions,
  Member,
  MemberOrId,
  MemberStats,
  Picked,
  PickOptions,
  PickOutcome,
} from './balancer.ts';
export { type BalancerName, balancers, type MakeBalancer } from './by-name.ts';
export { type HashRingOptions, hashRing } from './hash-ring/hash-ring.ts';
export type { CheckResult } from './health/active-checks.ts';
export { type HealthChecked, type HealthEvents, type HealthStats, healthChecked } from './health/health-checked.ts';
export type {
  ActiveCheckOptions,
  HealthCheckedOptions,
  HealthProbe,
  MemberBreakerOptions,
  OutlierOptions,
  SlowStartOptions,
} from './health/settings.ts';
export { leastConnections } from './least-connections/least-connections.ts';
export { type PeakEwmaOptions, peakEwma } from './peak-ewma/peak-ewma.ts';
export { randomPick } from './random/random-pick.ts';
export { roundRobin } from './round-robin/round-robin.ts';
export { shortestQueue } from './shortest-queue/shortest-queue.ts';
export { smoothWeighted } from './smooth-weighted/smooth-weighted.ts';
export { twoChoices } from './two-choices/two-choices.ts';
