/**
 * The latest calls and how many of them failed. One ring for every kind of window:
 *
 *      by time    a part holds the calls of a twentieth of the window      │ 3 of 9 │ 0 of 7 │ ··· │ 1 of 2 │
 *      by count   a part holds one call, and there are so many parts       │ 0 of 1 │ 1 of 1 │ ··· │ 0 of 1 │
 *
 * A part leaves when its first call is as old as the window, so nothing older ever votes: not after an hour without calls,
 * and not in a window by count that is bounded in time as well. (Of a window by time, the votes of its oldest twentieth may
 * have left already.)
 *
 * Times are of `ForwardTime`. By a clock that was set back, nothing would leave until it has caught up, and what goes wrong meanwhile would be
 * outvoted by all that was counted since.
 */
const partsOfTime = 20;

// A part: when its first call ended, how many calls it holds, how many of them failed.
const WIDTH = 3;
const CALLS = 1;
const FAILURES = 2;

export class Votes {
  calls = 0;
  failures = 0;
  private readonly windowMs: number;
  /** How long a part goes on; 0 when it holds one call. */
  private readonly partMs: number;
  private readonly capacity: number;
  private readonly parts: Float64Array;
  private oldest = 0;
  private count = 0;

  /** The calls of the last `windowMs` (may be `Infinity`), and of those the last `maxCalls`, if given. */
  constructor(windowMs: number, maxCalls: number | undefined) {
    this.windowMs = windowMs;
    this.partMs = maxCalls === undefined ? windowMs / partsOfTime : 0;
    // One more than there are: where a part begins may round.
    this.capacity = maxCalls ?? partsOfTime + 1;
    this.parts = new Float64Array(this.capacity * WIDTH);
  }

  add(isFailure: boolean, nowMs: number): void {
    this.expire(nowMs);
    this.addPart(nowMs, 1, isFailure ? 1 : 0);
  }

  /** Drops the votes that are too old by now. */
  expire(nowMs: number): void {
    while (this.count > 0 && nowMs - this.parts[this.at(0)]! >= this.windowMs) this.dropOldest();
  }

  clear(): void {
    this.count = 0;
    this.calls = 0;
    this.failures = 0;
  }

  /** All of it as plain numbers: `[time, calls, failures, time, ...]`, oldest first; by a clock that is so far behind the times here. */
  toNumbers(aheadMs: number): number[] {
    return Array.from({ length: this.count }, (_, i) => {
      const [atMs = 0, ...counts] = this.parts.subarray(this.at(i), this.at(i) + WIDTH);
      return [atMs - aheadMs, ...counts];
    }).flat();
  }

  /** Takes over what `toNumbers` gave, also where the window was another. */
  restore(numbers: readonly number[], aheadMs: number, nowMs: number): void {
    this.clear();
    for (let i = 0; i + WIDTH <= numbers.length; i += WIDTH) {
      const [clockMs = 0, calls = 0, failures = 0] = numbers.slice(i, i + WIDTH);
      // By a clock that was ahead they would be here for longer than the window.
      const atMs = Math.min(clockMs + aheadMs, nowMs);
      if (this.partMs > 0) this.addPart(atMs, calls, failures);
      // More than the ring holds would only push each other out.
      else
        for (let call = 0; call < Math.min(calls, this.capacity); call += 1)
          this.addPart(atMs, 1, call < failures ? 1 : 0);
    }
  }

  private addPart(atMs: number, calls: number, failures: number): void {
    const newest = this.count === 0 ? -1 : this.at(this.count - 1);
    // Votes stay in order of time, also where that rounds.
    const newestMs = newest < 0 ? atMs : this.parts[newest]!;
    if (newest >= 0 && this.partMs > 0 && atMs - newestMs < this.partMs) {
      this.parts[newest + CALLS]! += calls;
      this.parts[newest + FAILURES]! += failures;
    } else {
      if (this.count === this.capacity) this.dropOldest();
      const at = this.at(this.count);
      this.parts[at] = Math.max(atMs, newestMs);
      this.parts[at + CALLS] = calls;
      this.parts[at + FAILURES] = failures;
      this.count += 1;
    }
    this.calls += calls;
    this.failures += failures;
  }

  private dropOldest(): void {
    const at = this.at(0);
    this.calls -= this.parts[at + CALLS]!;
    this.failures -= this.parts[at + FAILURES]!;
    this.oldest = (this.oldest + 1) % this.capacity;
    this.count -= 1;
  }

  private at(i: number): number {
    return ((this.oldest + i) % this.capacity) * WIDTH;
  }
}
