/**
 * The keys of one name, and every operation on them.
 *
 * An operation is asked first (`ask` only reads) and carried out afterwards (`answer`). A batch asks all of its checks
 * before it carries out the first, which is all there is to "all or nothing": a refused batch has written nothing.
 */
import { mustSupport } from '../../algorithms/algorithm.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { checkCost, type Policy } from '../../vocabulary/policy.ts';
import type { Check } from '../store.ts';
import { carryOver } from './carry-over.ts';
import type { Moment } from './moment.ts';
import type { Room } from './room.ts';
import { chargeRow, coveredMs, forgettableInMs, freshRow, type Table, tableOf } from './table.ts';

/** A check with what would be said to it alone. */
export interface Question {
  readonly check: Check;
  readonly table: Table;
  /** What it would take; of a `take`, what there is. */
  readonly cost: number;
  readonly waitMs: number;
  readonly blockedMs: number;
  /** It will be charged if its batch passes, and has no row yet. */
  readonly isNewcomer: boolean;
}

export interface Namespace {
  /** By the text of their policy; more than one while keys move from an old policy to a new one. */
  readonly tables: Map<string, Table>;
  /** Until when a key is refused, whatever its state. */
  readonly blocked: Map<string, number>;
  add(table: Table): Table;
  /** What would be said to a check, after `earlier` of the same key in the same batch. */
  ask(check: Check, earlier: number, moment: Moment): Question;
  /** Carries a check out; one whose batch was refused is only answered. */
  answer(question: Question, go: boolean, moment: Moment): Decision;
}

const never = Number.POSITIVE_INFINITY;

// As many resets as are remembered for the sake of open reservations.
const maxResets = 10_000;

// As many tables as a name may have before those without keys are dropped.
const fewTables = 64;

/** The operations that can be refused, and of those the ones that take something. */
export const refusable = (operation = 'check') => takers.includes(operation) || operation === 'peek';
const takers = ['check', 'reserve', 'acquire', 'take'];

// Each policy is turned into text once.
const policyTexts = new WeakMap<Policy, string>();

function textOf(policy: Policy): string {
  const text = policyTexts.get(policy) ?? JSON.stringify(policy);
  policyTexts.set(policy, text);
  return text;
}

/** What a full store says. When a key will be forgotten is not known; asking again every second costs little. */
export const storeFull = { allowed: false, remaining: 0, retryAfterMs: 1000, reason: 'store-full' } as const;

export function namespaceOf(name: string, room: Room, stalenessMs = 0): Namespace {
  const tables = new Map<string, Table>();
  const blocked = new Map<string, number>();

  // Which resets there were, by number. A receipt carries the number of its time: one from before its key's latest reset
  // is void, for what is there now is somebody else's.
  const resets = new Map<string, number>();
  let latestReset = 0;
  let voidBefore = 0;

  function noteReset(key: string): void {
    latestReset += 1;
    resets.delete(key);
    resets.set(key, latestReset);
    if (resets.size <= maxResets) return;
    // The oldest is forgotten, and with it the word of every receipt from before it.
    const [oldest, number] = resets.entries().next().value as [string, number];
    resets.delete(oldest);
    voidBefore = number;
  }

  function receiptOf({ algorithm, numbers }: Table, row: Float64Array): Receipt {
    return [latestReset, ...algorithm.receipt(row, 0, numbers)];
  }

  /** The algorithm's part of a receipt, unless it is void. */
  function validReceipt({ key, receipt }: Check): Receipt | undefined {
    const [number = -1, ...rest] = receipt ?? [];
    return number >= Math.max(voidBefore, resets.get(key) ?? 0) ? rest : undefined;
  }

  // What the tables that are gone could have told: how far back at least, and until when they forgot.
  let lostCoveredMs = never;
  let lostUpToMs = -never;

  function add(table: Table): Table {
    if (tables.size >= fewTables) dropEmpty();
    tables.set(textOf(table.policy), table);
    room.tables = [...room.tables, table];
    // A key may come back under the longest of the windows, so none is forgotten before that has passed.
    const longestMs = Math.max(...Array.from(tables.values(), coveredMs));
    for (const other of tables.values()) {
      if (other.algorithm.strict) other.lingerMs = Math.max(other.lingerMs, longestMs - coveredMs(other));
    }
    return table;
  }

  /** Limits taken from requests make a table for each limit; those without keys need not stay. */
  function dropEmpty(): void {
    for (const [text, table] of tables) {
      if (table.rows.size > 0) continue;
      tables.delete(text);
      lostCoveredMs = Math.min(lostCoveredMs, coveredMs(table));
      lostUpToMs = Math.max(lostUpToMs, table.forgotUpToMs);
    }
    room.tables = room.tables.filter((table) => table.name !== name || table.rows.size > 0);
  }

  function tableFor(policy: Policy, sinceMs: number): Table {
    const known = tables.get(textOf(policy));
    if (known) return known;
    const table = tableOf(name, policy, stalenessMs, sinceMs);
    const windowMs = coveredMs(table);
    // What was forgotten under an older policy that told less may still count under this one.
    if (lostCoveredMs < windowMs) table.knownSinceMs = lostUpToMs - lostCoveredMs;
    for (const older of tables.values()) {
      const olderMs = coveredMs(older);
      if (olderMs < windowMs) table.knownSinceMs = Math.max(table.knownSinceMs, older.forgotUpToMs - olderMs);
    }
    return add(table);
  }

  /** The key's row under this policy, if it has one. State under another policy of the same name moves over first. */
  function find(table: Table, { key, changedMs }: Check, nowMs: number): Float64Array | undefined {
    const row = table.rows.get(key);
    if (row) {
      // One that has lingered long enough is forgotten even where nobody has come to sweep it away.
      if (table.lingerMs === 0 || forgettableInMs(table, row, nowMs) > 0) return row;
    } else if (tables.size > 1) {
      for (const other of tables.values()) {
        const old = other.rows.get(key);
        if (!old) continue;
        const moved = carryOver(other, old, table, Math.min(changedMs ?? nowMs, nowMs), nowMs);
        room.forget(other, key);
        room.keep(table, key, moved);
        return moved;
      }
    }
    return undefined;
  }

  /** The row of a key that has none. Where its past is not known, it starts with everything spent. */
  function newcomer(table: Table, { nowMs, isClock }: Moment): Float64Array {
    const row = freshRow(table, nowMs);
    const { knownSinceMs, numbers } = table;
    if (knownSinceMs + coveredMs(table) > nowMs) return chargeRow(table, row, numbers.limit, knownSinceMs);
    // A clock that stepped back behind the latest forgetting cannot tell a newcomer from a key forgotten too early.
    return isClock && nowMs < room.forgotUpToMs ? chargeRow(table, row, numbers.limit, nowMs) : row;
  }

  function blockedFor(key: string, nowMs: number): number {
    return Math.max(0, Math.ceil((blocked.get(key) ?? nowMs) - nowMs));
  }

  function decide(
    { table, check, waitMs, blockedMs }: Question,
    row: Float64Array,
    delayMs: number,
    nowMs: number,
  ): Decision {
    const { algorithm, numbers, policy } = table;
    const available = blockedMs > 0 ? 0 : algorithm.available(row, 0, numbers, nowMs);
    const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
      allowed: waitMs === 0,
      limit: numbers.limit,
      remaining: available >= 1 ? Math.floor(available) : 0,
      retryAfterMs: waitMs,
      resetAfterMs: Math.max(blockedMs, Math.ceil(algorithm.asNewInMs(row, 0, numbers, nowMs)), 0),
      delayMs,
      rule: name,
      policy,
    };
    // Set one by one: copying a decision to add a field costs more than the rest of a check.
    if (waitMs > 0) decision.reason = blockedMs > 0 ? 'blocked' : 'limit';
    if (check.shadow) decision.shadow = true;
    return decision;
  }

  function waitOf(
    { algorithm, numbers }: Table,
    row: Float64Array,
    cost: number,
    nowMs: number,
    maxDelayMs = never,
  ): number {
    // A cost of 0 asks for nothing, and always passes.
    return cost === 0 ? 0 : algorithm.wait(row, 0, numbers, cost, nowMs, maxDelayMs);
  }

  function ask(check: Check, earlier: number, moment: Moment): Question {
    const { nowMs } = moment;
    const { key, operation = 'check', policy, sinceMs = nowMs, maxDelayMs } = check;
    const table = tableFor(policy, sinceMs);
    let cost = checkCost(check.cost);
    mustSupport(table.algorithm, operation);
    if (!refusable(operation)) return { check, table, cost, waitMs: 0, blockedMs: 0, isNewcomer: false };
    const blockedMs = blockedFor(key, nowMs);
    const found = find(table, check, nowMs);
    const row = found ?? newcomer(table, moment);
    if (operation === 'take') {
      const available = table.algorithm.available(row, 0, table.numbers, nowMs) - earlier;
      // All of it, or the whole units that there are; with none, the wait is the wait for one.
      if (cost > available) cost = Math.max(Math.min(1, cost), Math.floor(available));
    }
    const waitMs = Math.max(blockedMs, waitOf(table, row, cost && cost + earlier, nowMs, maxDelayMs));
    const isNewcomer = !found && waitMs === 0 && cost > 0 && takers.includes(operation);
    return { check, table, cost, waitMs, blockedMs, isNewcomer };
  }

  function answer(question: Question, go: boolean, moment: Moment): Decision {
    const { check, table, cost, waitMs, blockedMs } = question;
    const { nowMs } = moment;
    const { key, operation = 'check' } = check;
    const { algorithm, numbers } = table;
    const found = find(table, check, nowMs);
    const row = found ?? newcomer(table, moment);
    if (!refusable(operation)) return go ? perform(question, row, moment) : decide(question, row, 0, nowMs);
    const delayMs = waitMs > 0 || cost === 0 ? 0 : (algorithm.delay?.(row, 0, numbers, cost, nowMs) ?? 0);
    let now = row;
    let asked = question;
    let receipt: Receipt | undefined;
    if (waitMs > blockedMs && numbers.countRejected && operation !== 'peek') {
      now = algorithm.reject!(row, numbers, cost, nowMs);
      if (found || room.make(1, algorithm.strict, moment)) room.keep(table, key, now);
      asked = { ...question, waitMs: waitOf(table, now, cost, nowMs) };
    } else if (waitMs > 0 && operation !== 'peek' && !found && algorithm.asNewInMs(row, 0, numbers, nowMs) > 0) {
      // A key that starts with less than it will have must be remembered from its first call on, or it will always start.
      if (room.make(1, false, moment)) room.keep(table, key, row);
    } else if (go && waitMs === 0 && cost > 0) {
      now = chargeRow(table, operation === 'peek' ? row.slice() : row, cost, nowMs);
      if (operation === 'reserve' || operation === 'acquire') receipt = receiptOf(table, now);
      if (operation !== 'peek') room.keep(table, key, now);
    }
    const decision = decide(asked, now, delayMs, nowMs);
    if (operation === 'take') return { ...decision, granted: go && waitMs === 0 ? cost : 0 };
    return receipt === undefined ? decision : { ...decision, receipt };
  }

  /** The operations that are never refused. */
  function perform(question: Question, row: Float64Array, moment: Moment): Decision {
    const { check, table, cost } = question;
    const { nowMs } = moment;
    const { key, operation, actual = 0, durationMs = 0 } = check;
    const receipt = validReceipt(check);
    const { algorithm, numbers } = table;
    const isHeld = table.rows.has(key);
    const more = operation === 'penalize' ? cost : operation === 'settle' ? checkCost(actual) - cost : 0;
    let now = row;
    if (more > 0) {
      if (!isHeld && !room.make(1, algorithm.strict, moment)) throw noRoom(key);
      now = chargeRow(table, row, more, nowMs);
      room.keep(table, key, now);
    } else if (operation === 'block') {
      if (blocked.size >= room.maxKeys) unblock(nowMs);
      if (blocked.size >= room.maxKeys) throw noRoom(key);
      blocked.set(key, nowMs + durationMs);
    } else if (operation === 'reset') {
      blocked.delete(key);
      noteReset(key);
      now = freshRow(table, nowMs);
      if (isHeld && algorithm.clear) algorithm.clear(row);
      else room.forget(table, key);
    } else if (operation === 'renew' && isHeld) {
      now = algorithm.extend!(row, numbers, nowMs);
      room.keep(table, key, now);
      const isLive = algorithm.renew!(now, 0, numbers, receipt ?? [], nowMs);
      return {
        ...decide(question, now, 0, nowMs),
        allowed: isLive,
        ...(isLive && { receipt: receiptOf(table, now) }),
      };
    } else if (operation === 'release') {
      return {
        ...decide(question, row, 0, nowMs),
        allowed: isHeld && algorithm.release!(row, 0, receipt ?? [], nowMs),
      };
    } else if (isHeld && (receipt || operation === 'reward')) {
      algorithm.refund?.(row, 0, numbers, operation === 'settle' ? -more : cost, nowMs, receipt);
    }
    const decision = decide({ ...question, blockedMs: blockedFor(key, nowMs) }, now, 0, nowMs);
    return operation === 'renew' ? { ...decision, allowed: false } : decision;
  }

  /** Forgets the blocks that are over. */
  function unblock(nowMs: number): void {
    for (const [key, untilMs] of blocked) if (untilMs <= nowMs) blocked.delete(key);
  }

  return { tables, blocked, add, ask, answer };
}

function noRoom(key: string): SluiceError {
  return new SluiceError('store-full', `There is no room for key "${key}". Raise maxKeys.`);
}
