/**
 * Where the rows of keys asked for a moment ago are. A string that comes again carries the engine's own hash, and a map of
 * few strings then answers faster than the keyed hash can be worked out.
 *
 *      key ──► segment and place of its row
 *      row ──► number of its seat ──► key
 *
 * Rows move when others come and go. A row that is remembered has a seat, by which whoever moves the row tells where it is now.
 *
 * It helps with few keys that come often and only costs with many that come rarely, so it watches itself: misses use up
 * its patience, hits restore it; without any it is closed, and tried again after a while.
 */
const most = 16_384;
// Enough for a seat for each of as many keys as there are seats: a key is missed four times before it has one, and once before it is there at all. A miss costs
// about twice what a hit saves.
const mostPatience = 10 * most;
const missCosts = 2;
const triedAgainAfter = 8192;
const trialPatience = 256;

// A number rather than an object: what many keys need at each call has to fit the processor's cache.
/** Where a row is: the number of the segment, and in the last bits the place in it. */
const placeBits = 15;
const placeMask = (1 << placeBits) - 1;
const mostSegments = 1 << (31 - placeBits);
const nowhere = -1;

export class RecentKeys {
  /** Whether it is worth asking: above 0. */
  patience: number;
  private readonly isUsed: boolean;
  private readonly byKey = new Map<string, number>();
  /** By the number of the seat. Seat 0 is nobody's. */
  private readonly keys: string[] = [''];
  private readonly emptySeats: number[] = [];
  private callsWhileClosed = 0;
  private misses = 0;

  /** With `isUsed` false it stays closed. */
  constructor(isUsed: boolean) {
    this.isUsed = isUsed;
    this.patience = isUsed ? mostPatience : 0;
  }

  /** Passes the time while it is closed. */
  wait(): void {
    if (!this.isUsed) return;
    this.callsWhileClosed += 1;
    if (this.callsWhileClosed < triedAgainAfter) return;
    this.callsWhileClosed = 0;
    this.patience = trialPatience;
  }

  /** Where the row of a key is; below 0 where it is not among these, or it is not worth asking. */
  find(key: string): number {
    if (this.patience <= 0) return nowhere;
    const where = this.byKey.get(key);
    if (where === undefined) {
      this.patience -= missCosts;
      return nowhere;
    }
    if (this.patience < mostPatience) this.patience += 1;
    return where;
  }

  // What is asked of `where` is asked here: a constant of another module is read from a cell at each use.

  /** The number of the segment. */
  segment(where: number): number {
    return where >>> placeBits;
  }

  /** The place in the segment. */
  place(where: number): number {
    return where & placeMask;
  }

  /** Whether a key that was asked for in vain is worth a seat. One in four is: what comes often is soon among them. */
  isWorthSeat(): boolean {
    this.misses += 1;
    return this.misses % 4 === 0;
  }

  /** No seat is free. */
  get isFull(): boolean {
    return this.byKey.size === most;
  }

  /** Gives a key's row a seat; returns its number. */
  seat(key: string, segment: number, place: number): number {
    const seat = this.emptySeats.pop() ?? this.keys.length;
    this.keys[seat] = key;
    this.move(seat, segment, place);
    return seat;
  }

  clear(): void {
    this.byKey.clear();
    this.keys.length = 1;
    this.emptySeats.length = 0;
  }

  /** The row of a seat is there now. What the number has no room for is found by its hash. */
  move(seat: number, segment: number, place: number): void {
    const where = segment < mostSegments && place <= placeMask ? (segment << placeBits) | place : nowhere;
    this.byKey.set(this.keys[seat]!, where);
  }

  /** The row of a seat is gone. */
  leave(seat: number): void {
    this.byKey.delete(this.keys[seat]!);
    this.keys[seat] = '';
    this.emptySeats.push(seat);
  }
}
