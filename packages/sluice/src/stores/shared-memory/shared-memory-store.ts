/**
 * The memory store in a `SharedArrayBuffer`, for many threads at once. A check locks the rows it is about, decides exactly as the
 * memory store does, writes them back and lets them go.
 *
 *      thread A ─┐
 *      thread B ─┼─► lock rows ─► decide ─► write ─► let go        a thread that dies in between leaves its rows locked;
 *      thread C ─┘                                                the next one breaks the lock, and the key counts as full
 *
 * Keys are kept as fingerprints (64 bits of a keyed hash). The memory is laid out once, for `maxKeys`, and never grows.
 */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { type Clock, checkTime, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero, knownFields, type Policy } from '../../vocabulary/policy.ts';
import { everything } from '../memory/carry-over.ts';
import { KeyHash, processSeed } from '../memory/key-hash.ts';
import { openMemory } from '../memory/memory-store.ts';
import { noRoom, refusable, storeFull } from '../memory/namespace.ts';
import type { MemoryStoreStats } from '../memory/room.ts';
import { chargeRow, forgettableInMs, freshRow, latestChargeMs, type Table } from '../memory/table.ts';
import { type Check, mustFit, type Operation, type Store } from '../store.ts';
import {
  BLOCKED_UNTIL_MS,
  BROKEN,
  bufferFor,
  EVICTED,
  FIRST_CELL,
  FORGOT_UP_TO_MS,
  GIVEN_BACK,
  KEYS,
  LENGTH,
  layoutOf,
  ORIGIN_MS,
  POLICY,
  RECEIPTS,
  RECEIPTS_FROM,
  REFUSED,
  UNKNOWN_BEFORE_MS,
} from './layout.ts';
import { floatsAt, noPolicy, Places } from './places.ts';
import { PolicyRegister } from './policy-register.ts';
import { SharedCheck } from './shared-check.ts';

export interface SharedMemoryStoreOptions {
  /** The buffer of a store made in another thread. Its `maxKeys` and `cellsPerKey` then apply. */
  readonly buffer?: SharedArrayBuffer | undefined;
  /** The most keys held at once, over all names. Default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /**
   * Numbers that a key's state may have: 1 to 100,000, default 4, which is enough for all but `sliding-slots` (slots + 4),
   * `sliding-log` (5 + 2 for each call in the window, rounded up to a power of two) and `concurrency` (5 + 6 for each place).
   * A key of these two that needs more is refused, as when the store is full.
   */
  readonly cellsPerKey?: number | undefined;
  /** Default: the process's monotonic clock, the same in every thread. */
  readonly clock?: Clock | undefined;
  /** How long a lock may stand still before its holder is taken for dead, in milliseconds. Default 100. */
  readonly lockPatienceMs?: number | undefined;
}

export interface SharedMemoryStoreStats extends MemoryStoreStats {
  /** Locks whose holder was taken for dead. */
  brokenLocks: number;
}

export interface SharedMemoryStore extends Store<'sync'> {
  /** To be handed to other threads, for a store of theirs on the same memory. */
  readonly buffer: SharedArrayBuffer;
  /** Of all threads together. `keys` are places in use, also of keys that could be forgotten. */
  stats(): Readonly<SharedMemoryStoreStats>;
}

/** A key of a batch, with its place. */
interface Entry {
  readonly name: string;
  readonly key: string;
  readonly low: number;
  readonly high: number;
  readonly isWritten: boolean;
  readonly table: Table;
  /** The word at which its place begins; -1 without one. */
  at: number;
  isLocked: boolean;
}

const tries = 100;

const readers: readonly (Operation | undefined)[] = ['peek'];

/** Milliseconds on a clock that is the same in every thread. */
function monotonicMs(): number {
  const { process } = globalThis as { process?: { hrtime?(): [number, number] } };
  if (!process?.hrtime) return performance.timeOrigin + performance.now();
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export function sharedMemoryStore(options: SharedMemoryStoreOptions = {}): SharedMemoryStore {
  knownFields('sharedMemoryStore options', options, 'buffer maxKeys cellsPerKey clock lockPatienceMs');
  mustFit(undefined, options.clock);
  const { maxKeys = 1_000_000, cellsPerKey = 4, lockPatienceMs = 100 } = options;
  for (const [field, value] of [
    ['maxKeys', maxKeys],
    ['cellsPerKey', cellsPerKey],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > 2 ** 30) throw invalid(field, 'a whole number above 0', value);
  }
  if (cellsPerKey > 100_000) throw invalid('cellsPerKey', 'at most 100000', cellsPerKey);
  aboveZero('lockPatienceMs', lockPatienceMs);
  if (options.buffer && (options.maxKeys ?? options.cellsPerKey) !== undefined) {
    throw invalid('maxKeys and cellsPerKey', 'left out beside a buffer', [options.maxKeys, options.cellsPerKey]);
  }
  if (options.buffer !== undefined && !(options.buffer instanceof SharedArrayBuffer)) {
    throw invalid('buffer', 'the buffer of another sharedMemoryStore()', options.buffer);
  }
  const layout = layoutOf(options.buffer ?? bufferFor(maxKeys, cellsPerKey, processSeed, Date.now() - monotonicMs()));
  const { words, floats, wholes } = layout;
  const clock = options.clock ?? sharedClock(floats[ORIGIN_MS]!);
  const places = new Places(layout, lockPatienceMs);
  // Where the rows of a batch are decided upon; empty in between.
  const desk = openMemory(clock, 2 ** 50, 'exact');
  const { namespace, room } = desk.contents;
  const register = new PolicyRegister(layout, lockPatienceMs, ({ name, policy, sinceMs }) => {
    namespace(name).tableFor(policy, sinceMs);
  });
  const hashes = new Map<string, KeyHash>();

  function hashOf(name: string): KeyHash {
    const known = hashes.get(name) ?? new KeyHash(name, layout.seed);
    hashes.set(name, known);
    return known;
  }

  /** The number of a policy under a name; throws where its rows have no room. */
  function policyNumber(name: string, policy: Policy, sinceMs: number): number {
    const algorithm = algorithmOf(policy);
    const numbers = algorithm.prepare(policy, clock.stalenessMs ?? 0, 0);
    const needed = algorithm.cells(numbers);
    if (needed > layout.cellsPerKey) {
      const wayOut = `A ${algorithm.name} policy like this needs so many numbers per key.`;
      throw invalid('cellsPerKey', `at least ${needed}`, layout.cellsPerKey, wayOut);
    }
    return register.numberOf(name, policy, sinceMs);
  }

  function tableOf(name: string, policy: Policy): Table {
    return namespace(name).tableFor(policy, 0);
  }

  /** The keys of a batch, each once, in the order of their places: two threads never wait for each other in turn. */
  function entriesOf(checks: readonly Check[]): Entry[] {
    const entries = new Map<string, Entry>();
    for (const { name, key, policy, operation, sinceMs } of checks) {
      policyNumber(name, policy, sinceMs ?? clock.now());
      const hash = hashOf(name);
      hash.ofText(key);
      const { low, high } = hash;
      const id = JSON.stringify([name, key]);
      const isWritten = !readers.includes(operation) || (entries.get(id)?.isWritten ?? false);
      const at = places.find(low, high);
      entries.set(id, { name, key, low, high, isWritten, table: tableOf(name, policy), at, isLocked: false });
    }
    return [...entries.values()].sort((a, b) => a.at - b.at);
  }

  /** Whether a locked place can be used for another key, because its own has nothing left to remember. */
  function isForgettable(at: number, nowMs: number): boolean {
    const place = floatsAt(at);
    if (floats[place + BLOCKED_UNTIL_MS]! > nowMs) return false;
    const named = register.policies[words[at + POLICY]!];
    if (!named) return words[at + POLICY] === noPolicy;
    const table = tableOf(named.name, named.policy);
    if (forgettableInMs(table, rowAt(at), 0, nowMs) > 0) return false;
    raise(UNKNOWN_BEFORE_MS, latestChargeMs(table, nowMs));
    raise(FORGOT_UP_TO_MS, nowMs);
    return true;
  }

  // A time in the header: compared as a number, exchanged as its bits.
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);

  function readTime(which: number): number {
    bits[0] = Atomics.load(wholes, which);
    return time[0]!;
  }

  function raise(which: number, ms: number): void {
    for (;;) {
      const seen = Atomics.load(wholes, which);
      bits[0] = seen;
      if (time[0]! >= ms) return;
      time[0] = ms;
      if (Atomics.compareExchange(wholes, which, seen, bits[0]) === seen) return;
    }
  }

  function rowAt(at: number): Float64Array {
    const first = floatsAt(at) + FIRST_CELL;
    return floats.slice(first, first + words[at + LENGTH]!);
  }

  /** Finds a place for a key that has none: true, or false where another thread was faster. */
  function settleIn(entry: Entry, isClock: boolean, nowMs: number): boolean {
    const { low, high, table } = entry;
    register.read();
    // On a caller's own time each key may have its own timeline, so only a full store forgets by it.
    entry.at = places.insert(low, high, (at) => (isClock ? isForgettable(at, nowMs) : words[at + POLICY] === noPolicy));
    if (entry.at === -1 && !isClock) entry.at = places.insert(low, high, (at) => isForgettable(at, nowMs));
    if (entry.at === -1 && !table.algorithm.strict) {
      const evicted = closestToNew(low, high, nowMs);
      if (evicted >= 0) {
        entry.at = places.insert(low, high, (at) => at === evicted);
        if (entry.at >= 0) {
          Atomics.add(words, EVICTED, 1);
          raise(UNKNOWN_BEFORE_MS, nowMs);
          raise(FORGOT_UP_TO_MS, nowMs);
        }
      }
    }
    return entry.at !== -2;
  }

  /** The place of the key's group whose key, not of a strict policy, is closest to being as good as new. */
  function closestToNew(low: number, high: number, nowMs: number): number {
    let soonest = -1;
    let soonestMs = Number.POSITIVE_INFINITY;
    places.insert(low, high, (at) => {
      const named = register.policies[words[at + POLICY]!];
      if (!named || floats[floatsAt(at) + BLOCKED_UNTIL_MS]! > nowMs) return false;
      const table = tableOf(named.name, named.policy);
      const inMs = table.algorithm.strict ? Number.POSITIVE_INFINITY : forgettableInMs(table, rowAt(at), 0, nowMs);
      if (inMs < soonestMs) {
        soonest = at;
        soonestMs = inMs;
      }
      return false;
    });
    return soonest;
  }

  /** Locks the places of all keys that have one, and finds places for those that need one; false when it has to begin anew. */
  function lockAll(entries: readonly Entry[], atMs: number | undefined): boolean {
    for (const entry of entries) {
      if (entry.at < 0) continue;
      entry.isLocked = places.lock(entry.at, entry.low, entry.high);
      if (!entry.isLocked) return false;
    }
    for (const entry of entries) {
      if (entry.at >= 0 || !entry.isWritten) continue;
      if (!settleIn(entry, atMs === undefined, atMs ?? clock.now())) return false;
      entry.isLocked = entry.at >= 0;
    }
    return true;
  }

  /** Puts the rows of the batch on the desk. */
  function layOut(entries: readonly Entry[], nowMs: number): void {
    const numbered = 16 * Atomics.add(words, RECEIPTS, 1);
    room.forgotUpToMs = readTime(FORGOT_UP_TO_MS);
    for (const { name, key, at, table } of entries) {
      const { blocked, past } = namespace(name);
      past.unknownBeforeMs = readTime(UNKNOWN_BEFORE_MS);
      past.receipts.load(key, undefined, numbered);
      if (at < 0) continue;
      const place = floatsAt(at);
      if (floats[place + BLOCKED_UNTIL_MS] !== 0) blocked.set(key, floats[place + BLOCKED_UNTIL_MS]!);
      const isTorn = places.isTorn(at);
      const from = floats[place + RECEIPTS_FROM]!;
      if (!isTorn && from > 0)
        past.receipts.load(key, { validFrom: from, refunded: floats[place + GIVEN_BACK]! }, numbered);
      if (!isTorn && words[at + POLICY] === noPolicy) continue;
      const row = isTorn ? undefined : untorn(at);
      if (row) room.keep(row.table, key, row.cells);
      else room.keep(table, key, full(table, nowMs));
    }
  }

  /** A row with its table, where the two fit. */
  function untorn(at: number): { table: Table; cells: Float64Array } | undefined {
    const named = register.policies[words[at + POLICY]!];
    if (!named) return undefined;
    const table = tableOf(named.name, named.policy);
    const cells = rowAt(at);
    const { algorithm, numbers } = table;
    return algorithm.extend || cells.length === algorithm.cells(numbers) ? { table, cells } : undefined;
  }

  /** The state of a key of which nothing is known: as if all of its limit had been used a moment ago. */
  function full(table: Table, nowMs: number): Float64Array {
    const { algorithm, numbers } = table;
    const cost = algorithm.strict && !algorithm.release ? everything : numbers.limit;
    return chargeRow(table, freshRow(table, nowMs), cost, nowMs);
  }

  /** Writes back the rows that are kept, lets all go, and clears the desk. False when a lock was broken meanwhile: then nothing is certain. */
  function putAway(entries: readonly Entry[], kept: readonly Entry[]): boolean {
    let isCertain = true;
    for (const entry of entries) {
      const { name, key, at, isLocked } = entry;
      const { tables, blocked, past } = namespace(name);
      const table = [...tables.values()].find(({ rows }) => rows.find(key) >= 0);
      if (isLocked && !kept.includes(entry)) places.putBack(at);
      else if (isLocked) {
        const place = floatsAt(at);
        const cells = table?.rows.get(key);
        words[at + POLICY] = table ? register.numberOf(name, table.policy, table.sinceMs) : noPolicy;
        words[at + LENGTH] = cells?.length ?? 0;
        if (cells) floats.set(cells, place + FIRST_CELL);
        const receipts = past.receipts.entry(key);
        floats[place + RECEIPTS_FROM] = receipts?.validFrom ?? 0;
        floats[place + GIVEN_BACK] = receipts?.refunded ?? 0;
        const untilMs = blocked.get(key) ?? 0;
        if (floats[place + BLOCKED_UNTIL_MS] !== untilMs) floats[place + BLOCKED_UNTIL_MS] = untilMs;
        if (!places.publish(at)) isCertain = false;
      }
      if (table) room.forget(table, key);
      blocked.delete(key);
      past.receipts.load(key, undefined, 0);
    }
    return isCertain;
  }

  /** One try; undefined when it has to begin anew. */
  function tryApply(checks: readonly Check[], atMs: number | undefined): Decision[] | undefined {
    const entries = entriesOf(checks);
    let kept: readonly Entry[] = [];
    let decisions: Decision[] | undefined;
    try {
      if (!lockAll(entries, atMs)) return undefined;
      layOut(entries, atMs ?? clock.now());
      const homeless = entries.filter(({ at, isWritten }) => at < 0 && isWritten);
      const isRefused = mustRefuse(homeless, checks);
      decisions = desk.apply(
        isRefused ? checks.map((check): Check => ({ ...check, operation: 'peek' })) : checks,
        atMs,
      );
      const outgrown = isRefused ? [] : entries.filter(isOutgrown);
      if (!isRefused && !mustRefuse(outgrown, checks)) kept = entries.filter((entry) => !outgrown.includes(entry));
      const without = [...homeless, ...outgrown];
      decisions = decisions.map((decision, i) =>
        isOf(without, checks[i]!) ? { ...decision, ...storeFull } : decision,
      );
    } finally {
      // Somebody took this thread for dead and counts the keys as full: what was decided here does not hold.
      if (!putAway(entries, kept)) decisions = undefined;
    }
    return decisions;
  }

  /** Whether a check is about one of these keys. */
  function isOf(entries: readonly Entry[], { name, key }: Check): boolean {
    return entries.some((entry) => entry.name === name && entry.key === key);
  }

  /** Whether a batch must be refused because keys of it have no room: those of real checks; shadow ones go without. */
  function mustRefuse(without: readonly Entry[], checks: readonly Check[]): boolean {
    const affected = without.length === 0 ? [] : checks.filter((check) => isOf(without, check));
    const debtor = affected.find(({ operation }) => !refusable(operation));
    if (debtor) throw noRoom(debtor.key);
    const isRefused = affected.some(({ shadow }) => !shadow);
    if (isRefused) Atomics.add(words, REFUSED, 1);
    return isRefused;
  }

  /** Whether a key's state has become longer than its place. */
  function isOutgrown({ name, key }: Entry): boolean {
    for (const { rows } of namespace(name).tables.values()) {
      if ((rows.get(key)?.length ?? 0) > layout.cellsPerKey) return true;
    }
    return false;
  }

  function apply(checks: readonly Check[], atMs?: number): Decision[] {
    if (atMs !== undefined) checkTime(atMs);
    for (let i = 0; i < tries; i += 1) {
      const decisions = tryApply(checks, atMs);
      if (decisions) return decisions;
    }
    throw noRoom(checks.map(({ key }) => key).join(', '));
  }

  return {
    mode: 'sync',
    clock,
    buffer: layout.buffer,
    apply,
    direct: (name, policy, sinceMs) =>
      new SharedCheck(layout, places, clock, tableFor(name, policy, sinceMs), policyNumber(name, policy, sinceMs ?? 0)),
    stats: () => ({
      keys: Atomics.load(words, KEYS),
      evictedLiveKeys: Atomics.load(words, EVICTED),
      refusedNewcomers: Atomics.load(words, REFUSED),
      brokenLocks: Atomics.load(words, BROKEN),
    }),
  };

  function tableFor(name: string, policy: Policy, sinceMs: number | undefined): Table {
    policyNumber(name, policy, sinceMs ?? clock.now());
    return tableOf(name, policy);
  }
}

function sharedClock(originMs: number): Clock {
  return { now: () => originMs + monotonicMs(), sleep: monotonicClock.sleep };
}
