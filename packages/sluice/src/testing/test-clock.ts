import { type Clock, checkTime } from '../vocabulary/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** A clock that moves only when told to; whoever sleeps by it wakes in the order of their times. */
export class TestClock implements Clock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];

  constructor(nowMs = 0) {
    this.#nowMs = checkTime(nowMs);
  }

  now(): number {
    return this.#nowMs;
  }

  /** How many are asleep. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  advance(ms: number): void {
    this.set(this.#nowMs + ms);
  }

  /** Any time, earlier ones too: a clock that steps back is a thing to test. */
  set(nowMs: number): void {
    this.#nowMs = checkTime(nowMs);
    const due = this.#sleepers.filter(({ untilMs }) => untilMs <= nowMs);
    this.#sleepers = this.#sleepers.filter(({ untilMs }) => untilMs > nowMs);
    for (const { wake } of due.sort((a, b) => a.untilMs - b.untilMs)) wake();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (ms <= 0) return resolve();
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { untilMs: this.#nowMs + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
