/**
 * The cells of many keys in flat numbers: a hash table cut into segments, each an open-addressed array of its own.
 *
 *      hash ──► 64 bits: high, low
 *      directory[first bits of bend(high)] ──► segment: │ low high │ cells │ low high │ cells │ · │ low high │ cells │
 *                                                         place = low * capacity / 2^32, or the next free one
 *
 * A segment that fills up is copied into one a little larger; at its largest it is split in two by the next bit
 * (extendible hashing). No call ever pays for more than one segment, and whatever the number of keys, little room is idle.
 * The hash and the cells lie side by side: a check touches one place in memory.
 *
 * Some segments get twice as many keys as others (`bend`). Were all as full as one another, all would grow at the same time: calls would
 * be slow one after another for a while, and what they have outgrown would wait for the garbage collector, since nobody needs that size
 * any more. As it is, there are segments of each size at each time, and what one has outgrown is the next one's.
 *
 * With exact keys the key's text is kept too, and compared. With fingerprints the 64 bits are the key: of n keys two are
 * taken for one another with a probability of about n * n / 2^65, and such a pair shares one row.
 *
 * Where the cells of a key may grow, they are an array of its own.
 */
import { codeUnitAt } from '../../vocabulary/code-unit.ts';
import { KeyHash, type Seed } from './key-hash.ts';
import { textOf } from './key-text.ts';
import { RecentKeys } from './recent-keys.ts';
import type { Segment } from './segment.ts';

export type KeyMode = 'exact' | 'fingerprint';

const firstCapacity = 8;
// 16 bits of `low` tell places apart, and copying so many rows takes well below a millisecond.
const largestCapacity = 1 << 14;
// Split so often, a segment has more keys alike in these bits than chance will ever make.
const deepest = 24;
const growth = 1.15;
const fullest = 0.8;
// Places after the last: one for each row that was pushed on. A segment whose rows need more grows.
const tail = 48;
// Outgrown segments that are kept have one place for so many keys at the most.
const keysPerSparePlace = 16;

export class Rows {
  size = 0;
  /** Where the latest `find` or `insert` found the row: its cells begin at the index they returned. */
  cells: Float64Array = nothing;

  readonly hash: KeyHash;
  private readonly isExact: boolean;
  readonly isOwn: boolean;
  /** Numbers from one place to the next: the hash is as wide as one cell. */
  private readonly stride: number;
  private readonly segments: Segment[];
  private readonly recent: RecentKeys;
  /** By the first `depth` bits of `bend(high)`. */
  private directory: Segment[];
  private depth = 0;
  /** Outgrown segments, empty, for the next of their size; the oldest first. */
  private readonly spares: Segment[] = [];
  private sparePlaces = 0;
  // The place of the row found last.
  private segment: Segment;
  private place = 0;
  // Where the hand that goes round is.
  private handSegment = 0;
  private handPlace = 0;

  /** With `cellsPerKey` 0, each key's cells are an array of its own. */
  constructor(name: string, cellsPerKey: number, mode: KeyMode, seed?: Seed, recentKeys = true) {
    this.hash = new KeyHash(name, seed);
    this.recent = new RecentKeys(recentKeys);
    this.isExact = mode === 'exact';
    this.isOwn = cellsPerKey === 0;
    this.stride = cellsPerKey + 1;
    this.segment = this.segmentOf(0, firstCapacity);
    this.segments = [this.segment];
    this.directory = [this.segment];
  }

  /** The index of the key's cells in `cells`, or -1. Good until a row is inserted or removed. */
  find(key: string): number {
    const { recent } = this;
    const where = recent.find(key);
    return where < 0 ? this.findOther(key) : this.found(this.segments[recent.segment(where)]!, recent.place(where));
  }

  /** The same, if the key is among the recent ones; else -1, and `findOther` goes on. Not where each key's cells are an array of its own. */
  findRecent(key: string): number {
    const { recent } = this;
    const where = recent.find(key);
    if (where < 0) return -1;
    const { cells } = this.segments[recent.segment(where)]!;
    if (this.cells !== cells) this.cells = cells;
    return recent.place(where) * this.stride + 1;
  }

  /** `find` of a key that is not among the recent ones, and may come to be. */
  findOther(key: string): number {
    const { recent } = this;
    if (recent.patience > 0) return this.findAndRemember(key);
    recent.wait();
    return this.findAnew(key);
  }

  private findAndRemember(key: string): number {
    const { recent } = this;
    const at = this.findAnew(key);
    const { segment, place } = this;
    // Of two keys that share a fingerprint, one has the seat of their row.
    if (at < 0 || segment.seats?.[place] || !recent.isWorthSeat()) return at;
    if (recent.isFull) {
      recent.clear();
      for (const seated of this.segments) seated.seats = undefined;
    }
    segment.seats ??= new Uint16Array(segment.capacity + tail);
    segment.seats[place] = recent.seat(key, segment.number, place);
    return at;
  }

  /** The same for a key given as the UTF-8 bytes of its text. */
  findBytes(bytes: Uint8Array, start: number, end: number): number {
    this.hash.ofBytes(bytes, start, end);
    return this.probe(undefined, bytes, start, end);
  }

  /** Makes a place for a key, if it has none, and returns the index of its cells, which hold anything. */
  insert(key: string, own?: Float64Array): number {
    return this.put(this.findAnew(key), key, own);
  }

  /**
   * Whether the bytes asked for last, whose key is not there, can be inserted by their hash alone: the text is not kept, and it
   * would have the same hash.
   */
  get isKnownByHash(): boolean {
    return !this.isExact && !this.isOwn && this.hash.isAscii;
  }

  /** `insert` of a key known by its hash. */
  insertHashed(low: number, high: number): number {
    this.hash.low = low;
    this.hash.high = high;
    return this.put(this.probe(undefined), '', undefined);
  }

  /** Gives the row found last another array, where each has its own. */
  replace(own: Float64Array): void {
    this.segment.own![this.place] = own;
    this.cells = own;
  }

  /** Removes the row found last. */
  remove(): void {
    const { segment, stride } = this;
    const { hashes, cells, keys, own, seats, capacity } = segment;
    const step = 2 * stride;
    let hole = this.place;
    if (seats?.[hole]) this.recent.leave(seats[hole]!);
    // What was pushed on by a row before it moves back, so that no search ends too early.
    for (let place = hole + 1; hashes[place * step + 1] !== 0; place += 1) {
      if (((hashes[place * step]! >>> 16) * capacity) >>> 16 > hole) continue;
      cells.copyWithin(hole * stride, place * stride, (place + 1) * stride);
      if (keys) keys[hole] = keys[place]!;
      if (own) own[hole] = own[place]!;
      if (seats) {
        seats[hole] = seats[place]!;
        if (seats[hole]) this.recent.move(seats[hole]!, segment.number, hole);
      }
      hole = place;
    }
    if (seats) seats[hole] = 0;
    hashes[hole * step] = 0;
    hashes[hole * step + 1] = 0;
    if (keys) keys[hole] = '';
    if (own) own[hole] = nothing;
    segment.used -= 1;
    this.size -= 1;
    // Rows that go in the order of their places leave the others crowded at one end, and no smaller segment holds them: while
    // the hand is in the middle of a segment, it stays as large as it is.
    if (segment.number !== this.handSegment || this.handPlace === 0) this.shrink(segment);
  }

  private shrink(segment: Segment): void {
    const { used, capacity, depth } = segment;
    if (used * 4 >= capacity || capacity === firstCapacity) return;
    this.exchange(segment, [this.copy(segment, depth, 0, capacityFor(used))]);
  }

  /** The cells of a key: a copy, or the array of its own. */
  get(key: string): Float64Array | undefined {
    return this.findAnew(key) < 0 ? undefined : this.rowAt(this.segment, this.place);
  }

  /** Keeps the cells of a key; of an array of its own, the array itself. */
  set(key: string, row: Float64Array): void {
    const at = this.insert(key, row);
    if (!this.isOwn) this.cells.set(row, at);
  }

  delete(key: string): boolean {
    const isThere = this.findAnew(key) >= 0;
    if (isThere) this.remove();
    return isThere;
  }

  /** What a key is called wherever it is kept beside its row: its text, or its fingerprint. */
  nameOf(key: string): string {
    if (this.isExact) return key;
    this.hash.ofText(key);
    return fingerprint(this.hash.high, this.hash.low);
  }

  /** Goes on to the next row and returns the index of its cells; -1 at the end, from which it starts again. */
  next(): number {
    for (;;) {
      const segment = this.segments[this.handSegment];
      if (!segment) {
        this.handSegment = 0;
        this.handPlace = 0;
        return -1;
      }
      if (this.handPlace >= segment.capacity + tail) {
        this.handSegment += 1;
        this.handPlace = 0;
        this.shrink(segment);
        continue;
      }
      const place = this.handPlace;
      this.handPlace += 1;
      if (segment.hashes[place * 2 * this.stride + 1] !== 0) return this.found(segment, place);
    }
  }

  /** Removes the row found last by `next`; what moves into its place comes next. */
  removeNext(): void {
    this.handPlace -= 1;
    this.remove();
  }

  /** What the key of the row found last is called beside its row. */
  name(): string {
    return this.nameAt(this.segment, this.place);
  }

  /** `find` by what a key is called. */
  findNamed(name: string): number {
    if (this.isExact) return this.findAnew(name);
    this.hash.high = Number.parseInt(name.slice(0, 8), 16) | 0;
    this.hash.low = Number.parseInt(name.slice(8), 16) | 0;
    return this.probe(undefined);
  }

  /** `set` by what a key is called. */
  setNamed(name: string, row: Float64Array): void {
    const at = this.put(this.findNamed(name), name, row);
    if (!this.isOwn) this.cells.set(row, at);
  }

  /** Every key, by what it is called, with a copy of its cells. */
  *entries(): Generator<[name: string, cells: Float64Array]> {
    for (const segment of this.segments) {
      for (let place = 0; place < segment.capacity + tail; place += 1) {
        if (segment.hashes[place * 2 * this.stride + 1] === 0) continue;
        yield [this.nameAt(segment, place), this.rowAt(segment, place).slice()];
      }
    }
  }

  /** `find` without the short cut, which leaves its hash behind. */
  private findAnew(key: string): number {
    this.hash.ofText(key);
    return this.probe(key);
  }

  /** Finds the key whose hash was taken last; where there is none, the place it would have. */
  private probe(key: string | undefined, bytes?: Uint8Array, start = 0, end = 0): number {
    const { low, high } = this.hash;
    const segment = this.directory[bend(high) >>> (31 - this.depth)]!;
    const { hashes, keys } = segment;
    const step = 2 * this.stride;
    let place = ((low >>> 16) * segment.capacity) >>> 16;
    let at = place * step + 1;
    // How far a key was pushed on is chance, and a wrong guess of it would wait for memory: so the first four places are
    // compared without a branch. Each difference becomes 0 where the hashes are equal, else 1.
    const first = hashes[at]! ^ high;
    const second = hashes[at + step]! ^ high;
    const third = hashes[at + 2 * step]! ^ high;
    const fourth = hashes[at + 3 * step]! ^ high;
    const notFirst = (first | -first) >>> 31;
    const notSecond = ((second | -second) >>> 31) & notFirst;
    const notThird = ((third | -third) >>> 31) & notSecond;
    const skipped = notFirst + notSecond + notThird + (((fourth | -fourth) >>> 31) & notThird);
    if (skipped < 4) {
      const likely = at + skipped * step;
      if (hashes[likely - 1] === low && (keys === undefined || (!bytes && keys[place + skipped] === key))) {
        return this.found(segment, place + skipped);
      }
    }
    for (; hashes[at] !== 0; at += step, place += 1) {
      if (hashes[at] !== high || hashes[at - 1] !== low) continue;
      if (keys === undefined || (bytes ? isText(keys[place]!, bytes, start, end) : keys[place] === key)) {
        return this.found(segment, place);
      }
    }
    this.segment = segment;
    this.place = place;
    return -1;
  }

  /** Puts the key whose place was searched last there, if it was not there already. */
  private put(known: number, key: string, own: Float64Array | undefined): number {
    if (known >= 0) {
      if (this.isOwn) this.replace(own!);
      return known;
    }
    while (this.segment.used + 1 > this.segment.capacity * fullest || this.place + 4 >= this.segment.capacity + tail) {
      this.makeRoom(this.segment);
      this.probe(key);
    }
    const { segment, place } = this;
    const at = place * 2 * this.stride;
    segment.hashes[at] = this.hash.low;
    segment.hashes[at + 1] = this.hash.high;
    if (segment.keys) segment.keys[place] = key;
    if (segment.own) segment.own[place] = own!;
    segment.used += 1;
    this.size += 1;
    return this.found(segment, place);
  }

  private found(segment: Segment, place: number): number {
    // A reference costs the collector's attention each time it is written.
    if (this.segment !== segment) this.segment = segment;
    this.place = place;
    if (segment.own !== undefined) {
      this.cells = segment.own[place]!;
      return 0;
    }
    if (this.cells !== segment.cells) this.cells = segment.cells;
    return place * this.stride + 1;
  }

  private nameAt({ keys, hashes }: Segment, place: number): string {
    const at = place * 2 * this.stride;
    return keys ? keys[place]! : fingerprint(hashes[at + 1]!, hashes[at]!);
  }

  private rowAt({ own, cells }: Segment, place: number): Float64Array {
    const at = place * this.stride;
    return own ? own[place]! : cells.slice(at + 1, at + this.stride);
  }

  /** An empty segment. */
  private segmentOf(depth: number, capacity: number): Segment {
    const known = this.spares.findIndex((spare) => spare.capacity === capacity);
    if (known >= 0) {
      const [spare] = this.spares.splice(known, 1) as [Segment];
      this.sparePlaces -= capacity;
      spare.depth = depth;
      return spare;
    }
    const places = capacity + tail;
    const cells = new Float64Array(places * this.stride);
    return {
      depth,
      capacity,
      used: 0,
      number: 0,
      hashes: new Int32Array(cells.buffer),
      cells,
      keys: this.isExact ? new Array<string>(places).fill('') : undefined,
      own: this.isOwn ? new Array<Float64Array>(places).fill(nothing) : undefined,
      seats: undefined,
    };
  }

  /** Keeps an outgrown segment for the next one of its size, if that is not too much room for nothing. */
  private spare(segment: Segment): void {
    const { capacity, cells, keys, own } = segment;
    const most = this.size / keysPerSparePlace - capacity;
    while (this.sparePlaces > most && this.spares.length > 0) this.sparePlaces -= this.spares.shift()!.capacity;
    if (this.sparePlaces > most) return;
    cells.fill(0);
    keys?.fill('');
    own?.fill(nothing);
    segment.seats = undefined;
    segment.used = 0;
    this.spares.push(segment);
    this.sparePlaces += capacity;
  }

  private makeRoom(segment: Segment): void {
    const { capacity, depth, used } = segment;
    if (capacity < largestCapacity) {
      this.exchange(segment, [this.copy(segment, depth, 0, capacityOf(capacity + 1))]);
      return;
    }
    if (depth === deepest) throw new Error('More keys hash alike than chance allows.');
    const half = capacityFor(used / 2);
    this.exchange(segment, [this.copy(segment, depth + 1, 0, half), this.copy(segment, depth + 1, 1, half)]);
  }

  /** Those rows of a segment whose last common bit, at this depth, is `bit`; all of them at the segment's own depth. */
  private copy(from: Segment, depth: number, bit: number, capacity: number): Segment {
    const to = this.segmentOf(depth, capacity);
    if (from.seats) to.seats = new Uint16Array(capacity + tail);
    const lastBit = depth === from.depth ? 0 : bitAt(depth);
    if (this.fill(to, from, lastBit, bit === 0 ? 0 : lastBit)) return to;
    // Where keys fall is chance, and these do not fit into so few places.
    return this.copy(from, depth, bit, Math.ceil(capacity * growth) + tail);
  }

  /**
   * Puts the rows that have `bit` as this bit of where they belong into an empty segment; false where they do not fit.
   *
   * A table that is filled quickly grows large before the engine has compiled this, and a call waits for all of it: so it reads
   * no field twice.
   * Growing and splitting are the same work: what is compiled would be taken back by the first split, in its middle, if that did
   * anything that had never been done before.
   */
  private fill(to: Segment, from: Segment, lastBit: number, bit: number): boolean {
    const { stride } = this;
    const step = 2 * stride;
    const { hashes, cells, keys, own, seats, capacity } = to;
    const { hashes: fromHashes, cells: fromCells, keys: fromKeys, own: fromOwn, seats: fromSeats } = from;
    const end = (capacity + tail - 4) * step;
    const fromEnd = (from.capacity + tail) * step;
    let used = 0;
    for (let old = 0; old < fromEnd; old += step) {
      const high = fromHashes[old + 1]!;
      if (high === 0 || (bend(high) & lastBit) !== bit) continue;
      const low = fromHashes[old]!;
      let at = (((low >>> 16) * capacity) >>> 16) * step;
      while (hashes[at + 1] !== 0) at += step;
      if (at >= end) return false;
      // As whole numbers: read as a cell, a hash may be no number at all, and would not survive.
      hashes[at] = low;
      hashes[at + 1] = high;
      for (let i = 1; i < stride; i += 1) cells[(at >> 1) + i] = fromCells[(old >> 1) + i]!;
      if (keys) keys[at / step] = fromKeys![old / step]!;
      if (own) own[at / step] = fromOwn![old / step]!;
      if (seats) seats[at / step] = fromSeats![old / step]!;
      used += 1;
    }
    to.used = used;
    return true;
  }

  /** Tells the seats of a segment's rows where those are now. */
  private reseat({ seats, number }: Segment): void {
    if (!seats) return;
    for (let place = 0; place < seats.length; place += 1) {
      if (seats[place] !== 0) this.recent.move(seats[place]!, number, place);
    }
  }

  /** Puts one or two segments in the place of one. */
  private exchange(old: Segment, [first, second = first]: readonly [Segment, Segment?]): void {
    if (second!.depth > this.depth) {
      this.directory = this.directory.flatMap((segment) => [segment, segment]);
      this.depth += 1;
    }
    first.number = old.number;
    // Rows keep their order, so the hand goes on from the same part of them.
    if (this.handSegment === old.number) {
      this.handPlace = Math.floor((this.handPlace * first.capacity) / old.capacity);
    }
    this.segments[old.number] = first;
    if (second !== first) second!.number = this.segments.push(second!) - 1;
    this.reseat(first);
    if (second !== first) this.reseat(second!);
    const from = this.directory.indexOf(old);
    // The entries of a segment lie side by side, those of its first half first.
    const count = 2 ** (this.depth - old.depth);
    for (let i = 0; i < count; i += 1) this.directory[from + i] = i < count / 2 ? first : second!;
    this.segment = first;
    this.spare(old);
  }
}

const nothing = new Float64Array(0);

/**
 * The 31 bits by which rows are told apart between segments. Near 0 they are rarer than they would be by chance alone, and near the end twice as
 * frequent as there: `u + 0.34 u (1 - u)` of what would be even, nearly a logarithm, so that no size of segments is more frequent than another.
 */
function bend(high: number): number {
  const even = high >>> 16;
  return (high >>> 1) + Math.imul(Math.imul(even, 0xffff - even) >>> 6, 11);
}

/** The bit that tells the halves of a segment apart which are split at this depth. */
function bitAt(depth: number): number {
  return 1 << (31 - depth);
}

/** The capacity for so many rows, with some to come. */
function capacityFor(rows: number): number {
  return capacityOf(rows * 1.4);
}

/**
 * The capacity of a segment with at least so many places. There are few of them, so that memory that one segment has outgrown is of the size that the
 * next one needs: otherwise the allocator would hold nearly as much again in pieces that fit nobody.
 */
function capacityOf(least: number): number {
  let capacity = firstCapacity;
  while (capacity < least) capacity = Math.ceil(capacity < 256 ? 2 * capacity : growth * capacity);
  return Math.min(largestCapacity, capacity);
}

function fingerprint(high: number, low: number): string {
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}

/** Whether a text is what these bytes say. */
function isText(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length === end - start) {
    let i = 0;
    while (i < text.length && codeUnitAt(text, i) === bytes[start + i] && bytes[start + i]! < 0x80) i += 1;
    if (i === text.length) return true;
  }
  return textOf(bytes.subarray(start, end)) === text;
}
