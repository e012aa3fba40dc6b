/**
 * The keys of one name, and every operation on them.
 *
 * An operation is asked first (`ask` only reads) and carried out afterwards (`answer`). A batch asks all of its checks
 * before it carries out the first, which is all there is to "all or nothing": a refused batch has written nothing.
 */
import { everything, mustSupport } from '../../algorithms/algorithm.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { checkCost, type Policy, policyJson } from '../../vocabulary/policy.ts';
import type { Check, Operation } from '../store.ts';
import { carryOver, chargeAnew } from './carry-over.ts';
import type { Moment } from './moment.ts';
import type { Room } from './room.ts';
import {
  blankPast,
  chargeRow,
  forgettableInMs,
  freshRow,
  linger,
  type Past,
  type RowsOf,
  retain,
  strictWindowMs,
  type Table,
  tableOf,
} from './table.ts';

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
  readonly past: Past;
  /** What would be said to a check, after `earlier` of the same key in the same batch. */
  ask(check: Check, earlier: number, moment: Moment): Question;
  /** Carries a check out; one whose batch was refused is only answered. */
  answer(question: Question, go: boolean, moment: Moment): Decision;
  /** The table of a policy. */
  tableFor(policy: Policy, sinceMs: number, moment?: Moment): Table;
  /** Takes over a table from a snapshot. */
  adopt(table: Table): void;
  /** Makes the rows anew, before there are any keys. */
  renewRows(): void;
}

const never = Number.POSITIVE_INFINITY;

// As many tables as a name may have before those without keys are dropped.
const fewTables = 64;

const takers: readonly (Operation | undefined)[] = [undefined, 'check', 'reserve', 'acquire', 'take'];

/** Whether an operation takes something if it may. */
function takes(operation: Operation | undefined): boolean {
  return takers.includes(operation);
}

/** Whether an operation can be refused. */
export function refusable(operation: Operation | undefined): boolean {
  return takes(operation) || operation === 'peek';
}

/** What a full store says. When a key will be forgotten is not known; asking again every second costs little. */
export const storeFull = { allowed: false, remaining: 0, retryAfterMs: 1000, reason: 'store-full' } as const;

export function namespaceOf(name: string, room: Room, rowsOf: RowsOf, stalenessMs = 0, retains = true): Namespace {
  const tables = new Map<string, Table>();
  const blocked = new Map<string, number>();
  const past = blankPast(room.maxKeys, rowsOf, room.receiptsFrom);
  const { receipts } = past;

  function tableFor(policy: Policy, sinceMs: number, moment?: Moment): Table {
    const known = tables.get(policyJson(policy));
    if (known) return known;
    if (retains && tables.size >= fewTables) dropEmpty(moment);
    return include(tableOf(name, policy, stalenessMs, sinceMs, past));
  }

  function include(table: Table): Table {
    const before = tables.get(policyJson(table.policy));
    // Whoever is bound to it must not write to it any more.
    if (before) before.isDropped = true;
    tables.set(policyJson(table.policy), table);
    room.tables = [...room.tables.filter(({ isDropped }) => !isDropped), table];
    // A key may come back under the longest of the windows, so nothing of it is forgotten before that has passed.
    const longestMs = Math.max(...Array.from(tables.values(), strictWindowMs));
    for (const other of tables.values()) {
      linger(other, Math.max(other.lingerMs, longestMs - strictWindowMs(other)));
      // Rows that are there already were made for less.
      if (retains && other.rows.size === 0) retain(other, stalenessMs, longestMs);
    }
    return table;
  }

  /** Limits that come with requests make a table each; those without keys need not stay, once their batch is over. */
  function dropEmpty(moment: Moment | undefined): void {
    for (const [text, table] of tables) {
      table.isDropped = table.rows.size === 0 && table.batch !== moment?.batch;
      if (table.isDropped) tables.delete(text);
    }
    room.tables = room.tables.filter(({ isDropped }) => !isDropped);
  }

  // Whether the latest row found was worked out by the time it was asked for.
  let isReckoned = false;

  /** The key's row under this policy, if it has one. State under another policy of the name is carried over, not moved. */
  function find(table: Table, { key, changedMs = -never }: Check, moment: Moment): Float64Array | undefined {
    const { nowMs } = moment;
    isReckoned = false;
    const own = alive(table, key, nowMs);
    if (own || tables.size === 1) return own;
    for (const from of tables.values()) {
      const row = alive(from, key, nowMs);
      if (!row) continue;
      const carried = carryOver(from, row, table, changedMs, nowMs);
      isReckoned = !carried;
      return carried ?? chargeAnew(from, row, table, moment);
    }
    return undefined;
  }

  /** A key's row, unless it has lingered long enough: then it is forgotten even where nobody has come to sweep it away. */
  function alive(table: Table, key: string, nowMs: number): Float64Array | undefined {
    const row = table.rows.get(key);
    return row && (table.lingerMs === 0 || forgettableInMs(table, row, 0, nowMs) > 0) ? row : undefined;
  }

  /** The row of a key that has none. Where its past is not known, it starts with everything spent. */
  function newcomer(table: Table, { nowMs, isClock }: Moment): Float64Array {
    const unknownMs = Math.min(past.unknownBeforeMs, nowMs);
    const { coveredMs = 0 } = table.numbers;
    if (coveredMs > 0 && past.unknownBeforeMs + coveredMs > nowMs) {
      return chargeRow(table, freshRow(table, unknownMs), everything, unknownMs);
    }
    const row = freshRow(table, nowMs);
    // A clock that stepped back behind the latest forgetting cannot tell a newcomer from a key forgotten too early.
    return isClock && nowMs < room.forgotUpToMs ? chargeRow(table, row, table.numbers.limit, nowMs) : row;
  }

  /** Keeps a row, and no other of the same key: receipts for what it was under another policy are void. */
  function keep(table: Table, key: string, row: Float64Array): void {
    for (const other of tables.size === 1 ? [] : tables.values()) {
      if (other === table || other.rows.find(key) < 0) continue;
      room.forget(other, key);
      // Leases are the same under every policy.
      if (!table.algorithm.release) receipts.revoke(nameOf(key));
    }
    room.keep(table, key, row);
  }

  /** What a key is called beside its row. */
  function nameOf(key: string): string {
    return tables.values().next().value!.rows.nameOf(key);
  }

  function blockedFor(key: string, nowMs: number): number {
    if (blocked.size === 0) return 0;
    return Math.max(0, Math.ceil((blocked.get(nameOf(key)) ?? nowMs) - nowMs));
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

  function waitOf({ algorithm, numbers }: Table, row: Float64Array, cost: number, nowMs: number, maxDelayMs = never) {
    // A cost of 0 asks for nothing, and always passes.
    return cost === 0 ? 0 : algorithm.wait(row, 0, numbers, cost, nowMs, maxDelayMs);
  }

  function ask(check: Check, earlier: number, moment: Moment): Question {
    const { nowMs } = moment;
    const { key, operation, policy, sinceMs = nowMs, maxDelayMs } = check;
    const table = tableFor(policy, sinceMs, moment);
    table.batch = moment.batch;
    let cost = checkCost(check.cost);
    mustSupport(table.algorithm, operation ?? 'check');
    const found = find(table, check, moment);
    if (!refusable(operation)) {
      if (operation === 'block') makeRoomToBlock(nameOf(key), nowMs);
      const isNewcomer = !found && chargeOf(check) > 0;
      return { check, table, cost, waitMs: 0, blockedMs: 0, isNewcomer };
    }
    const blockedMs = blockedFor(key, nowMs);
    const row = found ?? newcomer(table, moment);
    if (operation === 'take') {
      const available = table.algorithm.available(row, 0, table.numbers, nowMs) - earlier;
      // All of it, or the whole units that there are; with none, the wait is the wait for one.
      if (cost > available) cost = Math.max(Math.min(1, cost), Math.floor(available));
    }
    const waitMs = Math.max(blockedMs, waitOf(table, row, cost && cost + earlier, nowMs, maxDelayMs));
    const isNewcomer = !found && waitMs === 0 && cost > 0 && takes(operation);
    return { check, table, cost, waitMs, blockedMs, isNewcomer };
  }

  function answer(question: Question, go: boolean, moment: Moment): Decision {
    const { check, table, cost, waitMs } = question;
    const { nowMs } = moment;
    const { operation } = check;
    const found = find(table, check, moment);
    const row = found ?? newcomer(table, moment);
    if (!refusable(operation)) return go ? perform(question, found, moment) : decide(question, row, 0, nowMs);
    if (waitMs > 0) return refuse(question, found, row, moment);
    const { algorithm, numbers } = table;
    const delayMs = cost === 0 ? 0 : (algorithm.delay?.(row, 0, numbers, cost, nowMs) ?? 0);
    if (!go || cost === 0) return withGrant(check, 0, decide(question, row, delayMs, nowMs));
    // What is peeked at must not change, and a row may be the key's own.
    const charged = chargeRow(table, operation === 'peek' ? row.slice() : row, cost, nowMs);
    if (operation !== 'peek') keep(table, check.key, charged);
    const decision = decide(question, charged, delayMs, nowMs);
    if (operation === 'reserve' || operation === 'acquire')
      return { ...decision, receipt: receiptOf(question, charged) };
    return withGrant(check, cost, decision);
  }

  /** A refusal writes nothing, unless the policy counts it, or the key would otherwise be reckoned (or start) anew each time. */
  function refuse(question: Question, found: Float64Array | undefined, row: Float64Array, moment: Moment): Decision {
    const { check, table, cost, waitMs, blockedMs } = question;
    const { algorithm, numbers } = table;
    const { nowMs } = moment;
    const isCounted = numbers.countRejected && waitMs > blockedMs;
    const isBehind = (!found || isReckoned) && algorithm.asNewInMs(row, 0, numbers, nowMs) > 0;
    if (check.operation === 'peek' || !(isCounted || isBehind) || !(found || room.make(1, algorithm.strict, moment))) {
      return withGrant(check, 0, decide(question, row, 0, nowMs));
    }
    const kept = isCounted ? algorithm.reject!(row, numbers, cost, nowMs) : row;
    keep(table, check.key, kept);
    // Never shorter than what it was refused for, which others of its batch or the longest delay may have made.
    const waitNowMs = Math.max(waitMs, waitOf(table, kept, cost, nowMs));
    return withGrant(check, 0, decide({ ...question, waitMs: waitNowMs }, kept, 0, nowMs));
  }

  function withGrant({ operation }: Check, granted: number, decision: Decision): Decision {
    return operation === 'take' ? { ...decision, granted } : decision;
  }

  function receiptOf({ check, table }: Question, row: Float64Array): Receipt {
    return receipts.issue(nameOf(check.key), table.algorithm.receipt(row, 0, table.numbers));
  }

  /** The operations that are never refused. */
  function perform(question: Question, found: Float64Array | undefined, moment: Moment): Decision {
    const { check, table, cost } = question;
    const { key, operation } = check;
    const { nowMs } = moment;
    switch (operation) {
      case 'penalize':
        return takeMore(question, found, cost, moment);
      case 'settle': {
        const more = chargeOf(check);
        return more > 0 ? takeMore(question, found, more, moment) : giveBack(question, found, -more, moment);
      }
      case 'release':
      case 'renew':
        return endLease(question, found, moment);
      case 'block':
        blocked.set(nameOf(key), nowMs + (check.durationMs ?? 0));
        break;
      case 'reset':
        blocked.delete(nameOf(key));
        receipts.revoke(nameOf(key));
        return reset(question, found, moment);
      default:
        return giveBack(question, found, cost, moment);
    }
    return done(question, found ?? newcomer(table, moment), nowMs);
  }

  function reset(question: Question, found: Float64Array | undefined, moment: Moment): Decision {
    const { check, table } = question;
    const { algorithm, numbers } = table;
    const fresh = freshRow(table, moment.nowMs);
    // Forgotten, the key would be taken for one of which nothing is known; that is known now.
    const isDoubtful = algorithm.asNewInMs(newcomer(table, moment), 0, numbers, moment.nowMs) > 0;
    for (const other of tables.values()) if (other !== table || !found) room.forget(other, check.key);
    if (found && algorithm.clear) {
      algorithm.clear(found);
      keep(table, check.key, found);
    } else if (isDoubtful && (found || room.make(1, algorithm.strict, moment))) keep(table, check.key, fresh);
    else room.forget(table, check.key);
    return decide(question, fresh, 0, moment.nowMs);
  }

  function done(question: Question, row: Float64Array, nowMs: number): Decision {
    return decide({ ...question, blockedMs: blockedFor(question.check.key, nowMs) }, row, 0, nowMs);
  }

  function takeMore(question: Question, found: Float64Array | undefined, cost: number, moment: Moment): Decision {
    const { check, table } = question;
    const row = found ?? newcomer(table, moment);
    // Taking nothing leaves no trace: it would be a key for which no room was made.
    if (cost === 0) return done(question, row, moment.nowMs);
    const charged = chargeRow(table, row, cost, moment.nowMs);
    keep(table, check.key, charged);
    return done(question, charged, moment.nowMs);
  }

  function giveBack(question: Question, found: Float64Array | undefined, cost: number, moment: Moment): Decision {
    const { check, table } = question;
    const { nowMs } = moment;
    // A receipt of another policy, of which the key is still: its numbers mean something else, or have another unit.
    const isOwn = tables.size === 1 || table.rows.find(check.key) >= 0;
    const redeemed = isOwn ? receipts.redeem(nameOf(check.key), check.receipt) : undefined;
    const [receipt, refundedSince] = redeemed ?? [];
    if (found && (receipt || check.operation === 'reward')) {
      const { refund, keepsChargesApart } = table.algorithm;
      const isApart = keepsChargesApart === true && receipt !== undefined;
      const left = isApart ? Math.max(0, cost - refundedSince!) : cost;
      refund?.(found, 0, table.numbers, left, nowMs, receipt, refundedSince);
      if (!isApart) receipts.refunded(nameOf(check.key), cost);
      keep(table, check.key, found);
    }
    return done(question, found ?? newcomer(table, moment), nowMs);
  }

  function endLease(question: Question, found: Float64Array | undefined, moment: Moment): Decision {
    const { check, table } = question;
    const { algorithm, numbers } = table;
    const { nowMs } = moment;
    const [receipt] = receipts.redeem(nameOf(check.key), check.receipt) ?? [];
    if (!found || !receipt) return { ...done(question, found ?? newcomer(table, moment), nowMs), allowed: false };
    const isRenewal = check.operation === 'renew';
    const row = isRenewal ? algorithm.extend!(found, numbers, nowMs) : found;
    const isLive = isRenewal
      ? algorithm.renew!(row, 0, numbers, receipt, nowMs)
      : algorithm.release!(row, 0, receipt, nowMs);
    keep(table, check.key, row);
    const decision = { ...done(question, row, nowMs), allowed: isLive };
    return isRenewal && isLive ? { ...decision, receipt: receiptOf(question, row) } : decision;
  }

  /** Forgets blocks that are over where there is no room for one more. */
  function makeRoomToBlock(key: string, nowMs: number): void {
    if (blocked.size < room.maxKeys || blocked.has(key)) return;
    for (const [other, untilMs] of blocked) if (untilMs <= nowMs) blocked.delete(other);
    if (blocked.size >= room.maxKeys) throw noRoom(key);
  }

  return {
    tables,
    blocked,
    past,
    ask,
    answer,
    tableFor,
    adopt(table) {
      table.past = past;
      include(table);
    },
    renewRows() {
      for (const table of tables.values()) retain(table, stalenessMs, table.retainMs);
    },
  };
}

/** What an operation that is never refused takes, room or not; negative where it gives back. */
function chargeOf({ operation, cost, actual = 0 }: Check): number {
  return operation === 'penalize' ? cost : operation === 'settle' ? checkCost(actual) - checkCost(cost) : 0;
}

/** For what may not be forgotten and finds no place. */
export function noRoom(key: string): SluiceError {
  return new SluiceError('store-full', `There is no room for key "${key}". Raise maxKeys.`);
}
