/**
 * The raw stream of random bits: xoshiro128** 1.1 (Blackman and Vigna, 2018), which needs only 32-bit arithmetic and so is
 * the same and fast on every machine. SplitMix64 fills its state, as its authors advise: seeds that look alike must not
 * give streams that look alike.
 */

/** Whole numbers from 0 to 2^32 - 1. */
export type Generator = () => number;

export type GeneratorState = readonly [number, number, number, number];

const mask64 = (1n << 64n) - 1n;

/** SplitMix64 (Steele, Lea and Flood, 2014). Slow here, and used only to spread a seed over a state. */
export function splitMix64(seed: bigint): () => bigint {
  let state = seed & mask64;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask64;
    let mixed = state;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & mask64;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & mask64;
    return mixed ^ (mixed >> 31n);
  };
}

/** The state that a seed stands for: the lower half of each 64-bit number first. */
export function stateOf(seed: number): GeneratorState {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(`seed must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, got ${seed}.`);
  }
  const next = splitMix64(BigInt(seed));
  const first = next();
  const second = next();
  return [lowerHalf(first), lowerHalf(first >> 32n), lowerHalf(second), lowerHalf(second >> 32n)];
}

function lowerHalf(bits: bigint): number {
  return Number(bits & 0xffffffffn);
}

export function generator(state: GeneratorState): Generator {
  let [a, b, c, d] = state;
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result >>> 0;
  };
}

function rotateLeft(bits: number, by: number): number {
  return (bits << by) | (bits >>> (32 - by));
}
