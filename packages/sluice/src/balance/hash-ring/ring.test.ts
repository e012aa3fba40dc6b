import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Owner, Ring } from './ring.ts';

const letters = ['A', 'B', 'C', 'D', 'E'];
// Numbers run against the ids: what is ordered by the one is not ordered by the other.
const owners: readonly Owner[] = letters.map((id, i) => ({ id, number: letters.length - 1 - i }));

/** Each point as `place owner`, in the order of the ring. */
function pointsOf(ring: Ring<Owner>): string[] {
  return Array.from({ length: ring.size }, (_, point) => `${ring.placeOf(point)} ${ring.ownerOf(point).id}`);
}

/** The same by sorting everything. */
function byHand(places: ReadonlyMap<Owner, readonly number[]>): string[] {
  const all = [...places].flatMap(([{ id }, own]) => own.map((place) => ({ place, id })));
  all.sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
  return all.map(({ place, id }) => `${place} ${id}`);
}

// Mostly crowded: what is at one place is what can go wrong. And the two ends of the circle.
const place = fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1));
const places = fc.array(place, { maxLength: 40, size: 'max' });

describe('a ring of points', () => {
  it('has every point in its place, whatever came and went before', () => {
    const change = fc.record({ owner: fc.constantFrom(...owners), places });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12, size: 'max' }), (changes) => {
        const ring = new Ring<Owner>();
        const expected = new Map<Owner, readonly number[]>();
        for (const { owner, places } of changes) {
          const before = expected.get(owner) ?? [];
          ring.change([{ owner, places: before }], [{ owner, places }]);
          expected.set(owner, places);
          expect(pointsOf(ring)).toEqual(byHand(expected));
        }
      }),
    );
  });

  it('takes many owners at once as one after the other, in any order', () => {
    fc.assert(
      fc.property(fc.tuple(...owners.map(() => places)), fc.shuffledSubarray([...owners.keys()]), (all, order) => {
        const coming = order.map((i) => ({ owner: owners[i]!, places: all[i]! }));
        const together = new Ring<Owner>();
        together.change([], coming);
        const inTurn = new Ring<Owner>();
        for (const points of coming) inTurn.change([], [points]);
        expect(pointsOf(together)).toEqual(pointsOf(inTurn));
        expect(pointsOf(together)).toEqual(byHand(new Map(coming.map(({ owner, places }) => [owner, places]))));
      }),
    );
  });

  it('finds the first point at a place or after it, and closes', () => {
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 200, size: 'max' }), fc.array(place), (points, wanted) => {
        const ring = new Ring<Owner>();
        ring.change([], [{ owner: owners[0]!, places: points }]);
        const ascending = [...points].sort((a, b) => a - b);
        for (const at of [...wanted, ...points]) {
          const found = ring.placeOf(ring.find(at));
          expect(found).toBe(ascending.find((point) => point >= at) ?? ascending[0]);
        }
        expect(ring.next(ring.size - 1)).toBe(0);
      }),
    );
  });
});
