/**
 * How much of each key was carried out that its standby has not confirmed: what the message under way tells of (`told`), and what the next one will
 * (`untold`).
 *
 *      by slot    the keys of a slot together: at least as much as of any of them, and nearly always too little for one of them to have to wait
 *      by key     exactly, for as long as that was not enough to know
 *
 * A confirmation is of a whole message, so it drops what was told, and nobody has to go through it.
 */
import { slotOf } from 'sluice/client';

/** Goes through what was carried out and is not confirmed. */
export type Recount = (visit: (name: string, key: string, cost: number) => void) => void;

// As many as a shard has, unless set otherwise; with others, some slots are counted together.
const slots = 64;
const slotMask = slots - 1;
// Whole numbers far below what a sum of them could no longer hold exactly. A cost beyond counts as this: it is enough to be looked at by key.
const mostBySlot = 2 ** 32;

export class Ahead {
  private readonly recountTold: Recount;
  private readonly recountUntold: Recount;
  private told = new Float64Array(slots);
  private untold = new Float64Array(slots);
  private exactly: { told: ByKey; untold: ByKey } | undefined;
  /** Since the last message somebody had to know exactly. */
  private wasNear = false;

  constructor(recountTold: Recount, recountUntold: Recount) {
    this.recountTold = recountTold;
    this.recountUntold = recountUntold;
  }

  /** A key gets ahead by so much. Says how far it is now at most; Infinity: that has to be looked at (`of`). */
  add(name: string, key: string, cost: number): number {
    this.exactly?.untold.add(name, key, cost);
    const slot = slotOf(key) & slotMask;
    this.untold[slot]! += Math.min(Math.max(0, Math.ceil(cost)), mostBySlot);
    const most = this.told[slot]! + this.untold[slot]!;
    return most < mostBySlot ? most : Number.POSITIVE_INFINITY;
  }

  /** How far a key is ahead, exactly. What was added must be among what is recounted by now. */
  of(name: string, key: string): number {
    this.wasNear = true;
    this.countByKey();
    return this.exactly!.told.of(name, key) + this.exactly!.untold.of(name, key);
  }

  /** From here on each key is counted by itself: what is added may not be recounted any more. */
  countByKey(): void {
    if (this.exactly !== undefined) return;
    const [told, untold] = [new ByKey(), new ByKey()];
    this.recountTold((name, key, cost) => told.add(name, key, cost));
    this.recountUntold((name, key, cost) => untold.add(name, key, cost));
    // Half a count would be too small a one.
    this.exactly = { told, untold };
  }

  /** All that was added is in the message that is sent now; the one before it is confirmed. */
  tell(): void {
    [this.told, this.untold] = [this.untold, this.told];
    this.untold.fill(0);
    this.exactly = this.wasNear && this.exactly ? { told: this.exactly.untold, untold: new ByKey() } : undefined;
    this.wasNear = false;
  }

  /** The message is confirmed. */
  confirm(): void {
    this.told.fill(0);
    if (this.exactly) this.exactly.told = new ByKey();
  }
}

class ByKey {
  // Not by one text for both: making it takes as long as counting.
  private readonly byName = new Map<string, Map<string, number>>();

  add(name: string, key: string, cost: number): void {
    let byKey = this.byName.get(name);
    if (byKey === undefined) {
      byKey = new Map();
      this.byName.set(name, byKey);
    }
    byKey.set(key, (byKey.get(key) ?? 0) + cost);
  }

  of(name: string, key: string): number {
    return this.byName.get(name)?.get(key) ?? 0;
  }
}
