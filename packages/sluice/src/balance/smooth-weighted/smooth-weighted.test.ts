import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Balancer, Member } from '../balancer.ts';
import { counts, letters, live } from '../conformance.test-support.ts';
import { smoothWeighted } from './smooth-weighted.ts';

const weighted = (weights: readonly number[]) =>
  weights.map((weight, i) => ({ id: String.fromCharCode(65 + i), weight }));

/** nginx's algorithm, as it is written down: everybody gains, a scan finds who has most. And one rule more, for weights that are gone. */
class Nginx {
  readonly peers: { id: string; weight: number; share: number; current: number }[] = [];
  private reach = 0;

  /** Who comes back has what it had. */
  back({ current }: Nginx['peers'][number]): void {
    this.reach = Math.max(this.reach, Math.abs(current));
  }

  /** Being ahead or behind by more than 16 cycles is cut to one. */
  private limit(): void {
    const inTurn = this.peers.filter(({ share }) => share > 0);
    const total = inTurn.reduce((sum, { weight, share }) => sum + weight * share, 0);
    if (this.reach > 16 * total) {
      this.reach = total;
      for (const peer of inTurn) peer.current = Math.max(-total, Math.min(total, peer.current));
    } else this.reach = Math.max(this.reach, total);
  }

  pick(except?: string): string | undefined {
    this.limit();
    let best: Nginx['peers'][number] | undefined;
    let total = 0;
    for (const peer of this.peers) {
      if (peer.share === 0 || peer.id === except) continue;
      peer.current += peer.weight * peer.share;
      total += peer.weight * peer.share;
      if (best === undefined || peer.current > best.current) best = peer;
    }
    if (best) best.current -= total;
    return best?.id;
  }
}

describe('smoothWeighted', () => {
  it.each<[string, readonly number[], string]>([
    // Published with nginx's change that introduced it, then what follows from the rule.
    ['{5,1,1}', [5, 1, 1], 'A A B A C A A'],
    ['{1,1}', [1, 1], 'A B A B'],
    ['{1,2}', [1, 2], 'B A B B A B'],
    ['{4,2,1}', [4, 2, 1], 'A B A C A B A'],
    ['{3,3,2}', [3, 3, 2], 'A B C A B C A B'],
    ['{1}', [1], 'A A A'],
  ])('picks %s as nginx does, again and again', (_, weights, expected) => {
    const balancer = smoothWeighted<Member>(weighted(weights));
    const length = expected.split(' ').length;
    expect(letters(balancer, length)).toBe(expected);
    expect(letters(balancer, length)).toBe(expected);
  });

  it.each<[number[], number, Record<string, number>]>([
    //  weights    picks  served
    [[1, 1], 30, { A: 15, B: 15 }],
    [[1, 2], 30, { A: 10, B: 20 }],
  ])('serves weights %j as nginx was seen to', (weights, picks, served) => {
    expect(counts(smoothWeighted<Member>(weighted(weights)), picks)).toEqual(served);
  });

  // biome-ignore format: aligned rows
  const rows: [string, string, string][] = [
    //  what happens                                           the life        who is picked
    [ 'who was out goes on from where it was',               '2 -A 2 +A 3',  'A A B C B A C' ],
    [ 'a newcomer begins with nothing, and waits its turn',  '7 *D 8',       'A A B A C A A A A B A C A D A' ],
    [ 'who is removed is forgotten',                         '2 xA 4',       'A A B C B C' ],
    [ 'left out once: it neither gains nor pays',            '!A 7',         'B A A C A A B A' ],
    [ 'a fifth of the share is a fifth of the weight',       'A/5 6',        'A B C A B C' ],
    [ 'nobody',                                              '-A -B -C 1',   '.' ],
  ];
  it.each(rows)('%s', (_, script, expected) => {
    expect(live(smoothWeighted<Member>(weighted([5, 1, 1])), script)).toBe(expected);
  });

  const toOne = (balancer: Balancer) => {
    for (const { id } of balancer.members) balancer.update(id, { weight: 1 });
  };
  // biome-ignore format: aligned rows
  const changes: [string, number[], number, (balancer: Balancer) => void][] = [
    //  what happens                          weights         picks   how
    [ 'all weights become smaller alike',   [1e5, 1e5],          1,  toOne ],
    [ 'most of the weight is out',          [1e5, 1, 1],    50_001,  (balancer) => balancer.setShare('A', 0) ],
    [ 'most of the weight is removed',      [1e5, 1, 1],    50_001,  (balancer) => balancer.remove('A') ],
    [ 'who was out comes back to less',     [1e5, 1e5],          1,  (balancer) => { balancer.setShare('A', 0); toOne(balancer); counts(balancer, 5); balancer.setShare('A', 1); } ],
  ];
  it.each(changes)(
    '%s: what was gained by weights that are gone does not decide for as long',
    (_, weights, picks, how) => {
      const balancer = smoothWeighted<Member>(weighted(weights));
      counts(balancer, picks);
      how(balancer);
      // Two who weigh the same are left.
      const served = Object.values(counts(balancer, 20));
      expect(served).toHaveLength(2);
      expect(Math.min(...served)).toBeGreaterThanOrEqual(8);
    },
  );

  it('serves each exactly its weight in every cycle of sum(weights) picks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20, size: 'max' }),
        (weights) => {
          const balancer = smoothWeighted<Member>(weighted(weights));
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          const expected = Object.fromEntries(weighted(weights).map(({ id, weight }) => [id, weight]));
          for (let cycle = 0; cycle < 3; cycle += 1) expect(counts(balancer, total)).toEqual(expected);
        },
      ),
    );
  });

  it('picks what a scan over all members would, whoever came, went, changed, or was left out', () => {
    const step = fc.record({
      what: fc.constantFrom('pick', 'pick', 'pick', 'pick', 'except', 'share', 'weigh', 'add', 'remove'),
      which: fc.nat({ max: 9 }),
      times: fc.integer({ min: 1, max: 12 }),
      weight: fc.integer({ min: 1, max: 50 }),
      share: fc.constantFrom(0, 0.25, 0.5, 1),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (life) => {
        const balancer = smoothWeighted<Member>([]);
        const model = new Nginx();
        for (const { what, which, times, weight, share } of life) {
          const id = `m${which}`;
          const known = model.peers.find((peer) => peer.id === id);
          if (what === 'pick') for (let i = 0; i < times; i += 1) expect(balancer.pick()?.member.id).toBe(model.pick());
          else if (what === 'except')
            expect(balancer.pick('', { except: new Set([id]) })?.member.id).toBe(model.pick(id));
          else if (known === undefined) {
            balancer.add({ id, weight });
            model.peers.push({ id, weight, share: 1, current: 0 });
          } else if (what === 'remove') {
            balancer.remove(id);
            model.peers.splice(model.peers.indexOf(known), 1);
          } else if (what === 'share') {
            if (known.share === 0 && share > 0) model.back(known);
            balancer.setShare(id, share);
            known.share = share;
          } else {
            balancer.update(id, { weight });
            known.weight = weight;
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('picks what a scan would among many with weights far apart', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1e6 }), { minLength: 100, maxLength: 300, size: 'max' }),
        (weights) => {
          const balancer = smoothWeighted<Member>(weighted(weights));
          const model = new Nginx();
          for (const { id, weight } of weighted(weights)) model.peers.push({ id, weight, share: 1, current: 0 });
          for (let i = 0; i < 500; i += 1) expect(balancer.pick()?.member.id).toBe(model.pick());
        },
      ),
      { numRuns: 20 },
    );
  });

  it('is as exact after millions of picks as at the beginning', () => {
    const weights = [999_983, 500_009, 3, 1];
    const balancer = smoothWeighted<Member>(weighted(weights));
    const model = new Nginx();
    for (const { id, weight } of weighted(weights)) model.peers.push({ id, weight, share: 1, current: 0 });
    let different = 0;
    for (let i = 0; i < 2.2e6; i += 1) if (balancer.pick()!.member.id !== model.pick()) different += 1;
    expect(different).toBe(0);
  });
});
