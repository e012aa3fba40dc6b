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
import { algorithmOf, everything } from '../../algorithms/algorithm.ts';
import { type Clock, checkTime, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { aboveZero, checkCost, knownFields, type Policy } from '../../vocabulary/policy.ts';
import { answerOnce } from '../answer-once.ts';
import { KeyHash, processSeed } from '../memory/key-hash.ts';
import { noRoom, refusable, storeFull } from '../memory/namespace.ts';
import { openMemory } from '../memory/open-memory.ts';
import type { MemoryStoreStats } from '../memory/room.ts';
import { chargeRow, forgettableInMs, freshRow, latestChargeMs, type Table } from '../memory/table.ts';
import { type Check, mustFit, type Operation, type Store } from '../store.ts';
import {
  BLOCKED_UNTIL_MS,
  BROKEN,
  bufferFor,
  bufferFrom,
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
  STALENESS_MS,
} from './layout.ts';
import { floatsAt, type Held, type Image, noPolicy, Places } from './places.ts';
import { PolicyRegister } from './policy-register.ts';
import { SharedCheck } from './shared-check.ts';

export interface SharedMemoryStoreOptions {
  /** The buffer of a store made in another thread. Its `maxKeys` and `cellsPerKey` then apply. */
  readonly buffer?: SharedArrayBuffer | undefined;
  /** What `snapshot()` gave, perhaps in an earlier process. Its `maxKeys` and `cellsPerKey` then apply. */
  readonly snapshot?: Uint8Array | undefined;
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
  /** Everything held, as bytes. What a thread is in the middle of counts as full after a restore. */
  snapshot(): Uint8Array;
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
  /** What to give its lock back with; 0 while it is not locked. */
  token: number;
  readonly image: Image;
  /** The block it had. */
  blockedUntilMs: number;
}

const tries = 100;

/** Whether an operation on a key that has no state may give it some. */
function mayBegin({ operation, cost, actual = 0 }: Check, { lingerMs }: Table): boolean {
  if (operation === 'settle') return actual > cost;
  // Where a key starts below full, it matters when it was reset.
  if (operation === 'reset') return lingerMs > 0;
  return operation === 'block' || (cost > 0 && beginners.includes(operation));
}

const beginners: readonly (Operation | undefined)[] = [undefined, 'check', 'reserve', 'acquire', 'take', 'penalize'];

/** Milliseconds on a clock that is the same in every thread. */
function monotonicMs(): number {
  const { process } = globalThis as { process?: { hrtime?(): [number, number] } };
  if (!process?.hrtime) return performance.timeOrigin + performance.now();
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export function sharedMemoryStore(options: SharedMemoryStoreOptions = {}): SharedMemoryStore {
  knownFields('sharedMemoryStore options', options, 'buffer snapshot maxKeys cellsPerKey clock lockPatienceMs');
  mustFit(undefined, options.clock);
  const { maxKeys = 1_000_000, cellsPerKey = 4, lockPatienceMs = 100 } = options;
  for (const [field, value] of [
    ['maxKeys', maxKeys],
    ['cellsPerKey', cellsPerKey],
  ] as const) {
    if (!Number.isInteger(value) || value < 1) throw invalid(field, 'a whole number above 0', value);
    if (value > 2 ** 30) throw invalid(field, 'at most 2^30', value);
  }
  if (cellsPerKey > 100_000) throw invalid('cellsPerKey', 'at most 100000', cellsPerKey);
  aboveZero('lockPatienceMs', lockPatienceMs);
  const { buffer, snapshot } = options;
  if ((buffer ?? snapshot) && (options.maxKeys ?? options.cellsPerKey) !== undefined) {
    const given = [options.maxKeys, options.cellsPerKey];
    throw invalid('maxKeys and cellsPerKey', 'left out beside a buffer or a snapshot', given);
  }
  if (buffer && snapshot) throw invalid('snapshot', 'left out beside a buffer', 'both');
  if (snapshot !== undefined && !(snapshot instanceof Uint8Array)) {
    throw invalid('snapshot', 'the bytes that snapshot() gave', snapshot);
  }
  if (options.buffer !== undefined && !(options.buffer instanceof SharedArrayBuffer)) {
    throw invalid('buffer', 'the buffer of another sharedMemoryStore()', options.buffer);
  }
  const originMs = Date.now() - monotonicMs();
  const stalenessMs = options.clock?.stalenessMs ?? 0;
  const own = () =>
    snapshot ? bufferFrom(snapshot, originMs) : bufferFor(maxKeys, cellsPerKey, processSeed, originMs, stalenessMs);
  const layout = layoutOf(buffer ?? own());
  const { words, floats, wholes } = layout;
  // What a strict policy keeps depends on it: read by another, a full key would be an empty one.
  if (floats[STALENESS_MS] !== stalenessMs) {
    const wayOut = 'Give every store of one buffer, and whoever restores its snapshot, the same kind of clock.';
    throw invalid('clock.stalenessMs', `${floats[STALENESS_MS]}, as where the buffer was made`, stalenessMs, wayOut);
  }
  const clock = options.clock ?? sharedClock(floats[ORIGIN_MS]!);
  const places = new Places(layout, lockPatienceMs);
  // Where the rows of a batch are decided upon; empty in between.
  const desk = openMemory(clock, 2 ** 50, 'exact', { retains: false });
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
    const numbers = algorithm.prepare(policy, stalenessMs, 0);
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
    for (const check of checks) {
      const { name, key, policy, sinceMs } = check;
      if (typeof key !== 'string') throw invalid('key', 'a string', key);
      checkCost(check.cost);
      policyNumber(name, policy, sinceMs ?? clock.now());
      const hash = hashOf(name);
      hash.ofText(key);
      const { low, high } = hash;
      const id = JSON.stringify([name, key]);
      const table = tableOf(name, policy);
      const isWritten = mayBegin(check, table) || (entries.get(id)?.isWritten ?? false);
      const at = places.find(low, high);
      entries.set(id, {
        name,
        key,
        low,
        high,
        isWritten,
        table,
        at,
        token: 0,
        image: places.image(),
        blockedUntilMs: 0,
      });
    }
    return [...entries.values()].sort((a, b) => a.at - b.at);
  }

  /** Whether a place can be used for another key, because its own has nothing left to remember. */
  function isForgettable(image: Image, nowMs: number): boolean {
    if (image.floats[BLOCKED_UNTIL_MS]! > nowMs) return false;
    const table = tableBehind(image);
    if (!table) return image.words[POLICY] === noPolicy;
    if (forgettableInMs(table, image.floats, FIRST_CELL, nowMs) > 0) return false;
    forget(table.name, latestChargeMs(table, nowMs), nowMs);
    return true;
  }

  function tableBehind(image: Image): Table | undefined {
    const number = image.words[POLICY]!;
    // Another thread may have added it since.
    if (number !== noPolicy && register.policies[number] === undefined) register.read();
    const named = register.policies[number];
    return named && tableOf(named.name, named.policy);
  }

  /** A key of a name is forgotten that was not charged after `chargedMs`. */
  function forget(name: string, chargedMs: number, nowMs: number): void {
    const [where] = register.timesOf(name);
    if (where !== undefined) raise(where, chargedMs);
    raise(FORGOT_UP_TO_MS, nowMs);
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

  /** Finds a place for a key that has none, if there is one; false where another thread may have been faster. */
  function settleIn(entry: Entry, isClock: boolean, nowMs: number): boolean {
    const { low, high, table } = entry;
    register.read();
    const isFree = (image: Image) => image.words[POLICY] === noPolicy && !(image.floats[BLOCKED_UNTIL_MS]! > nowMs);
    // On a caller's own time each key may have its own timeline, so only a full store forgets by it.
    let held = places.insert(low, high, (image) => (isClock ? isForgettable(image, nowMs) : isFree(image)));
    if (held === 'full' && !isClock) held = places.insert(low, high, (image) => isForgettable(image, nowMs));
    if (held === 'full' && !table.algorithm.strict) held = evict(low, high, nowMs);
    if (typeof held === 'object') {
      entry.at = held.at;
      entry.token = held.token;
    }
    return held !== 'again';
  }

  /** The place of the key of the group, not of a strict policy, that is closest to being as good as new. */
  function evict(low: number, high: number, nowMs: number): Held | 'full' | 'again' {
    let soonest = -1;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const at of places.group(high)) {
      const image = {
        words: words.slice(at, at + layout.stride),
        floats: floats.slice(floatsAt(at), floatsAt(at + layout.stride)),
      };
      const table = tableBehind(image);
      if (!table || table.isStrict || image.floats[BLOCKED_UNTIL_MS]! > nowMs) continue;
      const inMs = forgettableInMs(table, image.floats, FIRST_CELL, nowMs);
      if (inMs >= soonestMs) continue;
      soonest = at;
      soonestMs = inMs;
    }
    const held = places.insert(low, high, (image, at) => {
      const table = at === soonest ? tableBehind(image) : undefined;
      // It may be another's by now.
      if (!table || table.isStrict) return false;
      forget(table.name, nowMs, nowMs);
      return true;
    });
    if (typeof held === 'object') Atomics.add(words, EVICTED, 1);
    return held;
  }

  /** Locks the places of all keys that have one, and finds places for those that need one; false when it has to begin anew. */
  function lockAll(entries: readonly Entry[], atMs: number | undefined): boolean {
    for (const entry of entries) {
      if (entry.at < 0) continue;
      entry.token = places.lock(entry.at, entry.low, entry.high);
      if (entry.token === 0) return false;
    }
    for (const entry of entries) {
      if (entry.at >= 0 || !entry.isWritten) continue;
      if (!settleIn(entry, atMs === undefined, atMs ?? clock.now())) return false;
    }
    return true;
  }

  /** Puts the rows of the batch on the desk. */
  function layOut(entries: readonly Entry[], nowMs: number): void {
    // So many receipts may one batch issue.
    const numbered = 1024 * Number(Atomics.add(wholes, RECEIPTS, 1n));
    room.forgotUpToMs = readTime(FORGOT_UP_TO_MS);
    for (const entry of entries) {
      const { name, key, at, token, table, image } = entry;
      const { blocked, past } = namespace(name);
      past.unknownBeforeMs = Math.max(...register.timesOf(name).map(readTime));
      past.receipts.load(key, undefined, numbered);
      if (token === 0) continue;
      const isWhole = places.read(at, token, image);
      entry.blockedUntilMs = image.floats[BLOCKED_UNTIL_MS]!;
      if (entry.blockedUntilMs !== 0) blocked.set(key, entry.blockedUntilMs);
      const validFrom = image.floats[RECEIPTS_FROM]!;
      if (isWhole && validFrom > 0)
        past.receipts.load(key, { validFrom, refunded: image.floats[GIVEN_BACK]! }, numbered);
      if (isWhole && image.words[POLICY] === noPolicy) continue;
      const row = isWhole ? rowOf(name, image) : undefined;
      if (row) room.keep(row.table, key, row.cells);
      else room.keep(table, key, full(table, nowMs));
    }
  }

  /** A row with its table, where the two fit. */
  function rowOf(name: string, image: Image): { table: Table; cells: Float64Array } | undefined {
    const table = tableBehind(image);
    if (table?.name !== name) return undefined;
    const cells = image.floats.slice(FIRST_CELL, FIRST_CELL + image.words[LENGTH]!);
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
      const { name, key, at, token, image } = entry;
      const { tables, blocked, past } = namespace(name);
      const table = [...tables.values()].find(({ rows }) => rows.find(key) >= 0);
      if (token !== 0 && !kept.includes(entry)) places.putBack(at, token);
      else if (token !== 0) {
        const cells = table?.rows.get(key);
        image.words[POLICY] = table ? register.numberOf(name, table.policy, table.sinceMs) : noPolicy;
        image.words[LENGTH] = cells?.length ?? 0;
        if (cells) image.floats.set(cells, FIRST_CELL);
        const receipts = past.receipts.entry(key);
        image.floats[RECEIPTS_FROM] = receipts?.validFrom ?? 0;
        image.floats[GIVEN_BACK] = receipts?.refunded ?? 0;
        const untilMs = blocked.get(key) ?? 0;
        if (untilMs !== entry.blockedUntilMs) places.block(at, token, untilMs);
        if (!places.write(at, token, image)) isCertain = false;
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
      const homeless = entries.filter(({ token, isWritten }) => token === 0 && isWritten);
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
    const keys = checks.map(({ key }) => `"${key}"`).join(', ');
    throw new SluiceError('store-full', `The lock of key ${keys} was taken away ${tries} times. Raise lockPatienceMs.`);
  }

  return {
    mode: 'sync',
    clock,
    buffer: layout.buffer,
    // Remembered by this thread: a request that is sent again has to come to the same one.
    apply: answerOnce(() => clock.now(), apply),
    direct: (name, policy, sinceMs) =>
      new SharedCheck(layout, places, clock, tableFor(name, policy, sinceMs), policyNumber(name, policy, sinceMs ?? 0)),
    stats: () => ({
      keys: Atomics.load(words, KEYS),
      evictedLiveKeys: Atomics.load(words, EVICTED),
      refusedNewcomers: Atomics.load(words, REFUSED),
      brokenLocks: Atomics.load(words, BROKEN),
    }),
    snapshot: () => new Uint8Array(layout.buffer).slice(),
  };

  function tableFor(name: string, policy: Policy, sinceMs: number | undefined): Table {
    policyNumber(name, policy, sinceMs ?? clock.now());
    return tableOf(name, policy);
  }
}

function sharedClock(originMs: number): Clock {
  return { now: () => originMs + monotonicMs(), sleep: monotonicClock.sleep };
}
