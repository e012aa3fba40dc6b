/**
 * How fast places become free while all are taken: what a refusal says about when to come back. It is the mean over the last seconds of
 * such times; before anything is known, the time since places were last free.
 */
const shortestMs = 1000;
const longestMs = 60_000;
// Half of what was seen is forgotten whenever so much time was watched.
const memoryMs = 4000;

export class Pace {
  private watchedMs = 0;
  private freed = 0;
  private latestMs = 0;

  /** The last place was taken. */
  filled(nowMs: number): void {
    this.latestMs = nowMs;
  }

  /** One of the places became free, all of which were taken. */
  oneFreed(nowMs: number): void {
    this.watchedMs += nowMs - this.latestMs;
    this.freed += 1;
    this.latestMs = nowMs;
    if (this.watchedMs < memoryMs) return;
    this.watchedMs /= 2;
    this.freed /= 2;
  }

  /** When so many who wait will have had a place. Where none became free for longer than usual, as much longer again. */
  retryAfterMs(waiting: number, nowMs: number): number {
    const intervalMs = this.freed > 0 ? this.watchedMs / this.freed : 0;
    const lateMs = Math.max(0, nowMs - this.latestMs - intervalMs);
    return Math.min(longestMs, Math.max(shortestMs, (waiting + 1) * intervalMs + lateMs));
  }
}
