/** The three schedulers as one shape, for what all of them must do. */
import type { ProtectedCall } from '../protect/protection.ts';
import type { Clock } from '../vocabulary/clock.ts';
import { fairScheduler } from './fair/fair-scheduler.ts';
import { leakyQueue } from './leaky-queue/leaky-queue.ts';
import { priorityScheduler } from './priority/priority-scheduler.ts';
import type { Scheduler } from './runner.ts';
import type { SchedulerOptions, TaskOptions } from './settings.ts';

export interface AnyScheduler extends Scheduler {
  run<T>(task: ProtectedCall<T>, options?: TaskOptions): Promise<T>;
}

type Options = SchedulerOptions & { readonly clock: Clock };

/** Each under its own name. */
export const schedulers: readonly [name: string, make: (options: Options) => AnyScheduler][] = [
  ['priority scheduler', (options) => priorityScheduler(options)],
  ['fair scheduler', fairForOne],
  ['leaky queue', leakyWithoutRate],
];

function fairForOne(options: Options): AnyScheduler {
  const scheduler = fairScheduler(options);
  return withRun(scheduler, (task, taskOptions) => scheduler.run(task, { ...taskOptions, tenant: 'all' }));
}

// So far from 0 an interval as short as this is nothing: what is left of the leaky queue is its queue.
const farMs = 1e6;

function leakyWithoutRate(options: Options): AnyScheduler {
  const { clock } = options;
  const farClock: Clock = {
    now: () => clock.now() + farMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const queue = leakyQueue({
    limit: 2 ** 50,
    window: 1,
    capacity: 100_000,
    concurrency: 1,
    ...options,
    clock: farClock,
  });
  return withRun(queue, (task, { deadlineMs = Number.POSITIVE_INFINITY, ...rest } = {}) =>
    queue.run(task, { ...rest, deadlineMs: deadlineMs + farMs }),
  );
}

function withRun(scheduler: Scheduler, run: AnyScheduler['run']): AnyScheduler {
  return Object.assign(Object.create(scheduler) as AnyScheduler, { run });
}
