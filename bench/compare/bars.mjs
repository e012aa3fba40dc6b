// What is to be reached, stated once; the comparisons print it beside what was. A bar that is missed fails nothing.
import { table } from '../table.mjs';

/** Whichever of them is the fastest at the workload. */
export const fastestPeer = 'fastest peer';

// Where no clock is named, the time is read at each call.
const ours = 'sluice allow, fingerprint';
const oursPerTick = 'sluice allow, fingerprint, tick clock';
const oursByRules = 'sluice check, fingerprint';

/**
 * At least so many times as fast as the reference at the same workload, or as itself at another one.
 * @typedef {{ workload: string, contender: string, reference: string, atLeast: number }} SpeedBar
 */

/** @type {SpeedBar[]} */
// biome-ignore format: aligned rows
export const speedBars = [
  { workload: 'million-fresh',     contender: ours,        reference: 'rate-limiter-flexible', atLeast: 5 },
  { workload: 'million-fresh',     contender: ours,        reference: fastestPeer,             atLeast: 3 },
  { workload: 'million-fresh',     contender: ours,        reference: 'Map.get',               atLeast: 2 },
  { workload: 'million-stable',    contender: ours,        reference: 'rate-limiter-flexible', atLeast: 4 },
  { workload: 'million-stable',    contender: ours,        reference: fastestPeer,             atLeast: 2.5 },
  { workload: 'million-stable',    contender: ours,        reference: 'Map.get and clock',     atLeast: 0.8 },
  { workload: 'zipf',              contender: ours,        reference: 'rate-limiter-flexible', atLeast: 6 },
  { workload: 'zipf',              contender: ours,        reference: fastestPeer,             atLeast: 1.5 },
  { workload: 'zipf',              contender: oursPerTick, reference: 'rate-limiter-flexible', atLeast: 10 },
  { workload: 'zipf',              contender: oursPerTick, reference: fastestPeer,             atLeast: 3 },
  { workload: 'hot',               contender: ours,        reference: 'rate-limiter-flexible', atLeast: 5 },
  { workload: 'hot',               contender: ours,        reference: fastestPeer,             atLeast: 1.5 },
  { workload: 'hot',               contender: oursPerTick, reference: 'rate-limiter-flexible', atLeast: 10 },
  { workload: 'hot',               contender: oursPerTick, reference: fastestPeer,             atLeast: 3 },
  { workload: 'million-bytes',     contender: ours,        reference: 'hash and one touch',    atLeast: 0.6 },
  { workload: 'million-bytes',     contender: oursPerTick, reference: 'hash and one touch',    atLeast: 0.6 },
  { workload: 'ten-million-bytes', contender: ours,        reference: 'hash and one touch',    atLeast: 0.6 },
  { workload: 'ten-million-bytes', contender: oursPerTick, reference: 'hash and one touch',    atLeast: 0.6 },
  { workload: 'refused',           contender: ours,        reference: 'allowed',               atLeast: 0.9 },
  // Four rules cost about the sum of the single ones.
  { workload: 'four-rules',        contender: oursByRules, reference: 'one-rule',              atLeast: 0.25 },
];

export const memoryBars = {
  fingerprintBytesPerKey: 36,
  fingerprintBytesPerKeyMoonshot: 20,
  exactBytesPerKey: 100,
  fingerprintLongestCheckMs: 5,
  /** More than a V8 map holds. */
  keysHeld: 2 ** 24 + 1,
};

export const sharedBars = {
  shardedSpeedup: 1.6,
  sharedSpeedup: 1.5,
  /** Of two threads together, more or fewer than the limit. */
  wrongGrants: 0,
};

export const redisBars = {
  /** Requests per second, times rate-limiter-flexible on the same client, by how many are in flight. */
  oneRuleSpeed: { 64: 1, 256: 1.3 },
  /** The wait that one of a hundred exceeds, times that of rate-limiter-flexible, with 64 in flight. */
  oneRuleP99: 1,
  /** Times redis-benchmark with the same calls. */
  ofFloor: 0.9,
  /** One call for four rules, times four calls of rate-limiter-flexible. */
  fourRulesSpeed: 3,
  /** A refused key, times the store alone. */
  denyCacheSpeed: 20,
  /** Hot keys, times the store alone. */
  leasedSpeed: 20,
  /** Keys that got more than their policy promises. */
  violations: 0,
  gcraBytesPerKey: 170,
  /** Of what a sorted set with an entry per call takes. */
  slotsOfSortedSet: 1 / 5,
};

export const serviceBars = {
  /** Commands per second, times Redis on the same machine, by how many are pipelined. */
  resp: { ofScript: { 1: 1.3, 16: 6, 64: 10 }, ofCounter: { 16: 0.9, 64: 1.2 } },
  /** Times one thread. */
  twoThreads: 1.6,
  http: { ofBare: 0.85, ofFastify: 1.5 },
  grpc: { ofEcho: 1 },
  millionKeysMegabytes: 150,
  /** The wait that one of a hundred exceeds at 70 % of the maximum. */
  loadP99Ms: 10,
};

export const clusterBars = {
  /** Checks in the same processor time of all nodes, times a service of its own, asked by the smart client. */
  ofSingleNode: 0.7,
  /** The wait that one of a hundred exceeds at 70 % of the maximum. */
  loadP99Ms: 10,
  /** Grants beyond the limit in any window, of what is said to be strict. */
  overAdmitted: 0,
};

/** The model behind `sluice plan`: how far what it says of a check's cost may be from what it was. */
export const planBars = { costRatio: 1.25 };

export const httpBars = {
  /** What the framework's usual limiter adds to a request, times what ours adds. */
  usualLimiter: 1,
};

export const scheduleBars = {
  /** Operations per second, times each of the others. */
  ofPeers: 1,
};

export const gatewayBars = {
  /** Requests per second, times the best of the proxies that are written in JavaScript. */
  ofJavaScript: 1.5,
};

/**
 * @typedef {{ name: string, reached: number, atLeast: number } | { name: string, reached: number, atMost: number }} Bar
 *
 * @param {Bar} bar
 */
export function isMet(bar) {
  return 'atLeast' in bar ? bar.reached >= bar.atLeast : bar.reached <= bar.atMost;
}

/** @param {readonly Bar[]} bars */
export function barsTable(bars) {
  const rows = bars.map((bar) => {
    const limit = 'atLeast' in bar ? `at least ${number(bar.atLeast)}` : `at most ${number(bar.atMost)}`;
    return [bar.name, number(bar.reached), limit, isMet(bar) ? 'met' : 'missed'];
  });
  return table('bars', [['', 'reached', 'bar', ''], ...rows]);
}

/** @param {number} value */
function number(value) {
  if (Number.isNaN(value)) return '-';
  return value < 1000 ? value.toFixed(2) : value.toLocaleString('en');
}
