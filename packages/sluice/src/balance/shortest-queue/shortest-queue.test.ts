import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Member, Picked } from '../balancer.ts';
import { counts, everyLoad, sharesUnderLoad } from '../conformance.test-support.ts';
import { shortestQueue } from './shortest-queue.ts';

describe('shortestQueue', () => {
  it('takes one that nobody has fewer calls than who has all of its share, whatever happens', () => {
    const step = fc.record({
      what: fc.constantFrom('pick', 'pick', 'pick', 'except', 'done', 'done', 'share', 'weigh', 'add', 'remove'),
      which: fc.nat({ max: 7 }),
      call: fc.nat(),
      share: fc.constantFrom(0, 0.25, 0.5, 1),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), fc.nat(), (life, seed) => {
        const balancer = shortestQueue<Member>([], { random: seededRandom(seed) });
        const out: Picked[] = [];
        const known = new Set<string>();
        for (const { what, which, call, share } of life) {
          const id = `m${which}`;
          if (what === 'pick' || what === 'except') {
            const except = new Set(what === 'except' ? [id] : []);
            const lengths = new Map(
              balancer
                .stats()
                .filter((member) => member.share > 0 && !except.has(member.id))
                .map((member) => [member.id, member.inFlight / member.share]),
            );
            const picked = balancer.pick('', { except });
            expect(picked === undefined).toBe(lengths.size === 0);
            if (picked === undefined) continue;
            out.push(picked);
            const warm = new Set(balancer.stats().flatMap(({ id, share }) => (share === 1 ? [id] : [])));
            const shortest = Math.min(...[...lengths].flatMap(([id, length]) => (warm.has(id) ? [length] : [])));
            const length = lengths.get(picked.member.id)!;
            if (warm.has(picked.member.id)) expect(length).toBe(shortest);
            else expect(length).toBeLessThanOrEqual(shortest);
          } else if (what === 'done') out.splice(call % Math.max(1, out.length), 1)[0]?.done();
          else if (!known.has(id)) {
            balancer.add(id);
            known.add(id);
          } else if (what === 'remove') {
            balancer.remove(id);
            known.delete(id);
          } else if (what === 'weigh') balancer.update(id, { weight: 1 + share });
          else balancer.setShare(id, share);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('counts calls and not calls by weight, unlike least connections', () => {
    const balancer = shortestQueue<Member>([{ id: 'A', weight: 10 }, 'B']);
    for (let i = 0; i < 20; i += 1) balancer.pick();
    expect(balancer.stats().map(({ inFlight }) => inFlight)).toEqual([10, 10]);
  });

  it('takes equals by chance, by weight', () => {
    const equal = counts(shortestQueue<Member>(['A', 'B', 'C', 'D'], { random: seededRandom(1) }), 40_000);
    for (const id of 'ABCD') expect(equal[id]! / 40_000).toBeCloseTo(0.25, 1);
    const weighted = counts(shortestQueue<Member>([{ id: 'A', weight: 4 }, 'B'], { random: seededRandom(2) }), 40_000);
    expect(weighted.A! / 40_000).toBeCloseTo(0.8, 1);
  });

  it('does not take equals in an order that one could foresee', () => {
    const balancer = shortestQueue<Member>(['A', 'B', 'C', 'D'], { random: seededRandom(3) });
    const after: Record<string, number> = {};
    let before = '';
    for (let i = 0; i < 40_000; i += 1) {
      const picked = balancer.pick()!;
      picked.done();
      after[`${before}${picked.member.id}`] = (after[`${before}${picked.member.id}`] ?? 0) + 1;
      before = picked.member.id;
    }
    // Each of the sixteen pairs about as often as the others.
    for (const pair of ['AA', 'AB', 'BA', 'CD', 'DC', 'DD']) expect(after[pair]! / 40_000).toBeCloseTo(1 / 16, 2);
  });

  it('holds a member that warms up to its share of the calls, idle or not', () => {
    for (const load of everyLoad) {
      const clock = new TestClock();
      const balancer = shortestQueue<Member>(['A', 'B', 'C', 'D'], { random: seededRandom(4) });
      balancer.setShare('D', 0.1);
      const share = sharesUnderLoad(balancer, clock, load).D! / (0.1 / 3.1);
      expect(share, JSON.stringify(load)).toBeGreaterThan(0.5);
      expect(share, JSON.stringify(load)).toBeLessThan(1.2);
      balancer.setShare('D', 1);
      expect(sharesUnderLoad(balancer, clock, load).D!).toBeCloseTo(0.25, 1);
    }
  });

  it('holds one that warms up to its share of what the others have under way', () => {
    const balancer = shortestQueue<Member>(['A', 'B'], { random: seededRandom(4) });
    balancer.setShare('B', 0.1);
    for (let i = 0; i < 2200; i += 1) balancer.pick();
    const [a, b] = balancer.stats().map(({ inFlight }) => inFlight) as [number, number];
    expect(b / a).toBeGreaterThan(0.08);
    expect(b / a).toBeLessThanOrEqual(0.1 + 0.01);
  });

  it('where all of them warm up, goes by their shares, and by what they have', () => {
    for (const load of everyLoad) {
      const balancer = shortestQueue<Member>(['A', 'B', 'C'], { random: seededRandom(5) });
      balancer.setShare('A', 0.5);
      balancer.setShare('B', 0.5);
      balancer.setShare('C', 0.1);
      const { A, B, C } = sharesUnderLoad(balancer, new TestClock(), load);
      expect(A! / B!).toBeCloseTo(1, 0);
      expect(C! / (1 / 11), JSON.stringify(load)).toBeLessThan(1.7);
    }
  });
});
