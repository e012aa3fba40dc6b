import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Balancer, Member, Picked } from '../balancer.ts';
import { hashRing } from './hash-ring.ts';

function memberOf(ring: Pick<Balancer, 'pick'>, key: string, except?: Iterable<string>): string | undefined {
  const picked = ring.pick(key, { except: except && new Set(except) });
  picked?.done();
  return picked?.member.id;
}

const keys = Array.from({ length: 2000 }, (_, i) => `user-${i}`);
const ownersOf = (ring: Pick<Balancer, 'pick'>) => keys.map((key) => memberOf(ring, key));

/** The keys whose member is another one, as `from>to`; a key that nobody had comes from `-`. */
function moves(before: readonly (string | undefined)[], after: readonly (string | undefined)[]): string[] {
  return before.flatMap((from, i) => (from === after[i] ? [] : [`${from ?? '-'}>${after[i] ?? '-'}`]));
}

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 12 });
const weight: fc.Arbitrary<number> = fc.constantFrom(0.25, 0.5, 1, 1, 1, 2, 3);
const mode = fc.constantFrom({}, { points: 20 }, { compatibleWith: 'ketama' }, { compatibleWith: 'nginx' } as const);
const weighted = fc
  .array(fc.record({ id: fc.string({ minLength: 1, maxLength: 12 }), weight }), { minLength: 2, maxLength: 8 })
  .map((all) => [...new Map(all.map((member) => [member.id, member])).values()])
  .filter((all) => all.length > 1);

describe('a key', () => {
  it('stays at its member', () => {
    const ring = hashRing(['A', 'B', 'C']);
    const first = ownersOf(ring);
    expect(ownersOf(ring)).toEqual(first);
    expect(ownersOf(hashRing(['A', 'B', 'C']))).toEqual(first);
    expect(new Set(first)).toEqual(new Set(['A', 'B', 'C']));
  });

  it('belongs to the same member in whatever order they came, and by whatever way', () => {
    fc.assert(
      fc.property(weighted, fc.infiniteStream(fc.nat()), (members, order) => {
        const owners = ownersOf(hashRing(members));
        const shuffled = members.map((member) => ({ member, at: order.next().value })).sort((a, b) => a.at - b.at);
        const grown = hashRing(['to leave']);
        for (const { member } of shuffled) {
          grown.add({ ...member, weight: 1 });
          memberOf(grown, 'key');
          grown.update(member.id, { weight: member.weight });
        }
        if (!members.some(({ id }) => id === 'to leave')) grown.remove('to leave');
        expect(ownersOf(hashRing(shuffled.map(({ member }) => member)))).toEqual(owners);
        expect(ownersOf(grown)).toEqual(owners);
      }),
      { numRuns: 30 },
    );
  });

  it('may be any text, and is its UTF-8 bytes', () => {
    const ring = hashRing(['A', 'B', 'C']);
    expect(memberOf(ring, '')).toBeDefined();
    expect(memberOf(ring, 'caf\u00e9')).toBe(memberOf(hashRing(['C', 'B', 'A']), 'caf\u00e9'));
    const places = new Set(keys.map((_, i) => memberOf(ring, String.fromCodePoint(0x1f300 + (i % 700)))));
    expect(places.size).toBe(3);
  });
});

describe('when members come and go', () => {
  it('only the keys of the one that leaves move', () => {
    fc.assert(
      fc.property(ids, mode, fc.nat(), (members, options, which) => {
        const ring = hashRing(members, options);
        const before = ownersOf(ring);
        const gone = members[which % members.length]!;
        expect(ring.remove(gone)).toBe(true);
        const after = ownersOf(ring);
        expect(after).not.toContain(gone);
        expect(moves(before, after).filter((move) => !move.startsWith(`${gone}>`))).toEqual([]);
        expect(moves(before, after).length).toBe(before.filter((owner) => owner === gone).length);
      }),
      { numRuns: 30 },
    );
  });

  it('keys move only to the one that comes', () => {
    fc.assert(
      fc.property(ids, mode, ([newcomer, ...members], options) => {
        const ring = hashRing(members, options);
        const before = ownersOf(ring);
        ring.add(newcomer!);
        const after = ownersOf(ring);
        expect(moves(before, after).filter((move) => !move.endsWith(`>${newcomer}`))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('more weight only takes keys, less only gives them, and the same weight again is as before', () => {
    const modes = fc.constantFrom({}, { points: 20 }, { compatibleWith: 'nginx' } as const);
    fc.assert(
      fc.property(weighted, modes, fc.nat(), (members, options, which) => {
        const ring = hashRing(members, options);
        const { id, weight } = members[which % members.length]!;
        const before = ownersOf(ring);
        ring.update(id, { weight: 2 * weight });
        const heavy = ownersOf(ring);
        expect(moves(before, heavy).filter((move) => !move.endsWith(`>${id}`))).toEqual([]);
        ring.update(id, { weight: weight / 2 });
        const light = ownersOf(ring);
        expect(moves(heavy, light).filter((move) => !move.startsWith(`${id}>`))).toEqual([]);
        ring.update(id, { weight });
        expect(ownersOf(ring)).toEqual(before);
      }),
      { numRuns: 30 },
    );
  });

  it('a share that grows step by step brings back its own keys, and moves no others', () => {
    const ring = hashRing(['A', 'B', 'C', 'D']);
    const whole = ownersOf(ring);
    ring.setShare('B', 0);
    let before = ownersOf(ring);
    expect(before).not.toContain('B');
    for (const share of [0.01, 0.2, 0.5, 0.9, 1]) {
      ring.setShare('B', share);
      const after = ownersOf(ring);
      const moved = moves(before, after);
      expect(moved.length, `share ${share}`).toBeGreaterThan(0);
      expect(moved.filter((move) => !move.endsWith('>B'))).toEqual([]);
      before = after;
    }
    expect(before).toEqual(whole);
  });

  it('one that leaves and comes back under its name has its keys again', () => {
    const ring = hashRing(['A', 'B', 'C']);
    const before = ownersOf(ring);
    ring.remove('B');
    ring.add('B');
    expect(ownersOf(ring)).toEqual(before);
    ring.remove('B');
    ownersOf(ring);
    ring.add('B');
    expect(ownersOf(ring)).toEqual(before);
  });

  it('a ring without members picks nobody, and works again with one', () => {
    const ring = hashRing<Member>([]);
    expect(ring.pick('key')).toBeUndefined();
    ring.add('A');
    expect(memberOf(ring, 'key')).toBe('A');
    ring.setShare('A', 0);
    expect(ring.pick('key')).toBeUndefined();
    expect(ring.pick()).toBeUndefined();
  });
});

describe('those who are left out', () => {
  it('are passed over along the circle, so that the second place of a key is where it goes without its first', () => {
    fc.assert(
      fc.property(ids, mode, fc.constantFrom(...keys), (members, options, key) => {
        const ring = hashRing(members, options);
        const other = hashRing(members, options);
        const tried: string[] = [];
        for (const _ of members) {
          const next = memberOf(ring, key, tried)!;
          expect(tried).not.toContain(next);
          expect(memberOf(other, key)).toBe(next);
          other.remove(next);
          tried.push(next);
        }
        expect(memberOf(ring, key, tried)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  it('may be strangers', () => {
    const ring = hashRing(['A']);
    expect(memberOf(ring, 'key', ['Z'])).toBe('A');
  });
});

describe('without a key', () => {
  it('the place is chosen by chance, so members are picked by their weight', () => {
    const ring = hashRing([{ id: 'A' }, { id: 'B', weight: 3 }], { points: 1000, random: seededRandom(1) });
    const picks = 20_000;
    for (let i = 0; i < picks; i += 1) ring.pick()?.done();
    const share = ring.stats().find(({ id }) => id === 'B')!.picks / picks;
    // The arcs of 1000 points vary by 3%, chance by 0.3%: five times both.
    expect(Math.abs(share - 0.75)).toBeLessThan(0.75 * 0.25 * 5 * Math.hypot(0.032, 0.032) + 5 * 0.003);
  });

  it('the largest number that chance may give is on the circle', () => {
    const ring = hashRing(['A', 'B'], { random: () => 1 - 2 ** -53 });
    expect(ring.pick()).toBeDefined();
  });
});

describe('with a bound on load', () => {
  /** At most so many, when `total` are under way with this one. */
  const boundOf = (loadFactor: number, total: number, { weight = 1 }: Member, members: readonly Member[]) =>
    Math.ceil((loadFactor * total * weight) / members.reduce((sum, { weight = 1 }) => sum + weight, 0));

  it('nobody is ever given more than its share of the calls under way times the factor, and nobody is refused', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ pick: fc.constantFrom('hot', 'hot', 'warm', 'cold', undefined) }) },
      { weight: 1, arbitrary: fc.record({ done: fc.nat() }) },
    );
    fc.assert(
      fc.property(
        weighted,
        fc.constantFrom(1.25, 1.5, 2),
        fc.array(step, { maxLength: 300, size: 'max' }),
        (members, loadFactor, steps) => {
          const ring = hashRing(members, { loadFactor, random: seededRandom(1) });
          const underWay: Picked[] = [];
          for (const each of steps) {
            if ('done' in each) {
              underWay.splice(each.done % (underWay.length || 1), 1)[0]?.done();
              continue;
            }
            const picked = ring.pick(each.pick)!;
            underWay.push(picked);
            const { inFlight } = ring.stats().find(({ id }) => id === picked.member.id)!;
            expect(inFlight).toBeLessThanOrEqual(boundOf(loadFactor, underWay.length, picked.member, members));
          }
        },
      ),
    );
  });

  it('is what exact arithmetic says, neither one more nor one less, whatever the decimals of the factor and of weights', () => {
    const tenths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(fc.integer({ min: 1001, max: 4000 }), tenths, (thousandths, weights) => {
        const members = weights.map((weight, i) => ({ id: `${i}`, weight: weight / 10 }));
        const ring = hashRing<Member>(members, { loadFactor: thousandths / 1000 });
        const order: string[] = [];
        while (order.length < members.length) order.push(memberOf(ring, 'hot', order)!);
        const sum = weights.reduce((all, weight) => all + weight);
        const counts = new Map(order.map((id) => [id, 0]));
        for (let total = 1; total <= 300; total += 1) {
          // All whole numbers below 2 ** 53.
          const hasRoom = (id: string) => counts.get(id)! * 1000 * sum < thousandths * total * weights[Number(id)]!;
          const { id } = ring.pick('hot')!.member;
          expect([total, id]).toEqual([total, order.find(hasRoom)]);
          counts.set(id, counts.get(id)! + 1);
        }
      }),
      { examples: [[1100, [10, 10, 10, 10, 10]]], numRuns: 200 },
    );
  });

  it('one hot key is spread over as many as it needs, in the order of the circle', () => {
    const ring = hashRing(['A', 'B', 'C', 'D'], { loadFactor: 1.25 });
    const order: string[] = [];
    while (order.length < 4) order.push(memberOf(ring, 'hot', order)!);
    const picks = Array.from({ length: 16 }, () => ring.pick('hot')!);
    // Of sixteen each may have ceil(1.25 * 16 / 4) = 5.
    const counts = order.map((id) => picks.filter(({ member }) => member.id === id).length);
    expect(counts).toEqual([5, 5, 5, 1]);
    for (const picked of picks) picked.done();
    expect(memberOf(ring, 'hot')).toBe(order[0]);
  });

  it('the calls of one that has left, or is out, no longer count', () => {
    const ring = hashRing(['A', 'B', 'C'], { loadFactor: 1.01 });
    const keyOfA = keys.find((key) => memberOf(ring, key) === 'A')!;
    const held = keys.slice(0, 300).map((key) => ring.pick(key)!);
    const ofC = held.filter(({ member }) => member.id === 'C');
    ring.setShare('C', 0);
    for (const picked of held.filter(({ member }) => member.id !== 'C')) picked.done();
    // If those of C counted, A might have fifty.
    const again = Array.from({ length: 10 }, () => ring.pick(keyOfA)!.member.id);
    expect(again.filter((id) => id === 'A').length).toBeLessThanOrEqual(6);
    for (const picked of ofC) picked.done();
    ring.setShare('C', 1);
    expect(
      ring
        .stats()
        .map(({ inFlight }) => inFlight)
        .reduce((sum, each) => sum + each),
    ).toBe(10);
    expect(ring.pick(keyOfA)!.member.id).not.toBe('A');
  });

  it('a bound gives way where all others are left out: better a full member than none', () => {
    const ring = hashRing(['A', 'B'], { loadFactor: 1.25 });
    const picks = Array.from({ length: 10 }, () => ring.pick('key', { except: new Set(['A']) }));
    expect(picks.map((picked) => picked?.member.id)).toEqual(Array(10).fill('B'));
  });
});

describe('like others', () => {
  const servers = [1, 2, 3, 4].map((last) => `10.0.1.${last}:11211`);
  // libketama, four equal servers: the number of the server for key0, key1, ...
  const ketama = '4 4 1 1 2 3 1 3 2 3 4 2 1 2 2 3 4 2 2 3 2 3 3 4 2 4 4 2 3 3'.split(' ');

  test.each(ketama.map((last, i) => [`key${i}`, `10.0.1.${last}:11211`]))('ketama has %s at %s', (key, server) => {
    expect(memberOf(hashRing(servers, { compatibleWith: 'ketama' }), key)).toBe(server);
  });

  // nginx 1.22.1, `hash $arg_key consistent` over 127.0.0.1:18100, :18101 and :18102: the last digit of the port.
  const nginx = [
    ['0 1 2 1 1 1 0 0 1 1 1 1 1 1 2 2 0 2 1 1', Array.from({ length: 20 }, (_, i) => `${i + 1}`)],
    ['1 1 1 0 2 1 2 1 1 0 0 1 1 2 2 2 2 0 0 0', Array.from({ length: 20 }, (_, i) => `user:${i}`)],
    ['2 1 1', ['/index.html', '/api/v1/items?id=7', 'ключ']],
    ['0 1 1 1 0 2', ['a', 'b', 'c', '10.0.0.1', '10.0.0.2', '2001:db8::1']],
  ] as const;
  test.each(nginx)('nginx sends to %s the keys %s', (digits, texts) => {
    const ring = hashRing(['127.0.0.1:18100', '127.0.0.1:18101', '127.0.0.1:18102'], { compatibleWith: 'nginx' });
    expect(texts.map((key) => memberOf(ring, key)?.slice(-1)).join(' ')).toBe(digits);
  });
});

describe('wrong use', () => {
  test.each([
    [{ points: 0 }, 'points must be a whole number from 1 to 10000, got 0.'],
    [{ points: 1.5 }, 'points must be a whole number from 1 to 10000, got 1.5.'],
    [{ loadFactor: 1 }, 'loadFactor must be a number above 1, got 1.'],
    [{ loadFactor: Number.NaN }, 'loadFactor must be a number above 1, got NaN.'],
    [{ compatibleWith: 'maglev' }, 'compatibleWith must be one of "ketama", "nginx", got "maglev".'],
    [{ compatibleWith: 'ketama', points: 100 }, 'points must be left out: ketama has a number of its own, got 100.'],
  ])('%j is refused with a sentence', (options, message) => {
    expect(() => hashRing(['A'], options as object)).toThrow(message);
  });

  it('a weight that would fill the memory is refused, and nothing has changed', () => {
    const ring = hashRing<Member>(['A', 'B']);
    const sentence =
      'weight of C must be so that it has at most 1048576 points, got 10000. Only the ratios of weights matter';
    expect(() => ring.add({ id: 'C', weight: 10_000 })).toThrow(sentence);
    expect(() => ring.update('B', { weight: 10_000 })).toThrow('weight of B');
    expect(ring.stats().map(({ id, weight }) => [id, weight])).toEqual([
      ['A', 1],
      ['B', 1],
    ]);
    ring.add({ id: 'C', weight: 2 });
    expect(new Set(ownersOf(ring))).toEqual(new Set(['A', 'B', 'C']));
    expect(hashRing([{ id: 'A', weight: 1e6 }], { compatibleWith: 'ketama' }).pick('key')).toBeDefined();
  });

  it.each([
    [0.006, {}],
    [0.04, { points: 20 }],
    [0.006, { compatibleWith: 'nginx' }],
  ] as const)('a weight of %d is refused where it is less than a point: %j', (weight, options) => {
    const ring = hashRing<Member>(['A'], options);
    const sentence = `weight of B must be so that it has a point, got ${weight}. Only the ratios of weights matter`;
    expect(() => ring.add({ id: 'B', weight })).toThrow(sentence);
    expect(() => ring.update('A', { weight })).toThrow('weight of A');
    // A share is another matter: who warms up has at least one.
    ring.add('B');
    ring.setShare('B', weight);
    expect(memberOf(ring, 'key', ['A'])).toBe('B');
    expect(() => hashRing([{ id: 'A', weight: 1e-6 }], { compatibleWith: 'ketama' })).not.toThrow();
  });

  it('a key that is no text is refused', () => {
    expect(() => hashRing(['A']).pick(42 as never)).toThrow('key must be a string, got 42.');
  });
});
