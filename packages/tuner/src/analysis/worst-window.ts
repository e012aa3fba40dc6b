/**
 * The most that was granted to one client in any `(t - windowMs, t]`: a limit per window promises one number, and what it really lets through may be
 * another. Grants of a client come in the order in which they go.
 */
export class WorstWindow {
  /** The most so far, of all clients. */
  cost = 0;
  /** Whose it was; -1: nobody's yet. */
  client = -1;
  private readonly windowMs: number;
  private current = -1;
  private inside = 0;
  private oldest = 0;
  private newest = 0;
  // Of the current client; they grow to what the busiest one needs.
  private atMs = new Float64Array(1024);
  private costs = new Float64Array(1024);

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  begin(client: number): void {
    this.current = client;
    this.inside = 0;
    this.oldest = 0;
    this.newest = 0;
  }

  grant(atMs: number, cost: number): void {
    // Asking without taking does not stand in line, and may overtake what is held back.
    if (cost === 0) return;
    if (this.newest === this.atMs.length) this.grow();
    this.atMs[this.newest] = atMs;
    this.costs[this.newest] = cost;
    this.newest += 1;
    this.inside += cost;
    const leftMs = atMs - this.windowMs;
    while (this.atMs[this.oldest]! <= leftMs) {
      this.inside -= this.costs[this.oldest]!;
      this.oldest += 1;
    }
    this.note(this.inside);
  }

  /** What is known of the current client without its grants. */
  note(cost: number): void {
    if (cost <= this.cost) return;
    this.cost = cost;
    this.client = this.current;
  }

  private grow(): void {
    const atMs = new Float64Array(this.atMs.length * 2);
    const costs = new Float64Array(this.costs.length * 2);
    atMs.set(this.atMs);
    costs.set(this.costs);
    this.atMs = atMs;
    this.costs = costs;
  }
}
