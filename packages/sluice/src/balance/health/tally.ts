/** How many calls of the latest window there were, and how many failed; in slots that are the same for all, so that tallies can be subtracted. */
import { WindowSlots } from '../../protect/window-slots.ts';

const slotsInWindow = 20;

export class Tally {
  calls = 0;
  failures = 0;
  private readonly slots: WindowSlots;
  private readonly callsAt: Float64Array;
  private readonly failuresAt: Float64Array;

  constructor(windowMs: number) {
    this.slots = new WindowSlots(windowMs, slotsInWindow);
    this.callsAt = new Float64Array(this.slots.size);
    this.failuresAt = new Float64Array(this.slots.size);
  }

  add(hasFailed: boolean, nowMs: number): void {
    this.advance(nowMs);
    const place = this.slots.placeOf(this.slots.newest);
    this.put(place, this.callsAt[place]! + 1, this.failuresAt[place]! + (hasFailed ? 1 : 0));
  }

  /** Forgets what is too old by now. */
  advance(nowMs: number): void {
    this.slots.advance(nowMs, (place) => this.put(place, 0, 0));
  }

  /** As if the calls of another, of the same window, had never been. */
  subtract(other: Tally, nowMs: number): void {
    this.advance(nowMs);
    other.advance(nowMs);
    for (let place = 0; place < this.slots.size; place += 1)
      this.put(place, this.callsAt[place]! - other.callsAt[place]!, this.failuresAt[place]! - other.failuresAt[place]!);
  }

  clear(): void {
    for (let place = 0; place < this.slots.size; place += 1) this.put(place, 0, 0);
  }

  private put(place: number, calls: number, failures: number): void {
    this.calls += calls - this.callsAt[place]!;
    this.failures += failures - this.failuresAt[place]!;
    this.callsAt[place] = calls;
    this.failuresAt[place] = failures;
  }
}
