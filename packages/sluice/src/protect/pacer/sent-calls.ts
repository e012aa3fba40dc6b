/** How many calls were made of late, in parts of a window: what a server that counts by a sliding window is about to forget. */
import { WindowSlots } from '../window-slots.ts';

const slotsInWindow = 64;

export class SentCalls {
  private readonly slots: WindowSlots;
  private readonly counts: Float64Array;
  private readonly empty = (place: number) => {
    this.counts[place] = 0;
  };

  constructor(windowMs: number) {
    this.slots = new WindowSlots(windowMs, slotsInWindow);
    this.counts = new Float64Array(this.slots.size);
  }

  add(nowMs: number): void {
    this.slots.advance(nowMs, this.empty);
    this.counts[this.slots.placeOf(this.slots.newest)]! += 1;
  }

  /** One that was made then was not, unless it is forgotten by now. */
  takeBack(atMs: number): void {
    const slot = this.slots.slotAt(atMs);
    // From before the counting began, it was never added.
    if (slot > this.slots.newest || this.slots.hasLeft(slot)) return;
    const place = this.slots.placeOf(slot);
    this.counts[place] = Math.max(0, this.counts[place]! - 1);
  }

  /** Of the last window. */
  total(nowMs: number): number {
    this.slots.advance(nowMs, this.empty);
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  /** Tells of each part that has calls in it, the oldest first: how many, and in how many milliseconds the last of them is forgotten. */
  forEach(nowMs: number, tell: (count: number, forgottenInMs: number) => void): void {
    const { slots } = this;
    slots.advance(nowMs, this.empty);
    for (let slot = slots.newest - slotsInWindow; slot <= slots.newest; slot += 1) {
      const count = this.counts[slots.placeOf(slot)]!;
      if (count > 0) tell(count, slots.leavesMs(slot) - nowMs);
    }
  }
}
