/**
 * The rows of the shared memory: finding them, locking them, and knowing whether one was torn.
 *
 * A row is written only under its lock, and its sum is taken over its contents and the number that the lock will have when
 * it is given back. So whatever a thread wrote that died in the middle, or that went on after its lock had been broken, does
 * not add up, and whoever takes the lock next finds out.
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
import { giveBack, take, tryTake } from './lock.ts';

/** The policy of a place whose key has no state. */
export const noPolicy = -1;

// With a `low` of 0, the hash of a place that is passed over: it was used, or there may be no more keys.
const nobody = -1;

export class Places {
  private readonly layout: Layout;
  private readonly patienceMs: number;

  constructor(layout: Layout, patienceMs: number) {
    this.layout = layout;
    this.patienceMs = patienceMs;
  }

  /** The word at which the place of a key begins, or -1. It may be somebody else's by the time it is locked. */
  find(low: number, high: number): number {
    const { words, stride, places } = this.layout;
    const first = this.groupOf(high) * groupSize;
    for (let i = 0, place = low & (groupSize - 1); i < groupSize; i += 1, place = (place + 1) & (groupSize - 1)) {
      const at = places + (first + place) * stride;
      const found = Atomics.load(words, at + HIGH);
      if (found === 0) return -1;
      if (found === high && words[at + LOW] === low) return at;
    }
    return -1;
  }

  /** Locks the place of a key; false when it is no longer that key's. What is in doubt is left for `isTorn` to find. */
  lock(at: number, low: number, high: number): boolean {
    const { words } = this.layout;
    if (take(words, at + LOCK, this.patienceMs) === 'broken') Atomics.add(words, BROKEN, 1);
    if (words[at + LOW] === low && words[at + HIGH] === high) return true;
    this.putBack(at);
    return false;
  }

  /** Whether a locked place holds what somebody wrote who did not finish. */
  isTorn(at: number): boolean {
    const { words } = this.layout;
    return words[at + SUM] !== this.sumOf(at, words[at + LOCK]! - 1);
  }

  /** Gives a locked place back as it is now; false when its lock was broken meanwhile, and with it what was written. */
  publish(at: number): boolean {
    const { words } = this.layout;
    const token = words[at + LOCK]!;
    words[at + SUM] = this.sumOf(at, token + 1);
    return giveBack(words, at + LOCK, token);
  }

  /**
   * A locked place for a key that has none: one never used, or one that is `reusable`, which is asked of locked places. -1 when
   * there is none in the group, -2 when another thread was faster and the key has a place now.
   */
  insert(low: number, high: number, reusable: (at: number) => boolean): number {
    const { words, stride, places, groupLocks } = this.layout;
    const group = this.groupOf(high);
    const lock = groupLocks + group;
    if (take(words, lock, this.patienceMs) === 'broken') Atomics.add(words, BROKEN, 1);
    const token = words[lock]!;
    const isKnown = this.find(low, high) >= 0;
    const at = isKnown ? -2 : this.choose(places + group * groupSize * stride, low, reusable);
    if (at >= 0) {
      if (this.isBlank(at)) Atomics.add(words, KEYS, 1);
      words[at + POLICY] = noPolicy;
      words[at + LENGTH] = 0;
      this.layout.floats.fill(0, floatsAt(at) + BLOCKED_UNTIL_MS, floatsAt(at) + FIRST_CELL);
      words[at + LOW] = low;
      Atomics.store(words, at + HIGH, high);
      words[at + SUM] = this.sumOf(at, words[at + LOCK]! - 1);
    }
    if (giveBack(words, lock, token)) return at;
    // The lock was broken, and another thread may have found a place for the same key: this one is given up.
    if (at >= 0) {
      this.giveUp(at);
      Atomics.sub(words, KEYS, 1);
    }
    return -2;
  }

  /** A place of the group, locked: the first that was never used, or else one that may go. */
  private choose(group: number, low: number, reusable: (at: number) => boolean): number {
    const { words, stride, maxKeys } = this.layout;
    for (let i = 0, place = low & (groupSize - 1); i < groupSize; i += 1, place = (place + 1) & (groupSize - 1)) {
      const at = group + place * stride;
      // One that is locked is in use, or was left so by a thread that died; it is passed over.
      if (!tryTake(words, at + LOCK)) continue;
      if (this.isBlank(at)) {
        if (words[KEYS]! < maxKeys) return at;
        this.giveUp(at);
      } else if (!this.isTorn(at) && reusable(at)) return at;
      else this.putBack(at);
    }
    return -1;
  }

  /** Gives a locked place back as nobody's. Searches do not end at it: the key they are for may be in a later one. */
  private giveUp(at: number): void {
    const { words } = this.layout;
    words[at + LOW] = 0;
    words[at + POLICY] = noPolicy;
    words[at + LENGTH] = 0;
    Atomics.store(words, at + HIGH, nobody);
    this.publish(at);
  }

  private isBlank(at: number): boolean {
    const { words } = this.layout;
    return words[at + HIGH] === 0 || (words[at + HIGH] === nobody && words[at + LOW] === 0);
  }

  /** Gives back a locked place of which nothing was written: torn stays torn. */
  putBack(at: number): void {
    const { words } = this.layout;
    const token = words[at + LOCK]!;
    if (!this.isTorn(at)) this.publish(at);
    else {
      words[at + SUM] = ~this.sumOf(at, token + 1);
      giveBack(words, at + LOCK, token);
    }
  }

  private groupOf(high: number): number {
    return Math.floor(((high >>> 0) / 2 ** 32) * this.layout.groups);
  }

  /** The block is left out: only `block` and `reset` write it, and no torn row may lose it. */
  private sumOf(at: number, lock: number): number {
    const { words, stride } = this.layout;
    let sum = lock;
    for (let i = at + LOW; i <= at + LENGTH; i += 1) sum = Math.imul(sum ^ words[i]!, 0x9e3779b1) ^ (sum >>> 15);
    const end = at + 2 * (FIRST_CELL + words[at + LENGTH]!);
    if (end > at + stride) return ~words[at + SUM]!;
    for (let i = at + 2 * RECEIPTS_FROM; i < end; i += 1) {
      sum = Math.imul(sum ^ words[i]!, 0x9e3779b1) ^ (sum >>> 15);
    }
    return sum;
  }
}

/** Where a place's floating-point numbers begin. */
export function floatsAt(at: number): number {
  return at / 2;
}
