/** What all schedulers can be told, and what can be told of a task. */
import { clockOf, nameOf, wholeNumber } from '../protect/option-checks.ts';
import { type Clock, checkTime } from '../vocabulary/clock.ts';
import { invalid } from '../vocabulary/errors.ts';
import { knownFields, oneOf } from '../vocabulary/policy.ts';
import type { Order } from './order.ts';

/** Who is given up when there are too many: the newcomer, who has waited for longest, or who would go last. */
export type ShedPolicy = 'newest' | 'oldest' | 'lowest-priority';

export const shedPolicies: readonly ShedPolicy[] = ['newest', 'oldest', 'lowest-priority'];

export interface SchedulerOptions {
  /** How many tasks of `run` may be under way at once: 1 to 1,000,000. */
  readonly concurrency?: number;
  /** How many may wait: 0 to 1,000,000. */
  readonly capacity?: number;
  /** Who is given up when more would wait. Default `newest`. */
  readonly shed?: ShedPolicy;
  /** Named in errors. Default: no name. */
  readonly name?: string;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

/** What can be said of one task, whatever the scheduler. */
export interface TaskOptions {
  /** By when it must have begun, as a time of the clock. At that moment it is too late. Default: it can wait for ever. */
  readonly deadlineMs?: number | undefined;
  /** While it waits: takes it out. While it runs: passed on to it. */
  readonly signal?: AbortSignal | undefined;
}

export interface PulledTaskOptions extends TaskOptions {
  /** When it comes. Default: now, by the clock. */
  readonly atMs?: number | undefined;
}

export interface SchedulerSettings {
  /** What it is called in errors, with its name. */
  readonly title: string;
  readonly order: Order;
  readonly concurrency: number;
  readonly capacity: number;
  readonly shed: ShedPolicy;
  readonly clock: Clock;
}

export const mostWaiting = 1_000_000;
export const mostRunning = 1_000_000;

export interface SchedulerDefaults {
  readonly noun: string;
  readonly concurrency: number;
  readonly capacity: number;
}

export function settingsOf(options: SchedulerOptions, defaults: SchedulerDefaults, order: Order): SchedulerSettings {
  const name = nameOf(options.name);
  return {
    title: `The ${defaults.noun}${name && ` "${name}"`}`,
    order,
    concurrency: wholeNumber('concurrency', options.concurrency ?? defaults.concurrency, 1, mostRunning),
    capacity: wholeNumber('capacity', options.capacity ?? defaults.capacity, 0, mostWaiting),
    shed: oneOf('shed', options.shed, shedPolicies) ?? 'newest',
    clock: clockOf(options.clock),
  };
}

/** Refuses options of a task that it has not, and values that cannot be. Asked for every task, so it makes nothing. */
export function checkTask(options: TaskOptions, fields: ReadonlySet<string>): void {
  for (const field in options) if (!fields.has(field)) knownFields('a task', options, [...fields].join(' '));
  if (typeof options !== 'object' || options === null) knownFields('a task', options, [...fields].join(' '));
  const { deadlineMs, signal } = options;
  if (deadlineMs !== undefined && deadlineMs !== Number.POSITIVE_INFINITY) checkTime(deadlineMs, 'deadlineMs');
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function')
    throw invalid('signal', 'an AbortSignal', signal);
}

export function checkCall(task: unknown): void {
  if (typeof task !== 'function') throw invalid('task', 'a function', task);
}
