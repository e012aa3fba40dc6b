/**
 * The rows of the shared memory: finding them, locking them, and knowing whether one was torn.
 *
 * A row is read into an image under its lock, worked on there, and written back whole. Its sum is taken over the image and
 * the number that the lock will have when it is given back. So whatever a thread wrote that died in the middle, or that went
 * on after its lock had been broken, does not add up, and whoever takes the lock next finds out. What it has not begun to write is as it was:
 * whoever breaks its lock goes on with that, for what was granted under a lock counts only once that is given back.
 */
import {
  BLOCKED_UNTIL_MS,
  BROKEN,
  FIRST_CELL,
  groupSize,
  HIGH,
  KEYS,
  type Layout,
  LENGTH,
  LOCK,
  LOW,
  POLICY,
  RECEIPTS_FROM,
  SUM,
} from './layout.ts';
import { breakOpen, giveBack, take, tryTake } from './lock.ts';

/** The policy of a place whose key has no state. */
export const noPolicy = -1;

// With a `low` of 0, the hash of a place that is passed over: it was used, or there may be no more keys.
const nobody = -1;

/** A copy of a place, as words and as floating-point numbers. */
export interface Image {
  readonly words: Int32Array;
  readonly floats: Float64Array;
}

/** A place that was locked: where it begins, and what to give the lock back with. */
export interface Held {
  readonly at: number;
  readonly token: number;
}

export class Places {
  private readonly layout: Layout;
  private readonly patienceMs: number;
  private readonly scratch: Image;
  // Locks that were held when a full group was searched, by their places.
  private readonly standing = new Map<number, { readonly lock: number; readonly sinceMs: number }>();

  constructor(layout: Layout, patienceMs: number) {
    this.layout = layout;
    this.patienceMs = patienceMs;
    this.scratch = this.image();
  }

  image(): Image {
    const floats = new Float64Array(this.layout.stride / 2);
    return { words: new Int32Array(floats.buffer), floats };
  }

  /** The word at which the place of a key begins, or -1. It may be somebody else's by the time it is locked. */
  find(low: number, high: number): number {
    const { words, stride } = this.layout;
    const group = this.groupAt(high);
    for (let i = 0, place = low & (groupSize - 1); i < groupSize; i += 1, place = (place + 1) & (groupSize - 1)) {
      const at = group + place * stride;
      const found = Atomics.load(words, at + HIGH);
      if (found === 0) return -1;
      if (found === high && words[at + LOW] === low) return at;
    }
    return -1;
  }

  /** Locks the place of a key and returns the token; 0 when it is no longer that key's. */
  lock(at: number, low: number, high: number): number {
    const { words } = this.layout;
    const token = take(words, at + LOCK, this.patienceMs, BROKEN, this.adopt);
    if (words[at + LOW] === low && words[at + HIGH] === high) return token;
    this.putBack(at, token);
    return 0;
  }

  /**
   * After a lock was broken: takes a row over that still adds up as its holder found it. Only now: later the same sum could be that of a
   * holder from before, who went on with what has changed since.
   */
  private readonly adopt = (lockAt: number, token: number): void => {
    const { words, stride } = this.layout;
    const at = lockAt - LOCK;
    const { scratch } = this;
    for (let i = 0; i < stride; i += 1) scratch.words[i] = words[at + i]!;
    // The number was token - 2 while it was held, and before that the one below.
    const isAsFound = scratch.words[SUM] === this.sumOf(scratch, token - 3);
    if (isAsFound && Atomics.load(words, lockAt) === token) words[at + SUM] = this.sumOf(scratch, token - 1);
  };

  /** Reads a locked place; false when it is torn. */
  read(at: number, token: number, image: Image): boolean {
    const { words, stride } = this.layout;
    const copy = image.words;
    // Of a length that is none, as spoilt bytes may have, all there is: what the image held before is another row, and may add up.
    const end = Math.min(stride, endOf(words[at + LENGTH]! >>> 0));
    for (let i = 0; i < end; i += 1) copy[i] = words[at + i]!;
    return copy[SUM] === this.sumOf(image, token - 1);
  }

  /** Writes a locked place and gives it back; false when its lock was broken meanwhile, and with it what was written. */
  write(at: number, token: number, image: Image): boolean {
    const { words } = this.layout;
    const sum = this.sumOf(image, token + 1);
    if (Atomics.load(words, at + LOCK) !== token) return false;
    const end = endOf(image.words[LENGTH]!);
    words[at + POLICY] = image.words[POLICY]!;
    words[at + LENGTH] = image.words[LENGTH]!;
    // Not the block: only `block` and `reset` write it.
    for (let i = 2 * RECEIPTS_FROM; i < end; i += 1) words[at + i] = image.words[i]!;
    words[at + SUM] = sum;
    return giveBack(words, at + LOCK, token);
  }

  /** Gives back a locked place as it was: torn stays torn. */
  putBack(at: number, token: number): boolean {
    const { words } = this.layout;
    const isWhole = this.read(at, token, this.scratch);
    const sum = this.sumOf(this.scratch, token + 1);
    if (Atomics.load(words, at + LOCK) !== token) return false;
    words[at + SUM] = isWhole ? sum : ~sum;
    return giveBack(words, at + LOCK, token);
  }

  /** Sets the block of a locked place; not if the lock was broken meanwhile. */
  block(at: number, token: number, untilMs: number): void {
    const { words, floats } = this.layout;
    if (Atomics.load(words, at + LOCK) === token) floats[floatsAt(at) + BLOCKED_UNTIL_MS] = untilMs;
  }

  /**
   * A locked place for a key that has none: one never used, or one that is `reusable`, which is asked of images of locked
   * places. 'full' when there is none in the group, 'again' when the key may have got a place meanwhile.
   */
  insert(low: number, high: number, reusable: (image: Image, at: number) => boolean): Held | 'full' | 'again' {
    const { words, groupLocks } = this.layout;
    const lock = groupLocks + this.groupOf(high);
    const token = take(words, lock, this.patienceMs, BROKEN);
    const held = this.find(low, high) >= 0 ? 'again' : this.choose(low, high, reusable);
    const isTaken = typeof held === 'object' && this.rename(held, low, high);
    // If the lock was broken, another thread may have found a place for the same key: this one is given up.
    const isOurs = giveBack(words, lock, token);
    if (typeof held === 'string') return isOurs ? held : 'again';
    if (isTaken && isOurs) return held;
    if (isTaken) this.giveUp(held);
    return 'again';
  }

  /** All places of a key's group that are in use, as they are at the moment. */
  *group(high: number): Generator<number> {
    const { words, stride } = this.layout;
    const group = this.groupAt(high);
    for (let place = 0; place < groupSize; place += 1) {
      const at = group + place * stride;
      if (!this.isBlank(at) && (words[at + LOCK]! & 1) === 0) yield at;
    }
  }

  /** A place of the group, locked: the first that was never used, or else one that may go. */
  private choose(low: number, high: number, reusable: (image: Image, at: number) => boolean): Held | 'full' {
    const { words, stride, maxKeys } = this.layout;
    const group = this.groupAt(high);
    for (let i = 0, place = low & (groupSize - 1); i < groupSize; i += 1, place = (place + 1) & (groupSize - 1)) {
      const at = group + place * stride;
      const isUnused = words[at + HIGH] === 0;
      // One that is locked is in use. One never used is locked only by a thread that died: nobody else is let in here.
      const token = isUnused ? take(words, at + LOCK, this.patienceMs, BROKEN) : tryTake(words, at + LOCK);
      if (token === 0) continue;
      const held = { at, token };
      if (this.isBlank(at)) {
        if (words[KEYS]! < maxKeys) return held;
        this.giveUp(held);
      } else if (this.read(at, token, this.scratch) && reusable(this.scratch, at)) return held;
      else this.putBack(at, token);
    }
    return this.leftBehind(group, reusable);
  }

  /**
   * A place of a full group whose holder has died, if what is in it may go. Nobody waits here: the lock may be this thread's own, or that of one
   * that waits for this group. So a lock is broken when a later search finds it where it stood.
   */
  private leftBehind(group: number, reusable: (image: Image, at: number) => boolean): Held | 'full' {
    const { words, stride } = this.layout;
    const nowMs = performance.now();
    for (let place = 0; place < groupSize; place += 1) {
      const at = group + place * stride;
      const lock = Atomics.load(words, at + LOCK);
      const stood = this.standing.get(at);
      if ((lock & 1) === 0) this.standing.delete(at);
      else if (stood?.lock !== lock) this.standing.set(at, { lock, sinceMs: nowMs });
      else if (nowMs - stood.sinceMs >= this.patienceMs) {
        const token = breakOpen(words, at + LOCK, lock, BROKEN);
        if (token === 0) continue;
        this.adopt(at + LOCK, token);
        const isWhole = this.read(at, token, this.scratch);
        // A thread was about to give it to a key when it died: nobody's state is in it.
        const isNobodys = !isWhole && this.scratch.words[POLICY] === noPolicy;
        if (isNobodys || (isWhole && reusable(this.scratch, at))) return { at, token };
        this.putBack(at, token);
      }
    }
    return 'full';
  }

  /**
   * Makes a locked place another key's. By exchange: a thread that was stopped here and goes on when the place has long been
   * somebody else's finds another hash than it knows, and leaves it alone.
   */
  private rename({ at, token }: Held, low: number, high: number): boolean {
    const { words, floats } = this.layout;
    const wasLow = words[at + LOW]!;
    const wasHigh = words[at + HIGH]!;
    const isBlank = this.isBlank(at);
    if (Atomics.load(words, at + LOCK) !== token) return false;
    words[at + POLICY] = noPolicy;
    words[at + LENGTH] = 0;
    floats.fill(0, floatsAt(at) + BLOCKED_UNTIL_MS, floatsAt(at) + FIRST_CELL);
    if (Atomics.compareExchange(words, at + LOW, wasLow, low) !== wasLow) return false;
    if (Atomics.compareExchange(words, at + HIGH, wasHigh, high) !== wasHigh) return false;
    if (isBlank) Atomics.add(words, KEYS, 1);
    this.read(at, token, this.scratch);
    words[at + SUM] = this.sumOf(this.scratch, token - 1);
    return true;
  }

  /** Gives a locked place back as nobody's. Searches do not end at it: the key they are for may be in a later one. */
  private giveUp({ at, token }: Held): void {
    const { words } = this.layout;
    if (Atomics.load(words, at + LOCK) !== token) return;
    if (!this.isBlank(at)) Atomics.sub(words, KEYS, 1);
    const image = this.image();
    image.words[POLICY] = noPolicy;
    image.words[HIGH] = nobody;
    words[at + LOW] = 0;
    Atomics.store(words, at + HIGH, nobody);
    this.write(at, token, image);
  }

  private isBlank(at: number): boolean {
    const { words } = this.layout;
    return words[at + HIGH] === 0 || (words[at + HIGH] === nobody && words[at + LOW] === 0);
  }

  private groupOf(high: number): number {
    return Math.floor(((high >>> 0) / 2 ** 32) * this.layout.groups);
  }

  private groupAt(high: number): number {
    return this.layout.places + this.groupOf(high) * groupSize * this.layout.stride;
  }

  /**
   * The block is left out: only `block` and `reset` write it, and no torn row may lose it. Two sums that know nothing of one another until the end: a
   * processor takes both at once.
   */
  private sumOf({ words }: Image, lock: number): number {
    let even = mix(mix(lock, words[LOW]!), words[POLICY]!);
    let odd = mix(mix(~lock, words[HIGH]!), words[LENGTH]!);
    const end = Math.min(words.length, endOf(words[LENGTH]!));
    for (let i = 2 * RECEIPTS_FROM; i < end; i += 2) {
      even = mix(even, words[i]!);
      odd = mix(odd, words[i + 1]!);
    }
    return mix(even, odd);
  }
}

function mix(sum: number, word: number): number {
  return Math.imul(sum ^ word, 0x9e3779b1) ^ (sum >>> 15);
}

/** The word after the last of so many cells. */
function endOf(length: number): number {
  return 2 * (FIRST_CELL + length);
}

/** Where a place's floating-point numbers begin. */
export function floatsAt(at: number): number {
  return at / 2;
}
