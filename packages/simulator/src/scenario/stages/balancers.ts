/** The balancers, by the names that configurations have for them. */
import {
  type Balancer,
  hashRing,
  leastConnections,
  type Member,
  type MemberOrId,
  peakEwma,
  randomPick,
  roundRobin,
  shortestQueue,
  smoothWeighted,
  twoChoices,
} from 'sluice/balance';
import type { BalancerName } from '../scenario.ts';

type MakeBalancer = (members: readonly MemberOrId<Member>[], options: object) => Balancer;

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
