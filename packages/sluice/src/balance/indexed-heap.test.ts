import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedHeap, type InHeap } from './indexed-heap.ts';

interface Item extends InHeap {
  rank: number;
  readonly sequence: number;
}

const isBefore = (a: Item, b: Item) => (a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank);
const itemOf = (rank: number, sequence: number): Item => ({ heapIndex: -1, rank, sequence });

function heapOf(ranks: number[]) {
  const heap = new IndexedHeap<Item>(isBefore);
  const items = ranks.map(itemOf);
  for (const item of items) heap.push(item);
  return { heap, items };
}

function emptied(heap: IndexedHeap<Item>): number[] {
  const ranks: number[] = [];
  for (let item = heap.pop(); item; item = heap.pop()) ranks.push(item.rank);
  return ranks;
}

describe('the indexed heap', () => {
  it('gives its items back in order', () => {
    const { heap } = heapOf([5, 3, 8, 1, 9, 2, 7, 6, 4]);
    expect(heap.size).toBe(9);
    expect(heap.first?.rank).toBe(1);
    expect(emptied(heap)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([heap.size, heap.first, heap.pop()]).toEqual([0, undefined, undefined]);
  });

  it('moves an item whose rank has changed, up and down', () => {
    const { heap, items } = heapOf([1, 2, 3, 4, 5, 6, 7, 8]);
    items[7]!.rank = 0;
    heap.moved(items[7]!);
    expect(heap.first).toBe(items[7]);
    items[0]!.rank = 9;
    heap.moved(items[0]!);
    expect(emptied(heap)).toEqual([0, 2, 3, 4, 5, 6, 7, 9]);
  });

  it('takes an item out from anywhere, once', () => {
    const { heap, items } = heapOf([1, 2, 3, 4, 5]);
    expect([heap.remove(items[2]!), heap.remove(items[2]!)]).toEqual([true, false]);
    expect(items[2]!.heapIndex).toBe(-1);
    expect(emptied(heap)).toEqual([1, 2, 4, 5]);
  });

  it('leaves alone what stands in another heap', () => {
    const { heap } = heapOf([1, 2, 3]);
    const { heap: other, items } = heapOf([4, 5, 6]);
    expect(heap.remove(items[1]!)).toBe(false);
    heap.moved(items[1]!);
    expect([emptied(heap), emptied(other)]).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });

  it('looks at no more items than the logarithm of their number asks for', () => {
    let looks = 0;
    const heap = new IndexedHeap<Item>((a, b) => {
      looks += 1;
      return isBefore(a, b);
    });
    const items = Array.from({ length: 4 ** 8 }, (_, i) => itemOf((i * 7919) % 4 ** 8, i));
    for (const item of items) heap.push(item);
    // Nine levels, at most four looks at each, and one look at each on the way up.
    const most = 9 * 4 + 9;
    for (let step = 0; step < 1000; step += 1) {
      looks = 0;
      const item = items[(step * 6151) % items.length]!;
      item.rank = (step * 104_729) % 4 ** 8;
      heap.moved(item);
      expect(looks).toBeLessThanOrEqual(most);
      looks = 0;
      heap.remove(item);
      expect(looks).toBeLessThanOrEqual(most);
      heap.push(item);
    }
  });
});

it('whatever is pushed, popped, moved and removed: it is the same as a sorted array', () => {
  const steps = fc.array(
    fc.record({
      what: fc.constantFrom('push', 'push', 'push', 'pop', 'move', 'remove'),
      which: fc.nat({ max: 200 }),
      rank: fc.integer({ min: -20, max: 20 }),
    }),
    { maxLength: 300, size: 'max' },
  );
  fc.assert(
    fc.property(steps, (life) => {
      const heap = new IndexedHeap<Item>(isBefore);
      let sorted: Item[] = [];
      const sort = () => sorted.sort((a, b) => (isBefore(a, b) ? -1 : 1));
      let sequence = 0;
      for (const { what, which, rank } of life) {
        const item = sorted[which % Math.max(1, sorted.length)];
        if (what === 'push') {
          const added = itemOf(rank, sequence);
          sequence += 1;
          heap.push(added);
          sorted.push(added);
        } else if (what === 'pop') expect(heap.pop()).toBe(sorted.shift());
        else if (what === 'move' && item) {
          item.rank = rank;
          heap.moved(item);
        } else if (what === 'remove' && item) {
          expect(heap.remove(item)).toBe(true);
          sorted = sorted.filter((other) => other !== item);
        }
        sort();
        expect(heap.size).toBe(sorted.length);
        expect(heap.first).toBe(sorted[0]);
      }
      for (const item of sorted) expect(heap.pop()).toBe(item);
    }),
    { numRuns: 100 },
  );
});

it('shows everybody in it, and lets all of them go at once', () => {
  const heap = new IndexedHeap<Item>(isBefore);
  const items = [5, 3, 9, 1, 7, 2].map((rank, order) => itemOf(rank, order));
  for (const item of items) heap.push(item);
  expect(new Set(heap.values())).toEqual(new Set(items));
  heap.clear();
  expect(heap.size).toBe(0);
  expect(items.map((item) => heap.has(item))).toEqual(items.map(() => false));
  heap.push(items[0]!);
  expect(heap.first).toBe(items[0]);
});
