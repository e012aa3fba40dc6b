/**
 * What matters more goes first, and what matters less goes too: lower number first, first come first served among equals, and waiting
 * counts. `priority-order.ts` says who is before whom; this is the door to it.
 */
import { within } from '../../protect/option-checks.ts';
import type { ProtectedCall } from '../../protect/protection.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import { knownFields } from '../../vocabulary/policy.ts';
import type { TaskId } from '../order.ts';
import { Runner, type Scheduler } from '../runner.ts';
import {
  checkCall,
  checkTask,
  type PulledTaskOptions,
  type SchedulerOptions,
  settingsOf,
  type TaskOptions,
} from '../settings.ts';
import { PriorityOrder } from './priority-order.ts';

export interface PrioritySchedulerOptions extends SchedulerOptions {
  /**
   * After so many milliseconds of waiting a task is worth one priority more than a newcomer, so that none starves: 0 to 1e9. Default 0:
   * priority is strict, and whatever keeps coming before a task keeps it waiting.
   */
  readonly ageingMs?: number;
  /** How many tasks of `run` may be under way at once. Default 1. */
  readonly concurrency?: number;
  /** How many may wait, at most 1,000,000. Default 100,000. */
  readonly capacity?: number;
}

export interface PriorityTaskOptions extends TaskOptions {
  /** Lower goes first: any number from -1,000,000 to 1,000,000. Default 0. */
  readonly priority?: number | undefined;
  /** What to call it in `update` and `remove`: text that no other waiting task has. Default: a number of the scheduler's. */
  readonly id?: string | undefined;
}

export interface PriorityScheduler<T = unknown> extends Scheduler {
  /** Runs the task when its turn comes, and answers as it does. Throws `queue-full`, `task-expired`, `task-removed` or `scheduler-closed` where it is not run. */
  run<R>(task: ProtectedCall<R>, options?: PriorityTaskOptions): Promise<R>;
  /** Lets a task in that `next` will hand out. Its id; `undefined` where it was not let in (too many wait, too late, aborted, closed). */
  submit(task: T, options?: PriorityTaskOptions & PulledTaskOptions): TaskId | undefined;
  /** The task whose turn it is, taken out; `undefined` where nobody waits. Default: by the time of the clock. */
  next(atMs?: number): T | undefined;
  /** Another priority for a task that waits: it moves as if it had come with it. False where none waits by that id. */
  update(id: TaskId, changes: { readonly priority: number }): boolean;
  /** Takes a task out that waits. False where none waits by that id. */
  remove(id: TaskId): boolean;
}

const longestAgeingMs = 1e9;
const furthestPriority = 1e6;
const fieldsOfRun = new Set(['priority', 'deadlineMs', 'signal', 'id']);
const fieldsOfSubmit = new Set([...fieldsOfRun, 'atMs']);
const noOptions = {};

export function priorityScheduler<T = unknown>(options: PrioritySchedulerOptions = {}): PriorityScheduler<T> {
  knownFields('priorityScheduler options', options, 'ageingMs concurrency capacity shed name clock');
  const { ageingMs = 0 } = options;
  within(
    'ageingMs',
    ageingMs,
    ageingMs >= 0 && ageingMs <= longestAgeingMs,
    `milliseconds from 0 to ${longestAgeingMs}`,
  );
  const order = new PriorityOrder(ageingMs, options.shed === 'lowest-priority');
  const defaults = { noun: 'priority scheduler', concurrency: 1, capacity: 100_000 };
  const runner = new Runner(settingsOf(options, defaults, order));

  const methods: Omit<PriorityScheduler<T>, 'size'> = {
    async run(task, taskOptions = noOptions) {
      checkCall(task);
      return runner.run(task, taskOptions, claimsOf(taskOptions, fieldsOfRun));
    },
    submit: (task, taskOptions = noOptions) => runner.submit(task, taskOptions, claimsOf(taskOptions, fieldsOfSubmit)),
    next: (atMs) => runner.next(atMs) as T | undefined,
    update(id, changes) {
      knownFields('what update is given', changes, 'priority');
      const priority = priorityOf(changes.priority);
      const waiting = runner.room.find(id);
      if (waiting) order.changePriority(waiting, priority);
      return waiting !== undefined;
    },
    remove: (id) => runner.remove(id),
    drain: () => runner.drain(),
    close: () => runner.close(),
    on: runner.on,
    stats: () => runner.stats(),
  };
  return withGetters<PriorityScheduler<T>, 'size'>(methods, { size: () => runner.room.size });
}

function claimsOf(options: PriorityTaskOptions, fields: ReadonlySet<string>) {
  checkTask(options, fields);
  const { id, priority = 0 } = options;
  if (id !== undefined && typeof id !== 'string') throw invalid('id', 'text', id);
  return { id, priority: priorityOf(priority) };
}

function priorityOf(priority: number): number {
  const isPriority = priority >= -furthestPriority && priority <= furthestPriority;
  return within('priority', priority, isPriority, `a number from -${furthestPriority} to ${furthestPriority}`);
}
