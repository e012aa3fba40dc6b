/**
 * The short way for the plainest call there is: one `check` of a key that the table knows, or that may simply be added.
 * It reads and writes the cells where they lie and makes nothing but the decision.
 *
 *      ask ──► 0: it may go ──► charge ──► decide
 *        ├───► more: refused ────────────► decide
 *        └───► notDirect: the long way has to be gone (a block, a changed policy, a full store, a wrong argument);
 *              nothing has happened
 *
 * What it answers is what the long way (`namespace.ts`) would have answered, and a test compares the two.
 */
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { DirectChecks } from '../store.ts';
import { textOf } from './key-text.ts';
import type { Moments } from './moment.ts';
import type { Namespace } from './namespace.ts';
import type { Room } from './room.ts';
import { forgettableInMs, type Table } from './table.ts';

/** In place of a wait; no wait is below 0, so that tells it. */
export const notDirect = -1;

const never = Number.POSITIVE_INFINITY;
// A cost above is no plain one.
const most = 2 ** 50;

export class DirectCheck implements DirectChecks {
  readonly name: string;
  readonly policy: Policy;
  /** Whether the call asked last has no row yet. */
  isNewcomer = false;
  private readonly namespace: Namespace;
  private readonly blocked: ReadonlyMap<string, number>;
  private readonly room: Room;
  private readonly moments: Moments;
  private readonly sinceMs: number | undefined;
  private table: Table;
  // The call asked last.
  private cells: Float64Array;
  private at = 0;
  private key = '';
  private low = 0;
  private high = 0;
  private isHashed = false;
  private cost = 0;
  private delayMs = 0;
  // Where the cells of a newcomer are made up.
  private scratch: Float64Array;

  constructor(namespace: Namespace, room: Room, moments: Moments, policy: Policy, sinceMs: number | undefined) {
    this.policy = policy;
    this.namespace = namespace;
    this.blocked = namespace.blocked;
    this.room = room;
    this.moments = moments;
    this.sinceMs = sinceMs;
    this.table = namespace.tableFor(policy, sinceMs ?? moments.nowMs);
    this.name = this.table.name;
    this.cells = this.scratch = new Float64Array(0);
  }

  check(key: string, cost: number): Decision | undefined {
    const waitMs = this.callKey(key, cost);
    return waitMs < 0 ? undefined : this.decide(waitMs, false);
  }

  allow(key: string, cost: number): boolean | undefined {
    const waitMs = this.callKey(key, cost);
    return waitMs < 0 ? undefined : waitMs === 0;
  }

  /**
   * Short, with what happens seldom elsewhere: so the engine takes all of a plain call of a recent key into its caller.
   *
   * The clock is read before the key is looked for. A processor that reads it first waits for all that it has asked of memory: afterwards, that
   * would be the row, which the next call's key can be fetched beside.
   */
  private callKey(key: string, cost: number): number {
    const { rows, isStrict } = this.table;
    const nowMs = this.moments.read(isStrict);
    if (!this.isPlain(cost)) return this.callAtLength(key, rows.find(key), cost);
    let at = rows.findRecent(key);
    if (at < 0) at = rows.findOther(key);
    // One call of `step` for both: the engine takes first into its caller what is called most.
    return at < 0 ? this.callAtLength(key, at, cost) : this.step(at, cost, nowMs);
  }

  /** The plainest of all, which most calls are: an algorithm that asks and charges in one step, and nothing to mind. */
  private isPlain(cost: number): boolean {
    return this.table.step !== undefined && cost > 0 && cost <= most && this.blocked.size === 0;
  }

  /** Asks and charges the row found last. */
  private step(at: number, cost: number, nowMs: number): number {
    const { step, rows, numbers } = this.table;
    const { cells } = rows;
    // For `decide`. A reference costs the collector's attention each time it is written.
    if (this.cells !== cells) this.cells = cells;
    this.at = at;
    return step!(cells, at, numbers, cost, nowMs);
  }

  checkBytes(bytes: Uint8Array, start: number, end: number, cost: number): Decision | undefined {
    const waitMs = this.callBytes(bytes, start, end, cost);
    return waitMs < 0 ? undefined : this.decide(waitMs, false);
  }

  allowBytes(bytes: Uint8Array, start: number, end: number, cost: number): boolean | undefined {
    const waitMs = this.callBytes(bytes, start, end, cost);
    return waitMs < 0 ? undefined : waitMs === 0;
  }

  private callBytes(bytes: Uint8Array, start: number, end: number, cost: number): number {
    const { rows, isStrict } = this.table;
    const nowMs = this.moments.read(isStrict);
    const at = rows.findBytes(bytes, start, end);
    if (at >= 0) return this.callAt('', at, cost, nowMs);
    if (rows.isKnownByHash && this.blocked.size === 0) return this.callHashed(rows.hash.low, rows.hash.high, cost);
    return this.callText(bytes.subarray(start, end), cost, nowMs);
  }

  /** A newcomer of which nothing but the hash is kept: its text is never made. */
  private callHashed(low: number, high: number, cost: number): number {
    this.low = low;
    this.high = high;
    this.isHashed = true;
    const waitMs = this.callAtLength('', -1, cost);
    this.isHashed = false;
    return waitMs;
  }

  /** Bytes that are no key's yet, or are no UTF-8: then their key has another hash than they. */
  private callText(bytes: Uint8Array, cost: number, nowMs: number): number {
    const key = textOf(bytes);
    return this.callAt(key, this.table.rows.find(key), cost, nowMs);
  }

  /** One check that is a batch of its own, of the row found last. */
  private callAt(key: string, at: number, cost: number, nowMs: number): number {
    return at >= 0 && this.isPlain(cost) ? this.step(at, cost, nowMs) : this.callAtLength(key, at, cost);
  }

  private callAtLength(key: string, at: number, cost: number): number {
    const waitMs = this.askRow(key, at, cost);
    if (waitMs === 0) {
      if (this.isNewcomer) {
        // In a full store somebody has to be forgotten, which the long way decides.
        if (this.room.stats.keys >= this.room.maxKeys) return notDirect;
        this.room.make(1, this.table.isStrict, this.moments);
      }
      this.charge();
    }
    return waitMs;
  }

  /** The milliseconds until the call may go, at the moment that has begun; nothing is written. */
  ask(key: string, cost: number): number {
    return this.askRow(key, this.table.rows.find(key), cost);
  }

  private askRow(key: string, at: number, cost: number): number {
    const { table } = this;
    const { algorithm, numbers, rows } = table;
    const { nowMs } = this.moments;
    if (!(typeof cost === 'number' && cost > 0 && cost <= numbers.limit)) return notDirect;
    const { blocked } = this;
    if (blocked.size > 0 && blocked.has(at < 0 ? rows.nameOf(key) : rows.name())) return notDirect;
    this.isNewcomer = at < 0;
    if (at >= 0) {
      this.cells = rows.cells;
      this.at = at;
      if (table.lingerMs > 0 && forgettableInMs(table, rows.cells, at, nowMs) <= 0) return notDirect;
    } else if (!this.makeUp(key)) return notDirect;
    this.cost = cost;
    const waitMs = algorithm.wait(this.cells, this.at, numbers, cost, nowMs, never);
    if (waitMs === 0) {
      this.delayMs = algorithm.delay ? algorithm.delay(this.cells, this.at, numbers, cost, nowMs) : 0;
      return 0;
    }
    // A refusal that is written down is not for here, and a newcomer that is refused is not a plain one.
    return numbers.countRejected || this.isNewcomer ? notDirect : waitMs;
  }

  /** Takes the cost of the call asked last, which may go and for which there is room. */
  charge(): void {
    const { algorithm, numbers, rows } = this.table;
    const { nowMs } = this.moments;
    if (this.isNewcomer) {
      const { scratch } = this;
      const { size } = rows;
      const own = rows.isOwn ? scratch.slice() : undefined;
      const at = this.isHashed ? rows.insertHashed(this.low, this.high) : rows.insert(this.key, own);
      this.room.stats.keys += rows.size - size;
      if (own === undefined) for (let i = 0; i < scratch.length; i += 1) rows.cells[at + i] = scratch[i]!;
      this.cells = rows.cells;
      this.at = at;
    }
    if (algorithm.extend) {
      const roomy = algorithm.extend(this.cells, numbers, nowMs);
      // The row asked for is the one found last: nothing came between.
      if (roomy !== this.cells) rows.replace(roomy);
      this.cells = roomy;
    }
    algorithm.charge(this.cells, this.at, numbers, this.cost, nowMs);
  }

  remaining(): number {
    const { algorithm, numbers } = this.table;
    return Math.max(0, Math.floor(algorithm.available(this.cells, this.at, numbers, this.moments.nowMs)));
  }

  resetAfterMs(): number {
    const { algorithm, numbers } = this.table;
    return Math.max(0, Math.ceil(algorithm.asNewInMs(this.cells, this.at, numbers, this.moments.nowMs)));
  }

  /** What is said to the call asked last. */
  decide(waitMs: number, shadow: boolean): Decision {
    const { name, numbers, policy } = this.table;
    const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
      allowed: waitMs === 0,
      limit: numbers.limit,
      remaining: this.remaining(),
      retryAfterMs: waitMs,
      resetAfterMs: this.resetAfterMs(),
      delayMs: waitMs === 0 ? this.delayMs : 0,
      rule: name,
      policy,
    };
    if (waitMs > 0) decision.reason = 'limit';
    if (shadow) decision.shadow = true;
    return decision;
  }

  /** Makes up the cells of a newcomer, if it is a plain one. */
  private makeUp(key: string): boolean {
    if (this.table.isDropped) {
      // For the next time: limits that come with requests make tables, and those without keys do not stay.
      this.table = this.namespace.tableFor(this.policy, this.sinceMs ?? this.moments.nowMs);
      return false;
    }
    const { algorithm, numbers, past, sinceMs } = this.table;
    const { nowMs, isClock } = this.moments;
    if (this.namespace.tables.size > 1 || past.unknownBeforeMs + (numbers.coveredMs ?? 0) > nowMs) return false;
    if (isClock && nowMs < this.room.forgotUpToMs) return false;
    const cells = algorithm.cells(numbers);
    if (this.scratch.length !== cells) this.scratch = new Float64Array(cells);
    algorithm.fresh(this.scratch, 0, numbers, nowMs, sinceMs);
    this.cells = this.scratch;
    this.at = 0;
    this.key = key;
    return true;
  }
}
