/** The short way for one plain check of a key that is there, as `memory/direct-check.ts`, on a row under its lock. */
import { type Clock, checkTime } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { KeyHash } from '../memory/key-hash.ts';
import { forgettableInMs, type Table } from '../memory/table.ts';
import type { DirectChecks } from '../store.ts';
import { BLOCKED_UNTIL_MS, FIRST_CELL, type Layout, LENGTH, POLICY } from './layout.ts';
import type { Image, Places } from './places.ts';

const notDirect = -1;

export class SharedCheck implements DirectChecks {
  private readonly image: Image;
  private readonly places: Places;
  private readonly clock: Clock;
  private readonly table: Table;
  private readonly policy: number;
  private readonly hash: KeyHash;
  private decision: Decision | undefined;

  constructor(layout: Layout, places: Places, clock: Clock, table: Table, policy: number) {
    this.image = places.image();
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
    const token = at < 0 ? 0 : places.lock(at, low, high);
    if (token === 0) return notDirect;
    const isWhole = places.read(at, token, this.image);
    const { floats } = this.image;
    let nowMs = 0;
    try {
      // Only now: while waiting for the lock, time has passed.
      nowMs = checkTime(
        this.clock.recent && !table.isStrict ? this.clock.recent() : this.clock.now(),
        'the time of the clock',
      );
    } catch (error) {
      places.putBack(at, token);
      throw error;
    }
    if (!isWhole || !this.isPlain(nowMs)) {
      places.putBack(at, token);
      return notDirect;
    }
    let waitMs: number;
    let delayMs = 0;
    if (table.step) waitMs = table.step(floats, FIRST_CELL, numbers, cost, nowMs);
    else {
      waitMs = algorithm.wait(floats, FIRST_CELL, numbers, cost, nowMs, Number.POSITIVE_INFINITY);
      if (waitMs === 0 && algorithm.delay) delayMs = algorithm.delay(floats, FIRST_CELL, numbers, cost, nowMs);
      if (waitMs === 0) algorithm.charge(floats, FIRST_CELL, numbers, cost, nowMs);
    }
    if (isDecided) this.decide(waitMs, delayMs, nowMs);
    // A lock that was broken meanwhile: this thread was taken for dead, and what it wrote does not count.
    return places.write(at, token, this.image) ? waitMs : notDirect;
  }

  private isPlain(nowMs: number): boolean {
    const { words, floats } = this.image;
    const { table } = this;
    if (words[POLICY] !== this.policy || words[LENGTH] !== table.algorithm.cells(table.numbers)) return false;
    if (floats[BLOCKED_UNTIL_MS]! > nowMs) return false;
    return table.lingerMs === 0 || forgettableInMs(table, floats, FIRST_CELL, nowMs) > 0;
  }

  private decide(waitMs: number, delayMs: number, nowMs: number): void {
    const { name, algorithm, numbers, policy } = this.table;
    const { floats } = this.image;
    const available = algorithm.available(floats, FIRST_CELL, numbers, nowMs);
    const decision: { -readonly [Field in keyof Decision]: Decision[Field] } = {
      allowed: waitMs === 0,
      limit: numbers.limit,
      remaining: available >= 1 ? Math.floor(available) : 0,
      retryAfterMs: waitMs,
      resetAfterMs: Math.max(0, Math.ceil(algorithm.asNewInMs(floats, FIRST_CELL, numbers, nowMs))),
      delayMs,
      rule: name,
      policy,
    };
    if (waitMs > 0) decision.reason = 'limit';
    this.decision = decision;
  }
}
