// The work: which keys come in which order, and what they are answered.

/**
 * `form`: 'stable', the same string objects come again; 'fresh', each key is decoded anew, as in a server; 'bytes', it never
 * becomes a string.
 * @typedef {{
 *   name: string, keys: number, order: 'one' | 'zipf' | 'uniform', form: 'stable' | 'fresh' | 'bytes',
 *   calls: number, refused?: boolean, rules?: number,
 * }} Workload
 */

/** @type {Record<string, Workload>} */
export const workloads = {
  hot: { name: 'one hot key', keys: 1, order: 'one', form: 'stable', calls: 2_000_000 },
  zipf: { name: '10,000 keys, Zipf', keys: 10_000, order: 'zipf', form: 'stable', calls: 2_000_000 },
  'million-stable': { name: '1 million keys, uniform, stable', keys: 1_000_000, order: 'uniform', form: 'stable', calls: 1_000_000 },
  'million-fresh': { name: '1 million keys, uniform, fresh', keys: 1_000_000, order: 'uniform', form: 'fresh', calls: 1_000_000 },
  'million-bytes': { name: '1 million keys, uniform, bytes', keys: 1_000_000, order: 'uniform', form: 'bytes', calls: 1_000_000 },
  refused: { name: 'all refused, 10,000 keys', keys: 10_000, order: 'uniform', form: 'stable', calls: 1_000_000, refused: true },
  allowed: { name: 'the same, all allowed', keys: 10_000, order: 'uniform', form: 'stable', calls: 1_000_000 },
  'one-rule': { name: '1 rule, 10,000 keys', keys: 10_000, order: 'uniform', form: 'stable', calls: 500_000, rules: 1 },
  'four-rules': { name: '4 rules at once, 10,000 keys', keys: 10_000, order: 'uniform', form: 'stable', calls: 500_000, rules: 4 },
  'ten-million-fresh': { name: '10 million keys, uniform, fresh', keys: 10_000_000, order: 'uniform', form: 'fresh', calls: 1_000_000 },
  'ten-million-bytes': { name: '10 million keys, uniform, bytes', keys: 10_000_000, order: 'uniform', form: 'bytes', calls: 1_000_000 },
};

export const keyBytes = 16;

/** All keys, one after another, sixteen bytes each. @param {number} count */
export function keyBuffer(count) {
  const buffer = Buffer.alloc(count * keyBytes);
  for (let i = 0; i < count; i += 1) buffer.write(keyOf(i), i * keyBytes, 'latin1');
  return buffer;
}

/** @param {number} i */
function keyOf(i) {
  return `user:${String((i * 7919) % 1e11).padStart(11, '0')}`;
}

/**
 * Which key comes when; the same in every run.
 * @param {Workload} workload
 */
export function orderOf({ keys, order, calls }) {
  const numbers = new Uint32Array(calls);
  const random = generator();
  if (order === 'uniform') for (let i = 0; i < calls; i += 1) numbers[i] = Math.floor(random() * keys);
  if (order === 'zipf') {
    // The i-th most frequent key comes 1/i as often as the first.
    const sums = new Float64Array(keys);
    let sum = 0;
    for (let i = 0; i < keys; i += 1) sums[i] = sum += 1 / (i + 1);
    for (let i = 0; i < calls; i += 1) numbers[i] = firstAtLeast(sums, random() * sum);
  }
  return numbers;
}

/** @param {Float64Array} sums @param {number} value */
function firstAtLeast(sums, value) {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sums[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function generator(seed = 1) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
