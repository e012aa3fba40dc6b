/**
 * The estimate of `sliding-window`, from the uses: this window's, and the last one's by the share that is still covered.
 *
 * A use that lies in one of two windows counts for the last one when the verdict must be certain, and for this one when it
 * need only be possible; both follow from which end of its interval leaves.
 */
import { EarliestFirst } from './earliest-first.ts';
import { fillOf, type Meter } from './meter.ts';
import type { EstimateClause } from './promise.ts';

export class EstimateMeter implements Meter {
  used = 0;
  most: number;
  fromMs = 0;
  toMs = 0;
  fill = 0;
  quietMs = Number.NEGATIVE_INFINITY;
  readonly #windowMs: number;
  readonly #current = new EarliestFirst();
  #window = Number.NEGATIVE_INFINITY;
  #previous = 0;

  constructor({ most, windowMs }: EstimateClause) {
    this.most = most;
    this.#windowMs = windowMs;
  }

  take(arriveMs: number, leaveMs: number, cost: number): void {
    const windowMs = this.#windowMs;
    const window = Math.floor(arriveMs / windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#previous = 0;
      while (this.#current.firstMs < window) {
        const isPrevious = this.#current.firstMs === window - 1;
        const left = this.#current.remove();
        if (isPrevious) this.#previous += left;
      }
    }
    const leaves = Math.floor(leaveMs / windowMs);
    if (leaves >= window) this.#current.add(leaves, cost);
    else if (leaves === window - 1) this.#previous += cost;
    const startMs = window * windowMs;
    this.used = this.#current.sum + (this.#previous * (startMs + windowMs - arriveMs)) / windowMs;
    this.fromMs = startMs - (this.#previous > 0 ? windowMs : 0);
    this.toMs = arriveMs;
    this.fill = fillOf(this.used, this.most);
    this.quietMs = Math.max(this.quietMs, Math.max(arriveMs, leaveMs) + 2 * windowMs);
  }
}
