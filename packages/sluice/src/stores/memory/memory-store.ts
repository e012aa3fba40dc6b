/** The store in this process's memory: many names, synchronous, bounded, no timers. */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import { type Check, mustFit, type Store } from '../store.ts';
import { type Moment, momentsOf } from './moment.ts';
import { type Namespace, namespaceOf, noRoom, type Question, refusable, storeFull } from './namespace.ts';
import { type MemoryStoreStats, roomFor } from './room.ts';
import { restoreSnapshot, type Snapshot, takeSnapshot } from './snapshot.ts';

export interface MemoryStoreOptions {
  /** The most keys held at once, over all names. Default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /** Default: monotonic, anchored to the wall clock once. */
  readonly clock?: Clock | undefined;
}

export interface MemoryStore extends Store<'sync'> {
  stats(): Readonly<MemoryStoreStats>;
  /** Everything held, as plain data that survives JSON. */
  snapshot(): Snapshot;
  /** Takes a snapshot's keys over into a store that holds none. Policies in use here apply to that state. */
  restore(snapshot: Snapshot): void;
}

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  knownFields('memoryStore options', options, 'maxKeys clock');
  mustFit(undefined, options.clock);
  const { clock = monotonicClock } = options;
  const room = roomFor(options.maxKeys);
  const { maxKeys } = room;
  const momentAt = momentsOf(clock);
  const names = new Map<string, Namespace>();

  function namespace(name: string): Namespace {
    const known = names.get(name) ?? namespaceOf(name, room, clock.stalenessMs);
    names.set(name, known);
    return known;
  }

  function askAll(checks: readonly Check[], moment: Moment): Question[] {
    return checks.map((check, i) => {
      const { name, key } = check;
      let earlier = 0;
      for (let before = 0; before < i; before += 1) {
        const other = checks[before]!;
        const isReal = check.shadow || !other.shadow;
        if (other.key === key && other.name === name && isReal && refusable(other.operation)) earlier += other.cost;
      }
      return namespace(name).ask(check, earlier, moment);
    });
  }

  /** Makes room for the newcomers of a batch; those that find none. Asks again whenever keys were forgotten for it. */
  function settleIn(
    checks: readonly Check[],
    first: Question[],
    moment: Moment,
  ): [asked: Question[], homeless: Question[]] {
    let asked = first;
    let homeless: Question[] = [];
    // What is forgotten may be a key of this very batch, which is then a newcomer too; hence more than one try.
    for (let tries = 0; tries <= checks.length; tries += 1) {
      const before = room.stats.keys;
      const newcomers = asked.filter(({ isNewcomer }) => isNewcomer);
      room.make(
        newcomers.length,
        newcomers.some(({ table }) => table.algorithm.strict),
        moment,
      );
      if (room.stats.keys !== before) asked = askAll(checks, moment);
      homeless = asked.filter(({ isNewcomer }) => isNewcomer);
      const free = maxKeys - room.stats.keys;
      if (homeless.length <= free) return [asked, []];
      // Shadow checks go without before a real one has to.
      const real = homeless.filter(({ check }) => !check.shadow);
      if (real.length <= free) homeless = homeless.filter(({ check }) => check.shadow);
      else homeless = real;
      if (room.stats.keys === before) break;
    }
    return [asked, homeless];
  }

  function apply(checks: readonly Check[], atMs?: number): Decision[] {
    const moment = momentAt(checks, atMs);
    let asked = askAll(checks, moment);
    let go = asked.every(({ waitMs, check }) => waitMs === 0 || check.shadow);
    let homeless: Question[] = [];
    if (go && asked.some(({ isNewcomer }) => isNewcomer)) [asked, homeless] = settleIn(checks, asked, moment);
    const debtor = homeless.find(({ check }) => !refusable(check.operation));
    if (debtor) throw noRoom(debtor.check.key);
    if (homeless.some(({ check }) => !check.shadow)) {
      go = false;
      room.stats.refusedNewcomers += 1;
    }
    return asked.map((question) => {
      const { answer } = namespace(question.check.name);
      const isHomeless = homeless.some(({ check }) => check === question.check);
      const decision = answer(question, go && !isHomeless, moment);
      return isHomeless ? { ...decision, ...storeFull } : decision;
    });
  }

  const contents = { names, room, namespace, stalenessMs: clock.stalenessMs ?? 0 };
  return {
    mode: 'sync',
    clock,
    apply,
    stats: () => ({ ...room.stats }),
    snapshot: () => takeSnapshot(contents),
    restore: (snapshot) => restoreSnapshot(contents, snapshot),
  };
}
