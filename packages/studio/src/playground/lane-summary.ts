/** A lane in a sentence, for those who do not see its picture. */
import type { AlgorithmName } from './algorithms.ts';
import type { Lane } from './engine.ts';
import type { Settings } from './settings.ts';
import { durationText } from './time-text.ts';

export function summaryOf(
  { name, counts, worst }: Pick<Lane, 'name' | 'counts' | 'worst'>,
  settings: Settings,
): string {
  const waited = counts.delayed === 0 ? '' : ` (${counts.delayed} of them delayed)`;
  const what =
    name === 'concurrency' ? 'most in flight at once' : `most in any ${durationText(settings.windowMs)} so far`;
  return `${counts.allowed} allowed${waited}, ${counts.refused} refused; ${what}: ${worst.most} of ${limitOf(name, settings)}.`;
}

/** What the worst of a lane is measured by. */
export function limitOf(name: AlgorithmName, { limit, inFlight }: Settings): number {
  return name === 'concurrency' ? inFlight : limit;
}
