/** The balancers, by the names that configurations have for them. */
import {
  type Balancer,
  type BalancerOptions,
  hashRing,
  leastConnections,
  peakEwma,
  randomPick,
  roundRobin,
  shortestQueue,
  smoothWeighted,
  twoChoices,
} from 'sluice/balance';
import type { BalancerName } from '../../config/gateway-config.ts';
import type { PoolMember } from './pool-member.ts';

type MakeBalancer = (members: readonly PoolMember[], options: BalancerOptions) => Balancer<PoolMember>;

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
