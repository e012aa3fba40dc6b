// Who picks, and what giving back is to each: a function of a key that returns how to give back what it picked.
import { createRequire } from 'node:module';
import {
  hashRing,
  leastConnections,
  peakEwma,
  randomPick,
  roundRobin,
  shortestQueue,
  smoothWeighted,
  twoChoices,
} from 'sluice/balance';

const requirePeer = createRequire(new URL('../../peers/package.json', import.meta.url));

/**
 * @typedef {{ done(): void }} Picked
 * @typedef {(key: string) => Picked} Pick
 */

/**
 * @param {(members: string[]) => { pick(key: string): Picked | undefined }} make
 * @returns {(members: string[]) => Pick}
 */
function ours(make) {
  return (members) => {
    const balancer = make(members);
    return (key) => /** @type {Picked} */ (balancer.pick(key));
  };
}

/** By the name it is printed under. @type {Record<string, (members: string[]) => Pick>} */
export const contenders = {
  'array index': (members) => {
    const picked = members.map((member) => ({ member, done() {} }));
    let next = 0;
    return () => {
      next = next + 1 === picked.length ? 0 : next + 1;
      return /** @type {Picked} */ (picked[next]);
    };
  },
  roundRobin: ours((members) => roundRobin(members)),
  // Equal weights would be no work for it.
  smoothWeighted: ours((members) => smoothWeighted(members.map((id, i) => ({ id, weight: 1 + (i % 5) })))),
  leastConnections: ours((members) => leastConnections(members)),
  twoChoices: ours((members) => twoChoices(members)),
  randomPick: ours((members) => randomPick(members)),
  shortestQueue: ours((members) => shortestQueue(members)),
  peakEwma: ours((members) => peakEwma(members)),
  hashRing: ours((members) => hashRing(members)),
  'hashRing, bounded': ours((members) => hashRing(members, { loadFactor: 1.25 })),
  'hashRing, ketama': ours((members) => hashRing(members, { compatibleWith: 'ketama' })),
  // It has nothing to give back, and remembers what it answered for the last 5000 keys; there are more of them here.
  hashring: (members) => {
    const HashRing = requirePeer('hashring');
    const ring = new HashRing(members);
    const nothing = { done() {} };
    return (key) => {
      if (ring.get(key) === undefined) throw new Error('hashring picked nobody');
      return nothing;
    };
  },
};
