/**
 * Seats to draw from by chance, each as likely as its weight says, while weights change: O(log n) for a draw and for a change.
 *
 *                    9                    each inner node holds the sum of its two children. A draw is a point from 0 to the sum
 *                ┌───┴───┐                of all, and goes down: left where it is below what is there, else right, with that much less.
 *                6       3
 *              ┌─┴─┐   ┌─┴─┐              A sum is always made anew of its two parts, never corrected by a difference, so that
 *              5   1   2   1              nothing is left over from the weights of an hour ago.
 */
import type { Seat } from './pool.ts';

export class WeightedSeats {
  private readonly seats: Seat[] = [];
  private readonly places = new Map<Seat, number>();
  /** The root is 1, the children of i are 2i and 2i + 1, the leaves begin at `capacity`. */
  private sums = new Float64Array(2);
  private capacity = 1;

  get size(): number {
    return this.seats.length;
  }

  add(seat: Seat): void {
    if (this.seats.length === this.capacity) this.grow();
    this.places.set(seat, this.seats.length);
    this.seats.push(seat);
    this.weigh(seat);
  }

  remove(seat: Seat): void {
    const place = this.places.get(seat);
    if (place === undefined) return;
    this.places.delete(seat);
    // The last takes the place that is free now, set aside or not.
    const last = this.seats.pop()!;
    const weight = this.sums[this.capacity + this.seats.length]!;
    this.write(this.seats.length, 0);
    if (last === seat) return;
    this.seats[place] = last;
    this.places.set(last, place);
    this.write(place, weight);
  }

  /** Its weight is another now, or counts again. */
  weigh(seat: Seat): void {
    this.write(this.places.get(seat)!, seat.weight);
  }

  /** It is not drawn until it is weighed again. */
  setAside(seat: Seat): void {
    this.write(this.places.get(seat)!, 0);
  }

  /** `point` is from 0 to below 1. Undefined where all are set aside. */
  draw(point: number): Seat | undefined {
    const { sums, capacity } = this;
    if (!(sums[1]! > 0)) return undefined;
    let left = point * sums[1]!;
    let node = 1;
    while (node < capacity) {
      node *= 2;
      const sum = sums[node]!;
      // Rounding must not lead to where nobody is.
      if (left >= sum && sums[node + 1]! > 0) {
        left -= sum;
        node += 1;
      }
    }
    return this.seats[node - capacity];
  }

  /** One draw without some of them. */
  drawWithout(leftOut: readonly Seat[], point: number): Seat | undefined {
    for (const seat of leftOut) this.setAside(seat);
    const drawn = this.draw(point);
    for (const seat of leftOut) this.weigh(seat);
    return drawn;
  }

  private write(place: number, weight: number): void {
    const { sums } = this;
    let node = this.capacity + place;
    sums[node] = weight;
    for (node >>= 1; node >= 1; node >>= 1) sums[node] = sums[2 * node]! + sums[2 * node + 1]!;
  }

  private grow(): void {
    const weights = this.sums.subarray(this.capacity);
    const capacity = this.capacity * 2;
    const sums = new Float64Array(capacity * 2);
    sums.set(weights, capacity);
    for (let node = capacity - 1; node >= 1; node -= 1) sums[node] = sums[2 * node]! + sums[2 * node + 1]!;
    this.sums = sums;
    this.capacity = capacity;
  }
}
