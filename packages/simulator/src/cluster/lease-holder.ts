/**
 * Somebody who has a place among those in flight: holds it for a while, renews it now and then, and gives it back, sometimes too late.
 *
 *      granted ──── holds ──── renews? ──── holds ──── gives back
 *         └──────────── the lease ───────────┤ nobody may rely on it any longer
 *                            └────────────── the lease ─────────────┤
 */
import type { Receipt } from 'sluice';
import type { Random } from '../random.ts';
import type { Errand, Errands } from './errands.ts';
import type { Host, Run } from './host.ts';
import type { Use } from './ledger.ts';
import type { Asked, Question } from './simulated-node.ts';
import { spanMs, type World } from './world.ts';

interface Held {
  readonly asked: Asked;
  readonly door: Question['door'];
  readonly use: Use;
  receipt: Receipt;
}

const renewedShare = 0.4;

export class LeaseHolder {
  readonly #world: World;
  readonly #host: Host;
  readonly #run: Run;
  readonly #random: Random;
  readonly #errands: Errands;

  constructor(world: World, host: Host, run: Run, random: Random, errands: Errands) {
    this.#world = world;
    this.#host = host;
    this.#run = run;
    this.#random = random;
    this.#errands = errands;
  }

  hold({ rule, key, cost }: Asked, receipt: Receipt, version: number, errand: Errand): void {
    const { ledger, loop, statesLost } = this.#world;
    if (this.#errands.isTooOld(errand)) {
      ledger.dropped += 1;
      return;
    }
    const asked = { rule, key, cost };
    const endMs = this.#endMs(rule, version);
    const { askedMs, question } = errand;
    const use = ledger.used({ ...asked, version, atMs: loop.nowMs, askedMs, statesLost, endMs });
    this.#world.tell(this.#host.name, `holds ${question.id}: ${rule}/${key} until ${endMs.toFixed(3)}`);
    this.#goOn({ asked, door: question.door, use, receipt }, version);
  }

  /** By the holder's own clock, from when it hears of it. */
  #endMs(rule: string, version: number): number {
    return this.#host.trueMsAfter(spanMs(this.#world.policyOf(rule, version)));
  }

  #goOn(held: Held, version: number): void {
    const forMs = this.#random.exponential(spanMs(this.#world.policyOf(held.asked.rule, version)) / 2);
    this.#host.clockOf(this.#run).after(forMs, () => {
      const isOver = held.use.endMs! <= this.#world.loop.nowMs;
      if (!isOver && this.#random.uniform() < renewedShare) this.#renew(held, version);
      else this.#giveBack(held);
    });
  }

  #renew(held: Held, version: number): void {
    const { asked, door, receipt } = held;
    let isHeard = false;
    this.#errands.go(
      { door, asked: [asked], operation: 'renew', receipts: [receipt] },
      ({ decisions, version: by }, errand) => {
        isHeard = true;
        const [{ allowed, receipt: next }] = decisions as [(typeof decisions)[number]];
        if (allowed && next) held.receipt = next;
        const isHolding = held.use.endMs! > this.#world.loop.nowMs;
        if (allowed && isHolding && !this.#errands.isTooOld(errand)) {
          held.use.endMs = this.#endMs(asked.rule, by);
          this.#world.tell(this.#host.name, `renews ${asked.rule}/${asked.key} until ${held.use.endMs.toFixed(3)}`);
        }
        this.#goOn(held, by);
      },
    );
    // Without an answer it goes on for as long as it was told before.
    this.#host.clockOf(this.#run).after(spanMs(this.#world.policyOf(asked.rule, version)), () => {
      if (!isHeard) this.#giveBack(held);
    });
  }

  #giveBack(held: Held): void {
    const { asked, door, receipt, use } = held;
    use.endMs = Math.min(use.endMs!, this.#world.loop.nowMs);
    this.#world.tell(this.#host.name, `gives back ${asked.rule}/${asked.key}`);
    this.#errands.go({ door, asked: [asked], operation: 'release', receipts: [receipt] }, () => {}, {
      isInsistent: true,
    });
  }
}
