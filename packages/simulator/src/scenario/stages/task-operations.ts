/** What is done to the tasks of a group that wait, to a tenant, or to the scheduler itself, and what came of it. */
import { furthestPriority, type ScheduleOperation } from '../scenario.ts';
import type { World } from '../world.ts';
import type { OperationLog } from './operation-log.ts';
import type { Scheduling } from './scheduling.ts';
import type { Waiting, WaitingTasks } from './waiting-tasks.ts';

type TaskOperation = Extract<ScheduleOperation, { readonly of: string }>;

export interface TaskOperationsOptions {
  readonly scheduling: Scheduling;
  /** Absent where no operation is done to tasks. */
  readonly waitingTasks: WaitingTasks | undefined;
  readonly log: OperationLog;
  readonly world: World;
}

export function taskOperations(options: TaskOperationsOptions): (operation: ScheduleOperation) => void {
  const { scheduling, waitingTasks, log, world } = options;
  const { scheduler } = scheduling;

  function operateOnTask(operation: TaskOperation, task: Waiting): void {
    if ('by' in operation) {
      const priority = task.priority + (operation.do === 'boost' ? -operation.by : operation.by);
      // However often it is done: the library takes none that is further away.
      task.priority = Math.max(-furthestPriority, Math.min(furthestPriority, priority));
      scheduling.update!(task.id, { priority: task.priority });
    } else if (operation.do === 'remove') scheduling.remove!(task.id);
    else task.abort.abort(new Error('The scenario says so.'));
  }

  return (operation) => {
    switch (operation.do) {
      case 'boost':
      case 'demote':
      case 'remove':
      case 'abort': {
        const tasks = waitingTasks!.of(operation.of);
        for (const task of tasks) operateOnTask(operation, task);
        log.say(operation.do, tasks.length);
        return;
      }
      case 'block-tenant':
      case 'wake-tenant':
      case 'remove-tenant':
        log.say(operation.do, scheduling.operateOnTenant!(operation.do, operation.tenant));
        return;
      case 'close':
        log.say('close', scheduler.size);
        scheduler.close();
        return;
      case 'drain': {
        const fromMs = world.nowMs;
        void scheduler.drain().then(() => log.say('drain', `${Math.round(world.nowMs - fromMs)}ms`));
        return;
      }
      // Its clock knows of it from the beginning.
      case 'stall':
    }
  };
}
