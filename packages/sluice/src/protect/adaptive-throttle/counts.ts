/**
 * How many calls there were of late, and how many of them were accepted.
 *
 *           ├──────────── window ────────────┤
 *      │ 9/9 │ 7/8 │ 8/8 │ 3/9 │ 0/9 │ 0/7 │ 0/2      accepts / requests
 *         ▲                                   ▲ now
 *         a slot counts in full until all of it has left
 *
 * Slots leave one by one, so that what is known changes a little at a time, and is never cut in half at some moment. Nothing is
 * forgotten before it is as old as the window, and everything before it is older by a sixtieth.
 */
const slotsInWindow = 60;
// The newest is only partly there yet, so that the oldest is only partly inside.
const slotsAlive = slotsInWindow + 1;

/** When a call was counted: what is needed to take it back. */
export type Slot = number;

export class Counts {
  requests = 0;
  accepts = 0;
  private readonly slotMs: number;
  private readonly requestsOf = new Float64Array(slotsAlive);
  private readonly acceptsOf = new Float64Array(slotsAlive);
  private newest: Slot;

  constructor(windowMs: number, nowMs: number) {
    this.slotMs = windowMs / slotsInWindow;
    this.newest = this.slotAt(nowMs);
  }

  /** Counts one request, accepted or not, as of a moment that is not after the last `expire`. */
  add(isAccepted: boolean, atMs: number): Slot {
    const slot = this.slotAt(atMs);
    if (this.hasLeft(slot)) return slot;
    const at = this.indexOf(slot);
    this.requestsOf[at]! += 1;
    this.requests += 1;
    if (isAccepted) {
      this.acceptsOf[at]! += 1;
      this.accepts += 1;
    }
    return slot;
  }

  /** Takes back a request that was counted as not accepted, unless it has left by now. */
  takeBack(slot: Slot): void {
    if (this.hasLeft(slot)) return;
    this.requestsOf[this.indexOf(slot)]! -= 1;
    this.requests -= 1;
  }

  /** Drops what has left the window. To be called first; the time never steps back here. */
  expire(nowMs: number): void {
    const newest = this.slotAt(nowMs);
    // After a long silence every slot is emptied, once.
    const emptied = Math.min(slotsAlive, newest - this.newest);
    for (let ago = 0; ago < emptied; ago += 1) {
      const at = this.indexOf(newest - ago);
      this.requests -= this.requestsOf[at]!;
      this.accepts -= this.acceptsOf[at]!;
      this.requestsOf[at] = 0;
      this.acceptsOf[at] = 0;
    }
    this.newest = Math.max(this.newest, newest);
  }

  private hasLeft(slot: Slot): boolean {
    return slot <= this.newest - slotsAlive;
  }

  private slotAt(nowMs: number): Slot {
    return Math.floor(nowMs / this.slotMs);
  }

  private indexOf(slot: Slot): number {
    return ((slot % slotsAlive) + slotsAlive) % slotsAlive;
  }
}
