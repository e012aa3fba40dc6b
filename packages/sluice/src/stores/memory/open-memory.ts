/** What every memory store does: batches over several names that hold together, with the contents in the open. */
import { algorithmOf } from '../../algorithms/algorithm.ts';
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { answerOnce } from '../answer-once.ts';
import { type Check, mustFit, type Store } from '../store.ts';
import { DirectCheck, notDirect } from './direct-check.ts';
import { processSeed, type Seed } from './key-hash.ts';
import { type Moment, Moments } from './moment.ts';
import { type Namespace, namespaceOf, noRoom, type Question, refusable, storeFull } from './namespace.ts';
import { roomFor } from './room.ts';
import { type KeyMode, Rows } from './rows.ts';
import type { Contents } from './snapshot.ts';
import type { RowsOf } from './table.ts';

/**
 * The memory store of whoever shares with nobody. Nobody can ask it for a snapshot: to read one takes every algorithm there is, which whoever limits by one
 * of them need not load.
 */
export function unsharedStore(
  options: { readonly clock?: Clock | undefined; readonly maxKeys?: number | undefined } = {},
): Store<'sync'> {
  mustFit(undefined, options.clock);
  const { clock = monotonicClock, maxKeys } = options;
  const { apply, direct } = openMemory(clock, maxKeys, 'exact');
  return { mode: 'sync', clock, apply: answerOnce(() => clock.now(), apply), direct };
}

export interface OpenMemory {
  apply(checks: readonly Check[], atMs?: number): Decision[];
  hasRoomFor(checks: readonly Check[]): boolean;
  direct(name: string, policy: Policy, sinceMs?: number): DirectCheck;
  readonly contents: Contents;
}

export interface OpenMemoryOptions {
  /** Default true. Without it, nothing is made of which policies a name has: its rows are kept elsewhere. */
  readonly retains?: boolean;
  /** Default true. */
  readonly recentKeys?: boolean;
}

export function openMemory(
  clock: Clock,
  most: number | undefined,
  keys: KeyMode,
  { retains = true, recentKeys = true }: OpenMemoryOptions = {},
): OpenMemory {
  const room = roomFor(most);
  const { maxKeys } = room;
  const moments = new Moments(clock);
  let seed: Seed = processSeed;
  const rowsWith =
    (key: Seed): RowsOf =>
    (name, cellsPerKey) =>
      new Rows(name, cellsPerKey, keys, key, recentKeys);
  const rowsOf: RowsOf = (name, cellsPerKey) => rowsWith(seed)(name, cellsPerKey);
  const names = new Map<string, Namespace>();

  function namespace(name: string): Namespace {
    const known = names.get(name) ?? namespaceOf(name, room, rowsOf, clock.stalenessMs, retains);
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
    const direct = applyDirectly(checks, atMs);
    if (direct) return direct;
    const moment = moments.begin(checks, atMs, true);
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

  function hasRoomFor(checks: readonly Check[]): boolean {
    const moment = moments.begin(checks, undefined, true);
    const [, homeless] = settleIn(checks, askAll(checks, moment), moment);
    return homeless.every(({ check }) => check.shadow && refusable(check.operation));
  }

  // By place in the batch: what was asked there last is likely what is asked next.
  const directs: DirectCheck[] = [];
  const waitsMs: number[] = [];

  function directAt(i: number, { name, policy, sinceMs }: Check): DirectCheck {
    const known = directs[i];
    if (known?.policy === policy && known.name === name) return known;
    directs[i] = new DirectCheck(namespace(name), room, moments, policy, sinceMs);
    return directs[i];
  }

  /** Asks every check the short way; how many newcomers there are, or `notDirect` where one has to go the long way. */
  function askDirectly(checks: readonly Check[]): number {
    let newcomers = 0;
    for (let i = 0; i < checks.length; i += 1) {
      const check = checks[i]!;
      const { operation, maxDelayMs } = check;
      if ((operation !== undefined && operation !== 'check') || maxDelayMs !== undefined) return notDirect;
      const direct = directAt(i, check);
      for (let before = 0; before < i; before += 1) if (directs[before]!.name === check.name) return notDirect;
      const waitMs = direct.ask(check.key, check.cost);
      if (waitMs === notDirect) return notDirect;
      waitsMs[i] = waitMs;
      if (waitMs === 0 && direct.isNewcomer) newcomers += 1;
    }
    return newcomers;
  }

  /** A batch of plain checks, each of another name, without an object but the decisions; undefined where it is not one. */
  function applyDirectly(checks: readonly Check[], atMs: number | undefined): Decision[] | undefined {
    const strict = checks.some(({ policy }) => algorithmOf(policy).strict);
    moments.begin(checks, atMs, strict);
    const newcomers = askDirectly(checks);
    if (newcomers === notDirect) return undefined;
    let go = true;
    for (let i = 0; i < checks.length; i += 1) if (waitsMs[i] !== 0 && !checks[i]!.shadow) go = false;
    if (go && newcomers > 0) {
      if (room.stats.keys + newcomers > maxKeys) return undefined;
      room.make(newcomers, true, moments);
      // What was forgotten on the way may have been asked for, or have moved what was.
      const settled = askDirectly(checks);
      if (settled === notDirect || room.stats.keys + settled > maxKeys) return undefined;
    }
    const decisions: Decision[] = [];
    for (let i = 0; i < checks.length; i += 1) {
      const direct = directs[i]!;
      const waitMs = waitsMs[i]!;
      if (go && waitMs === 0) direct.charge();
      decisions.push(direct.decide(waitMs, checks[i]!.shadow === true));
    }
    return decisions;
  }

  const contents: Contents = {
    names,
    room,
    keys,
    rowsWith,
    get seed() {
      return seed;
    },
    namespace,
    drop(name) {
      names.delete(name);
      directs.length = 0;
    },
    stalenessMs: clock.stalenessMs ?? 0,
    nowMs: () => clock.now(),
    reseed(other) {
      seed = other;
      for (const { renewRows } of names.values()) renewRows();
    },
  };
  return {
    apply,
    hasRoomFor,
    direct: (name, policy, sinceMs) => new DirectCheck(namespace(name), room, moments, policy, sinceMs),
    contents,
  };
}
