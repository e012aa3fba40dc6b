/** The most that went in any window so far. A delayed call goes later than it was decided, so grants are counted when their moment has come. */
import { WindowMeter } from '@sluice/simulator';
import type { DecidedCall } from './engine.ts';

// The moment a delayed call goes is a sum of fractions, and rounds: two that are a whole window apart may seem closer.
const roundingMs = 1e-6;

export class WorstWindow {
  readonly #meter: WindowMeter;
  readonly #coming: { readonly goesMs: number; readonly cost: number }[] = [];

  constructor(windowMs: number) {
    this.#meter = new WindowMeter(windowMs - roundingMs);
  }

  get most(): number {
    return this.#meter.worst;
  }

  /** When the worst window ended. */
  get endMs(): number {
    return this.#meter.worstEndMs;
  }

  /** Those who wait go in the order in which they came. */
  add({ atMs, cost, decision }: Pick<DecidedCall, 'atMs' | 'cost' | 'decision'>): void {
    this.#coming.push({ goesMs: atMs + decision.delayMs, cost });
  }

  advance(nowMs: number): void {
    while (this.#coming.length > 0 && this.#coming[0]!.goesMs <= nowMs) {
      const { goesMs, cost } = this.#coming.shift()!;
      this.#meter.add(goesMs, cost);
    }
  }
}
