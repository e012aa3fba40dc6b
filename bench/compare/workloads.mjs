// The work: which keys come in which order, and what they are answered.

/**
 * `form`: 'stable', the same string objects come again; 'fresh', each key is decoded anew, as in a server; 'bytes', it never
 * becomes a string.
 * @typedef {{
 *   name: string, keys: number, order: 'one' | 'zipf' | 'uniform' | 'in turn', form: 'stable' | 'fresh' | 'bytes',
 *   calls: number, refused?: boolean, rules?: number,
 * }} Workload
 */

/** @type {Record<string, Workload>} */
// biome-ignore format: aligned rows
export const workloads = {
  hot:                 { name: 'one hot key',                     keys: 1,          order: 'one',     form: 'stable', calls: 2_000_000 },
  zipf:                { name: '10,000 keys, Zipf',               keys: 10_000,     order: 'zipf',    form: 'stable', calls: 2_000_000 },
  'million-stable':    { name: '1 million keys, uniform, stable', keys: 1_000_000,  order: 'uniform', form: 'stable', calls: 1_000_000 },
  'million-fresh':     { name: '1 million keys, uniform, fresh',  keys: 1_000_000,  order: 'uniform', form: 'fresh',  calls: 1_000_000 },
  'million-bytes':     { name: '1 million keys, uniform, bytes',  keys: 1_000_000,  order: 'uniform', form: 'bytes',  calls: 1_000_000 },
  allowed:             { name: '10,000 keys, all allowed',        keys: 10_000,     order: 'uniform', form: 'stable', calls: 1_000_000 },
  refused:             { name: '10,000 keys, all refused',        keys: 10_000,     order: 'uniform', form: 'stable', calls: 1_000_000, refused: true },
  'one-rule':          { name: '10,000 keys, 1 rule',             keys: 10_000,     order: 'uniform', form: 'stable', calls: 500_000, rules: 1 },
  'four-rules':        { name: '10,000 keys, 4 rules at once',    keys: 10_000,     order: 'uniform', form: 'stable', calls: 500_000, rules: 4 },
  'ten-million-fresh': { name: '10 million keys, uniform, fresh', keys: 10_000_000, order: 'uniform', form: 'fresh',  calls: 1_000_000 },
  'ten-million-bytes': { name: '10 million keys, uniform, bytes', keys: 10_000_000, order: 'uniform', form: 'bytes',  calls: 1_000_000 },
};

// Long enough that within a run no key becomes as good as new and is forgotten; a longer one does not fit a timer.
const windowMs = 20 * 24 * 3_600_000;

/**
 * Refused: one call per key and window. Allowed: more at once than will ever be asked, of which a thousand come back in a
 * window: more would let the key be forgotten soon after a call.
 * @param {{ keys: number, refused?: boolean, rules?: number }} workload
 * @returns {import('./contender.mjs').Setting}
 */
export function settingOf({ keys, refused = false, rules = 1 }) {
  const limits = refused ? { limit: 1, perWindow: 1 } : { limit: 1e9, perWindow: 1000 };
  return { ...limits, windowMs, keys, maxKeys: Math.max(10_000, 2 * keys * rules) };
}

export const keyBytes = 16;
const prefix = Buffer.from('user:');
const digits = keyBytes - prefix.length;

/**
 * All keys, one after another, sixteen bytes each; in memory that threads can share, where asked.
 * @param {number} count
 * @param {ArrayBufferLike} [memory]
 */
export function keyBuffer(count, memory = new ArrayBuffer(count * keyBytes)) {
  const buffer = Buffer.from(memory);
  for (let i = 0; i < count; i += 1) {
    const start = i * keyBytes;
    buffer.set(prefix, start);
    // A prime step, so that neighbours differ in more than their last digit.
    let left = (i * 7919) % 10 ** digits;
    for (let at = start + keyBytes - 1; at >= start + prefix.length; at -= 1) {
      const tenth = Math.floor(left / 10);
      buffer[at] = 48 + left - 10 * tenth;
      left = tenth;
    }
  }
  return buffer;
}

/**
 * The key of this number as a new string, as a server gets it from a socket.
 * @param {Buffer} buffer
 * @param {number} i
 */
export function textOf(buffer, i) {
  // What `toString('latin1')` calls in the end; its way there would be measured with every contender.
  const { latin1Slice } = /** @type {{ latin1Slice(start: number, end: number): string } & Buffer} */ (buffer);
  return latin1Slice.call(buffer, i * keyBytes, (i + 1) * keyBytes);
}

/**
 * Which key comes when; the same in every run.
 * @param {Pick<Workload, 'keys' | 'order' | 'calls'>} workload
 * @param {number} [seed]
 */
export function orderOf({ keys, order, calls }, seed = 1) {
  const numbers = new Uint32Array(calls);
  const random = generator(seed);
  if (order === 'in turn') for (let i = 0; i < calls; i += 1) numbers[i] = i % keys;
  if (order === 'uniform') for (let i = 0; i < calls; i += 1) numbers[i] = Math.floor(random() * keys);
  if (order === 'zipf') {
    // The i-th most frequent key comes 1/i as often as the first.
    const sums = new Float64Array(keys);
    let sum = 0;
    for (let i = 0; i < keys; i += 1) {
      sum += 1 / (i + 1);
      sums[i] = sum;
    }
    for (let i = 0; i < calls; i += 1) numbers[i] = firstAtLeast(sums, random() * sum);
  }
  return numbers;
}

/**
 * @param {Float64Array} sums
 * @param {number} value
 */
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

/** @param {number} seed */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
