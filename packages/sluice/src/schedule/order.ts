/**
 * Who goes next: the one thing in which the schedulers differ. An order holds whoever waits, and knows nothing of tasks, promises, bounds
 * or timers; `waiting-room.ts` and `runner.ts` know nothing of ranks, weights or rates.
 */

import type { InHeap } from '../balance/indexed-heap.ts';
import type { InLine } from '../protect/line.ts';

/** Given by the scheduler (a number), or by the caller (text). */
export type TaskId = number | string;

/** A task as its scheduler shows it. */
export interface ScheduledTask {
  readonly id: TaskId;
  /** What was submitted, enqueued or is to be run. */
  readonly task: unknown;
  /** Lower goes first. 0 where the scheduler has no priorities. */
  readonly priority: number;
  /** Empty where the scheduler has no tenants. */
  readonly tenant: string;
  readonly enqueuedMs: number;
}

/** Somebody who waits. `heapIndex`, `rank` and `place` belong to the order. */
export interface Waiting extends ScheduledTask, InHeap {
  priority: number;
  /** Ties are decided by it: first come, first served. */
  readonly sequence: number;
  rank: number;
  place: InLine<Waiting> | undefined;
}

export interface Order {
  add(waiting: Waiting, nowMs: number): void;
  /** Takes out whoever is in it, from wherever it stands. */
  remove(waiting: Waiting): void;
  /** When the next may go: not after `nowMs` where it is now, `Infinity` where nobody can. */
  readyAtMs(nowMs: number): number;
  /** Takes out who goes next. Asked only where somebody may. */
  take(nowMs: number): Waiting | undefined;
  /** Who is given up first when there are too many: the one who would go last. The newcomer, just added, is in it too. */
  last(newcomer: Waiting): Waiting;
  /** A task that was taken by `take` has ended. */
  ended?(waiting: Waiting, elapsedMs: number, nowMs: number): void;
}
