/**
 * One timer for everything that is under way. Calls have one deadline and leave one after the other, so the one that left first is
 * due first; connections are few.
 */
import type { Clock } from '../vocabulary/clock.ts';
import type { Call } from './call.ts';
import { Fifo } from './fifo.ts';

export class Deadlines {
  private readonly clock: Clock;
  private readonly deadlineMs: number;
  private readonly others: { dueMs(): number; sweep(nowMs: number): void };
  // In the order they left; those that are settled go when they come to the front.
  private readonly calls = new Fifo<Call>();
  private timer: AbortController | undefined;
  private armedForMs = Number.POSITIVE_INFINITY;

  /** @param others what has times of its own, and how it is looked after */
  constructor(clock: Clock, deadlineMs: number, others: { dueMs(): number; sweep(nowMs: number): void }) {
    this.clock = clock;
    this.deadlineMs = deadlineMs;
    this.others = others;
  }

  add(call: Call): void {
    this.dropSettled();
    this.calls.push(call);
    // While others are under way, their deadlines come first, and there is nothing to do.
    if (call.departure.firstSentMs + this.deadlineMs < this.armedForMs) this.arm();
  }

  /** Something is due, maybe before whatever was due so far. */
  arm(): void {
    const nextMs = Math.min(this.firstDueMs(), this.others.dueMs());
    if (nextMs >= this.armedForMs) return;
    this.timer?.abort();
    this.timer = undefined;
    if (nextMs < Number.POSITIVE_INFINITY) this.wait(nextMs);
  }

  close(): void {
    this.timer?.abort();
    this.timer = undefined;
    this.armedForMs = Number.NEGATIVE_INFINITY;
    this.calls.take();
  }

  /** At every step a few: what is kept until the next sweep, the collector has to carry. */
  private dropSettled(): void {
    while (this.calls.first()?.isSettled) this.calls.shift();
  }

  private firstDueMs(): number {
    this.dropSettled();
    const first = this.calls.first();
    return first === undefined ? Number.POSITIVE_INFINITY : first.departure.firstSentMs + this.deadlineMs;
  }

  private wait(untilMs: number): void {
    const timer = new AbortController();
    this.timer = timer;
    this.armedForMs = untilMs;
    // At least a little: a clock may be coarser than the time that is left.
    this.clock.sleep(Math.max(0.1, untilMs - this.clock.now()), timer.signal).then(
      () => this.sweep(),
      (error: unknown) => {
        if (!timer.signal.aborted) throw error;
      },
    );
  }

  private sweep(): void {
    this.timer = undefined;
    this.armedForMs = Number.POSITIVE_INFINITY;
    const nowMs = this.clock.now();
    while (this.firstDueMs() <= nowMs) this.calls.shift()?.expire();
    this.others.sweep(nowMs);
    this.arm();
  }
}
