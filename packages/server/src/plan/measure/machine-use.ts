/** How much of this machine others use: what is measured meanwhile is measured against them. */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const lookMs = 500;

/** The share of all cores, 0 to 1, that are busy while this process does nothing. */
export async function busyWithOthers(): Promise<number> {
  const before = busyMs();
  const beginMs = performance.now();
  await sleep(lookMs);
  const elapsedMs = performance.now() - beginMs;
  return Math.min(1, Math.max(0, (busyMs() - before) / elapsedMs / availableParallelism()));
}

function busyMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}
