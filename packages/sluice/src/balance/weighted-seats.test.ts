import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Seat } from './pool.ts';
import { WeightedSeats } from './weighted-seats.ts';

const seat = (id: string, weight: number): Seat => ({ id, member: { id }, weight, share: 1, inFlight: 0 });

/** One point in the middle of each unit of weight: each seat must be drawn exactly as often as its weight says. */
function drawnOf(seats: WeightedSeats, total: number): Map<Seat, number> {
  const drawn = new Map<Seat, number>();
  for (let unit = 0; unit < total; unit += 1) {
    const one = seats.draw((unit + 0.5) / total)!;
    drawn.set(one, (drawn.get(one) ?? 0) + 1);
  }
  return drawn;
}

test('each is drawn from as much of the line as its weight says, whoever came, went, changed or is set aside', () => {
  const step = fc.record({
    what: fc.constantFrom('add', 'add', 'add', 'remove', 'weigh', 'aside'),
    which: fc.nat(),
    weight: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const seats = new WeightedSeats();
      const model = new Map<Seat, number>();
      for (const { what, which, weight } of steps) {
        const known = [...model.keys()][which % Math.max(1, model.size)];
        if (what === 'add' || known === undefined) {
          const newcomer = seat(`${which}`, weight);
          seats.add(newcomer);
          model.set(newcomer, weight);
        } else if (what === 'remove') {
          seats.remove(known);
          model.delete(known);
        } else if (what === 'weigh') {
          known.weight = weight;
          seats.weigh(known);
          model.set(known, weight);
        } else {
          seats.setAside(known);
          model.set(known, 0);
        }
        const total = [...model.values()].reduce((sum, each) => sum + each, 0);
        expect(seats.size).toBe(model.size);
        expect(drawnOf(seats, total)).toEqual(new Map([...model].filter(([, each]) => each > 0)));
        if (total === 0) expect(seats.draw(0.5)).toBeUndefined();
      }
    }),
    {
      examples: [
        // The last, set aside, moves to a place that has become free: it must not count again by that.
        [
          [
            { what: 'add', which: 0, weight: 1 },
            { what: 'add', which: 0, weight: 1 },
            { what: 'aside', which: 1, weight: 1 },
            { what: 'remove', which: 0, weight: 1 },
          ],
        ],
      ],
      numRuns: 1000,
    },
  );
});

test('the largest point below 1 leads to somebody, however the weights round', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40, size: 'max' }),
      (weights) => {
        const seats = new WeightedSeats();
        for (const [i, weight] of weights.entries()) seats.add(seat(`${i}`, weight));
        for (const point of [0, 0.5, 1 - Number.EPSILON / 2, 1]) expect(seats.draw(point)).toBeDefined();
      },
    ),
  );
});

test('who was left out of one draw is in the next', () => {
  const seats = new WeightedSeats();
  const [a, b] = [seat('A', 1), seat('B', 3)];
  seats.add(a);
  seats.add(b);
  expect(seats.drawWithout([a], 0)).toBe(b);
  expect(seats.drawWithout([a, b], 0)).toBeUndefined();
  expect(seats.draw(0)).toBe(a);
  expect(seats.draw(0.25)).toBe(b);
});

test('removing who is not there changes nothing', () => {
  const seats = new WeightedSeats();
  const a = seat('A', 1);
  seats.add(a);
  seats.remove(seat('A', 1));
  expect(seats.draw(0)).toBe(a);
});
