/**
 * Runs tasks in the order that a scheduler says, or hands them out one by one: what all schedulers have in common.
 *
 *      run ───► waiting room ──► a place is free, and the order says who ──► the task ──► its own promise
 *                   ▲                                                          │
 *                   └────────────── the next, as soon as one has ended ◄───────┘
 *
 *      submit ─► waiting room ──► next
 *
 * A scheduler is either pulled or runs: which of the two is decided by its first task. One timer serves all: it is set for the first
 * moment at which something happens by itself (a deadline, or an order that lets nobody go before its time), and off when there is none.
 */
import { type Listeners, listenersOf } from '../protect/listeners.ts';
import { type Ended, endOf, type ProtectedCall } from '../protect/protection.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import { Moments } from './moments.ts';
import type { TaskId } from './order.ts';
import type { PulledTaskOptions, SchedulerSettings, TaskOptions } from './settings.ts';
import { type Guest, type LeaveReason, type SchedulerEvents, schedulerEvents, WaitingRoom } from './waiting-room.ts';

/** What every scheduler can do, however it decides. */
export interface Scheduler {
  /** How many wait. */
  readonly size: number;
  /** Resolves as soon as nothing is under way and nobody waits. It closes nothing. */
  drain(): Promise<void>;
  /** From now on every newcomer is refused, and whoever waits has to go. Tasks under way go on. */
  close(): void;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof SchedulerEvents>(name: Name, listener: (event: SchedulerEvents[Name]) => void): () => void;
  stats(): SchedulerStats;
}

export interface SchedulerStats {
  readonly waiting: number;
  /** Tasks of `run` that are under way. */
  readonly running: number;
  /** Given up since it was made, because too many waited. */
  readonly shed: number;
  /** Dropped since it was made, because they had not begun by their deadline. */
  readonly expired: number;
}

/** What orders go by. */
export interface Claims {
  readonly id?: TaskId | undefined;
  readonly priority?: number | undefined;
  readonly tenant?: string | undefined;
}

export class Runner {
  readonly moments: Moments;
  readonly room: WaitingRoom;
  readonly on: Listeners<SchedulerEvents>['on'];
  private readonly settings: SchedulerSettings;
  private readonly tell: Listeners<SchedulerEvents>['tell'];
  private use: 'pulled' | 'running' | undefined;
  private running = 0;
  /** On while something is going to happen by itself. */
  private alarm: { readonly untilMs: number; readonly off: AbortController } | undefined;
  private idle: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(settings: SchedulerSettings) {
    this.settings = settings;
    this.moments = new Moments(settings.clock);
    const { on, tell } = listenersOf<SchedulerEvents>(schedulerEvents);
    this.on = on;
    this.tell = tell;
    this.room = new WaitingRoom(settings, tell, () => this.noticeIdle());
  }

  /** Runs the task when its turn comes, and answers as it does. */
  run<T>(call: ProtectedCall<T>, options: TaskOptions, { id, priority, tenant }: Claims): Promise<T> {
    this.decide('running');
    return new Promise<T>((resolve, reject) => {
      const { signal } = options;
      const nowMs = this.moments.now();
      const left = (reason: LeaveReason) => reject(reason === 'aborted' ? signal!.reason : this.refusal(reason));
      const deadlineMs = this.moments.onOwnTime(options.deadlineMs ?? Number.POSITIVE_INFINITY);
      this.room.expire(nowMs);
      const settle = (ended: Ended) => ('error' in ended ? reject(ended.error) : resolve(ended.value as T));
      const guest = this.room.enter({ id, priority, tenant, task: call, signal, deadlineMs, left, settle }, nowMs);
      if (!guest) return;
      // First whoever can go goes, then those who are left are counted: nobody is shed while a place is free.
      this.admit(nowMs);
      this.room.bound(guest, nowMs);
    });
  }

  /** Lets a task in that is going to be pulled; `undefined` where it is refused. */
  submit(task: unknown, options: PulledTaskOptions, { id, priority, tenant }: Claims): TaskId | undefined {
    this.decide('pulled');
    const nowMs = this.moments.now(options.atMs);
    const given = options.deadlineMs ?? Number.POSITIVE_INFINITY;
    const deadlineMs = options.atMs === undefined ? this.moments.onOwnTime(given) : given;
    this.room.expire(nowMs);
    const guest = this.room.enter({ id, priority, tenant, task, signal: options.signal, deadlineMs }, nowMs);
    if (!guest) return undefined;
    this.room.bound(guest, nowMs);
    // One that is not here any more may have been pulled by whoever was told of it: that is no refusal.
    return guest.hasLeft ? undefined : guest.id;
  }

  /** The task whose turn it is, taken out; `undefined` where there is none. */
  next(atMs?: number): unknown {
    this.decide('pulled');
    const nowMs = this.moments.now(atMs);
    const guest = this.room.take(nowMs);
    if (!guest) return undefined;
    this.tell('started', { task: guest, waitedMs: nowMs - guest.enqueuedMs, running: 0 });
    this.noticeIdle();
    return guest.task;
  }

  remove(id: TaskId): boolean {
    const guest = this.room.find(id);
    if (guest) this.room.drop(guest, 'removed', this.moments.latestMs);
    return guest !== undefined;
  }

  /** Whoever may begin does: something has changed that neither a newcomer nor an end of a task told of. */
  nudge(): void {
    if (this.use === 'running') this.admit(this.moments.now());
  }

  close(): void {
    this.room.close(this.moments.latestMs);
  }

  drain(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    if (!this.idle) {
      let resolve = () => {};
      const promise = new Promise<void>((resolved) => {
        resolve = resolved;
      });
      this.idle = { promise, resolve };
    }
    return this.idle.promise;
  }

  stats(): SchedulerStats {
    const { size, shedCount, expiredCount } = this.room;
    return { waiting: size, running: this.running, shed: shedCount, expired: expiredCount };
  }

  private get isIdle(): boolean {
    return this.running === 0 && this.room.size === 0;
  }

  private decide(use: 'pulled' | 'running'): void {
    this.use ??= use;
    if (this.use === use) return;
    const [does, doesNot] = use === 'pulled' ? ['runs its tasks', 'pulled'] : ['is pulled', 'asked to run tasks'];
    throw new SluiceError(
      'unsupported-operation',
      `${this.settings.title} ${does}, so it cannot be ${doesNot} as well.`,
    );
  }

  /** Begins whatever may, and drops whoever is too late, also where there is no place for anybody. */
  private admit(atMs: number): void {
    let nowMs = atMs;
    this.room.expire(nowMs);
    while (this.running < this.settings.concurrency) {
      const guest = this.room.take(nowMs);
      if (!guest) break;
      this.begin(guest, nowMs);
      // A task may keep the thread for long before it first waits: for the next it is later by that.
      if (this.room.size > 0 && this.running < this.settings.concurrency) nowMs = this.moments.now();
    }
    this.watch(nowMs);
  }

  private begin(guest: Guest, nowMs: number): void {
    this.running += 1;
    const { running } = this;
    const ending = endOf(guest.task as ProtectedCall<unknown>, guest.signal);
    this.tell('started', { task: guest, waitedMs: nowMs - guest.enqueuedMs, running });
    void ending.then((ended) => this.end(guest, ended, nowMs));
  }

  private end(guest: Guest, ended: Ended, startedMs: number): void {
    const nowMs = this.moments.now();
    const durationMs = Math.max(0, nowMs - startedMs);
    this.running -= 1;
    this.settings.order.ended?.(guest, durationMs, nowMs);
    guest.settle?.(ended);
    // Before anybody is told, so that no listener takes the place from the next.
    this.admit(nowMs);
    this.tell('ended', { task: guest, outcome: 'error' in ended ? 'failed' : 'ok', durationMs });
    this.noticeIdle();
  }

  /** Sleeps until something happens by itself. */
  private watch(nowMs: number): void {
    const hasPlace = this.running < this.settings.concurrency;
    const readyAtMs = hasPlace && this.room.size > 0 ? this.settings.order.readyAtMs(nowMs) : Number.POSITIVE_INFINITY;
    const untilMs = Math.min(this.room.firstDeadlineMs, readyAtMs);
    // One that goes off too early does no harm, and costs less than one that is set anew for every task.
    if (untilMs < Number.POSITIVE_INFINITY && this.alarm && this.alarm.untilMs <= untilMs) return;
    this.stopWatching();
    if (untilMs < Number.POSITIVE_INFINITY) this.sleep(untilMs);
  }

  private sleep(untilMs: number): void {
    const off = new AbortController();
    const alarm = { untilMs, off };
    this.alarm = alarm;
    const waitMs = Math.max(0, untilMs - this.moments.now());
    this.settings.clock.sleep(waitMs, off.signal).then(
      () => {
        if (this.alarm !== alarm) return;
        this.alarm = undefined;
        // Whoever has slept for so long knows that the time has passed, also when the clock was set back meanwhile.
        this.admit(this.moments.now(Math.max(untilMs, this.moments.now())));
      },
      (error) => {
        // That nobody waits any more is how a sleep is meant to end; anything else is the clock's failure and must surface.
        if (!off.signal.aborted) throw error;
      },
    );
  }

  private stopWatching(): void {
    this.alarm?.off.abort();
    this.alarm = undefined;
  }

  private noticeIdle(): void {
    // Nothing may keep the process alive for those who have left.
    if (this.room.size === 0) this.stopWatching();
    if (!this.idle || !this.isIdle) return;
    this.idle.resolve();
    this.idle = undefined;
  }

  private refusal(reason: Exclude<LeaveReason, 'aborted'>): SluiceError {
    const { title, capacity } = this.settings;
    if (reason === 'shed') return new SluiceError('queue-full', `${title} is full: no more than ${capacity} may wait.`);
    if (reason === 'expired')
      return new SluiceError('task-expired', `${title} could not begin the task before its deadline.`);
    if (reason === 'closed') return new SluiceError('scheduler-closed', `${title} is closed.`);
    return new SluiceError('task-removed', `${title} was told to remove the task before its turn came.`);
  }
}
