/**
 * First in, first out, at a constant rate.
 *
 *      arrivals    a b c          d
 *      slots       0 1 2 3        0 1        each an interval after the one before; they begin anew when there was a pause
 *      departures  a b c          d
 *
 * Item k of a busy time leaves no earlier than `start + k * interval`. The slots come from the start and not from the departure
 * before, so neither a late timer nor a rounding pushes the rest back: whoever is overdue leaves as soon as it is asked for, and the next
 * at its own slot. Nor is a pause saved up: nobody's slot lies before the moment it came.
 */
import { type InLine, Line } from '../../protect/line.ts';
import type { Order, Waiting } from '../order.ts';

export class LeakyOrder implements Order {
  private readonly limit: number;
  private readonly windowMs: number;
  private readonly line = new Line<Waiting>();
  private startMs = Number.NEGATIVE_INFINITY;
  /** How many have left since the start. */
  private departures = 0;

  constructor(limit: number, windowMs: number) {
    this.limit = limit;
    this.windowMs = windowMs;
  }

  add(waiting: Waiting): void {
    waiting.place = this.line.add(waiting);
  }

  remove(waiting: Waiting): void {
    this.line.remove(waiting.place as InLine<Waiting>);
  }

  readyAtMs(): number {
    const { first } = this.line;
    return first ? Math.max(this.slotMs, first.value.enqueuedMs) : Number.POSITIVE_INFINITY;
  }

  take(): Waiting | undefined {
    const { first } = this.line;
    if (!first) return undefined;
    if (first.value.enqueuedMs > this.slotMs) {
      this.startMs = first.value.enqueuedMs;
      this.departures = 0;
    }
    this.departures += 1;
    this.line.remove(first);
    return first.value;
  }

  last(newcomer: Waiting): Waiting {
    return this.line.last?.value ?? newcomer;
  }

  /** The next free one. Multiplied first, so that whole windows stay whole. */
  private get slotMs(): number {
    return this.startMs + (this.departures * this.windowMs) / this.limit;
  }
}
