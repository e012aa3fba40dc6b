/**
 * A bucket with a hole: whatever comes in, in whatever bursts, leaves first in, first out and at a constant rate; what does not fit is
 * given up. `leaky-order.ts` says when the next may leave; this is the door to it.
 */
import { wholeNumber } from '../../protect/option-checks.ts';
import type { ProtectedCall } from '../../protect/protection.ts';
import type { Duration } from '../../vocabulary/duration.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import { knownFields, rateOf } from '../../vocabulary/policy.ts';
import { Runner, type Scheduler } from '../runner.ts';
import {
  checkCall,
  checkTask,
  mostRunning,
  mostWaiting,
  type PulledTaskOptions,
  type SchedulerOptions,
  settingsOf,
  type TaskOptions,
} from '../settings.ts';
import { LeakyOrder } from './leaky-order.ts';

export interface LeakyQueueOptions extends SchedulerOptions {
  /** How many leave per `window`: a number above 0. */
  readonly limit: number;
  /** Milliseconds, or text such as `'1s'`. */
  readonly window: Duration;
  /** How many may wait: 0 to 1,000,000. */
  readonly capacity: number;
  /** How many tasks of `run` may be under way at once. Default 1,000,000: the rate alone decides. */
  readonly concurrency?: number;
}

export interface LeakyQueue<T = unknown> extends Scheduler {
  /** Runs the task when its turn comes, and answers as it does. Throws `queue-full`, `task-expired` or `scheduler-closed` where it is not run. */
  run<R>(task: ProtectedCall<R>, options?: TaskOptions): Promise<R>;
  /** Whether the item was let in: not where too many wait, it is too late, aborted, or the queue is closed. */
  enqueue(item: T, options?: PulledTaskOptions): boolean;
  /** The first item, if it may leave by now; else `undefined`. Default: by the time of the clock. */
  dequeue(atMs?: number): T | undefined;
  /** How long until the first item may leave: 0 where it may, `Infinity` where there is none. */
  readyInMs(atMs?: number): number;
}

const fieldsOfRun = new Set(['deadlineMs', 'signal']);
const fieldsOfEnqueue = new Set([...fieldsOfRun, 'atMs']);
const noOptions = {};

export function leakyQueue<T = unknown>(options: LeakyQueueOptions): LeakyQueue<T> {
  knownFields('leakyQueue options', options, 'limit window capacity concurrency shed name clock');
  wholeNumber('capacity', options.capacity, 0, mostWaiting);
  const { limit, window } = rateOf(options);
  const order = new LeakyOrder(limit, window);
  const defaults = { noun: 'leaky queue', concurrency: mostRunning, capacity: 0 };
  const runner = new Runner(settingsOf(options, defaults, order));

  const methods: Omit<LeakyQueue<T>, 'size'> = {
    async run(task, taskOptions = noOptions) {
      checkCall(task);
      checkTask(taskOptions, fieldsOfRun);
      return runner.run(task, taskOptions, noOptions);
    },
    enqueue(item, taskOptions = noOptions) {
      checkTask(taskOptions, fieldsOfEnqueue);
      return runner.submit(item, taskOptions, noOptions) !== undefined;
    },
    dequeue: (atMs) => runner.next(atMs) as T | undefined,
    readyInMs(atMs) {
      const nowMs = runner.moments.now(atMs);
      runner.room.expire(nowMs);
      return Math.max(0, order.readyAtMs() - nowMs);
    },
    drain: () => runner.drain(),
    close: () => runner.close(),
    on: runner.on,
    stats: () => runner.stats(),
  };
  return withGetters<LeakyQueue<T>, 'size'>(methods, { size: () => runner.room.size });
}
