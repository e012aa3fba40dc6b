import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Line } from './line.ts';

test('who came first is taken first, however many come and go', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 5000, size: 'max' }), (comes) => {
      const line = new Line<number>();
      const expected: number[] = [];
      const wrong = comes.filter((isComing, i) => {
        if (isComing) {
          line.add(i);
          expected.push(i);
        }
        const isRight = isComing || line.take() === expected.shift();
        return !isRight || line.length !== expected.length;
      });
      expect(wrong).toEqual([]);
    }),
    { numRuns: 30 },
  );
});
