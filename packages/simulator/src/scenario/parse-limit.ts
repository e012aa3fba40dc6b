/** The limits of a scenario: a policy, or a list of them that a call must pass all of. */
import { parsePolicy } from 'sluice';
import { isRecord, type Problems } from './problems.ts';
import type { Limit } from './scenario.ts';

const mostLimits = 100;

export function parseLimit(data: unknown, place: string, problems: Problems): readonly Limit[] {
  const list = Array.isArray(data) ? data : [data];
  if (list.length === 0 || list.length > mostLimits)
    problems.add(place, `must have from 1 to ${mostLimits} policies, got ${list.length}.`);
  return list.flatMap((each, i) => {
    const at = Array.isArray(data) ? `${place}[${i}]` : place;
    if (!isRecord(each)) {
      problems.wrong(at, 'a policy such as { algorithm: gcra, limit: 10, window: 1s }', each);
      return [];
    }
    const { per = 'key', ...fields } = each;
    const who = problems.choice(`${at}.per`, per, ['key', 'all']);
    const policy = problems.attempt(at, () => parsePolicy(fields));
    return policy ? [{ policy, per: who }] : [];
  });
}
