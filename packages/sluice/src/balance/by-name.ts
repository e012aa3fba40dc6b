/** The balancers, by the names that configurations have for them. */
import type { Balancer, Member, MemberOrId } from './balancer.ts';
import { type HashRingOptions, hashRing } from './hash-ring/hash-ring.ts';
import { leastConnections } from './least-connections/least-connections.ts';
import { type PeakEwmaOptions, peakEwma } from './peak-ewma/peak-ewma.ts';
import { randomPick } from './random/random-pick.ts';
import { roundRobin } from './round-robin/round-robin.ts';
import { shortestQueue } from './shortest-queue/shortest-queue.ts';
import { smoothWeighted } from './smooth-weighted/smooth-weighted.ts';
import { twoChoices } from './two-choices/two-choices.ts';

export type BalancerName =
  | 'round-robin'
  | 'smooth-weighted'
  | 'least-connections'
  | 'hash-ring'
  | 'two-choices'
  | 'random'
  | 'shortest-queue'
  | 'peak-ewma';

/** Options that the named one does not have are refused when it is made. */
export type MakeBalancer = <M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options?: HashRingOptions & PeakEwmaOptions,
) => Balancer<M>;

export const balancers: Readonly<Record<BalancerName, MakeBalancer>> = {
  'round-robin': roundRobin,
  'smooth-weighted': smoothWeighted,
  'least-connections': leastConnections,
  'hash-ring': hashRing,
  'two-choices': twoChoices,
  random: randomPick,
  'shortest-queue': shortestQueue,
  'peak-ewma': peakEwma,
};
