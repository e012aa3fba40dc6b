import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { type PrioritySchedulerOptions, priorityScheduler } from './priority-scheduler.ts';

function begin(options: PrioritySchedulerOptions = {}) {
  const clock = new TestClock();
  return { clock, scheduler: priorityScheduler<string>({ clock, ...options }) };
}

/** Everything that waits, in the order of its turns. */
function order(scheduler: ReturnType<typeof begin>['scheduler'], atMs?: number): string {
  const turns: string[] = [];
  for (let task = scheduler.next(atMs); task; task = scheduler.next(atMs)) turns.push(task);
  return turns.join(' ');
}

describe('priorityScheduler', () => {
  it.each([
    // submitted, in this order       turns
    ['a0 b0 c0', 'a b c'], //         first come, first served among equals
    ['a2 b1 c0', 'c b a'], //         lower first
    ['a1 b0 c1 d0', 'b d a c'],
    ['a0 b-1 c-1000000 d0.5', 'c b a d'],
  ])('%s: lower number first, first come first served among equals', (submitted, turns) => {
    const { scheduler } = begin();
    for (const text of submitted.split(' ')) scheduler.submit(text[0]!, { priority: Number(text.slice(1)) });
    expect(order(scheduler)).toBe(turns);
  });

  it.each([
    // ageingMs 100: tasks as name, priority @ when they come                     turns
    ['old1@0 new0@99', 'new old'], //   one millisecond short of a priority
    ['old1@0 new0@100', 'old new'], //  worth as much, and came first
    ['old1@0 new0@101', 'old new'],
    ['old9@0 new0@899', 'new old'],
    ['old9@0 new0@901', 'old new'],
    ['a5@0 b4@50 c0@400 d9@0', 'c b a d'],
  ])('%s: after ageingMs of waiting a task is worth one priority more', (submitted, turns) => {
    const { scheduler } = begin({ ageingMs: 100 });
    for (const text of submitted.split(' ')) {
      const [, name, priority, atMs] = /^([a-z]+)(\d+)@(\d+)$/.exec(text)!;
      scheduler.submit(name!, { priority: Number(priority), atMs: Number(atMs) });
    }
    expect(order(scheduler, 1000)).toBe(turns);
  });

  it.each([0, 1.7e12, 9e13])(
    'with ever so little ageing, who comes at the same time goes by priority, at %d',
    (atMs) => {
      const { scheduler } = begin({ ageingMs: 1e-5 });
      for (const priority of [2, 0, 1]) scheduler.submit(`p${priority}`, { priority, atMs });
      expect(order(scheduler, atMs)).toBe('p0 p1 p2');
      scheduler.submit('later', { priority: 1, atMs: atMs + 1000 });
      scheduler.submit('sooner', { priority: 0, atMs: atMs + 1000 });
      expect(order(scheduler, atMs + 1000)).toBe('sooner later');
    },
  );

  it('without ageing lets nothing less important before what is more so, however long it has waited', () => {
    const { scheduler } = begin();
    scheduler.submit('old', { priority: 1, atMs: 0 });
    scheduler.submit('new', { priority: 0, atMs: 1e12 });
    expect(order(scheduler, 1e12)).toBe('new old');
  });

  it('boosts and demotes whoever waits; its place among equals is the one it came with', () => {
    const { scheduler } = begin();
    const [a, b, c] = ['a', 'b', 'c', 'd'].map((task) => scheduler.submit(task, { priority: 5 })!);
    expect(scheduler.update(c!, { priority: 1 })).toBe(true);
    expect(scheduler.update(a!, { priority: 9 })).toBe(true);
    expect(scheduler.next()).toBe('c');
    scheduler.update(a!, { priority: 5 });
    expect(order(scheduler)).toBe('a b d');
    expect(scheduler.update(b!, { priority: 1 })).toBe(false);
  });

  it('keeps what a task has gained by waiting when its priority changes', () => {
    const { scheduler } = begin({ ageingMs: 100 });
    const old = scheduler.submit('old', { priority: 5, atMs: 0 })!;
    scheduler.submit('new', { priority: 1, atMs: 350 });
    scheduler.update(old, { priority: 4 });
    expect(order(scheduler, 400)).toBe('old new');
  });

  it('removes by id, from anywhere, once', () => {
    const { scheduler } = begin();
    const ids = ['a', 'b', 'c'].map((task) => scheduler.submit(task)!);
    expect([scheduler.remove(ids[1]!), scheduler.remove(ids[1]!), scheduler.remove('nobody')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(scheduler.size).toBe(2);
    expect(order(scheduler)).toBe('a c');
  });

  it('calls a task by the name that it was given, which only one that waits may have', () => {
    const { scheduler } = begin();
    expect(scheduler.submit('a', { id: 'report' })).toBe('report');
    expect(() => scheduler.submit('b', { id: 'report' })).toThrow('id must be of no other task that waits');
    scheduler.next();
    expect(scheduler.submit('b', { id: 'report' })).toBe('report');
    expect(scheduler.submit('c')).toBeTypeOf('number');
  });

  it('hands nobody out who is too late, and lets nobody in', () => {
    const { scheduler } = begin();
    const expired: unknown[] = [];
    scheduler.on('expired', ({ task, lateMs }) => expired.push([task.task, lateMs]));
    scheduler.submit('a', { deadlineMs: 100, atMs: 0 });
    scheduler.submit('b', { deadlineMs: 50, atMs: 0 });
    scheduler.submit('c', { atMs: 0 });
    expect(scheduler.submit('d', { deadlineMs: 10, atMs: 10 })).toBeUndefined();
    expect(scheduler.next(99)).toBe('a'); // one millisecond before its deadline
    expect(scheduler.next(100)).toBe('c');
    expect(expired).toEqual([
      ['d', 0],
      ['b', 49],
    ]);
    expect(scheduler.stats()).toEqual({ waiting: 0, running: 0, shed: 0, expired: 2 });
  });

  it('takes deadlines by the clock, also by one that was set back', () => {
    const { clock, scheduler } = begin();
    clock.set(10_000);
    scheduler.submit('a', { deadlineMs: 10_100 });
    clock.set(5000);
    scheduler.submit('b', { deadlineMs: 5100 });
    clock.set(5099);
    expect(scheduler.size).toBe(2);
    expect(scheduler.next()).toBe('a');
    clock.set(5100);
    expect(scheduler.next()).toBeUndefined();
  });

  it('keeps nothing awake while it is pulled', () => {
    const { clock, scheduler } = begin();
    scheduler.submit('a', { deadlineMs: 100 });
    expect(clock.sleeping).toBe(0);
  });

  it('lets whoever is aborted leave from the middle', () => {
    const { scheduler } = begin();
    const stop = new AbortController();
    const removed: unknown[] = [];
    scheduler.on('removed', ({ task, reason }) => removed.push([task.task, reason]));
    scheduler.submit('a');
    scheduler.submit('b', { signal: stop.signal });
    scheduler.submit('c');
    stop.abort();
    expect(scheduler.submit('d', { signal: stop.signal })).toBeUndefined();
    expect(order(scheduler)).toBe('a c');
    expect(removed).toEqual([
      ['b', 'aborted'],
      ['d', 'aborted'],
    ]);
  });

  it('does not call a task refused that a listener has pulled as soon as it was told of it', () => {
    const { scheduler } = begin({ capacity: 1, shed: 'oldest' });
    const pulled: unknown[] = [];
    const leave = scheduler.on('queued', () => pulled.push(scheduler.next()));
    expect([scheduler.submit('a', { id: '1' }), pulled]).toEqual(['1', ['a']]);
    leave();
    // Whoever is told of one that is shed pulls the newcomer.
    scheduler.on('shed', () => pulled.push(scheduler.next()));
    scheduler.submit('b');
    expect([scheduler.submit('c', { id: '2' }), pulled]).toEqual(['2', ['a', 'c']]);
  });

  it('is either pulled or runs its tasks', async () => {
    const pulled = begin().scheduler;
    pulled.submit('a');
    await expect(pulled.run(() => 1)).rejects.toMatchObject({
      code: 'unsupported-operation',
      message: 'The priority scheduler is pulled, so it cannot be asked to run tasks as well.',
    });
    const running = begin({ name: 'mail' }).scheduler;
    await running.run(() => 1);
    expect(() => running.submit('a')).toThrow(
      'The priority scheduler "mail" runs its tasks, so it cannot be pulled as well.',
    );
    expect(() => running.next()).toThrow('cannot be pulled');
  });

  it('runs by priority, boosts a task that waits, and rejects one that is removed', async () => {
    const { scheduler } = begin();
    const log: string[] = [];
    const refused: string[] = [];
    const run = (name: string, priority: number) =>
      scheduler
        .run(
          async () => {
            log.push(name);
          },
          { priority, id: name },
        )
        .catch((error) => refused.push(`${name}: ${error.code}`));
    const all = [run('first', 9), run('a', 5), run('b', 5), run('c', 3), run('d', 4)];
    scheduler.update('b', { priority: 1 });
    scheduler.remove('d');
    await Promise.all(all);
    expect(log).toEqual(['first', 'b', 'c', 'a']);
    expect(refused).toEqual(['d: task-removed']);
  });

  it.each([
    [{ ageingMs: -1 }, 'ageingMs must be milliseconds from 0 to 1000000000, got -1.'],
    [{ ageingMs: Number.NaN }, 'ageingMs must be'],
    [{ ageingMs: '1s' }, 'ageingMs must be'],
    [{ concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000000, got 0.'],
    [{ capacity: -1 }, 'capacity must be a whole number from 0 to 1000000'],
    [{ shed: 'youngest' }, 'shed must be one of "newest", "oldest", "lowest-priority", got "youngest".'],
    [{ aging: 5 }, 'has no field "aging"'],
    [{ clock: {} }, 'clock must be'],
    [{ name: 5 }, 'name must be a string'],
    [5, 'what priorityScheduler options is given must be an object'],
  ])('refuses %j', (options, message) => {
    expect(() => priorityScheduler(options as never)).toThrow(message);
  });

  it.each([
    [{ priority: Number.NaN }, 'priority must be a number from -1000000 to 1000000, got NaN.'],
    [{ priority: 2e6 }, 'priority must be'],
    [{ priority: '1' }, 'priority must be'],
    [{ prio: 1 }, 'a task has no field "prio". It takes priority, deadlineMs, signal, id, atMs.'],
    [{ deadlineMs: Number.NaN }, 'deadlineMs must be milliseconds'],
    [{ signal: {} }, 'signal must be an AbortSignal'],
    [{ id: 5 }, 'id must be text'],
    [null, 'what a task is given must be an object'],
  ])('refuses a task with %j', (options, message) => {
    const { scheduler } = begin();
    expect(() => scheduler.submit('a', options as never)).toThrow(message);
    expect(scheduler.size).toBe(0);
  });

  it('refuses an update that says nothing, and a task that cannot be run', async () => {
    const { scheduler } = begin();
    expect(() => scheduler.update(1, {} as never)).toThrow('priority must be');
    expect(() => scheduler.update(1, { prio: 1 } as never)).toThrow('has no field "prio"');
    await expect(scheduler.run('a' as never)).rejects.toThrow('task must be a function');
    await expect(scheduler.run(() => 1, { atMs: 5 } as never)).rejects.toThrow('a task has no field "atMs"');
  });
});
