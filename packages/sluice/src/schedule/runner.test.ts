import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PassingClock, turn } from '../protect/passing-clock.test-support.ts';
import { TestClock } from '../testing/test-clock.ts';
import { schedulers } from './schedulers.test-support.ts';
import type { SchedulerOptions, ShedPolicy } from './settings.ts';
import { schedulerEvents } from './waiting-room.ts';

describe.each(schedulers)('the %s', (noun, make) => {
  function begin(options: SchedulerOptions = {}) {
    const clock = new PassingClock();
    const scheduler = make({ clock, ...options });
    const log: string[] = [];
    /** Runs a task that takes so long, and writes down when it began and what became of it. */
    const run = (name: string, tookMs: number, taskOptions = {}) =>
      scheduler
        .run(async () => {
          log.push(`${name} began at ${clock.now()}`);
          await clock.sleep(tookMs);
          return name;
        }, taskOptions)
        .catch((error) => {
          log.push(`${name}: ${error.code ?? error.message}`);
          return undefined;
        });
    return { clock, scheduler, log, run };
  }

  it('runs a task at once where a place is free, and answers as it does', async () => {
    const { scheduler } = begin();
    let hasBegun = false;
    const answer = scheduler.run(() => {
      hasBegun = true;
      return 5;
    });
    expect(hasBegun).toBe(true);
    expect(await answer).toBe(5);
    await expect(scheduler.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    const thrown = scheduler.run(() => {
      throw new Error('at once');
    });
    await expect(thrown).rejects.toThrow('at once');
  });

  it('has no more under way than it may, and begins the next as soon as one has ended', async () => {
    const { clock, log, run, scheduler } = begin({ concurrency: 2 });
    run('a', 100);
    run('b', 30);
    run('c', 30);
    run('d', 10);
    expect(scheduler.stats()).toMatchObject({ running: 2, waiting: 2 });
    expect(scheduler.size).toBe(2);
    await clock.pass(200);
    expect(log).toEqual(['a began at 0', 'b began at 0', 'c began at 30', 'd began at 60']);
  });

  it('tells the error of a task to whoever waits for that task, and goes on', async () => {
    const { scheduler } = begin();
    const first = scheduler.run(() => Promise.reject(new Error('down')));
    const second = scheduler.run(() => 'fine');
    await expect(first).rejects.toThrow('down');
    expect(await second).toBe('fine');
  });

  it('lets whoever is aborted while it waits leave at once, with the reason of the signal', async () => {
    const { clock, log, run, scheduler } = begin();
    const stop = new AbortController();
    run('a', 100);
    run('b', 10, { signal: stop.signal });
    run('c', 10);
    stop.abort(new Error('enough'));
    expect(scheduler.size).toBe(1);
    await clock.pass(200);
    expect(log).toEqual(['a began at 0', 'b: enough', 'c began at 100']);
    await expect(scheduler.run(() => 1, { signal: stop.signal })).rejects.toThrow('enough');
  });

  it('passes the signal on to a task that runs, and leaves it at that', async () => {
    const { scheduler } = begin();
    const stop = new AbortController();
    let seen: AbortSignal | undefined;
    let end: (value: string) => void = () => {};
    const answer = scheduler.run(
      (signal) => {
        seen = signal;
        return new Promise<string>((resolve) => {
          end = resolve;
        });
      },
      { signal: stop.signal },
    );
    stop.abort();
    expect(seen?.aborted).toBe(true);
    expect(scheduler.stats().running).toBe(1);
    end('all the same');
    expect(await answer).toBe('all the same');
  });

  it('listens to a signal only while somebody waits, and once however many do', async () => {
    const { clock, run } = begin();
    const { signal } = new AbortController();
    const all = Array.from({ length: 20 }, () => run('x', 1, { signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.pass(100);
    await Promise.all(all);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('drops whoever has not begun by its deadline, when the time comes and not when a place is free', async () => {
    const { clock, log, run, scheduler } = begin();
    run('a', 1000);
    run('b', 10, { deadlineMs: 500 });
    run('c', 10, { deadlineMs: 1000 }); // at its deadline it is too late
    run('d', 10, { deadlineMs: 1001 });
    await clock.pass(499);
    expect(log).toEqual(['a began at 0']);
    await clock.pass(1);
    expect(log).toEqual(['a began at 0', 'b: task-expired']);
    await clock.pass(1000);
    expect(log.slice(2).sort()).toEqual(['c: task-expired', 'd began at 1000']);
    expect(scheduler.stats().expired).toBe(2);
  });

  it('does not begin what is too late already, free place or not', async () => {
    const { clock, log, run, scheduler } = begin({ name: 'mail' });
    clock.set(100);
    await run('a', 10, { deadlineMs: 100 });
    expect(log).toEqual(['a: task-expired']);
    await expect(scheduler.run(() => 1, { deadlineMs: 5 })).rejects.toThrow(
      `The ${noun} "mail" could not begin the task before its deadline.`,
    );
  });

  it('lets a task that has begun in time take as long as it takes', async () => {
    const { clock, run } = begin();
    const a = run('a', 1000, { deadlineMs: 1 });
    await clock.pass(1000);
    expect(await a).toBe('a');
  });

  it('keeps to deadlines by a clock that is set back', async () => {
    const clock = new TestClock(10_000);
    const scheduler = make({ clock });
    scheduler.run(() => new Promise(() => {}));
    let error: unknown;
    scheduler
      .run(() => 1, { deadlineMs: 10_100 })
      .catch((caught) => {
        error = caught;
      });
    clock.set(5000);
    scheduler.run(() => 2, { deadlineMs: 5200 }).catch(() => {});
    await turn();
    expect([error, scheduler.size]).toEqual([undefined, 2]);
    clock.set(5100);
    scheduler.run(() => 3).catch(() => {});
    await turn();
    // A hundred milliseconds have passed, whatever the clock was set to.
    expect(error).toMatchObject({ code: 'task-expired' });
    expect(scheduler.size).toBe(2);
  });

  it.each<[ShedPolicy, string[]]>([
    ['newest', ['c: queue-full', 'd: queue-full', 'b began at 10']],
    ['oldest', ['b: queue-full', 'c: queue-full', 'd began at 10']],
    ['lowest-priority', ['c: queue-full', 'd: queue-full', 'b began at 10']], // equals: who came last would go last
  ])('gives up the %s where more would wait than may', async (shed, expected) => {
    const { clock, log, run, scheduler } = begin({ capacity: 1, shed });
    const events: unknown[] = [];
    scheduler.on('shed', ({ policy }) => events.push(policy));
    for (const name of 'abcd') run(name, 10);
    await clock.pass(100);
    expect(log).toEqual(['a began at 0', ...expected]);
    expect(events).toEqual([shed, shed]);
    expect(scheduler.stats().shed).toBe(2);
  });

  it('says that it is full, and how many may wait', async () => {
    const { run, scheduler } = begin({ capacity: 1, name: 'mail' });
    run('a', 10);
    run('b', 10);
    await expect(scheduler.run(() => 1)).rejects.toThrow(`The ${noun} "mail" is full: no more than 1 may wait.`);
  });

  it('lets nobody wait where the capacity is 0, and sheds nobody while a place is free', async () => {
    const { clock, log, run } = begin({ capacity: 0, concurrency: 2 });
    for (const name of 'abc') run(name, 10);
    await clock.pass(10);
    run('d', 10);
    await clock.pass(10);
    expect(log).toEqual(['a began at 0', 'b began at 0', 'c: queue-full', 'd began at 10']);
  });

  it('a newcomer takes no room from those who are too late, whether or not a timer has said so', async () => {
    const clock = new TestClock();
    const scheduler = make({ clock, capacity: 1 });
    scheduler.run(() => new Promise(() => {}));
    const late = scheduler.run(() => 1, { deadlineMs: 10 }).catch((error) => error.code);
    clock.set(10);
    const newcomer = scheduler.run(() => 2).catch((error) => error.code);
    expect(await late).toBe('task-expired');
    expect(scheduler.size).toBe(1);
    scheduler.close();
    expect(await newcomer).toBe('scheduler-closed');
  });

  it('drains: resolves when nothing is under way and nobody waits', async () => {
    const { clock, run, scheduler } = begin();
    await scheduler.drain();
    const stop = new AbortController();
    run('a', 50);
    run('b', 50);
    run('c', 50, { signal: stop.signal });
    let isDrained = false;
    const drained = scheduler.drain().then(() => {
      isDrained = true;
    });
    await clock.pass(99);
    stop.abort(new Error('enough'));
    expect(isDrained).toBe(false);
    await clock.pass(1);
    await drained;
    expect(isDrained).toBe(true);
    // It closes nothing.
    expect(await scheduler.run(() => 1)).toBe(1);
  });

  it('closes: refuses newcomers and whoever waits, and lets what runs go on', async () => {
    const { clock, log, run, scheduler } = begin({ name: 'mail' });
    const a = run('a', 50);
    run('b', 50);
    scheduler.close();
    expect(scheduler.stats()).toMatchObject({ waiting: 0, running: 1 });
    await expect(scheduler.run(() => 1)).rejects.toThrow(`The ${noun} "mail" is closed.`);
    const drained = scheduler.drain();
    await clock.pass(100);
    await drained;
    expect(await a).toBe('a');
    expect(log).toEqual(['a began at 0', 'b: scheduler-closed']);
    scheduler.close();
  });

  it('drains also where the last of those who wait is taken out', async () => {
    const { clock, run, scheduler } = begin();
    const stop = new AbortController();
    run('a', 10);
    run('b', 10, { signal: stop.signal });
    const drained = scheduler.drain();
    await clock.pass(5);
    stop.abort();
    await clock.pass(5);
    await drained;
  });

  it('tells what happens, in order', async () => {
    const { clock, run, scheduler } = begin({ capacity: 2 });
    const told: string[] = [];
    for (const name of schedulerEvents)
      scheduler.on(name, ({ task, ...rest }) => {
        told.push(`${clock.now()} ${name} ${task.id} ${JSON.stringify(rest)}`);
      });
    const stop = new AbortController();
    run('a', 10);
    run('b', 10, { deadlineMs: 5 });
    run('c', 10, { signal: stop.signal });
    run('d', 10);
    stop.abort();
    run('e', 10);
    await clock.pass(15);
    scheduler.run(() => Promise.reject(new Error('down'))).catch(() => {});
    await clock.pass(20);
    expect(told).toEqual([
      '0 started 1 {"waitedMs":0,"running":1}',
      '0 queued 2 {"waiting":1}',
      '0 queued 3 {"waiting":2}',
      '0 shed 4 {"policy":"newest"}',
      '0 removed 3 {"reason":"aborted"}',
      '0 queued 5 {"waiting":2}',
      '5 expired 2 {"lateMs":0}',
      '10 started 5 {"waitedMs":10,"running":1}',
      '10 ended 1 {"outcome":"ok","durationMs":10}',
      '15 queued 6 {"waiting":1}',
      '20 started 6 {"waitedMs":5,"running":1}',
      '20 ended 5 {"outcome":"ok","durationMs":10}',
      '20 ended 6 {"outcome":"failed","durationMs":0}',
    ]);
  });

  it('tells nobody who does not listen any more, and refuses an event that it has not', () => {
    const { run, scheduler } = begin();
    let told = 0;
    const leave = scheduler.on('started', () => {
      told += 1;
    });
    run('a', 10);
    leave();
    run('b', 10);
    expect(told).toBe(1);
    expect(() => scheduler.on('finished' as never, () => {})).toThrow('event must be one of queued, started');
  });

  it('survives listeners that run, remove and close while they are told', async () => {
    const { clock, log, run, scheduler } = begin({ capacity: 1, shed: 'oldest' });
    let more = 3;
    scheduler.on('shed', () => {
      more -= 1;
      if (more > 0) run(`more ${more}`, 10);
      else scheduler.close();
    });
    for (const name of 'abcd') run(name, 10);
    await clock.pass(100);
    expect(scheduler.stats()).toMatchObject({ waiting: 0, running: 0 });
    // Everybody got exactly one answer.
    const names = log.map((entry) => entry.split(/:| began/)[0]);
    expect(names.sort()).toEqual(['a', 'b', 'c', 'd', 'more 1', 'more 2']);
  });

  it('lets nobody leave twice, whatever a listener does who is told of another', async () => {
    const { clock, log, run, scheduler } = begin();
    const stop = new AbortController();
    const reasons: string[] = [];
    scheduler.on('removed', ({ reason }) => {
      reasons.push(reason);
      stop.abort(new Error('enough'));
    });
    run('a', 10);
    run('b', 10);
    run('c', 10, { signal: stop.signal });
    scheduler.close();
    await clock.pass(10);
    expect(reasons).toEqual(['closed', 'aborted']);
    expect(log).toEqual(['a began at 0', 'b: scheduler-closed', 'c: enough']);
  });

  it('runs tasks that bring more tasks with them', async () => {
    const { scheduler } = begin({ capacity: 0, concurrency: 3 });
    const inner: Promise<number>[] = [];
    const outer = scheduler.run(() => {
      inner.push(scheduler.run(() => 1));
      inner.push(scheduler.run(() => 2));
      return 0;
    });
    expect(await Promise.all([outer, ...inner])).toEqual([0, 1, 2]);
  });

  it('has one timer for all deadlines, and none when nobody waits', async () => {
    const { clock, run, scheduler } = begin();
    const stop = new AbortController();
    let end = () => {};
    scheduler.run(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    for (let n = 0; n < 50; n += 1) run('x', 0, { deadlineMs: 1000 - n, signal: stop.signal });
    expect(clock.sleeping).toBe(1);
    stop.abort();
    expect(clock.sleeping).toBe(0);
    end();
    await turn();
    expect(scheduler.stats()).toMatchObject({ running: 0, waiting: 0 });
  });

  it('takes no longer for a long queue than for a short one', async () => {
    const scheduler = make({ clock: new TestClock(), capacity: 100_000, shed: 'oldest' });
    const { signal } = new AbortController();
    let sum = 0;
    const all = Array.from({ length: 30_000 }, (_, n) =>
      scheduler.run(
        () => {
          sum += n;
        },
        { signal, deadlineMs: 1000 + n },
      ),
    );
    await Promise.all(all);
    expect(sum).toBe((30_000 * 29_999) / 2);
  });
});
