/**
 * What every balancer must do, whichever way it chooses. Each runs it: `balancerConformance('roundRobin', roundRobin)`.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../testing/test-clock.ts';
import { seededRandom } from '../vocabulary/random.ts';
import type { Balancer, BalancerOptions, Member, MemberOrId, Picked, PickOutcome } from './balancer.ts';

export type MakeBalancer = <M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options?: BalancerOptions,
) => Balancer<M>;

/** Picks so many, each done before the next, and writes their ids in a row: `A B C`. A `.` is where nobody could be picked. */
export function letters(balancer: Balancer, count: number, except: readonly string[] = []): string {
  return Array.from({ length: count }, (_, i) => {
    const picked = balancer.pick(`key ${i}`, { except: new Set(except) });
    picked?.done();
    return picked?.member.id ?? '.';
  }).join(' ');
}

/**
 * A life in letters. A number picks so often; `-A` takes A's share, `+A` gives it back, `A/2` gives it half; `xA` removes A, `*A` adds
 * it, `*A5` with weight 5; `!A` picks once without A.
 */
export function live(balancer: Balancer, script: string): string {
  const seen: string[] = [];
  for (const word of script.split(' ')) {
    const id = word.replace(/[^A-Z]/g, '');
    const number = Number(word.replace(/[^0-9]/g, ''));
    if (/^\d+$/.test(word)) seen.push(letters(balancer, number));
    else if (word.startsWith('!')) seen.push(letters(balancer, 1, [id]));
    else if (word.startsWith('x')) balancer.remove(id);
    else if (word.startsWith('*')) balancer.add({ id, weight: number || 1 });
    else balancer.setShare(id, word.includes('/') ? 1 / number : word.startsWith('+') ? 1 : 0);
  }
  return seen.join(' ');
}

/** How often each was picked, with many different keys. */
export function counts(balancer: Balancer, count: number, key = 'key'): Record<string, number> {
  const seen: Record<string, number> = {};
  for (let i = 0; i < count; i += 1) {
    const picked = balancer.pick(`${key} ${i}`);
    picked?.done();
    if (picked) seen[picked.member.id] = (seen[picked.member.id] ?? 0) + 1;
  }
  return seen;
}

/**
 * Which share of the calls each gets, where all of them answer alike: after 20 ms at even intervals, or both left to chance with that mean
 * (`isRandom`), so that `underWay` are on average.
 */
export function sharesUnderLoad(
  balancer: Balancer,
  clock: TestClock,
  { underWay, isRandom }: { readonly underWay: number; readonly isRandom: boolean },
): Record<string, number> {
  const random = seededRandom(11);
  const about = (meanMs: number) => (isRandom ? -Math.log(1 - random()) * meanMs : meanMs);
  const calls = 10_000;
  const seen: Record<string, number> = {};
  let out: { readonly endMs: number; readonly picked: Picked }[] = [];
  for (let i = 0; i < calls; i += 1) {
    const nowMs = clock.now();
    for (const { endMs, picked } of out) if (endMs <= nowMs) picked.done();
    out = out.filter(({ endMs }) => endMs > nowMs);
    const picked = balancer.pick()!;
    seen[picked.member.id] = (seen[picked.member.id] ?? 0) + 1 / calls;
    out.push({ endMs: nowMs + about(20), picked });
    clock.advance(about(20 / underWay));
  }
  for (const { picked } of out) picked.done();
  return seen;
}

/** From almost idle to busy, in step and by chance. */
export const everyLoad = [0.5, 1.5, 4, 40].flatMap((underWay) => [
  { underWay, isRandom: false },
  { underWay, isRandom: true },
]);

const ids = ['A', 'B', 'C', 'D', 'E'];

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      ...(['pick', 'pick', 'pick', 'pick', 'done', 'done', 'add', 'remove', 'weigh', 'share', 'share'] as const),
    ),
    id: fc.constantFrom(...ids),
    // By bits, who is left out of a pick.
    except: fc.oneof(fc.constant(0), fc.nat({ max: 31 })),
    weight: fc.constantFrom(0.5, 1, 2, 7),
    share: fc.constantFrom(0, 0, 0.1, 0.5, 1, 1),
    outcome: fc.constantFrom<PickOutcome>('ok', 'failed', 'ignored'),
    gapMs: fc.constantFrom(0, 0, 1, 50, 5000),
    which: fc.nat({ max: 1000 }),
  }),
  { maxLength: 100, size: 'max' },
);
type Step = typeof steps extends fc.Arbitrary<readonly (infer S)[]> ? S : never;

/** What can be known of a balancer without knowing how it chooses. */
class Books {
  readonly members = new Map<string, { weight: number; share: number; inFlight: number; picks: number }>();
  readonly out: { readonly picked: Picked; readonly of: { inFlight: number } }[] = [];

  constructor(first: readonly string[]) {
    for (const id of first) this.add(id, 1);
  }

  add(id: string, weight: number): void {
    this.members.set(id, { weight, share: 1, inFlight: 0, picks: 0 });
  }

  canBePicked(except: ReadonlySet<string>): string[] {
    return [...this.members].filter(([id, { share }]) => share > 0 && !except.has(id)).map(([id]) => id);
  }

  stats() {
    return [...this.members].map(([id, member]) => ({ id, ...member }));
  }
}

function take(balancer: Balancer, books: Books, step: Step): void {
  const { what, id, weight, share, which } = step;
  const known = books.members.get(id);
  if (what === 'pick') pickOne(balancer, books, new Set(ids.filter((_, bit) => (step.except >> bit) & 1)), which);
  else if (what === 'done') {
    const [ended] = books.out.splice(which % Math.max(1, books.out.length), 1);
    if (ended === undefined) return;
    ended.picked.done(step.outcome);
    ended.picked.done('failed');
    ended.of.inFlight -= 1;
  } else if (what === 'remove') {
    expect(balancer.remove(id)).toBe(known !== undefined);
    books.members.delete(id);
  } else if (known === undefined) {
    balancer.add({ id, weight });
    books.add(id, weight);
  } else if (what === 'weigh') {
    balancer.update(id, { weight });
    known.weight = weight;
  } else if (what === 'share') {
    balancer.setShare(id, share);
    known.share = share;
  }
}

function pickOne(balancer: Balancer, books: Books, except: ReadonlySet<string>, which: number): void {
  const picked = balancer.pick(which % 3 === 0 ? undefined : `key ${which}`, { except });
  const possible = books.canBePicked(except);
  if (picked === undefined) {
    expect(possible).toEqual([]);
    return;
  }
  expect(possible).toContain(picked.member.id);
  const of = books.members.get(picked.member.id)!;
  of.inFlight += 1;
  of.picks += 1;
  books.out.push({ picked, of });
}

export function balancerConformance(name: string, make: MakeBalancer): void {
  const seeded = (members: readonly (Member | string)[]) =>
    make(members, { random: seededRandom(7), clock: new TestClock() });

  describe(`${name}, as every balancer`, () => {
    it('has nobody to pick where there is nobody', () => {
      const balancer = seeded([]);
      expect(balancer.pick()).toBeUndefined();
      expect(balancer.pick('key')).toBeUndefined();
      balancer.add('A');
      expect(letters(balancer, 2)).toBe('A A');
      balancer.remove('A');
      expect(letters(balancer, 2)).toBe('. .');
    });

    it('gives the member as it was given, with its own fields', () => {
      const member = { id: 'A', weight: 2, url: 'http://a.test' };
      const balancer = make([member]);
      expect(balancer.pick()?.member.url).toBe('http://a.test');
      expect(balancer.members).toEqual([member]);
      balancer.update('A', { url: 'http://b.test' });
      expect(balancer.pick()?.member).toEqual({ id: 'A', weight: 2, url: 'http://b.test' });
    });

    it('picks everybody sooner or later', () => {
      const balancer = seeded(ids);
      expect(Object.keys(counts(balancer, 500)).sort()).toEqual(ids);
    });

    it('leaves out whom it is asked to, for that pick only', () => {
      const balancer = seeded(['A', 'B', 'C']);
      expect(new Set(letters(balancer, 200, ['A', 'C']).split(' '))).toEqual(new Set(['B']));
      expect(letters(balancer, 1, ['A', 'B', 'C'])).toBe('.');
      expect(letters(balancer, 1, ['X', 'Y'])).not.toBe('.');
      expect(Object.keys(counts(balancer, 500)).sort()).toEqual(['A', 'B', 'C']);
    });

    it('does not pick who has no share, and does again when it has', () => {
      const balancer = seeded(['A', 'B']);
      balancer.setShare('A', 0);
      expect(counts(balancer, 100)).toEqual({ B: 100 });
      balancer.setShare('B', 0);
      expect(balancer.pick()).toBeUndefined();
      balancer.setShare('A', 0.01);
      expect(counts(balancer, 100)).toEqual({ A: 100 });
      balancer.setShare('A', 1);
      balancer.setShare('B', 1);
      expect(Object.keys(counts(balancer, 500)).sort()).toEqual(['A', 'B']);
    });

    it('ends calls of a member that is gone as usual, and knows nothing of them when its id comes back', () => {
      const balancer = seeded(['A']);
      const before = balancer.pick()!;
      expect(balancer.remove('A')).toBe(true);
      expect(balancer.remove('A')).toBe(false);
      balancer.add('A');
      expect(balancer.stats()).toMatchObject([{ id: 'A', inFlight: 0, picks: 0 }]);
      const after = balancer.pick()!;
      before.done('failed');
      expect(balancer.stats()).toMatchObject([{ inFlight: 1, picks: 1 }]);
      after.done();
      expect(balancer.stats()).toMatchObject([{ inFlight: 0, picks: 1 }]);
    });

    it('counts calls under way through a time without a share', () => {
      const balancer = seeded(['A', 'B']);
      const first = balancer.pick()!;
      const { id } = first.member;
      balancer.setShare(id, 0);
      expect(balancer.stats().find((stats) => stats.id === id)).toMatchObject({ inFlight: 1, share: 0 });
      first.done();
      balancer.setShare(id, 1);
      expect(balancer.stats().find((stats) => stats.id === id)).toMatchObject({ inFlight: 0, share: 1 });
    });

    it('is given back once', () => {
      const balancer = seeded(['A']);
      const picked = balancer.pick()!;
      expect(() => picked.done('lost' as never)).toThrow('outcome must be one of ok, failed, ignored, got "lost"');
      picked.done();
      picked.done();
      picked.done('failed');
      expect(balancer.stats()).toMatchObject([{ inFlight: 0 }]);
    });

    it.each<[string, (balancer: Balancer) => unknown, string]>([
      ['an id twice', (b) => b.add('A'), 'A twice'],
      ['an empty id', (b) => b.add(''), 'member.id must be a string that is not empty'],
      ['no id', (b) => b.add({} as Member), 'member.id must be a string that is not empty'],
      ['a weight of 0', (b) => b.add({ id: 'B', weight: 0 }), 'To take a member out use setShare(id, 0).'],
      ['a weight that is none', (b) => b.update('A', { weight: Number.NaN }), 'weight of A must be'],
      ['changes that are none', (b) => b.update('A', null as never), 'changes must be an object'],
      ['another id', (b) => b.update('A', { id: 'B' } as object), 'a member keeps its id'],
      ['an update of nobody', (b) => b.update('B', {}), 'id must be the id of a member'],
      ['a share above 1', (b) => b.setShare('A', 1.5), 'share must be a number from 0 to 1, got 1.5'],
      ['a share that is none', (b) => b.setShare('A', Number.NaN), 'share must be a number from 0 to 1, got NaN'],
      ['a share for nobody', (b) => b.setShare('B', 1), 'id must be the id of a member'],
      ['a list to leave out', (b) => b.pick('k', { except: 5 as never }), 'except must be a Set of ids'],
    ])('refuses %s, and stays as it was', (_, act, message) => {
      const balancer = seeded(['A']);
      expect(() => act(balancer)).toThrow(message);
      expect(balancer.stats()).toEqual([expect.objectContaining({ id: 'A', weight: 1, share: 1, inFlight: 0 })]);
      expect(letters(balancer, 2)).toBe('A A');
    });

    it('refuses options that it does not have', () => {
      expect(() => make(['A'], { wieght: 1 } as object)).toThrow('has no field "wieght"');
      expect(() => make(['A'], { random: 4 as never })).toThrow('random must be a function');
      expect(() => make(['A'], { clock: 4 as never })).toThrow('clock must be an object with now() and sleep()');
      expect(() => make('A' as never)).toThrow('members must be a list of members');
    });

    it('keeps its books, whatever happens in whatever order', () => {
      fc.assert(
        fc.property(steps, fc.subarray(ids), fc.nat(), (life, first, seed) => {
          const clock = new TestClock();
          const balancer = make(first, { random: seededRandom(seed), clock });
          const books = new Books(first);
          for (const step of life) {
            clock.advance(step.gapMs);
            take(balancer, books, step);
            expect(balancer.members.map(({ id }) => id)).toEqual([...books.members.keys()]);
            expect(balancer.stats()).toEqual(books.stats().map((stats) => expect.objectContaining(stats)));
          }
        }),
        { numRuns: 100 },
      );
    });
  });
}
