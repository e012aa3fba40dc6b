/** The power of two choices, by any measure: of two different seats, drawn by weight, the first, unless the second is better. */
import type { Seat } from '../pool.ts';
import type { WeightedSeats } from '../weighted-seats.ts';

export function betterOfTwo(
  seats: WeightedSeats,
  leftOut: readonly Seat[],
  random: () => number,
  isBetter: (second: Seat, first: Seat) => boolean,
): Seat | undefined {
  for (const seat of leftOut) seats.setAside(seat);
  const first = seats.draw(random());
  const second = first && anotherThan(first, seats, random);
  for (const seat of leftOut) seats.weigh(seat);
  // The first of equals: it is the one that was drawn by weight alone.
  return second !== undefined && isBetter(second, first!) ? second : first;
}

function anotherThan(seat: Seat, seats: WeightedSeats, random: () => number): Seat | undefined {
  seats.setAside(seat);
  const other = seats.draw(random());
  seats.weigh(seat);
  return other;
}
