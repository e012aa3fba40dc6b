/**
 * Where the rows of keys asked for a moment ago are. A string that comes again carries the engine's own hash, and a map of
 * few strings then answers faster than the keyed hash can be worked out.
 *
 * It helps with few keys that come often and only costs with many that come rarely, so it watches itself: misses use up
 * its patience, hits restore it; without any it is closed, and tried again after a while.
 */
import type { Segment } from './segment.ts';

const most = 16_384;
const mostPatience = 256;
const missCosts = 4;
const triedAgainAfter = 8192;

// What is remembered of a key, in four numbers: rows move when others come and go, and their hashes move with them, so the
// hash says whether the row is still there.
const SEGMENT = 0;
const PLACE = 1;
const LOW = 2;
const HIGH = 3;
const WIDTH = 4;

export class RecentKeys {
  /** The place of the key found last. */
  place = 0;
  private readonly byKey = new Map<string, number>();
  private numbers = new Int32Array(64 * WIDTH);
  /** Whether it is worth asking: above 0. */
  patience = mostPatience;
  private callsWhileClosed = 0;
  private misses = 0;

  /** Passes the time while it is closed. */
  wait(): void {
    this.callsWhileClosed += 1;
    if (this.callsWhileClosed < triedAgainAfter) return;
    this.callsWhileClosed = 0;
    this.patience = mostPatience / 4;
  }

  /** The segment of a key's row, if it is still where it was. `step` is how many hash words there are per place. */
  find(key: string, segments: readonly Segment[], step: number): Segment | undefined {
    const at = this.byKey.get(key);
    if (at !== undefined) {
      const { numbers } = this;
      const segment = segments[numbers[at + SEGMENT]!]!;
      const place = numbers[at + PLACE]!;
      const { hashes, keys } = segment;
      if (hashes[place * step] === numbers[at + LOW] && hashes[place * step + 1] === numbers[at + HIGH]) {
        if (keys === undefined || keys[place] === key) {
          if (this.patience < mostPatience) this.patience += 1;
          this.place = place;
          return segment;
        }
      }
    }
    this.patience -= missCosts;
    return undefined;
  }

  /** One in four of those it was asked for in vain is worth keeping: what comes often is soon among them. */
  remember(key: string, segment: number, place: number, low: number, high: number): void {
    this.misses += 1;
    if (this.misses % 4 !== 0) return;
    const { byKey } = this;
    if (byKey.size >= most) byKey.clear();
    const at = byKey.get(key) ?? byKey.size * WIDTH;
    if (at === this.numbers.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    byKey.set(key, at);
    this.numbers[at + SEGMENT] = segment;
    this.numbers[at + PLACE] = place;
    this.numbers[at + LOW] = low;
    this.numbers[at + HIGH] = high;
  }
}
