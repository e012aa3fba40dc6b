/**
 * What is to be done, and when. However much there is, one alarm is set: for the first of it. What is due is done when the alarm goes
 * off, or earlier, by whoever looks (`catchUp`): a pick never sees a member that should be back already.
 */
import { ForwardTime } from '../../protect/forward-time.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import { IndexedHeap, type InHeap, notInHeap } from '../indexed-heap.ts';

export interface Appointment extends InHeap {
  readonly dueMs: number;
  readonly order: number;
  readonly act: () => void;
}

interface Alarm {
  readonly atMs: number;
  readonly off: AbortController;
}

function isBefore(a: Appointment, b: Appointment): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

// Less would be due again in the same moment, and again.
const shortestMs = 1;

export class Agenda {
  private readonly clock: Clock;
  private readonly time: ForwardTime;
  private readonly onError: (error: unknown) => void;
  private readonly heap = new IndexedHeap<Appointment>(isBefore);
  private alarm: Alarm | undefined;
  private order = 0;
  private isCatchingUp = false;
  private isClosed = false;

  /** Nothing that is done here throws at anybody: `onError` is told. */
  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.clock = clock;
    this.time = new ForwardTime(clock);
    this.onError = onError;
  }

  now(): number {
    return this.time.now();
  }

  after(ms: number, act: () => void): Appointment {
    const dueMs = this.now() + Math.max(shortestMs, ms);
    const appointment = { dueMs, order: this.order++, act, heapIndex: notInHeap };
    this.heap.push(appointment);
    this.watch();
    return appointment;
  }

  cancel(appointment: Appointment | undefined): void {
    if (appointment !== undefined && this.heap.remove(appointment)) this.watch();
  }

  /** Does what is due by now. */
  catchUp(): void {
    const { first } = this.heap;
    if (first !== undefined && !this.isCatchingUp) this.doAllUntil(this.now());
  }

  /** For whatever nobody waits for: what it throws is told, and thrown at nobody. */
  attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.onError(error);
    }
  }

  /** No alarm any more. What is due is still done by whoever looks. */
  close(): void {
    this.isClosed = true;
    this.watch();
  }

  private doAllUntil(nowMs: number): void {
    this.isCatchingUp = true;
    while (this.heap.size > 0 && this.heap.first!.dueMs <= nowMs) {
      this.attempt(this.heap.pop()!.act);
    }
    this.isCatchingUp = false;
    this.watch();
  }

  /** Sets the alarm for what is first now. */
  private watch(): void {
    if (this.isCatchingUp) return;
    const untilMs = this.isClosed ? undefined : this.heap.first?.dueMs;
    if (this.alarm?.atMs === untilMs) return;
    this.alarm?.off.abort();
    this.alarm = undefined;
    if (untilMs !== undefined) this.sleepUntil(untilMs);
  }

  private sleepUntil(atMs: number): void {
    const alarm = { atMs, off: new AbortController() };
    this.alarm = alarm;
    this.sleep(atMs - this.now(), alarm.off.signal).then(
      () => {
        if (this.alarm !== alarm) return;
        this.alarm = undefined;
        // Whoever has slept for so long knows that the time has passed, also when the clock was set back meanwhile.
        this.attempt(() => this.doAllUntil(Math.max(atMs, this.now())));
      },
      (error) => {
        // Switched off is how a sleep may end; anything else is the clock's failure.
        if (!alarm.off.signal.aborted) this.onError(error);
      },
    );
  }

  private async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.clock.sleep(ms, signal);
  }
}
