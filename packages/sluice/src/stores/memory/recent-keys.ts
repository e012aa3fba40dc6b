/**
 * Where the rows of keys asked for a moment ago are. A string that comes again carries the engine's own hash, and a map of
 * few strings then answers faster than the keyed hash can be worked out.
 *
 *      key ──► number of its seat ──► segment and place of the row
 *
 * Rows move when others come and go. A row that is remembered has a seat, and whoever moves the row tells its seat.
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
const fewSeats = 256;

// In numbers rather than objects: what many keys need at each call has to fit the processor's cache.
/** What a seat says: the number of the segment, and in the last bits the place in it. */
const placeBits = 15;
const placeMask = (1 << placeBits) - 1;
const mostSegments = 1 << (31 - placeBits);
const gone = -1;

export class RecentKeys {
  /** Whether it is worth asking: above 0. */
  patience: number;
  private readonly isUsed: boolean;
  private readonly byKey = new Map<string, number>();
  /** Where each row is, by the number of its seat. Seat 0 is nobody's. */
  private where = new Int32Array(64).fill(gone);
  private seats = 0;
  private empty = 0;
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

  /** What the seat of a key says; below 0 where it has none, its row is gone, or it is not worth asking. */
  find(key: string): number {
    if (this.patience <= 0) return gone;
    const seat = this.byKey.get(key);
    const where = seat === undefined ? gone : this.where[seat]!;
    if (where < 0) this.patience -= missCosts;
    else if (this.patience < mostPatience) this.patience += 1;
    return where;
  }

  /** The number of the segment, of what a seat says. */
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

  /** No seat is free, or most are empty: the texts of their keys should not be kept for nothing. */
  get isSpent(): boolean {
    return this.seats === most || (this.empty > fewSeats && 2 * this.empty > this.seats);
  }

  /** Gives a key's row a seat; returns its number. */
  seat(key: string, segment: number, place: number): number {
    this.seats += 1;
    const { seats } = this;
    if (seats === this.where.length) {
      const larger = new Int32Array(2 * seats);
      larger.set(this.where);
      this.where = larger;
    }
    this.byKey.set(key, seats);
    this.move(seats, segment, place);
    return seats;
  }

  clear(): void {
    this.byKey.clear();
    this.seats = 0;
    this.empty = 0;
  }

  /** The row of a seat is there now. What the number has no room for is found by its hash. */
  move(seat: number, segment: number, place: number): void {
    this.where[seat] = segment < mostSegments && place <= placeMask ? (segment << placeBits) | place : gone;
  }

  /** The row of a seat is gone. The seat stays empty until all are cleared. */
  leave(seat: number): void {
    this.where[seat] = gone;
    this.empty += 1;
  }
}
