/** Many numbers, and what they are like: kept whole, because a p99 of what was thrown away cannot be had. */
export class Samples {
  private values = new Float64Array(64);
  private sum = 0;
  private most = Number.NEGATIVE_INFINITY;
  count = 0;

  add(value: number): void {
    if (this.count === this.values.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.count] = value;
    this.count += 1;
    this.sum += value;
    this.most = Math.max(this.most, value);
  }

  get mean(): number | undefined {
    return this.count === 0 ? undefined : this.sum / this.count;
  }

  get max(): number | undefined {
    return this.count === 0 ? undefined : this.most;
  }

  /** What at most one of a hundred exceeds. */
  get p99(): number | undefined {
    if (this.count === 0) return undefined;
    const sorted = this.values.slice(0, this.count).sort();
    return sorted[rankOfP99(this.count) - 1];
  }
}

/** Nearest rank, from 1: the first of so many in order that at most one of a hundred exceeds. A product with 0.99 could round above a whole number. */
export function rankOfP99(count: number): number {
  return Math.ceil((99 * count) / 100);
}
