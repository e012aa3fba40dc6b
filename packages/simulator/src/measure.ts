/** What a history says about a limiter: plain functions over outcomes and grants. */
import type { Grant, Outcome } from './outcome.ts';

/** How many calls, by what was said to them. */
export interface Counts {
  readonly asked: number;
  readonly allowed: number;
  readonly refused: number;
  /** Those of the allowed that were told to wait. */
  readonly delayed: number;
  readonly delayMsMax: number;
  /** The longest wait that a refusal named; `Infinity` when one said "never". */
  readonly retryAfterMsMax: number;
}

/** The most cost in any window `(t - windowMs, t]`. The grants must be in the order of their times. */
export function worstWindow(grants: readonly Grant[], windowMs: number): number {
  let worst = 0;
  let inside = 0;
  let oldest = 0;
  // The worst window ends at a grant: one that ends later holds no more, and may have lost some.
  for (const [newest, { atMs, cost }] of grants.entries()) {
    if (newest > 0 && atMs < grants[newest - 1]!.atMs)
      throw new RangeError('Grants must be in the order of their times.');
    inside += cost;
    for (; atMs - grants[oldest]!.atMs >= windowMs; oldest += 1) inside -= grants[oldest]!.cost;
    worst = Math.max(worst, inside);
  }
  return worst;
}

/** What was let through, in the order in which it goes. */
export function grantsOf(history: readonly Outcome[]): Grant[] {
  return history
    .filter(({ decision }) => decision.allowed)
    .map(({ atMs, cost, decision }) => ({ atMs: atMs + decision.delayMs, cost }))
    .sort((a, b) => a.atMs - b.atMs);
}

/** The share of the asked cost that was refused, 0 to 1; 0 when nothing was asked. */
export function dropRatio(history: readonly Outcome[]): number {
  let asked = 0;
  let refused = 0;
  for (const { cost, decision } of history) {
    asked += cost;
    if (!decision.allowed) refused += cost;
  }
  return asked === 0 ? 0 : refused / asked;
}

/** How long it went well: the time from the first arrival to the first refusal, and what passed until then. */
export function untilFirstRefusal(history: readonly Outcome[]): { durationMs: number; passed: number } | undefined {
  let passed = 0;
  for (const { atMs, cost, decision } of history) {
    if (!decision.allowed) return { durationMs: atMs - history[0]!.atMs, passed };
    passed += cost;
  }
  return undefined;
}

export function countsOf(history: readonly Outcome[]): Counts {
  const counts = { asked: 0, allowed: 0, refused: 0, delayed: 0, delayMsMax: 0, retryAfterMsMax: 0 };
  for (const { decision } of history) {
    counts.asked += 1;
    counts[decision.allowed ? 'allowed' : 'refused'] += 1;
    if (decision.delayMs > 0) counts.delayed += 1;
    counts.delayMsMax = Math.max(counts.delayMsMax, decision.delayMs);
    counts.retryAfterMsMax = Math.max(counts.retryAfterMsMax, decision.retryAfterMs);
  }
  return counts;
}

/** The outcomes of each key, in the order in which the keys first appear. */
export function byKey(history: readonly Outcome[]): Map<string, Outcome[]> {
  const histories = new Map<string, Outcome[]>();
  for (const outcome of history) {
    const own = histories.get(outcome.key);
    if (own === undefined) histories.set(outcome.key, [outcome]);
    else own.push(outcome);
  }
  return histories;
}
