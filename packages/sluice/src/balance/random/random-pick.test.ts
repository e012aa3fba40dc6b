import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Member } from '../balancer.ts';
import { counts } from '../conformance.test-support.ts';
import { randomPick } from './random-pick.ts';

const picks = 100_000;

/** Pearson's test against the expected shares; by 3 degrees of freedom, 16.3 is passed once in a thousand. */
function chiSquared(seen: Record<string, number>, shares: Record<string, number>): number {
  return Object.entries(shares).reduce(
    (sum, [id, share]) => sum + ((seen[id] ?? 0) - picks * share) ** 2 / (picks * share),
    0,
  );
}

describe('randomPick', () => {
  it('picks each as often as its weight says', () => {
    const members = [3, 1, 4, 2].map((weight, i) => ({ id: 'ABCD'[i]!, weight }));
    const seen = counts(randomPick<Member>(members, { random: seededRandom(1) }), picks);
    expect(chiSquared(seen, { A: 0.3, B: 0.1, C: 0.4, D: 0.2 })).toBeLessThan(16.3);
  });

  it('picks by share, by a changed weight, and no more by what was before', () => {
    const balancer = randomPick<Member>(['A', 'B', 'C', 'D', 'E'], { random: seededRandom(2) });
    balancer.setShare('A', 0.5);
    balancer.update('B', { weight: 2.5 });
    balancer.remove('E');
    expect(chiSquared(counts(balancer, picks), { A: 0.1, B: 0.5, C: 0.2, D: 0.2 })).toBeLessThan(16.3);
  });

  it('gives the share of those left out to the others by their weights', () => {
    const members = [1, 5, 6, 2, 1].map((weight, i) => ({ id: 'ABCDE'[i]!, weight }));
    const balancer = randomPick<Member>(members, { random: seededRandom(3) });
    const seen: Record<string, number> = {};
    for (let i = 0; i < picks; i += 1) {
      const { id } = balancer.pick(undefined, { except: new Set(['C']) })!.member;
      seen[id] = (seen[id] ?? 0) + 1;
    }
    expect(chiSquared(seen, { A: 1 / 9, B: 5 / 9, D: 2 / 9, E: 1 / 9 })).toBeLessThan(16.3);
    expect(seen.C).toBeUndefined();
  });

  it('asks for chance once per pick, so that a seed repeats a run', () => {
    const run = () => {
      const balancer = randomPick<Member>(['A', 'B', 'C'], { random: seededRandom(4) });
      return Array.from({ length: 50 }, () => balancer.pick()?.member.id);
    };
    expect(run()).toEqual(run());
  });
});
