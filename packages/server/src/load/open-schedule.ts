/**
 * When each request of an open loop is to be sent: evenly, from the start. A request's latency counts from here, so that a service
 * that stops for a second is charged for everybody who came in that second, not for the one who was already waiting.
 */
export interface OpenScheduleOptions {
  readonly perSecond: number;
  readonly durationMs: number;
}

const mostPerSecond = 10_000_000;
const longestMs = 86_400_000;

/** All times are milliseconds since the start. */
export class OpenSchedule {
  /** All requests, from the first moment to just before the end. */
  readonly count: number;
  private readonly intervalMs: number;

  constructor({ perSecond, durationMs }: OpenScheduleOptions) {
    if (!(perSecond > 0 && perSecond <= mostPerSecond)) {
      throw new RangeError(`perSecond must be above 0 and at most ${mostPerSecond}, got ${perSecond}.`);
    }
    if (!(durationMs > 0 && durationMs <= longestMs)) {
      throw new RangeError(`durationMs must be above 0 and at most a day (${longestMs}), got ${durationMs}.`);
    }
    this.intervalMs = 1000 / perSecond;
    this.count = Math.max(1, Math.floor((durationMs * perSecond) / 1000));
  }

  atMs(request: number): number {
    return request * this.intervalMs;
  }

  /** How many have had their time. */
  dueAt(elapsedMs: number): number {
    if (elapsedMs < 0) return 0;
    const guess = Math.floor(elapsedMs / this.intervalMs) + 1;
    // The division may end on either side of a request's own time; nobody is sent early.
    const due = this.atMs(guess - 1) > elapsedMs ? guess - 1 : guess;
    return Math.min(this.count, due);
  }
}
