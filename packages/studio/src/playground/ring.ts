/** The latest of a stream: what is older than the capacity holds is forgotten, so that a run of hours takes no more memory than one of minutes. */
export class Ring<T> {
  readonly capacity: number;
  /** How many have ever been added. */
  added = 0;
  readonly #kept: T[] = [];

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.#kept.length;
  }

  push(value: T): void {
    this.#kept[this.added % this.capacity] = value;
    this.added += 1;
  }

  /** From the oldest kept (0) to the newest (`size - 1`). */
  at(place: number): T | undefined {
    if (place < 0 || place >= this.size) return undefined;
    return this.#kept[(this.added - this.size + place) % this.capacity];
  }

  /** The one that was the `order`-th to be added, counted from 0, if it is still kept. */
  ofOrder(order: number): T | undefined {
    return this.at(order - (this.added - this.size));
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let place = 0; place < this.size; place += 1) yield this.at(place)!;
  }
}
