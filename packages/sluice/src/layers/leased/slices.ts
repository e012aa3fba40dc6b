/**
 * The slices of all keys: how many there are, which goes back for a newcomer, and how everything gets back to the store.
 */
import type { Check, Store } from '../../stores/store.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { isSamePolicy } from '../../vocabulary/policy.ts';
import type { LeaseClock } from './lease-clock.ts';
import type { Lending } from './lending.ts';
import type { LeasedSettings } from './settings.ts';
import { type Asked, type Loan, Slice } from './slice.ts';

// How long a store that does not answer keeps whoever closes waiting. What it lent is spent then.
const patienceMs = 1000;

export class Slices {
  /** Units that went back. */
  returned = 0;
  /** Units that could not be given back. */
  lost = 0;
  readonly #store: Store;
  readonly #settings: LeasedSettings;
  readonly #leaseClock: LeaseClock;
  /** The one that borrowed longest ago first. */
  readonly #inOrder = new Set<Slice>();
  /** By name, then by key: a text joined of both would have to be hashed anew at each call. */
  readonly #byName = new Map<string, Map<string, Slice>>();
  readonly #holding = new Set<Slice>();
  readonly #trips = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #isSweeping = false;

  constructor(store: Store, settings: LeasedSettings, leaseClock: LeaseClock) {
    this.#store = store;
    this.#settings = settings;
    this.#leaseClock = leaseClock;
  }

  get size(): number {
    return this.#inOrder.size;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  find(name: string, key: string): Slice | undefined {
    return this.#byName.get(name)?.get(key);
  }

  /** The slice of a key; undefined when there is no room for one more. */
  open(check: Check, lending: Lending): Slice | undefined {
    const known = this.find(check.name, check.key);
    if (known && isSamePolicy(known.policy, check.policy)) return known;
    if (known) {
      // Under another policy it would have been borrowed otherwise. Whoever is in line finishes with it.
      if (known.lineEnd) return undefined;
      this.#forget(known);
    }
    if (this.size >= this.#settings.maxKeys && !this.#makeRoom()) return undefined;
    const { name, key, policy } = check;
    const slice = new Slice(name, key, policy, lending, this.#settings.minSlice);
    const keys = this.#byName.get(name) ?? new Map<string, Slice>();
    this.#byName.set(name, keys.set(key, slice));
    this.#inOrder.add(slice);
    return slice;
  }

  #makeRoom(): boolean {
    for (const slice of this.#inOrder) {
      if (slice.lineEnd) continue;
      this.#forget(slice);
      return true;
    }
    return false;
  }

  #forget(slice: Slice): void {
    const { name, key } = slice;
    const keys = this.#byName.get(name);
    keys?.delete(key);
    if (keys?.size === 0) this.#byName.delete(name);
    this.#inOrder.delete(slice);
    void this.giveBack(slice);
  }

  /** Adds what the store lent. `lastsMs` where that is longer than it may be kept for another call. */
  lend(slice: Slice, cost: number, reply: Decision, { sent, orders }: Asked, lastsMs?: number): void {
    const { leaseMs, marginMs } = this.#settings;
    // What was not charged must not be kept (a store that fails open charges nothing), nor what may have been lent before an order.
    const isKept = !reply.degraded && orders === slice.orders;
    const keepsMs = isKept ? Math.min(leaseMs, slice.lending.keepsMs(reply)) - marginMs : 0;
    slice.loans.push({ cost, left: cost, receipt: reply.receipt, sent, keepsMs, lastsMs: lastsMs ?? keepsMs });
    slice.lent = sent;
    this.#holding.add(slice);
    // The youngest goes last, so that the first is the one to give back for a newcomer.
    if (this.#inOrder.delete(slice)) this.#inOrder.add(slice);
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    void this.#sweep();
  }

  /** Gives back what a slice holds, or what of it is over. It is taken out in this very turn: nobody can spend it any more. */
  giveBack(slice: Slice, out: readonly Loan[] = slice.takeOut()): Promise<void> {
    const { name, key, lending } = slice;
    const settling = out.flatMap(({ cost, left, receipt }): Check[] =>
      left > 0 && receipt
        ? [{ name, key, policy: lending.policy, operation: 'settle', cost, actual: cost - left, receipt }]
        : [],
    );
    return settling.length === 0 ? Promise.resolve() : this.track(this.#settle(settling));
  }

  async #settle(settling: readonly Check[]): Promise<void> {
    const units = settling.reduce((sum, { cost, actual = 0 }) => sum + cost - actual, 0);
    try {
      await this.#store.apply(settling);
      this.returned += units;
    } catch {
      // It counts as spent in the store, and nobody can spend it here: nothing is left to do but to say so.
      this.lost += units;
    }
  }

  /** Whoever closes waits for this to be over. */
  track(trip: Promise<void>): Promise<void> {
    const over = trip.then(() => void this.#trips.delete(over));
    this.#trips.add(over);
    return over;
  }

  /** Gives back what is over. One loop for all keys, and only while something is on loan. */
  async #sweep(): Promise<void> {
    const { leaseMs, minSlice, clock } = this.#settings;
    while (this.#holding.size > 0 && !this.isClosed) {
      // Woken by close(), which gives everything back.
      await clock.sleep(leaseMs / 4, this.#closing.signal).catch(() => undefined);
      const now = this.#leaseClock.stamp();
      for (const slice of this.#holding) {
        const over = slice.takeOut(now);
        if (slice.loans.length === 0) this.#holding.delete(slice);
        const unspent = over.reduce((sum, { left }) => sum + left, 0);
        if (unspent * 2 > slice.size) slice.shrink(minSlice);
        void this.giveBack(slice, over);
      }
    }
    this.#isSweeping = false;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('closed'));
    const isDone = new AbortController();
    const patience = this.#settings.clock.sleep(patienceMs, isDone.signal).catch(() => undefined);
    await Promise.race([this.#giveAllBack(), patience]);
    isDone.abort(new Error('closed'));
    this.#byName.clear();
    this.#inOrder.clear();
  }

  async #giveAllBack(): Promise<void> {
    while (this.#trips.size > 0 || this.#holding.size > 0) {
      await Promise.all(this.#trips);
      for (const slice of this.#holding) void this.giveBack(slice);
      this.#holding.clear();
    }
  }
}
