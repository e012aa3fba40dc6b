import { describe, expect, it } from 'vitest';
import { PassingClock } from '../../protect/passing-clock.test-support.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { leakyQueue } from './leaky-queue.ts';

describe('leakyQueue', () => {
  it('lets one out per interval, first in first out, the first at once', () => {
    const queue = leakyQueue<string>({ limit: 10, window: '1s', capacity: 10, clock: new TestClock() });
    for (const item of ['a', 'b', 'c']) expect(queue.enqueue(item, { atMs: 0 })).toBe(true);
    const rows: [atMs: number, item: string | undefined, readyInMs: number][] = [
      //  at   item        readyInMs, after it
      [0, 'a', 100],
      [0, undefined, 100],
      [99, undefined, 1], //     one millisecond too soon
      [100, 'b', 100],
      [150, undefined, 50],
      [50, undefined, 50], //    the clock stepped back: it counts as 150
      [200, 'c', Number.POSITIVE_INFINITY],
      [300, undefined, Number.POSITIVE_INFINITY],
    ];
    for (const [atMs, item, readyInMs] of rows)
      expect([atMs, queue.dequeue(atMs), queue.readyInMs(atMs)]).toEqual([atMs, item, readyInMs]);
  });

  it('is not pushed back by whoever asks late: each has its slot from the start', () => {
    const queue = leakyQueue<string>({ limit: 10, window: 1000, capacity: 10, clock: new TestClock() });
    for (const item of 'abcdef') queue.enqueue(item, { atMs: 0 });
    const rows: [atMs: number, item: string | undefined][] = [
      [0, 'a'],
      [190, 'b'], //        90 ms late
      [199, undefined],
      [200, 'c'], //        on time all the same
      [450, 'd'], //        late by one and a half: d was due at 300,
      [450, 'e'], //        e at 400,
      [450, undefined], //  and f is at 500
      [500, 'f'],
    ];
    for (const [atMs, item] of rows) expect([atMs, queue.dequeue(atMs)]).toEqual([atMs, item]);
  });

  it('saves nothing up while it is empty, nor for those who came after nobody asked', () => {
    const queue = leakyQueue<string>({ limit: 10, window: 1000, capacity: 10, clock: new TestClock() });
    queue.enqueue('a', { atMs: 0 });
    expect(queue.dequeue(0)).toBe('a');
    // The slot after a is at 100: b comes before it and has to wait for it.
    queue.enqueue('b', { atMs: 30 });
    expect([queue.dequeue(99), queue.dequeue(100)]).toEqual([undefined, 'b']);
    // A pause: the slots begin anew.
    for (const item of 'cd') queue.enqueue(item, { atMs: 1000 });
    expect([queue.dequeue(1000), queue.dequeue(1000), queue.dequeue(1100)]).toEqual(['c', undefined, 'd']);
    // Nobody asked for e and f for long; g and h have come only now, and are no part of that.
    for (const item of 'ef') queue.enqueue(item, { atMs: 1200 });
    for (const item of 'gh') queue.enqueue(item, { atMs: 5000 });
    expect(['e', 'f', 'g', undefined].map(() => queue.dequeue(5000))).toEqual(['e', 'f', 'g', undefined]);
    expect(queue.dequeue(5100)).toBe('h');
  });

  it('does not drift: the last of very many leaves when it should', () => {
    const queue = leakyQueue<number>({ limit: 3, window: 1000, capacity: 2, clock: new TestClock() });
    const startMs = 1.7e12;
    queue.enqueue(0, { atMs: startMs });
    for (let k = 0; k < 300_000; k += 1) {
      const dueMs = startMs + (k * 1000) / 3;
      queue.enqueue(k + 1, { atMs: dueMs });
      if (queue.dequeue(dueMs) !== k) expect.fail(`item ${k} was not let out at ${dueMs}`);
    }
    expect(queue.readyInMs(startMs)).toBeCloseTo(1000 / 3, 3);
  });

  it('gives the slot of one that left before its turn to the next', () => {
    const queue = leakyQueue<string>({ limit: 10, window: 1000, capacity: 10, clock: new TestClock() });
    const stop = new AbortController();
    queue.enqueue('a', { atMs: 0 });
    queue.enqueue('b', { atMs: 0, signal: stop.signal });
    queue.enqueue('c', { atMs: 0, deadlineMs: 150 });
    queue.enqueue('d', { atMs: 0 });
    expect(queue.dequeue(0)).toBe('a');
    stop.abort();
    expect(queue.size).toBe(2);
    expect(queue.readyInMs(60)).toBe(40);
    expect(queue.dequeue(150)).toBe('d');
  });

  it('takes no more than its capacity', () => {
    const queue = leakyQueue<string>({ limit: 1, window: 1000, capacity: 2, clock: new TestClock() });
    const shed: unknown[] = [];
    queue.on('shed', ({ task, policy }) => shed.push([task.task, policy]));
    expect([...'abc'].map((item) => queue.enqueue(item, { atMs: 0 }))).toEqual([true, true, false]);
    expect(shed).toEqual([['c', 'newest']]);
    expect(queue.dequeue(0)).toBe('a');
    expect(queue.enqueue('d', { atMs: 0 })).toBe(true);
  });

  it('runs tasks at a constant rate, whatever they take', async () => {
    const clock = new PassingClock();
    const queue = leakyQueue({ limit: 4, window: 1000, capacity: 10, clock });
    const starts: number[] = [];
    const all = [0, 1, 2, 3, 4].map((n) =>
      queue.run(async () => {
        starts.push(clock.now());
        await clock.sleep(600);
        return n;
      }),
    );
    await clock.pass(5000);
    expect(starts).toEqual([0, 250, 500, 750, 1000]);
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(clock.sleeping).toBe(0);
  });

  it('runs what is overdue at once after a timer that was late, and the rest at their slots', async () => {
    const clock = new TestClock();
    const queue = leakyQueue({ limit: 10, window: 1000, capacity: 10, clock });
    const starts: string[] = [];
    for (const name of 'abcde') queue.run(() => starts.push(`${name}@${clock.now()}`));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    for (const atMs of [250, 299, 300, 400]) {
      clock.set(atMs);
      await turn();
    }
    expect(starts).toEqual(['a@0', 'b@250', 'c@250', 'd@300', 'e@400']);
  });

  it('sees that a task keeps the thread: it is later then for those who begin after it', async () => {
    const clock = new TestClock();
    const queue = leakyQueue({ limit: 10, window: 1000, capacity: 10, clock });
    const log: string[] = [];
    const run = (name: string, busyMs: number, deadlineMs?: number) =>
      queue
        .run(
          () => {
            log.push(`${name}@${clock.now()}`);
            clock.advance(busyMs);
          },
          { deadlineMs },
        )
        .catch(({ code }) => log.push(`${name}: ${code}`));
    const all = [run('a', 0), run('b', 70), run('c', 0, 310), run('d', 0)];
    clock.set(250);
    await Promise.all(all);
    expect(log.sort()).toEqual(['a@0', 'b@250', 'c: task-expired', 'd@320']);
  });

  it('has one timer however many wait, and none when nobody does', async () => {
    const clock = new TestClock();
    const queue = leakyQueue({ limit: 1, window: 1000, capacity: 100, clock });
    const stop = new AbortController();
    const all = Array.from({ length: 50 }, (_, n) =>
      queue.run(() => n, { signal: stop.signal, deadlineMs: 10_000 + n }).catch(() => 'gone'),
    );
    expect(clock.sleeping).toBe(1);
    stop.abort(new Error('enough'));
    expect(clock.sleeping).toBe(0);
    expect((await Promise.all(all)).filter((end) => end === 'gone')).toHaveLength(49);
  });

  it.each([
    [{ limit: 1, window: 1000 }, 'capacity must be a whole number from 0 to 1000000, got undefined.'],
    [{ limit: 0, window: 1000, capacity: 1 }, 'limit must be a number above 0, got 0.'],
    [{ limit: 1, window: 'soon', capacity: 1 }, 'window must be a time above 0'],
    [{ limit: 1e-300, window: 1000, capacity: 1 }, 'window / limit must be at most 1125899906842624'],
    [{ limit: 1, window: 1000, capacity: 1, rate: 5 }, 'has no field "rate"'],
  ])('refuses %j', (options, message) => {
    expect(() => leakyQueue(options as never)).toThrow(message);
  });

  it('refuses an item with options that it has not', () => {
    const queue = leakyQueue({ limit: 1, window: 1000, capacity: 5 });
    expect(() => queue.enqueue('a', { priority: 1 } as never)).toThrow('a task has no field "priority"');
    expect(() => queue.dequeue(Number.NaN)).toThrow('atMs must be');
  });
});
