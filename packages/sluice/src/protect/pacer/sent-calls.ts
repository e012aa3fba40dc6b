/**
 * How many calls were made of late, in parts of a window: what a server that counts by a sliding window is about to forget.
 *
 *      ├──────────────── window ────────────────┤ now
 *      │ 3 │ 0 │ 1 │ 2 │ ···                │ 1 │
 *        ▲ forgotten when all of it has left
 */
const parts = 64;

export class SentCalls {
  private readonly partMs: number;
  private readonly counts = new Float64Array(parts + 1);
  private newest = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number) {
    this.partMs = windowMs / parts;
  }

  add(nowMs: number): void {
    this.expire(nowMs);
    this.counts[this.indexOf(this.newest)]! += 1;
  }

  /** Of the last window. */
  total(nowMs: number): number {
    this.expire(nowMs);
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  /** Tells of each part that has calls in it, the oldest first: how many, and in how many milliseconds the last of them is forgotten. */
  forEach(nowMs: number, tell: (count: number, forgottenInMs: number) => void): void {
    this.expire(nowMs);
    for (let ago = parts; ago >= 0; ago -= 1) {
      const count = this.counts[this.indexOf(this.newest - ago)]!;
      if (count > 0) tell(count, (this.newest - ago + 1 + parts) * this.partMs - nowMs);
    }
  }

  private expire(nowMs: number): void {
    const newest = Math.floor(nowMs / this.partMs);
    const emptied = Math.min(parts + 1, newest - this.newest);
    for (let ago = 0; ago < emptied; ago += 1) this.counts[this.indexOf(newest - ago)] = 0;
    this.newest = newest;
  }

  private indexOf(part: number): number {
    return ((part % (parts + 1)) + parts + 1) % (parts + 1);
  }
}
