/**
 * Who comes first, when who comes first keeps changing. A heap whose items know their place in it, so that one that has changed, or
 * leaves, is found without a search: every operation takes O(log n), looking at the first takes O(1).
 *
 * It is in one array, and each item is before its four children: half as deep as with two, and the four lie side by side in memory.
 *
 *                        0
 *           ┌───────┬────┴───┬────────┐
 *           1       2        3        4            children of i: 4i + 1 to 4i + 4, its parent: (i - 1) / 4, rounded down
 *        5 6 7 8  9 ···
 */
const branches = 4;

/** What can be in a heap: in one at a time. */
export interface InHeap {
  /** Its place, for the heap to write. Begin with `notInHeap`. */
  heapIndex: number;
}

export const notInHeap = -1;

export class IndexedHeap<T extends InHeap> {
  private readonly items: T[] = [];
  private readonly isBefore: (a: T, b: T) => boolean;

  /** `isBefore` must be a strict order. Where an item's place in it changes, say so with `moved`. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.isBefore = isBefore;
  }

  get size(): number {
    return this.items.length;
  }

  /** Whoever comes first. */
  get first(): T | undefined {
    return this.items[0];
  }

  has(item: T): boolean {
    return this.items[item.heapIndex] === item;
  }

  /** All of them, in no order that means anything. */
  values(): IterableIterator<T> {
    return this.items.values();
  }

  push(item: T): void {
    item.heapIndex = this.items.length;
    this.items.push(item);
    this.rise(item);
  }

  /** Takes out whoever comes first. */
  pop(): T | undefined {
    const first = this.items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Whether it was in. */
  remove(item: T): boolean {
    if (!this.has(item)) return false;
    const last = this.items.pop()!;
    if (last !== item) {
      this.put(last, item.heapIndex);
      this.moved(last);
    }
    item.heapIndex = notInHeap;
    return true;
  }

  /** Finds the place of an item after what it is ordered by has changed; of one that is not in, there is none to find. */
  moved(item: T): void {
    if (!this.has(item)) return;
    const before = item.heapIndex;
    this.rise(item);
    if (item.heapIndex === before) this.sink(item);
  }

  clear(): void {
    for (const item of this.items) item.heapIndex = notInHeap;
    this.items.length = 0;
  }

  private rise(item: T): void {
    let index = item.heapIndex;
    while (index > 0) {
      const parentIndex = (index - 1) >> 2;
      const parent = this.items[parentIndex]!;
      if (!this.isBefore(item, parent)) break;
      this.put(parent, index);
      index = parentIndex;
    }
    this.put(item, index);
  }

  private sink(item: T): void {
    const { items } = this;
    let index = item.heapIndex;
    for (let childIndex = firstChild(index); childIndex < items.length; childIndex = firstChild(index)) {
      let least = items[childIndex]!;
      const end = Math.min(childIndex + branches, items.length);
      for (let other = childIndex + 1; other < end; other += 1) {
        if (this.isBefore(items[other]!, least)) least = items[other]!;
      }
      if (!this.isBefore(least, item)) break;
      const leastIndex = least.heapIndex;
      this.put(least, index);
      index = leastIndex;
    }
    this.put(item, index);
  }

  private put(item: T, index: number): void {
    this.items[index] = item;
    item.heapIndex = index;
  }
}

function firstChild(index: number): number {
  return branches * index + 1;
}
