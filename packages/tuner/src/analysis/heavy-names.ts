/**
 * Which names come most often, in a fixed amount of memory: the Space-Saving sketch (Metwally, Agrawal and El Abbadi, 2005).
 *
 *      name is counted already    its counter goes up
 *      a counter is free          the name takes it
 *      none is free               the name takes over the lowest counter, and what that had is its error
 *
 * With k counters and N counts, for every name: true count <= count, count - error <= true count, error <= N / k.
 */
export interface CountedName {
  readonly name: string;
  /** Never less than the true count. */
  readonly count: number;
  /** `count - error` is never more than the true count. */
  readonly error: number;
}

interface Counter {
  name: string;
  count: number;
  error: number;
  place: number;
}

/** Of a longer name, the beginning: names come from the log, and one may be as long as a line. */
const longestName = 200;

export class HeavyNames {
  private readonly most: number;
  private readonly byName = new Map<string, Counter>();
  /** The lowest on top. */
  private readonly heap: Counter[] = [];

  constructor(counters: number) {
    this.most = counters;
  }

  count(whole: string): void {
    const name = whole.length > longestName ? `${whole.slice(0, longestName)}…` : whole;
    const counter = this.byName.get(name);
    if (counter !== undefined) {
      counter.count += 1;
      this.sink(counter);
    } else if (this.heap.length < this.most) this.add(name);
    else this.takeOver(this.heap[0]!, name);
  }

  /** The most first. */
  top(many: number): CountedName[] {
    return this.heap
      .map(({ name, count, error }) => ({ name, count, error }))
      .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
      .slice(0, many);
  }

  private add(name: string): void {
    const counter = { name, count: 1, error: 0, place: this.heap.length };
    this.byName.set(name, counter);
    this.heap.push(counter);
    // Nobody has less than 1: it rises past all that have more.
    while (counter.place > 0) {
      const parent = this.heap[(counter.place - 1) >> 1]!;
      if (parent.count <= counter.count) break;
      this.swap(counter, parent);
    }
  }

  private takeOver(lowest: Counter, name: string): void {
    this.byName.delete(lowest.name);
    lowest.name = name;
    lowest.error = lowest.count;
    lowest.count += 1;
    this.byName.set(name, lowest);
    this.sink(lowest);
  }

  private sink(counter: Counter): void {
    for (;;) {
      const left = this.heap[2 * counter.place + 1];
      const right = this.heap[2 * counter.place + 2];
      if (left === undefined) return;
      const child = right !== undefined && right.count < left.count ? right : left;
      if (child.count >= counter.count) return;
      this.swap(child, counter);
    }
  }

  private swap(a: Counter, b: Counter): void {
    const { place } = a;
    this.heap[b.place] = a;
    this.heap[place] = b;
    a.place = b.place;
    b.place = place;
  }
}
