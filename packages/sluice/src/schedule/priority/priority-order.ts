/**
 * Lower number first, first come first served among equals; and whoever waits gains on those who come later.
 *
 *      rank = enqueuedMs - origin + priority * ageingMs
 *
 * After `ageingMs` of waiting a task is worth one priority more than a newcomer. Everybody who waits gains at the same pace, so who is
 * before whom never changes by waiting alone: the rank is fixed when a task comes, and nothing is ever sorted anew.
 * Without ageing the rank is the priority. The origin is when the first of those who wait came: beside the time since the epoch a little
 * ageing would vanish, and priorities with it.
 */
import { IndexedHeap, type InHeap } from '../../balance/indexed-heap.ts';
import type { Order, Waiting } from '../order.ts';

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank;
}

/** Where somebody stands in the order seen from its end. */
interface FromEnd extends InHeap {
  readonly waiting: Waiting;
}

export class PriorityOrder implements Order {
  private readonly ageingMs: number;
  private readonly heap = new IndexedHeap<Waiting>(isBefore);
  private readonly fromEnd = new IndexedHeap<FromEnd>((a, b) => isBefore(b.waiting, a.waiting));
  /** Only where the last is ever asked for: a second heap costs as much as the first. */
  private readonly ends: Map<Waiting, FromEnd> | undefined;
  private originMs = 0;

  constructor(ageingMs: number, isLastAskedFor: boolean) {
    this.ageingMs = ageingMs;
    this.ends = isLastAskedFor ? new Map() : undefined;
  }

  add(waiting: Waiting): void {
    if (this.heap.size === 0) this.originMs = waiting.enqueuedMs;
    waiting.rank = this.rankOf(waiting);
    this.heap.push(waiting);
    if (!this.ends) return;
    const end = { heapIndex: -1, waiting };
    this.ends.set(waiting, end);
    this.fromEnd.push(end);
  }

  remove(waiting: Waiting): void {
    this.heap.remove(waiting);
    this.leaveEnd(waiting);
  }

  /** Its place among equals is the one it came with. */
  changePriority(waiting: Waiting, priority: number): void {
    waiting.priority = priority;
    waiting.rank = this.rankOf(waiting);
    this.heap.moved(waiting);
    const end = this.ends?.get(waiting);
    if (end) this.fromEnd.moved(end);
  }

  readyAtMs(): number {
    return this.heap.size > 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  take(): Waiting | undefined {
    const first = this.heap.pop();
    if (first) this.leaveEnd(first);
    return first;
  }

  last(newcomer: Waiting): Waiting {
    return this.fromEnd.first?.waiting ?? newcomer;
  }

  private rankOf({ enqueuedMs, priority }: Waiting): number {
    return this.ageingMs === 0 ? priority : enqueuedMs - this.originMs + priority * this.ageingMs;
  }

  private leaveEnd(waiting: Waiting): void {
    const end = this.ends?.get(waiting);
    if (!end) return;
    this.ends?.delete(waiting);
    this.fromEnd.remove(end);
  }
}
