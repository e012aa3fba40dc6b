import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import type { Member, Picked } from '../balancer.ts';
import { counts, everyLoad, live, sharesUnderLoad } from '../conformance.test-support.ts';
import { leastConnections } from './least-connections.ts';

/** The rule as a scan: least under way for its weight, or least to wait where that is nothing; then whose turn it is, then who came first. */
class Scan {
  readonly members: { id: string; weight: number; inFlight: number; due: number; isIn: boolean }[] = [];
  private turn = 0;

  enter(member: Scan['members'][number]): void {
    member.isIn = true;
    member.due = this.turn + 0.5 / member.weight;
  }

  weigh(member: Scan['members'][number], weight: number): void {
    member.weight = weight;
    if (member.isIn) member.due = Math.min(member.due, this.turn + 1 / weight);
  }

  pick(except?: string) {
    const possible = this.members.filter(({ id, isIn }) => isIn && id !== except);
    // What is left until its turn, where it has nothing under way: at most one call.
    const loadOf = ({ inFlight, weight, due }: Scan['members'][number]) =>
      inFlight > 0 ? inFlight / weight : Math.max(0, Math.min(due - this.turn, 1 / weight));
    const load = Math.min(...possible.map(loadOf));
    const equals = possible.filter((member) => loadOf(member) === load);
    // The idle first: a call that it is not its turn for counts as one that is under way.
    const idle = equals.filter(({ inFlight }) => inFlight === 0);
    const next = idle.length > 0 ? idle : equals;
    const due = Math.min(...next.map((member) => member.due));
    const chosen = next.find((member) => member.due === due);
    if (chosen === undefined) return undefined;
    this.turn = Math.max(this.turn, chosen.due);
    chosen.due = this.turn + 1 / chosen.weight;
    chosen.inFlight += 1;
    return chosen;
  }
}

describe('leastConnections', () => {
  // biome-ignore format: aligned rows
  const rows: [string, string, string][] = [
    //  what happens                            the life            who is picked
    [ 'idle: in turn, not always the first',  '7',                'A B C A B C A' ],
    [ 'idle, one out, and back',              '2 -C 2 +C 4',      'A B A B C A B C' ],
    [ 'a newcomer has not saved up turns',    '30 *D 8',          `${'A B C '.repeat(10)}D A B C D A B C` ],
    [ 'left out once',                        '1 !B 3',           'A C B A B' ],
    [ 'all out',                              '-A -B -C 1 +B 1',  '. B' ],
  ];
  it.each(rows)('%s', (_, script, expected) => {
    expect(live(leastConnections<Member>(['A', 'B', 'C']), script)).toBe(expected);
  });

  it('fills members in proportion to their weights', () => {
    const balancer = leastConnections<Member>([{ id: 'A', weight: 4 }, { id: 'B', weight: 2 }, 'C']);
    for (let i = 0; i < 70; i += 1) balancer.pick();
    expect(balancer.stats().map(({ inFlight }) => inFlight)).toEqual([40, 20, 10]);
  });

  it('sends what comes next to whoever ended a call', () => {
    const balancer = leastConnections<Member>(['A', 'B', 'C']);
    const out = Array.from({ length: 30 }, () => balancer.pick()!);
    out.find(({ member }) => member.id === 'B')!.done();
    expect(balancer.pick()?.member.id).toBe('B');
  });

  it('serves an idle pool by weight, in every order of weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 8 }), (weights) => {
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const seen = counts(
          leastConnections<Member>(weights.map((weight, i) => ({ id: `m${i}`, weight }))),
          total * 100,
        );
        for (const [i, weight] of weights.entries()) expect(Math.abs(seen[`m${i}`]! - weight * 100)).toBeLessThan(2);
      }),
    );
  });

  it.each<[object, number]>([
    [{ A: 2, B: 1 }, 1.15],
    [{ A: 5, B: 5, C: 1 }, 1.3],
    // Calls are whole: with forty under way a tenth of the others is due 1.3, and holds one or two.
    [{ A: 1, B: 1, C: 1, D: 0.1 }, 1.6],
  ])('does not give a small member more for being idle, whatever the load: %o', (weights, atMost) => {
    const members = Object.entries(weights).map(([id, weight]) => ({ id, weight: weight as number }));
    const total = members.reduce((sum, { weight }) => sum + weight, 0);
    const { id, weight } = members.at(-1)!;
    for (const load of everyLoad) {
      const share = sharesUnderLoad(leastConnections<Member>(members), new TestClock(), load)[id]!;
      expect(share / (weight / total), JSON.stringify(load)).toBeGreaterThan(0.9);
      expect(share / (weight / total), JSON.stringify(load)).toBeLessThan(atMost);
    }
  });

  it('holds a member that warms up to about its share, and not for longer than that', () => {
    for (const load of everyLoad) {
      const balancer = leastConnections<Member>(['A', 'B', 'C', 'D']);
      balancer.setShare('D', 0.1);
      expect(sharesUnderLoad(balancer, new TestClock(), load).D! / (0.1 / 3.1)).toBeLessThan(1.6);
      balancer.setShare('D', 1);
      expect(sharesUnderLoad(balancer, new TestClock(), load).D!).toBeGreaterThan(0.2);
    }
  });

  it('lets one that has grown wait for no longer than one of its new size', () => {
    const balancer = leastConnections<Member>(['A', { id: 'B', weight: 1e-6 }]);
    balancer.pick('', { except: new Set(['A']) })!.done();
    balancer.update('B', { weight: 1 });
    expect(live(balancer, '6')).toBe('A A B A B A');
  });

  it('gives nobody turns that it could have had while it was busy', () => {
    const balancer = leastConnections<Member>(['A', 'B']);
    const busy = balancer.pick()!;
    for (let i = 0; i < 100; i += 1) balancer.pick()!.done();
    busy.done();
    // Its own, and where it is due as early as B, the one before it.
    expect(live(balancer, '6')).toBe('A A B A B A');
  });

  it('tells the smallest steps apart after the longest', () => {
    const balancer = leastConnections<Member>([
      { id: 'A', weight: 1e-6 },
      { id: 'B', weight: 1e6 },
      { id: 'C', weight: 1e6 },
    ]);
    live(balancer, '-B -C 30000');
    expect(live(balancer, '-A +B +C 6')).toBe('B C B C B C');
  });

  it('goes on in turn however long it has been counting turns', () => {
    const balancer = leastConnections<Member>([
      { id: 'A', weight: 1e-6 },
      { id: 'B', weight: 1e-6 },
    ]);
    // A turn of such a member is a million long: the count starts over many times.
    expect(counts(balancer, 20_000)).toEqual({ A: 10_000, B: 10_000 });
  });

  it('picks what a scan over all members would, whatever happens', () => {
    const step = fc.record({
      what: fc.constantFrom('pick', 'pick', 'pick', 'except', 'done', 'done', 'out', 'in', 'weigh', 'add', 'remove'),
      which: fc.nat({ max: 7 }),
      call: fc.nat(),
      weight: fc.constantFrom(0.5, 1, 2, 4),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (life) => {
        const balancer = leastConnections<Member>([]);
        const model = new Scan();
        const out: { picked: Picked; of: { inFlight: number } }[] = [];
        for (const { what, which, call, weight } of life) {
          const id = `m${which}`;
          const known = model.members.find((member) => member.id === id);
          if (what === 'pick' || what === 'except') {
            const except = what === 'except' ? id : undefined;
            const picked = balancer.pick('', except === undefined ? {} : { except: new Set([except]) });
            const of = model.pick(except);
            expect(picked?.member.id).toBe(of?.id);
            if (picked && of) out.push({ picked, of });
          } else if (what === 'done') {
            const [ended] = out.splice(call % Math.max(1, out.length), 1);
            ended?.picked.done();
            if (ended) ended.of.inFlight -= 1;
          } else if (known === undefined) {
            balancer.add({ id, weight });
            const member = { id, weight, inFlight: 0, due: 0, isIn: true };
            model.members.push(member);
            model.enter(member);
          } else if (what === 'remove') {
            balancer.remove(id);
            model.members.splice(model.members.indexOf(known), 1);
          } else if (what === 'weigh') {
            balancer.update(id, { weight });
            model.weigh(known, weight);
          } else if (what === 'out') {
            balancer.setShare(id, 0);
            known.isIn = false;
          } else if (!known.isIn) {
            balancer.setShare(id, 1);
            model.enter(known);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
