/**
 * Whoever waits, and every way to stop waiting but one.
 *
 *      newcomer ──► enter ──► │ order │ ──► take: its turn
 *                     │           │
 *      more than      │           ├──► expired   its deadline has come
 *      there is       ▼           ├──► aborted   its signal said so
 *      room for:   bound          ├──► removed   by name
 *                     └───────────┴──► shed, closed
 *
 * Everybody leaves exactly once. Who leaves is out before anybody is told of it, so that a listener never finds it waiting.
 */

import { IndexedHeap, type InHeap } from '../balance/indexed-heap.ts';
import { Line } from '../protect/line.ts';
import type { Listeners } from '../protect/listeners.ts';
import type { Ended } from '../protect/protection.ts';
import { whenAborted } from '../protect/when-aborted.ts';
import { invalid } from '../vocabulary/errors.ts';
import type { Order, ScheduledTask, TaskId, Waiting } from './order.ts';
import type { SchedulerSettings, ShedPolicy } from './settings.ts';

/** Why somebody left before its turn. */
export type LeaveReason = 'shed' | 'expired' | 'removed' | 'aborted' | 'closed';

export interface SchedulerEvents {
  /** A task has to wait; so many do now. */
  queued: { readonly task: ScheduledTask; readonly waiting: number };
  /** A task's turn came after so long; so many are under way now (0 where they are pulled: nobody knows). */
  started: { readonly task: ScheduledTask; readonly waitedMs: number; readonly running: number };
  /** A task that `run` began has ended. */
  ended: { readonly task: ScheduledTask; readonly outcome: 'ok' | 'failed'; readonly durationMs: number };
  /** A task was given up, because more would have waited than may. */
  shed: { readonly task: ScheduledTask; readonly policy: ShedPolicy };
  /** A task had not begun by its deadline. */
  expired: { readonly task: ScheduledTask; readonly lateMs: number };
  /** A task was taken out: by name, by its signal, or because the scheduler was closed. */
  removed: { readonly task: ScheduledTask; readonly reason: 'removed' | 'aborted' | 'closed' };
}

export const schedulerEvents: readonly (keyof SchedulerEvents)[] = [
  'queued',
  'started',
  'ended',
  'shed',
  'expired',
  'removed',
];

/** Where somebody stands among those who have a deadline. */
interface Expiry extends InHeap {
  readonly deadlineMs: number;
  readonly guest: Guest;
}

/** Somebody who waits, with all that has to be undone when it leaves. */
export interface Guest extends Waiting {
  expiry: Expiry | undefined;
  /** Among all, in the order in which they came. Only kept where the oldest is shed. */
  arrival: ReturnType<Line<Guest>['add']> | undefined;
  forgetSignal: (() => void) | undefined;
  /** Has left before its turn. */
  hasLeft: boolean;
  readonly signal: AbortSignal | undefined;
  /** Told when it leaves before its turn. */
  readonly left: ((reason: LeaveReason) => void) | undefined;
  /** Told how it ended, where it is run. */
  readonly settle: ((ended: Ended) => void) | undefined;
}

/** What is known of a newcomer. */
export interface Newcomer {
  readonly id?: TaskId | undefined;
  readonly task: unknown;
  readonly priority?: number | undefined;
  readonly tenant?: string | undefined;
  /** In the scheduler's own time. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  readonly left?: (reason: LeaveReason) => void;
  readonly settle?: (ended: Ended) => void;
}

export class WaitingRoom {
  isClosed = false;
  shedCount = 0;
  expiredCount = 0;
  private readonly settings: SchedulerSettings;
  private readonly order: Order;
  private readonly tell: Listeners<SchedulerEvents>['tell'];
  private readonly onLeft: () => void;
  private readonly guests = new Map<TaskId, Guest>();
  private readonly arrivals = new Line<Guest>();
  private readonly expiries = new IndexedHeap<Expiry>((a, b) => a.deadlineMs < b.deadlineMs);
  private sequence = 0;

  /** `onLeft` is called after somebody left who was not taken. */
  constructor(settings: SchedulerSettings, tell: Listeners<SchedulerEvents>['tell'], onLeft: () => void) {
    this.settings = settings;
    this.order = settings.order;
    this.tell = tell;
    this.onLeft = onLeft;
  }

  get size(): number {
    return this.guests.size;
  }

  find(id: TaskId): Guest | undefined {
    return this.guests.get(id);
  }

  /** The first moment at which somebody is too late. */
  get firstDeadlineMs(): number {
    return this.expiries.first?.deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  /** Lets somebody in; whether there is room is asked afterwards, by `bound`. `undefined`: it left at once. */
  enter(newcomer: Newcomer, nowMs: number): Guest | undefined {
    const guest = this.guestOf(newcomer, nowMs);
    const { signal, deadlineMs } = newcomer;
    const reason = this.isClosed ? 'closed' : signal?.aborted ? 'aborted' : deadlineMs <= nowMs ? 'expired' : undefined;
    if (reason) {
      this.tellWhy(guest, reason, nowMs - deadlineMs);
      return undefined;
    }
    this.order.add(guest, nowMs);
    this.guests.set(guest.id, guest);
    if (deadlineMs < Number.POSITIVE_INFINITY) {
      guest.expiry = { heapIndex: -1, deadlineMs, guest };
      this.expiries.push(guest.expiry);
    }
    if (this.settings.shed === 'oldest') guest.arrival = this.arrivals.add(guest);
    if (signal) guest.forgetSignal = whenAborted(signal, () => this.drop(guest, 'aborted', nowMs));
    return guest;
  }

  /** Gives up whom the policy says, where there are too many; `newcomer` is whoever came last. */
  bound(newcomer: Guest, nowMs: number): void {
    while (this.size > this.settings.capacity) {
      const victim = this.victim(newcomer);
      if (!victim) break;
      this.drop(victim, 'shed', nowMs);
    }
    if (this.isIn(newcomer)) this.tell('queued', { task: newcomer, waiting: this.size });
  }

  /** Whose turn it is, taken out. */
  take(nowMs: number): Guest | undefined {
    this.expire(nowMs);
    if (this.size === 0 || this.order.readyAtMs(nowMs) > nowMs) return undefined;
    const guest = this.order.take(nowMs) as Guest | undefined;
    if (guest) this.forget(guest);
    return guest;
  }

  /** Drops whoever is too late, whether or not a timer has said so. */
  expire(nowMs: number): void {
    for (let first = this.expiries.first; first && first.deadlineMs <= nowMs; first = this.expiries.first)
      this.drop(first.guest, 'expired', nowMs);
  }

  drop(guest: Guest, reason: LeaveReason, nowMs: number): void {
    // A listener who was told of another may have been quicker.
    if (!this.isIn(guest)) return;
    const lateMs = nowMs - (guest.expiry?.deadlineMs ?? nowMs);
    this.order.remove(guest);
    this.forget(guest);
    guest.hasLeft = true;
    this.tellWhy(guest, reason, lateMs);
    this.onLeft();
  }

  /** Nobody comes in any more, and whoever waits has to go. */
  close(nowMs: number): void {
    this.isClosed = true;
    for (const guest of [...this.guests.values()]) this.drop(guest, 'closed', nowMs);
  }

  private guestOf(newcomer: Newcomer, nowMs: number): Guest {
    this.sequence += 1;
    const { id = this.sequence, task, priority = 0, tenant = '', signal, left, settle } = newcomer;
    if (this.guests.has(id)) throw invalid('id', 'of no other task that waits', id);
    return {
      id,
      task,
      priority,
      tenant,
      enqueuedMs: nowMs,
      sequence: this.sequence,
      heapIndex: -1,
      rank: 0,
      place: undefined,
      expiry: undefined,
      arrival: undefined,
      forgetSignal: undefined,
      hasLeft: false,
      signal,
      left,
      settle,
    };
  }

  private victim(newcomer: Guest): Guest | undefined {
    const { shed } = this.settings;
    if (shed === 'oldest') return this.arrivals.first?.value;
    if (shed === 'lowest-priority') return this.order.last(newcomer) as Guest;
    // A listener may have brought more of them in meanwhile; each is the newcomer of its own `bound`.
    return this.isIn(newcomer) ? newcomer : undefined;
  }

  private isIn(guest: Guest): boolean {
    return this.guests.get(guest.id) === guest;
  }

  private forget(guest: Guest): void {
    this.guests.delete(guest.id);
    if (guest.expiry) this.expiries.remove(guest.expiry);
    if (guest.arrival) this.arrivals.remove(guest.arrival);
    guest.forgetSignal?.();
  }

  private tellWhy(guest: Guest, reason: LeaveReason, lateMs: number): void {
    guest.left?.(reason);
    if (reason === 'shed') {
      this.shedCount += 1;
      this.tell('shed', { task: guest, policy: this.settings.shed });
    } else if (reason === 'expired') {
      this.expiredCount += 1;
      this.tell('expired', { task: guest, lateMs });
    } else this.tell('removed', { task: guest, reason });
  }
}
