/**
 * Windows, aligned windows and places held: all three ask how much counts together at one moment.
 *
 * An aligned window is a window of length 1 over the numbers of the windows. A place is held from its arrival until it
 * leaves: a window of length 0.
 */
import { EarliestFirst } from './earliest-first.ts';
import { fillOf, type Meter, tolerance } from './meter.ts';
import type { HeldClause, WindowClause } from './promise.ts';

export class SpanMeter implements Meter {
  used = 0;
  most = 0;
  fromMs = 0;
  toMs = 0;
  fill = 0;
  quietMs = Number.NEGATIVE_INFINITY;
  readonly #inside = new EarliestFirst();
  readonly #clause: WindowClause | HeldClause;
  #largest = 0;

  constructor(clause: WindowClause | HeldClause) {
    this.#clause = clause;
  }

  take(arriveMs: number, leaveMs: number, cost: number): void {
    const clause = this.#clause;
    const isWindow = clause.kind === 'window';
    const alignedMs = isWindow && clause.aligned ? clause.windowMs : 0;
    const length = alignedMs > 0 ? 1 : isWindow ? clause.windowMs : 0;
    const arrives = alignedMs > 0 ? Math.floor(arriveMs / alignedMs) : arriveMs;
    const leaves = alignedMs > 0 ? Math.floor(leaveMs / alignedMs) : leaveMs;
    const inside = this.#inside;
    while (arrives - inside.firstMs >= length) inside.remove();
    // What is uncertain by more than a window never certainly counts together with anything.
    if (arrives - leaves < length) inside.add(leaves, isWindow && clause.countsCalls ? Math.sign(cost) : cost);
    this.#largest = Math.max(this.#largest, cost);
    this.used = inside.sum;
    this.most = clause.most;
    if (alignedMs > 0) {
      this.fromMs = arrives * alignedMs;
      this.toMs = this.fromMs + alignedMs;
    } else {
      this.fromMs = isWindow ? Math.min(inside.firstMs, arriveMs) : arriveMs;
      this.toMs = arriveMs;
    }
    this.fill = fillOf(this.used, this.most);
    // Strictly less than one call more.
    if (isWindow && clause.lends && this.used < this.most + this.#largest - tolerance)
      this.fill = Math.min(1, this.fill);
    const lastsMs = isWindow ? clause.windowMs * (alignedMs > 0 ? 2 : 1) : 0;
    this.quietMs = Math.max(this.quietMs, Math.max(arriveMs, leaveMs) + lastsMs);
  }
}
