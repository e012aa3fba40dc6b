/** What the limit lets pass of what is asked. */
import { checksPerWindow } from './memory-need.ts';
import type { PlanQuestion } from './plan-question.ts';

/** Of all checks: as given, or what users ask beyond the limit. They are about equal, so those below it have nothing refused. */
export function refusedRatioOf(question: PlanQuestion): number {
  return question.refusedRatio ?? Math.max(0, 1 - question.policy.limit / checksPerWindow(question));
}

/** Of one key, however little is said to be refused. */
export function grantsPerKeySecond(question: PlanQuestion): number {
  const { checksPerSecond, users, policy } = question;
  const granted = (checksPerSecond / users) * (1 - refusedRatioOf(question));
  return Math.min(granted, (1000 * policy.limit) / policy.window);
}
