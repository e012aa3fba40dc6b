/**
 * Which keys come most often, in a fixed amount of memory: the Space-Saving sketch (Metwally, Agrawal and El Abbadi, 2005).
 *
 *      key is counted already     its counter goes up
 *      a counter is free          the key takes it, with 1
 *      none is free               the key takes over the lowest counter: its count + 1, and that count is the error
 *
 * With k counters and N counts, for every key: true count <= count, count - error <= true count, error <= N / k, and a key
 * that came more than N / k times has a counter. (`lowest` is 0 until all counters are taken; then it bounds what a key
 * without a counter can have had.)
 *
 * The counters are in a heap, the lowest on top; a key finds its counter by a hash of its characters. Keys of ASCII, which most
 * are, are kept as bytes, and a count of one makes no string and no object, also where a key takes over a counter: refusals come
 * by the million, and in a flood of many keys nearly each of them takes one over.
 */
import { createHash } from 'node:crypto';

/** What a key was counted as. `count - error <= true count <= count`. */
export interface HeavyHitter {
  readonly rule: string;
  readonly key: string;
  readonly count: number;
  readonly error: number;
}

/** Plain data: it travels between threads. */
export interface HeavyHittersData {
  readonly hitters: readonly HeavyHitter[];
  /** A key that is not among them came at most so often. */
  readonly lowest: number;
}

/** A longer key is shown by its beginning and a hash, so that a caller's keys cannot fill the memory. */
const longestKey = 128;
const shownOfLongKey = 96;

const nobody = -1;

export class HeavyHitters {
  readonly #counters: number;
  #taken = 0;

  // By counter.
  readonly #counts: Float64Array;
  readonly #errors: Float64Array;
  readonly #hashes: Int32Array;
  readonly #rules: string[] = [];
  /** How many bytes a key of ASCII has; of another key, `notAscii`. */
  readonly #lengths: Int32Array;
  /** Keys of ASCII, each in a place of its own. */
  readonly #bytes: Uint8Array;
  /** The other keys. */
  readonly #texts: string[] = [];

  /** Chains of counters whose hashes meet in one place. Twice as many places as counters: chains stay short. */
  readonly #first: Int32Array;
  readonly #next: Int32Array;

  /** Counters, the lowest on top; and where each of them is. */
  readonly #heap: Int32Array;
  readonly #placeOf: Int32Array;

  constructor(counters: number) {
    this.#counters = counters;
    this.#counts = new Float64Array(counters);
    this.#errors = new Float64Array(counters);
    this.#hashes = new Int32Array(counters);
    this.#lengths = new Int32Array(counters);
    this.#bytes = new Uint8Array(counters * longestKey);
    this.#first = new Int32Array(2 ** Math.ceil(Math.log2(counters * 2))).fill(nobody);
    this.#next = new Int32Array(counters);
    this.#heap = new Int32Array(counters);
    this.#placeOf = new Int32Array(counters);
  }

  count(rule: string, key: string): void {
    if (key.length > longestKey) {
      this.count(rule, shortened(key));
      return;
    }
    const length = isAscii(key) ? key.length : notAscii;
    const hash = hashOfText(key);
    let counter = this.#first[this.#chainOf(hash)]!;
    while (counter !== nobody && !this.#isOfText(counter, rule, hash, key, length)) counter = this.#next[counter]!;
    if (counter !== nobody) {
      this.#increment(counter);
      return;
    }
    counter = this.#newcomer(rule, hash, length);
    if (length === notAscii) this.#texts[counter] = ownCopy(key);
    for (let i = 0; i < length; i += 1) this.#bytes[counter * longestKey + i] = key.charCodeAt(i);
  }

  /** The key in `bytes[start..end)`; the same as its text. */
  countBytes(rule: string, bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    const hash = length > longestKey ? noHash : hashOfAscii(bytes, start, end);
    if (hash === noHash) {
      this.count(rule, textOf(bytes, start, end));
      return;
    }
    let counter = this.#first[this.#chainOf(hash)]!;
    while (counter !== nobody && !this.#isOfBytes(counter, rule, hash, bytes, start, length)) {
      counter = this.#next[counter]!;
    }
    if (counter !== nobody) {
      this.#increment(counter);
      return;
    }
    counter = this.#newcomer(rule, hash, length);
    for (let i = 0; i < length; i += 1) this.#bytes[counter * longestKey + i] = bytes[start + i]!;
  }

  read(): HeavyHittersData {
    const hitters: HeavyHitter[] = [];
    for (let counter = 0; counter < this.#taken; counter += 1) {
      const rule = this.#rules[counter]!;
      hitters.push({ rule, key: this.#keyOf(counter), count: this.#counts[counter]!, error: this.#errors[counter]! });
    }
    return { hitters, lowest: this.#taken < this.#counters ? 0 : this.#counts[this.#heap[0]!]! };
  }

  clear(): void {
    this.#taken = 0;
    this.#rules.length = 0;
    this.#texts.length = 0;
    this.#first.fill(nobody);
  }

  #chainOf(hash: number): number {
    // The upper bits too: the lower ones of a product know nothing of them.
    return (hash ^ (hash >>> 15)) & (this.#first.length - 1);
  }

  #keyOf(counter: number): string {
    const length = this.#lengths[counter]!;
    if (length === notAscii) return this.#texts[counter]!;
    return Buffer.from(this.#bytes.buffer, counter * longestKey, length).toString('latin1');
  }

  #isOfText(counter: number, rule: string, hash: number, key: string, length: number): boolean {
    if (this.#hashes[counter] !== hash || this.#lengths[counter] !== length) return false;
    if (this.#rules[counter] !== rule) return false;
    if (length === notAscii) return this.#texts[counter] === key;
    const from = counter * longestKey;
    for (let i = 0; i < length; i += 1) if (this.#bytes[from + i] !== key.charCodeAt(i)) return false;
    return true;
  }

  #isOfBytes(counter: number, rule: string, hash: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.#hashes[counter] !== hash || this.#lengths[counter] !== length) return false;
    if (this.#rules[counter] !== rule) return false;
    const own = this.#bytes;
    const from = counter * longestKey;
    for (let i = 0; i < length; i += 1) if (own[from + i] !== bytes[start + i]) return false;
    return true;
  }

  #increment(counter: number): void {
    this.#counts[counter]! += 1;
    this.#sink(counter);
  }

  /** Gives the counter that a key of so many bytes has now; the key itself is for the caller to write. */
  #newcomer(rule: string, hash: number, length: number): number {
    const isFree = this.#taken < this.#counters;
    const counter = isFree ? this.#taken : this.#heap[0]!;
    if (!isFree) this.#unlink(counter);
    const inherited = isFree ? 0 : this.#counts[counter]!;
    this.#counts[counter] = inherited + 1;
    this.#errors[counter] = inherited;
    this.#rules[counter] = rule;
    this.#hashes[counter] = hash;
    // A text that nobody reads any more is not kept.
    if (!isFree && this.#lengths[counter] === notAscii) this.#texts[counter] = '';
    this.#lengths[counter] = length;
    const chain = this.#chainOf(hash);
    this.#next[counter] = this.#first[chain]!;
    this.#first[chain] = counter;
    if (isFree) {
      this.#put(counter, this.#taken);
      this.#taken += 1;
      this.#rise(counter);
    } else {
      this.#sink(counter);
    }
    return counter;
  }

  #unlink(counter: number): void {
    const chain = this.#chainOf(this.#hashes[counter]!);
    if (this.#first[chain] === counter) {
      this.#first[chain] = this.#next[counter]!;
      return;
    }
    let before = this.#first[chain]!;
    while (this.#next[before] !== counter) before = this.#next[before]!;
    this.#next[before] = this.#next[counter]!;
  }

  #put(counter: number, place: number): void {
    this.#heap[place] = counter;
    this.#placeOf[counter] = place;
  }

  #rise(counter: number): void {
    const count = this.#counts[counter]!;
    let place = this.#placeOf[counter]!;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#counts[this.#heap[parent]!]! <= count) break;
      this.#put(this.#heap[parent]!, place);
      place = parent;
    }
    this.#put(counter, place);
  }

  #sink(counter: number): void {
    const count = this.#counts[counter]!;
    let place = this.#placeOf[counter]!;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#taken) break;
      const sibling = child + 1;
      if (sibling < this.#taken && this.#counts[this.#heap[sibling]!]! < this.#counts[this.#heap[child]!]!) {
        child = sibling;
      }
      if (this.#counts[this.#heap[child]!]! >= count) break;
      this.#put(this.#heap[child]!, place);
      place = child;
    }
    this.#put(counter, place);
  }
}

// FNV-1a, four characters at a time. Somebody who chooses keys that meet in one chain makes it as long as there are counters, no longer.
const firstHash = 0x811c9dc5 | 0;
const hashFactor = 0x01000193;
/** In place of a length. */
const notAscii = -1;

function isAscii(key: string): boolean {
  let seenBits = 0;
  for (let i = 0; i < key.length; i += 1) seenBits |= key.charCodeAt(i);
  return seenBits < 0x80;
}

/** A hash is 32 bits: this is none. */
const noHash = 2 ** 32;

/** `noHash` where a byte is not ASCII. */
function hashOfAscii(bytes: Uint8Array, start: number, end: number): number {
  let hash = firstHash;
  let seenBits = 0;
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const four = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    seenBits |= four;
    hash = Math.imul(hash ^ four, hashFactor);
  }
  for (; i < end; i += 1) {
    seenBits |= bytes[i]!;
    hash = Math.imul(hash ^ bytes[i]!, hashFactor);
  }
  return (seenBits & 0x80808080) === 0 ? hash : noHash;
}

/** For ASCII the same as of its bytes. */
function hashOfText(key: string): number {
  let hash = firstHash;
  let i = 0;
  for (; i + 4 <= key.length; i += 4) {
    const four =
      key.charCodeAt(i) | (key.charCodeAt(i + 1) << 8) | (key.charCodeAt(i + 2) << 16) | (key.charCodeAt(i + 3) << 24);
    hash = Math.imul(hash ^ four, hashFactor);
  }
  for (; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), hashFactor);
  return hash;
}

/** Of the whole key: two long keys with one beginning stay two. */
function shortened(key: string): string {
  const hash = createHash('sha256').update(key, 'utf16le').digest('hex').slice(0, 16);
  return `${key.slice(0, shownOfLongKey)}…${hash}`;
}

/** A key may be a piece of a request; kept as it is, it would keep the whole request in memory. */
function ownCopy(key: string): string {
  return Buffer.from(key, 'utf16le').toString('utf16le');
}

/** Keys of the Redis protocol are bytes; those that are no text are shown in hexadecimal digits. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  const text = buffer.toString('utf8');
  return text.includes('\ufffd') && !buffer.equals(Buffer.from(text)) ? `hex:${buffer.toString('hex')}` : text;
}
