/** What each operation is done to: who reads a scenario asks whether it has that, who runs it whom to tell. */
import type { LimitOperation, Operation, ScheduleOperation } from './scenario.ts';

/** One limit, places of a limit, the clock of all limits; any scheduler, or one of that kind. */
export type OperationTarget = 'limit' | 'places' | 'clock' | 'schedule' | 'priority' | 'fair';

const limitTargets: Readonly<Record<LimitOperation['do'], OperationTarget>> = {
  peek: 'limit',
  penalize: 'limit',
  reward: 'limit',
  take: 'limit',
  reset: 'limit',
  block: 'limit',
  reserve: 'limit',
  release: 'places',
  'set-clock': 'clock',
};

const scheduleTargets: Readonly<Record<ScheduleOperation['do'], OperationTarget>> = {
  boost: 'priority',
  demote: 'priority',
  remove: 'priority',
  abort: 'schedule',
  'block-tenant': 'fair',
  'wake-tenant': 'fair',
  'remove-tenant': 'fair',
  drain: 'schedule',
  close: 'schedule',
  stall: 'schedule',
};

export const operationTargets: Readonly<Record<Operation['do'], OperationTarget>> = {
  ...limitTargets,
  ...scheduleTargets,
};

export function isScheduleOperation(operation: LimitOperation | ScheduleOperation): operation is ScheduleOperation {
  return Object.hasOwn(scheduleTargets, operation.do);
}
