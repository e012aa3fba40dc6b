import { balancerConformance } from './conformance.test-support.ts';
import { hashRing } from './hash-ring/hash-ring.ts';
import { healthChecked } from './health/health-checked.ts';
import { leastConnections } from './least-connections/least-connections.ts';
import { peakEwma } from './peak-ewma/peak-ewma.ts';
import { randomPick } from './random/random-pick.ts';
import { roundRobin } from './round-robin/round-robin.ts';
import { shortestQueue } from './shortest-queue/shortest-queue.ts';
import { smoothWeighted } from './smooth-weighted/smooth-weighted.ts';
import { twoChoices } from './two-choices/two-choices.ts';

balancerConformance('roundRobin', roundRobin);
balancerConformance('smoothWeighted', smoothWeighted);
balancerConformance('leastConnections', leastConnections);
balancerConformance('twoChoices', twoChoices);
balancerConformance('randomPick', randomPick);
balancerConformance('shortestQueue', shortestQueue);
balancerConformance('peakEwma', peakEwma);
balancerConformance('hashRing', hashRing);
balancerConformance('hashRing with bounded load', (members, options) =>
  hashRing(members, { loadFactor: 1.25, ...options }),
);
balancerConformance('healthChecked', (members, options) => healthChecked(roundRobin(members, options)));
