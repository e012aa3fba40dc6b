import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { priorityScheduler } from './priority-scheduler.ts';

interface Known {
  readonly id: number | string;
  readonly task: number;
  priority: number;
  readonly enqueuedMs: number;
}

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('submit', 'submit', 'submit', 'next', 'update', 'remove', 'time'),
    which: fc.nat({ max: 100 }),
    priority: fc.integer({ min: -5, max: 9 }),
  }),
  { maxLength: 200, size: 'max' },
);

it('whatever is submitted, changed and removed: the next is whom waiting has made worth most', () => {
  fc.assert(
    fc.property(fc.constantFrom(0, 1, 7, 50), steps, (ageingMs, life) => {
      const scheduler = priorityScheduler<number>({ ageingMs, clock: new TestClock() });
      let waiting: Known[] = [];
      let nowMs = 0;

      /** What everybody is worth now, computed anew each time: the scheduler computes it once. */
      const worth = ({ priority, enqueuedMs }: Known) =>
        ageingMs === 0 ? priority : priority * ageingMs - (nowMs - enqueuedMs);
      const first = () =>
        waiting.reduce<Known | undefined>((best, one) => (!best || worth(one) < worth(best) ? one : best), undefined);

      for (const [task, { what, which, priority }] of life.entries()) {
        const one = waiting[which % Math.max(1, waiting.length)];
        if (what === 'time') nowMs += which;
        else if (what === 'submit') {
          const id = scheduler.submit(task, { priority, atMs: nowMs })!;
          waiting.push({ id, task, priority, enqueuedMs: nowMs });
        } else if (what === 'update' && one) {
          expect(scheduler.update(one.id, { priority })).toBe(true);
          one.priority = priority;
        } else if (what === 'remove' && one) {
          expect(scheduler.remove(one.id)).toBe(true);
          waiting = waiting.filter((other) => other !== one);
        } else if (what === 'next') {
          const expected = first();
          expect(scheduler.next(nowMs)).toBe(expected?.task);
          waiting = waiting.filter((other) => other !== expected);
        }
        expect(scheduler.size).toBe(waiting.length);
      }
    }),
    { numRuns: 150 },
  );
});

it('with ageing nobody waits for ever: only those who come within its priority times ageingMs can go before it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      (ageingMs, priority, everyMs) => {
        const scheduler = priorityScheduler<string>({ ageingMs, clock: new TestClock() });
        scheduler.submit('patient', { priority, atMs: 0 });
        // One of the best priority comes for every one that goes: without ageing it would never have its turn.
        for (let nowMs = 0; ; nowMs += everyMs) {
          expect(nowMs).toBeLessThanOrEqual(priority * ageingMs + everyMs);
          scheduler.submit('urgent', { priority: 0, atMs: nowMs });
          if (scheduler.next(nowMs) === 'patient') break;
        }
      },
    ),
  );
});

it('nobody is shed who would go before somebody who is kept', () => {
  const tasks = fc.array(fc.record({ priority: fc.integer({ min: 0, max: 9 }), gapMs: fc.nat({ max: 30 }) }), {
    maxLength: 60,
    size: 'max',
  });
  fc.assert(
    fc.property(tasks, fc.integer({ min: 1, max: 8 }), fc.constantFrom(0, 10), (given, capacity, ageingMs) => {
      const scheduler = priorityScheduler<number>({
        capacity,
        ageingMs,
        shed: 'lowest-priority',
        clock: new TestClock(),
      });
      let nowMs = 0;
      const ranks = given.map(({ priority, gapMs }, task) => {
        nowMs += gapMs;
        scheduler.submit(task, { priority, atMs: nowMs });
        return ageingMs === 0 ? priority : nowMs + priority * ageingMs;
      });
      // What is left is the best of all that ever came: nothing else could have been kept in a room of that size.
      const best = ranks.map((rank, task) => ({ rank, task })).sort((a, b) => a.rank - b.rank || a.task - b.task);
      const kept: number[] = [];
      for (let task = scheduler.next(nowMs); task !== undefined; task = scheduler.next(nowMs)) kept.push(task);
      expect(kept).toEqual(best.slice(0, capacity).map(({ task }) => task));
    }),
    { numRuns: 300 },
  );
});
