/**
 * A window of time in slots, for whoever counts by them. It says which slot a moment belongs to, where in a ring that slot has its
 * place, and which places are to be emptied as time goes on.
 *
 *           ├──────────── window ────────────┤
 *      │  ·  │  ·  │  ·  │  ·  │  ·  │  ·  │  ·
 *         ▲                                   ▲ now
 *         leaves when all of it is outside
 *
 * Slots leave one by one, so that what is known changes a little at a time, and is never cut in half at some moment. Nothing is
 * forgotten before it is as old as the window.
 */

/** The number of a slot: they are counted from the epoch on. */
export type Slot = number;

export class WindowSlots {
  /** How many there are at once, and places in the ring. The newest is only partly there yet, so that the oldest is only partly inside. */
  readonly size: number;
  readonly slotMs: number;
  newest: Slot = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number, slotsInWindow: number) {
    this.size = slotsInWindow + 1;
    this.slotMs = windowMs / slotsInWindow;
  }

  /** Goes on to that moment, and says which places belong to other slots now. A moment before the newest slot changes nothing. */
  advance(nowMs: number, empty: (place: number) => void): void {
    const newest = this.slotAt(nowMs);
    // After a long silence every place is emptied, once.
    const emptied = Math.min(this.size, newest - this.newest);
    for (let ago = 0; ago < emptied; ago += 1) empty(this.placeOf(newest - ago));
    this.newest = Math.max(this.newest, newest);
  }

  slotAt(atMs: number): Slot {
    return Math.floor(atMs / this.slotMs);
  }

  hasLeft(slot: Slot): boolean {
    return slot <= this.newest - this.size;
  }

  placeOf(slot: Slot): number {
    return ((slot % this.size) + this.size) % this.size;
  }

  /** When all of it is outside. */
  leavesMs(slot: Slot): number {
    return (slot + this.size) * this.slotMs;
  }
}
