/**
 * How many calls there were of late, and how many of them were accepted.
 *
 *           ├──────────── window ────────────┤
 *      │ 9/9 │ 7/8 │ 8/8 │ 3/9 │ 0/9 │ 0/7 │ 0/2      accepts / requests
 *         ▲                                   ▲ now
 *         a slot counts in full until all of it has left
 *
 * Nothing is forgotten before it is as old as the window, and everything before it is older by a sixtieth.
 */
import { type Slot, WindowSlots } from '../window-slots.ts';

const slotsInWindow = 60;

/** When a call was counted: what is needed to take it back. */
export type { Slot } from '../window-slots.ts';

export class Counts {
  requests = 0;
  accepts = 0;
  private readonly slots: WindowSlots;
  private readonly requestsOf: Float64Array;
  private readonly acceptsOf: Float64Array;
  private readonly empty = (place: number) => {
    this.requests -= this.requestsOf[place]!;
    this.accepts -= this.acceptsOf[place]!;
    this.requestsOf[place] = 0;
    this.acceptsOf[place] = 0;
  };

  constructor(windowMs: number, nowMs: number) {
    this.slots = new WindowSlots(windowMs, slotsInWindow);
    this.requestsOf = new Float64Array(this.slots.size);
    this.acceptsOf = new Float64Array(this.slots.size);
    this.expire(nowMs);
  }

  /** Counts one request, accepted or not, as of a moment that is not after the last `expire`. */
  add(isAccepted: boolean, atMs: number): Slot {
    const slot = this.slots.slotAt(atMs);
    if (this.slots.hasLeft(slot)) return slot;
    const place = this.slots.placeOf(slot);
    this.requestsOf[place]! += 1;
    this.requests += 1;
    if (isAccepted) {
      this.acceptsOf[place]! += 1;
      this.accepts += 1;
    }
    return slot;
  }

  /** Takes back a request that was counted as not accepted, unless it has left by now. */
  takeBack(slot: Slot): void {
    if (this.slots.hasLeft(slot)) return;
    this.requestsOf[this.slots.placeOf(slot)]! -= 1;
    this.requests -= 1;
  }

  /** Drops what has left the window. To be called first; the time never steps back here. */
  expire(nowMs: number): void {
    this.slots.advance(nowMs, this.empty);
  }
}
