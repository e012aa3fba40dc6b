import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Balancer, Member } from '../balancer.ts';
import { counts } from '../conformance.test-support.ts';
import { randomPick } from '../random/random-pick.ts';
import { twoChoices } from './two-choices.ts';

describe('twoChoices', () => {
  it('of two members, always takes the one with less under way for its weight', () => {
    const balancer = twoChoices<Member>([{ id: 'A', weight: 3 }, 'B'], { random: seededRandom(1) });
    const seen: string[] = [];
    const expected: string[] = [];
    for (let i = 0; i < 200; i += 1) {
      const [a, b] = balancer.stats().map(({ inFlight, weight }) => inFlight / weight) as [number, number];
      const { id } = balancer.pick()!.member;
      seen.push(id);
      expected.push(a === b ? id : a < b ? 'A' : 'B');
    }
    expect(seen).toEqual(expected);
    expect(balancer.stats().map(({ inFlight }) => inFlight)).toEqual([150, 50]);
  });

  it('never takes the one that has most, for there is always another candidate', () => {
    const step = fc.record({ isDone: fc.boolean(), which: fc.nat() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 150, size: 'max' }),
        fc.integer({ min: 2, max: 6 }),
        fc.nat(),
        (life, size, seed) => {
          const members = Array.from({ length: size }, (_, i) => ({ id: `m${i}`, weight: 1 + (i % 3) }));
          const balancer = twoChoices<Member>(members, { random: seededRandom(seed) });
          const out: { done(): void }[] = [];
          for (const { isDone, which } of life) {
            if (isDone) out.splice(which % Math.max(1, out.length), 1)[0]?.done();
            else {
              const loads = new Map(balancer.stats().map(({ id, inFlight, weight }) => [id, inFlight / weight]));
              const most = Math.max(...loads.values());
              const isAlone = [...loads.values()].filter((load) => load === most).length === 1;
              const picked = balancer.pick()!;
              out.push(picked);
              if (isAlone) expect(loads.get(picked.member.id)).toBeLessThan(most);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('takes an idle pool by weight', () => {
    const members = [{ id: 'A', weight: 3 }, 'B'];
    const seen = counts(twoChoices<Member>(members, { random: seededRandom(2) }), 20_000);
    expect(seen.A! / 20_000).toBeCloseTo(0.75, 1);
  });

  it('takes the only one that is left', () => {
    const balancer = twoChoices<Member>(['A', 'B', 'C']);
    expect(balancer.pick('', { except: new Set(['A', 'C']) })?.member.id).toBe('B');
    expect(balancer.pick('', { except: new Set(['A', 'B', 'C']) })).toBeUndefined();
  });

  it('fills 1,000 bins with 1,000 balls far more evenly than chance does', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `m${i}`);
    const fullest = (balancer: Balancer) => {
      for (let ball = 0; ball < 1000; ball += 1) balancer.pick();
      return Math.max(...balancer.stats().map(({ inFlight }) => inFlight));
    };
    expect(fullest(randomPick(ids, { random: seededRandom(3) }))).toBeGreaterThanOrEqual(5);
    expect(fullest(twoChoices<Member>(ids, { random: seededRandom(3) }))).toBeLessThanOrEqual(4);
  });
});
