/** The scheduler of a scenario: the library's, and what can be done to those who wait in it. */
import type { Clock } from 'sluice';
import { fairScheduler, leakyQueue, priorityScheduler, type Scheduler } from 'sluice/schedule';
import type { Call } from '../calls.ts';
import type { Schedule } from '../scenario.ts';
import type { Waiting } from './waiting-tasks.ts';

/** Ends when the call has: whoever runs it holds its place for so long. */
export type Work = () => Promise<void>;

export interface Scheduling {
  readonly scheduler: Scheduler;
  /** Runs the work when the call's turn comes. Without a task, nothing can be done to it while it waits. */
  readonly run: (call: Call, task: Waiting | undefined, work: Work) => Promise<void>;
  /** Those of the kind of scheduler that has them. */
  readonly update?: (id: string, changes: { readonly priority: number }) => boolean;
  readonly remove?: (id: string) => boolean;
  readonly operateOnTenant?: (name: 'block-tenant' | 'wake-tenant' | 'remove-tenant', tenant: string) => boolean;
}

export function schedulingOf(schedule: Schedule, clock: Clock): Scheduling {
  const common = ({ source }: Call, task: Waiting | undefined) => {
    const withinMs = source.deadlineMs ?? schedule.deadlineMs;
    return {
      deadlineMs: withinMs === undefined ? undefined : clock.now() + withinMs,
      signal: task?.abort.signal,
    };
  };
  if (schedule.kind === 'priority') {
    const scheduler = priorityScheduler({ ...schedule.options, clock });
    return {
      scheduler,
      run: (call, task, work) =>
        scheduler.run(work, { ...common(call, task), priority: call.source.priority, id: task?.id }),
      update: scheduler.update,
      remove: scheduler.remove,
    };
  }
  if (schedule.kind === 'fair') {
    const scheduler = fairScheduler({ ...schedule.options, clock });
    for (const [tenant, share] of Object.entries(schedule.tenants)) scheduler.add(tenant, share);
    return {
      scheduler,
      run: (call, task, work) => scheduler.run(work, { ...common(call, task), tenant: call.key }),
      operateOnTenant(name, tenant) {
        if (name === 'block-tenant') return scheduler.block(tenant);
        return name === 'wake-tenant' ? scheduler.wake(tenant) : scheduler.remove(tenant);
      },
    };
  }
  const scheduler = leakyQueue({ ...schedule.options, clock });
  return { scheduler, run: (call, task, work) => scheduler.run(work, common(call, task)) };
}
