/** The store in this process's memory: many names, synchronous, bounded, no timers. */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { answerOnce } from '../answer-once.ts';
import { type Check, mustFit, type Store } from '../store.ts';
import { openMemory } from './open-memory.ts';
import type { MemoryStoreStats } from './room.ts';
import type { KeyMode } from './rows.ts';
import { restoreSnapshot, type Snapshot, takeSnapshot } from './snapshot.ts';
import { forgetSpent } from './spent-name.ts';

export interface MemoryStoreOptions {
  /** The most keys held at once, over all names. Default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /** Default: monotonic, anchored to the wall clock once. */
  readonly clock?: Clock | undefined;
  /**
   * `'exact'` (default) keeps the text of each key. `'fingerprint'` keeps 64 bits of a keyed hash instead: a third of the memory.
   * Of n keys, some two share a row with a probability of about n * n / 2^65 (1 in 37 million at a million keys); a check can
   * then only refuse more, while `reset`, `reward` and `cancel` act on both.
   */
  readonly keys?: KeyMode | undefined;
  /**
   * Whether keys that came a moment ago are found by the string they came as (default true): twice as fast where the same strings come again and again,
   * without effect where keys are many. False for a process with very many stores: what each has of its own no longer fits the processor's cache.
   */
  readonly recentKeys?: boolean | undefined;
}

export interface MemoryStore extends Store<'sync'> {
  stats(): Readonly<MemoryStoreStats>;
  /**
   * Whether these checks, if they are allowed, find room for the keys that are new; it is made for them where that can be done. For who asks several
   * stores for one batch: a `peek` does not say so.
   */
  hasRoomFor(checks: readonly Check[]): boolean;
  /**
   * Forgets a name, and what a name takes, once nothing that was granted under it counts any more: no key, and no block. False where
   * something still does, a limiter has the name, or something was ever reserved under it. For names that come with requests: those that nobody uses
   * need not stay.
   */
  forgetName(name: string): boolean;
  /** Everything held, as plain data that survives JSON. */
  snapshot(): Snapshot;
  /** Takes a snapshot's keys over into a store that holds none. Policies in use here apply to that state. */
  restore(snapshot: Snapshot): void;
}

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  knownFields('memoryStore options', options, 'maxKeys clock keys recentKeys');
  mustFit(undefined, options.clock);
  const { clock = monotonicClock, keys = 'exact', recentKeys = true } = options;
  oneOf('keys', keys, ['exact', 'fingerprint']);
  oneOf('recentKeys', recentKeys, [true, false]);
  const { apply, hasRoomFor, direct, contents } = openMemory(clock, options.maxKeys, keys, { recentKeys });
  // Whoever has a short way of its own goes on with the keys it knows, beside whoever comes anew.
  const bound = new Set<string>();
  return {
    mode: 'sync',
    clock,
    apply: answerOnce(() => clock.now(), apply),
    direct(name, policy, sinceMs) {
      bound.add(name);
      return direct(name, policy, sinceMs);
    },
    forgetName: (name) => !bound.has(name) && forgetSpent(name, contents),
    hasRoomFor,
    stats: () => ({ ...contents.room.stats }),
    snapshot: () => takeSnapshot(contents),
    restore: (snapshot) => restoreSnapshot(contents, snapshot),
  };
}
