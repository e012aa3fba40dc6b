/** The short way for one plain check of a key that is there, as `memory/direct-check.ts`, on a row under its lock. */
import type { Clock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { KeyHash } from '../memory/key-hash.ts';
import { forgettableInMs, type Table } from '../memory/table.ts';
import type { DirectChecks } from '../store.ts';
import { BLOCKED_UNTIL_MS, FIRST_CELL, type Layout, LENGTH, POLICY } from './layout.ts';
import { floatsAt, type Places } from './places.ts';

const notDirect = -1;

export class SharedCheck implements DirectChecks {
  private readonly layout: Layout;
  private readonly places: Places;
  private readonly clock: Clock;
  private readonly table: Table;
  private readonly policy: number;
  private readonly hash: KeyHash;
  private decision: Decision | undefined;

  constructor(layout: Layout, places: Places, clock: Clock, table: Table, policy: number) {
    this.layout = layout;
    this.places = places;
    this.clock = clock;
    this.table = table;
    this.policy = policy;
    this.hash = new KeyHash(table.name, layout.seed);
  }

  check(key: string, cost: number): Decision | undefined {
    this.hash.ofText(key);
    return this.call(cost, true) === notDirect ? undefined : this.decision;
  }

  allow(key: string, cost: number): boolean | undefined {
    this.hash.ofText(key);
    const waitMs = this.call(cost, false);
    return waitMs === notDirect ? undefined : waitMs === 0;
  }

  checkBytes(bytes: Uint8Array, start: number, end: number, cost: number): Decision | undefined {
    this.hash.ofBytes(bytes, start, end);
    return this.call(cost, true) === notDirect ? undefined : this.decision;
  }

  allowBytes(bytes: Uint8Array, start: number, end: number, cost: number): boolean | undefined {
    this.hash.ofBytes(bytes, start, end);
    const waitMs = this.call(cost, false);
    return waitMs === notDirect ? undefined : waitMs === 0;
  }

  /** The wait of the key whose hash was taken last, or `notDirect`; then nothing has happened. */
  private call(cost: number, isDecided: boolean): number {
    const { places, table } = this;
    const { algorithm, numbers } = table;
    const { low, high } = this.hash;
    if (algorithm.extend || numbers.countRejected || !(cost > 0 && cost <= numbers.limit)) return notDirect;
    const at = places.find(low, high);
    if (at < 0 || !places.lock(at, low, high)) return notDirect;
    // Only now: while waiting for the lock, time has passed.
    const nowMs = this.clock.recent && !algorithm.strict ? this.clock.recent() : this.clock.now();
    if (!this.isPlain(at, nowMs)) {
      places.putBack(at);
      return notDirect;
    }
    const { floats } = this.layout;
    const first = floatsAt(at) + FIRST_CELL;
    const waitMs = algorithm.wait(floats, first, numbers, cost, nowMs, Number.POSITIVE_INFINITY);
    const delayMs = waitMs === 0 && algorithm.delay ? algorithm.delay(floats, first, numbers, cost, nowMs) : 0;
    if (waitMs === 0) algorithm.charge(floats, first, numbers, cost, nowMs);
    if (isDecided) this.decide(first, waitMs, delayMs, nowMs);
    // A lock that was broken meanwhile: this thread was taken for dead, and what it wrote does not count.
    return places.publish(at) ? waitMs : notDirect;
  }

  private isPlain(at: number, nowMs: number): boolean {
    const { words, floats } = this.layout;
    const { table } = this;
    const place = floatsAt(at);
    if (words[at + POLICY] !== this.policy || words[at + LENGTH] !== table.algorithm.cells(table.numbers)) return false;
    if (floats[place + BLOCKED_UNTIL_MS] !== 0 || this.places.isTorn(at)) return false;
    return table.lingerMs === 0 || forgettableInMs(table, floats, place + FIRST_CELL, nowMs) > 0;
  }

  private decide(first: number, waitMs: number, delayMs: number, nowMs: number): void {
    const { name, algorithm, numbers, policy } = this.table;
    const { floats } = this.layout;
    const available = algorithm.available(floats, first, numbers, nowMs);
    const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
      allowed: waitMs === 0,
      limit: numbers.limit,
      remaining: available >= 1 ? Math.floor(available) : 0,
      retryAfterMs: waitMs,
      resetAfterMs: Math.max(0, Math.ceil(algorithm.asNewInMs(floats, first, numbers, nowMs))),
      delayMs,
      rule: name,
      policy,
    };
    if (waitMs > 0) decision.reason = 'limit';
    this.decision = decision;
  }
}
