/**
 * A semaphore: at most `limit` in flight. What is taken is given back; what is never given back (its holder crashed)
 * comes back by itself when its lease ends.
 *
 *      leases, oldest first:  │ 7 ends 5.0 │ 8 released │ 9 ends 5.2 │ 10 ends 6.1 │
 *
 * Leases end in the order they were given, so only the oldest need to be looked at.
 */

import { andThen, type Mode, type Reply } from '../../vocabulary/answer.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy, policyOf } from '../../vocabulary/policy.ts';
import type { Algorithm, CallOptions, Numbers } from '../algorithm.ts';
import {
  append,
  BASE,
  COUNT,
  clearRing,
  dropOldest,
  entryAt,
  isFull,
  isRing,
  resized,
  ringCells,
  TOTAL,
} from '../ring.ts';
import { type Lease, leaseOf } from './lease.ts';

export interface ConcurrencyOptions {
  /** How many may be in flight: a whole number above 0. */
  readonly limit: number;
  /** When a lease that was not given back ends by itself. Default 1 minute. */
  readonly lease?: Duration;
}

export interface ConcurrencyPolicy extends Policy {
  readonly algorithm: 'concurrency';
  readonly lease: number;
}

/** What limiters of this algorithm have besides the common operations. */
export interface ConcurrencyMethods<M extends Mode> {
  /** A place among those in flight, if there is one; give it back with `release()`. */
  acquire(key: string, options?: CallOptions): Reply<M, Lease<M>>;
}

interface LeaseNumbers extends Numbers {
  readonly leaseMs: number;
}

// An entry: the lease's number, when it ends, and how much it holds (0 once released). The ring's base is the next number,
// its total what all entries hold, ended ones included.
const WIDTH = 3;
const ENDS_MS = 1;
const HELD = 2;

const firstCapacity = 4;
const numbersPerMs = 64;

/** How many of the oldest leases have ended or were given back. */
function endedAt(cells: Float64Array, at: number, nowMs: number): number {
  const count = cells[at + COUNT]!;
  let ended = 0;
  while (ended < count) {
    const lease = entryAt(cells, at, WIDTH, ended);
    if (cells[lease + HELD] !== 0 && cells[lease + ENDS_MS]! > nowMs) break;
    ended += 1;
  }
  return ended;
}

function heldAt(cells: Float64Array, at: number, nowMs: number): number {
  let held = cells[at + TOTAL]!;
  for (let i = endedAt(cells, at, nowMs) - 1; i >= 0; i -= 1) held -= cells[entryAt(cells, at, WIDTH, i) + HELD]!;
  return held;
}

function prune(cells: Float64Array, at: number, nowMs: number): void {
  cells[at + TOTAL] = heldAt(cells, at, nowMs);
  dropOldest(cells, at, endedAt(cells, at, nowMs));
}

function giveBack(cells: Float64Array, at: number, lease: number): void {
  cells[at + TOTAL]! -= cells[lease + HELD]!;
  cells[lease + HELD] = 0;
}

/** Where the lease with this number is, or -1. Numbers only grow, so it is found by halving. */
function findLease(cells: Float64Array, at: number, number: number): number {
  let low = 0;
  let high = cells[at + COUNT]! - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const lease = entryAt(cells, at, WIDTH, middle);
    if (cells[lease] === number) return lease;
    if (cells[lease]! < number) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function newestEndMs(cells: Float64Array, at: number): number {
  const count = cells[at + COUNT]!;
  return count === 0 ? Number.NEGATIVE_INFINITY : cells[entryAt(cells, at, WIDTH, count - 1) + ENDS_MS]!;
}

/** Squeezes out the leases that were given back between living ones. */
function compact(cells: Float64Array): void {
  const count = cells[COUNT]!;
  let kept = 0;
  for (let i = 0; i < count; i += 1) {
    const lease = entryAt(cells, 0, WIDTH, i);
    if (cells[lease + HELD] === 0) continue;
    cells.copyWithin(entryAt(cells, 0, WIDTH, kept), lease, lease + WIDTH);
    kept += 1;
  }
  cells[COUNT] = kept;
}

function charge(cells: Float64Array, at: number, numbers: LeaseNumbers, cost: number, nowMs: number): void {
  prune(cells, at, nowMs);
  const number = cells[at + BASE]!;
  const endsMs = Math.max(nowMs + numbers.leaseMs, newestEndMs(cells, at));
  const lease = append(cells, at, WIDTH);
  cells[lease] = number;
  cells[lease + ENDS_MS] = endsMs;
  cells[lease + HELD] = cost;
  cells[at + BASE] = number + 1;
  cells[at + TOTAL]! += cost;
}

function mustTake(cost: number): void {
  if (!Number.isInteger(cost)) throw invalid('cost', 'a whole number for the concurrency algorithm', cost);
}

const algorithm: Algorithm<ConcurrencyPolicy, LeaseNumbers> = {
  name: 'concurrency',
  factory: concurrency,
  strict: true,
  without: ['penalize', 'reward', 'reserve', 'take', 'wait'],
  methods: (call, mode) => ({
    acquire: (key: string, options?: CallOptions) =>
      andThen(call('acquire', key, options), (decision) =>
        leaseOf(key, decision, typeof options === 'object' ? { atMs: options.atMs } : {}, call, mode),
      ),
  }),
  // A key forgotten and seen again within one millisecond would number its leases as before.
  lingerMs: () => 1,
  mustTake,
  prepare: ({ limit, lease }, stalenessMs) => ({ limit, leaseMs: lease + stalenessMs }),
  cells: () => ringCells(firstCapacity, WIDTH),

  // Numbered from the time: a handle from before the key was forgotten must not release somebody else's lease.
  fresh(cells, at, _numbers, nowMs) {
    clearRing(cells, at, firstCapacity);
    cells[at + BASE] = Math.floor(nowMs) * numbersPerMs;
  },

  /** If nobody gives back, the leases' ends do. */
  wait(cells, at, numbers, cost, nowMs) {
    mustTake(cost);
    if (cost > numbers.limit) return Number.POSITIVE_INFINITY;
    let over = heldAt(cells, at, nowMs) + cost - numbers.limit;
    if (over <= 0) return 0;
    let i = endedAt(cells, at, nowMs);
    for (; ; i += 1) {
      const lease = entryAt(cells, at, WIDTH, i);
      over -= cells[lease + HELD]!;
      if (over <= 0) return Math.ceil(cells[lease + ENDS_MS]! - nowMs);
    }
  },

  charge,

  receipt: (cells, at) => [cells[at + BASE]! - 1],

  release(cells, at, [number = -1], nowMs) {
    const lease = findLease(cells, at, number);
    const isLive = lease >= 0 && cells[lease + HELD] !== 0 && cells[lease + ENDS_MS]! > nowMs;
    if (lease >= 0) giveBack(cells, at, lease);
    prune(cells, at, nowMs);
    // What was given back at the young end is gone as well, so that the youngest left says when all are.
    for (
      let count = cells[at + COUNT]!;
      count > 0 && cells[entryAt(cells, at, WIDTH, count - 1) + HELD] === 0;
      count -= 1
    ) {
      cells[at + COUNT] = count - 1;
    }
    return isLive;
  },

  // A renewed lease goes to the end of the line under a new number, so that the line stays in the order of the ends.
  renew(cells, at, numbers, [number = -1], nowMs) {
    const lease = findLease(cells, at, number);
    const held = lease < 0 || cells[lease + ENDS_MS]! <= nowMs ? 0 : cells[lease + HELD]!;
    if (held === 0) return false;
    giveBack(cells, at, lease);
    charge(cells, at, numbers, held, nowMs);
    return true;
  },

  available: (cells, at, numbers, nowMs) => numbers.limit - heldAt(cells, at, nowMs),
  asNewInMs(cells, at, _numbers, nowMs) {
    const numberedMs = Math.floor(cells[at + BASE]! / numbersPerMs);
    return (cells[at + COUNT] === 0 ? numberedMs : newestEndMs(cells, at)) - nowMs;
  },

  // The numbering goes on: a handle from before must not release somebody else's place.
  clear(cells) {
    cells[COUNT] = 0;
    cells[TOTAL] = 0;
  },

  // Leases are the same under every limit.
  carry: (from) => from.slice(),

  fits: (cells) => isRing(cells, WIDTH),

  extend(cells, _numbers, nowMs) {
    if (!isFull(cells, 0)) return cells;
    prune(cells, 0, nowMs);
    compact(cells);
    // Half full after tidying means that tidying alone will not last.
    return 2 * cells[COUNT]! <= (cells.length - ringCells(0, WIDTH)) / WIDTH
      ? cells
      : resized(cells, WIDTH, 2 * cells[COUNT]!);
  },
};

export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  knownFields('concurrency', options, 'limit lease');
  const { limit, lease = '1m' } = options;
  if (!Number.isInteger(limit) || limit < 1) throw invalid('limit', 'a whole number above 0', limit);
  return policyOf<ConcurrencyPolicy>(algorithm, {
    algorithm: 'concurrency',
    limit,
    lease: parseDuration(lease, 'lease'),
  });
}
