/** The most cost in any window `(t - windowMs, t]`, as it happens: `worstWindow` without the history. Only the grants of the last window are kept. */
export class WindowMeter {
  worst = 0;
  /** When the worst window ended. */
  worstEndMs = 0;
  private readonly windowMs: number;
  private times: number[] = [];
  private costs: number[] = [];
  private oldest = 0;
  private inside = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /** Grants must come in the order of their times. */
  add(atMs: number, cost: number): void {
    this.times.push(atMs);
    this.costs.push(cost);
    this.inside += cost;
    // The worst window ends at a grant: one that ends later holds no more, and may have lost some.
    if (this.costAt(atMs) <= this.worst) return;
    this.worst = this.inside;
    this.worstEndMs = atMs;
  }

  /** What is in the window that ends at a time, not before the latest grant or the latest time that was asked for. */
  costAt(atMs: number): number {
    const { times, costs } = this;
    for (; this.oldest < times.length && atMs - times[this.oldest]! >= this.windowMs; this.oldest += 1)
      this.inside -= costs[this.oldest]!;
    // What has left is cut off now and then, not each time.
    if (this.oldest > 1024 && this.oldest * 2 > times.length) {
      this.times = times.slice(this.oldest);
      this.costs = costs.slice(this.oldest);
      this.oldest = 0;
    }
    return this.inside;
  }
}
