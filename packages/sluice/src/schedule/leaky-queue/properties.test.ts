import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { leakyQueue } from './leaky-queue.ts';

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('enqueue', 'enqueue', 'dequeue', 'dequeue', 'time'),
    ms: fc.integer({ min: 1, max: 400 }),
  }),
  { maxLength: 150, size: 'max' },
);

it('item k of a busy time leaves no earlier than start + k * interval, as soon after as it is asked for, and in order', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (limit, life) => {
      const queue = leakyQueue<number>({ limit, window: 1000, capacity: 8, clock: new TestClock() });
      const intervalMs = 1000 / limit;
      const waiting: { readonly item: number; readonly cameMs: number }[] = [];
      let nowMs = 0;
      /** The busy time that the last belonged to: when it began, and how many left since. */
      let startMs = Number.NEGATIVE_INFINITY;
      let k = 0;
      for (const [item, { what, ms }] of life.entries()) {
        if (what === 'time') nowMs += ms;
        else if (what === 'enqueue') {
          const isIn = queue.enqueue(item, { atMs: nowMs });
          expect(isIn).toBe(waiting.length < 8);
          if (isIn) waiting.push({ item, cameMs: nowMs });
        } else {
          const first = waiting[0];
          const slotMs = startMs + k * intervalMs;
          const dueMs = first ? Math.max(first.cameMs, slotMs) : Number.POSITIVE_INFINITY;
          // Times are whole, slots may be thirds: nearer than that they are the same.
          if (Math.abs(dueMs - nowMs) < 1e-6) nowMs += 1;
          const left = queue.dequeue(nowMs);
          expect(left).toBe(dueMs <= nowMs ? first?.item : undefined);
          if (left === undefined) continue;
          waiting.shift();
          if (first!.cameMs > slotMs) {
            startMs = first!.cameMs;
            k = 0;
          }
          k += 1;
        }
      }
    }),
    { numRuns: 500 },
  );
});

it('over any time, asked whenever, no more leave than one per interval and those who were overdue', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 250 }), { minLength: 5, maxLength: 60, size: 'max' }), (gaps) => {
      const queue = leakyQueue<number>({ limit: 10, window: 1000, capacity: 1000, clock: new TestClock() });
      for (let item = 0; item < 500; item += 1) queue.enqueue(item, { atMs: 0 });
      let nowMs = 0;
      let left = 0;
      for (const gapMs of gaps) {
        nowMs += gapMs;
        while (queue.dequeue(nowMs) !== undefined) left += 1;
        // Exactly as many as a source that is never late would have let out by now.
        expect(left).toBe(Math.min(500, Math.floor(nowMs / 100) + 1));
      }
    }),
  );
});
