import type { Decision } from '../vocabulary/decision.ts';
import type { Row } from './case.ts';

/** What a limiter answers to the calls of a case, written as the case writes it: as much of each row as it has. */
export function answersTo(
  rows: readonly Row[],
  clock: { set(nowMs: number): void },
  limiter: { check(key: string, cost: number): Decision },
): Row[] {
  return rows.map((row) => {
    const [atMs, cost] = row;
    clock.set(atMs);
    const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs } = limiter.check('key', cost);
    return [atMs, cost, allowed, remaining, retryAfterMs, resetAfterMs, delayMs].slice(0, row.length) as unknown as Row;
  });
}
