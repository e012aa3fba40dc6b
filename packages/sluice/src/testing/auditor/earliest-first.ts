/** A heap of moments with their costs: whatever order they come in, the earliest is the first to leave. */
export class EarliestFirst {
  /** The sum of the costs inside. */
  sum = 0;
  readonly #moments: number[] = [];
  readonly #costs: number[] = [];

  get size(): number {
    return this.#moments.length;
  }

  /** The earliest moment; `Infinity` when there is none. */
  get firstMs(): number {
    return this.#moments[0] ?? Number.POSITIVE_INFINITY;
  }

  add(atMs: number, cost: number): void {
    const moments = this.#moments;
    const costs = this.#costs;
    let i = moments.length;
    moments.push(atMs);
    costs.push(cost);
    this.sum += cost;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (moments[parent]! <= atMs) break;
      moments[i] = moments[parent]!;
      costs[i] = costs[parent]!;
      i = parent;
    }
    moments[i] = atMs;
    costs[i] = cost;
  }

  /** Removes the earliest and returns its cost. */
  remove(): number {
    const moments = this.#moments;
    const costs = this.#costs;
    const removed = costs[0] ?? 0;
    const atMs = moments.pop()!;
    const cost = costs.pop()!;
    const size = moments.length;
    // Nothing inside is nothing used: what fractions of costs left over in the sum goes with the last of them.
    this.sum = size === 0 ? 0 : this.sum - removed;
    if (size === 0) return removed;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && moments[child + 1]! < moments[child]!) child += 1;
      if (moments[child]! >= atMs) break;
      moments[i] = moments[child]!;
      costs[i] = costs[child]!;
      i = child;
    }
    moments[i] = atMs;
    costs[i] = cost;
    return removed;
  }
}
