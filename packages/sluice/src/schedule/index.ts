export {
  type FairScheduler,
  type FairSchedulerOptions,
  type FairSchedulerStats,
  type FairTaskOptions,
  fairScheduler,
  type TenantView,
} from './fair/fair-scheduler.ts';
export type { TenantShare } from './fair/weight.ts';
export { type LeakyQueue, type LeakyQueueOptions, leakyQueue } from './leaky-queue/leaky-queue.ts';
export type { ScheduledTask, TaskId } from './order.ts';
export {
  type PriorityScheduler,
  type PrioritySchedulerOptions,
  type PriorityTaskOptions,
  priorityScheduler,
} from './priority/priority-scheduler.ts';
export type { Scheduler, SchedulerStats } from './runner.ts';
export type { PulledTaskOptions, SchedulerOptions, ShedPolicy, TaskOptions } from './settings.ts';
export type { SchedulerEvents } from './waiting-room.ts';
