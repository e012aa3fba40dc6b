/** The ring as it comes is in the table of all balancers; these are its other faces. */
import { balancerConformance } from '../conformance.test-support.ts';
import { hashRing } from './hash-ring.ts';

balancerConformance('hashRing like ketama', (members, options) =>
  hashRing(members, { compatibleWith: 'ketama', ...options }),
);
balancerConformance('hashRing like nginx', (members, options) =>
  hashRing(members, { compatibleWith: 'nginx', loadFactor: 2, ...options }),
);
balancerConformance('hashRing with a point for half a weight', (members, options) =>
  hashRing(members, { points: 2, ...options }),
);
