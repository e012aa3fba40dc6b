import { expect, test } from 'vitest';
import { Heap } from './heap.ts';
import { random } from './random.ts';

test('gives back in order what went in in any order', () => {
  const { integer } = random(1);
  for (let size = 0; size < 100; size += 1) {
    const numbers = Array.from({ length: size }, () => integer(50));
    const heap = new Heap<number>((a, b) => a < b);
    for (const each of numbers) heap.push(each);
    expect(heap.size).toBe(size);
    const sorted = numbers.sort((a, b) => a - b);
    expect(heap.first()).toBe(sorted[0]);
    expect(Array.from({ length: size }, () => heap.pop())).toEqual(sorted);
    expect(heap.pop()).toBeUndefined();
  }
});

test('stays in order while items come and go', () => {
  const { integer } = random(2);
  const heap = new Heap<number>((a, b) => a < b);
  const mirror: number[] = [];
  for (let i = 0; i < 2000; i += 1) {
    if (integer(3) > 0) {
      const item = integer(1000);
      heap.push(item);
      mirror.push(item);
    } else {
      mirror.sort((a, b) => a - b);
      expect(heap.pop()).toBe(mirror.shift());
    }
  }
});
