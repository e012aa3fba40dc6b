/** A binary heap: the first comes out first, whatever order they went in. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  /** For a fixed order of equals the comparison has to tell them apart. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!this.#isBefore(item, items[parent] as T)) break;
      items[at] = items[parent] as T;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0) this.#sink(last as T);
    return first;
  }

  /** Puts the item into the place of the first, and down from there. */
  #sink(item: T): void {
    const items = this.#items;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= items.length) break;
      const right = left + 1;
      const child = right < items.length && this.#isBefore(items[right] as T, items[left] as T) ? right : left;
      if (!this.#isBefore(items[child] as T, item)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = item;
  }
}
