import type { Clock } from 'sluice';

/** The time of whoever replays a log: it is set, and nothing may sleep in it. */
export class ReplayClock implements Clock {
  nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error('Nothing sleeps in a replay.'));
  }
}
