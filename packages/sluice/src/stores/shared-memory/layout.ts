/**
 * What lies where in the shared buffer.
 *
 *      │ header │ policies │ group locks │ place 0 │ place 1 │ ...
 *
 *      a place:  │ lock │ sum │ low high │ policy │ length │ blocked until │ receipts from │ given back │ cells ... │
 *
 * A key belongs to one group of places, by its hash, and is in any of them. Everything is whole words of 32 bits, looked at as
 * floating-point numbers where it is one.
 */

import { SluiceError } from '../../vocabulary/errors.ts';
import type { Seed } from '../memory/key-hash.ts';
import { anyNumber } from '../memory/ledger.ts';

// The header, in words of 32 bits.
export const MAGIC = 0;
export const GROUPS = 1;
export const CELLS = 2;
export const MAX_KEYS = 3;
const SEED = 4; // two words
export const REGISTER_LOCK = 6;
export const POLICY_COUNT = 7;
export const KEYS = 10;
export const EVICTED = 11;
export const REFUSED = 12;
export const BROKEN = 13;
export const ORIGIN_MS = 8; // as a floating-point number: what the clock of all threads starts from
export const STALENESS_MS = 9; // the same: how old the readings of that clock may be
export const FORGOT_UP_TO_MS = 10; // the same: when a key was forgotten last
export const RECEIPTS = 11; // as a whole number of 64 bits: how many operations have numbered receipts
const HEADER_BYTES = 128;

// The policies in use, each with its name, so that every thread can read what another has written. An entry: the sum of its
// text (0 until it is there), the length, before when its name's keys may have been forgotten, and the text.
export const mostPolicies = 4096;
export const policyEntryBytes = 1024;
const policyBytes = mostPolicies * policyEntryBytes;

// A place, in words of 32 bits.
export const LOCK = 0;
export const SUM = 1;
export const LOW = 2;
export const HIGH = 3;
export const POLICY = 4;
export const LENGTH = 5;
/** The same place, in floating-point numbers. */
export const BLOCKED_UNTIL_MS = 3;
export const RECEIPTS_FROM = 4;
export const GIVEN_BACK = 5;
export const FIRST_CELL = 6;

export const groupSize = 128;
// Groups are filled by two thirds when all keys are there: chance then seldom overfills one.
const fill = 2 / 3;

const magic = 0x51_1c_e0_03;

export interface Layout {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array;
  readonly floats: Float64Array;
  /** The same, for exchanging a number atomically. */
  readonly wholes: BigInt64Array;
  /** The word where the policies begin. */
  readonly policies: number;
  readonly groups: number;
  readonly cellsPerKey: number;
  readonly maxKeys: number;
  readonly seed: Seed;
  /** Words per place. */
  readonly stride: number;
  /** The word where the locks of the groups begin, and the places. */
  readonly groupLocks: number;
  readonly places: number;
}

/** A new buffer. */
export function bufferFor(
  maxKeys: number,
  cellsPerKey: number,
  seed: Seed,
  originMs: number,
  stalenessMs: number,
): SharedArrayBuffer {
  const groups = Math.ceil(maxKeys / fill / groupSize);
  const bytes = placesAt(groups) * 4 + groups * groupSize * placeWords(cellsPerKey) * 4;
  let buffer: SharedArrayBuffer;
  try {
    buffer = new SharedArrayBuffer(bytes);
  } catch (cause) {
    throw new SluiceError('invalid-option', `maxKeys and cellsPerKey need ${bytes} bytes, more than there are.`, {
      cause,
    });
  }
  const words = new Int32Array(buffer);
  words[GROUPS] = groups;
  words[CELLS] = cellsPerKey;
  words[MAX_KEYS] = maxKeys;
  words.set(seed, SEED);
  const floats = new Float64Array(buffer);
  floats[ORIGIN_MS] = originMs;
  floats[STALENESS_MS] = stalenessMs;
  floats[FORGOT_UP_TO_MS] = Number.NEGATIVE_INFINITY;
  // Each operation has a thousand numbers.
  new BigInt64Array(buffer)[RECEIPTS] = BigInt(Math.floor(anyNumber() / 1024));
  Atomics.store(words, MAGIC, magic);
  return buffer;
}

/** A buffer with what a snapshot holds. Its clock goes on from the wall clock: another boot of the machine counts from elsewhere. */
export function bufferFrom(snapshot: Uint8Array, originMs: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(snapshot.byteLength);
  new Uint8Array(buffer).set(snapshot);
  const { words, floats, groups, stride, places } = layoutOf(buffer);
  if (groups < 1 || words.length !== places + groups * groupSize * stride) throw notOurs();
  floats[ORIGIN_MS] = originMs;
  return buffer;
}

export function layoutOf(buffer: SharedArrayBuffer): Layout {
  const isWhole = buffer.byteLength > HEADER_BYTES && buffer.byteLength % 8 === 0;
  const words = new Int32Array(isWhole ? buffer : new SharedArrayBuffer(4));
  if (words[MAGIC] !== magic) throw notOurs();
  const groups = words[GROUPS]!;
  const cellsPerKey = words[CELLS]!;
  return {
    buffer,
    words,
    floats: new Float64Array(buffer),
    wholes: new BigInt64Array(buffer),
    policies: HEADER_BYTES / 4,
    groups,
    cellsPerKey,
    maxKeys: words[MAX_KEYS]!,
    seed: [words[SEED]!, words[SEED + 1]!],
    stride: placeWords(cellsPerKey),
    groupLocks: (HEADER_BYTES + policyBytes) / 4,
    places: placesAt(groups),
  };
}

function notOurs(): SluiceError {
  return new SluiceError(
    'invalid-option',
    'buffer must be the buffer of another sharedMemoryStore() of this version, and snapshot a snapshot of one.',
  );
}

function placeWords(cellsPerKey: number): number {
  return 2 * (FIRST_CELL + cellsPerKey);
}

// Places with room for two numbers are as long as a line of the processor's cache. Allocators begin a large piece of memory 16 bytes after a line, so this is
// where the lines within it begin: a place that lay in two of them would be waited for twice, before its lock and after.
const lineWords = 16;
const lineAt = 12;

function placesAt(groups: number): number {
  const locksEnd = (HEADER_BYTES + policyBytes) / 4 + groups;
  return lineWords * Math.ceil((locksEnd - lineAt) / lineWords) + lineAt;
}
