/**
 * The promise of a key whose budget others change: a reset frees all that was used, a reward so much of it, a penalty takes as if it were a use.
 *
 *      use  use  │reward│  use  use  penalty  use
 *      └──────────────── a stretch ───────────┘   used + taken  ≤  what the policy allows in it + freed
 *
 * Slower than the auditor's meters, and told of few keys: every stretch is looked at.
 */
import type { Policy } from 'sluice';
import type { Violation } from 'sluice/testing';
import type { Intervention, Use } from './ledger.ts';
import { isLeased } from './simulated-node.ts';

export interface BudgetOptions {
  readonly policy: Policy;
  /** What a reset frees, at most. */
  readonly most: number;
  /** How much later than it was granted something may be used: what was granted before a reset may be used after it. */
  readonly graceMs: number;
  /** Whether a penalty may be forgotten by those who have lost a state. */
  readonly isForgetful: boolean;
}

type Excess = Omit<Violation, 'key'>;

const roundingError = 1e-6;

/** The first stretch in which a key had too much; the uses are of one key, in order of time. */
export function overBudget(
  uses: readonly Use[],
  interventions: readonly Intervention[],
  options: BudgetOptions,
): Excess | undefined {
  const freed = interventions.filter(({ operation }) => operation === 'reset' || operation === 'reward');
  const freedIn = (fromMs: number, toMs: number) =>
    sumOf(
      freed.filter((one) => one.fromMs <= toMs && one.toMs >= fromMs - options.graceMs),
      ({ operation, cost }) => (operation === 'reset' ? options.most : cost),
    );
  if (isLeased(options.policy)) return tooManyHeld(uses, freedIn, options.policy);
  const taken = interventions.filter(({ operation }) => operation === 'penalize');
  const resets = freed.filter(({ operation }) => operation === 'reset');
  const isTakenFor = (penalty: Intervention, use: Use) =>
    // Who has lost a state may have forgotten it, and so has everybody after a reset.
    !(options.isForgetful && penalty.statesLost !== use.statesLost) &&
    !resets.some(({ fromMs, toMs }) => toMs >= penalty.fromMs && fromMs <= use.atMs);
  const starts = [...uses.map(({ atMs }) => atMs), ...taken.map(({ fromMs }) => fromMs)];
  for (const startMs of starts) {
    const since = taken.filter(({ fromMs }) => fromMs >= startMs);
    const takenFor = (use: Use, askedMs: number) =>
      sumOf(
        since.filter((one) => one.toMs <= askedMs && isTakenFor(one, use)),
        ({ cost }) => cost,
      );
    const found = excessFrom(startMs, uses, takenFor, freedIn, options.policy);
    if (found) return found;
  }
  return undefined;
}

/** The stretches that begin then, each up to a use: what was taken later is for the next to make up for. */
function excessFrom(
  startMs: number,
  uses: readonly Use[],
  takenFor: (use: Use, askedMs: number) => number,
  freedIn: (fromMs: number, toMs: number) => number,
  { limit, window = 0, burst }: Policy,
): Excess | undefined {
  let used = 0;
  let askedMs = Number.NEGATIVE_INFINITY;
  for (const use of uses) {
    const passedMs = use.atMs - startMs;
    if (passedMs < 0) continue;
    if (burst === undefined && passedMs >= window) break;
    used += use.cost;
    // The last of them was decided no earlier, and what was taken by then was known.
    askedMs = Math.max(askedMs, use.askedMs);
    const all = used + takenFor(use, askedMs);
    const allowed = burst === undefined ? limit : burst + (limit / window) * passedMs;
    if (all <= allowed + roundingError) continue;
    const most = allowed + freedIn(startMs, use.atMs);
    if (all > most + roundingError) return { fromMs: startMs, toMs: use.atMs, used: all, limit: most };
  }
  return undefined;
}

function tooManyHeld(
  uses: readonly Use[],
  freedIn: (fromMs: number, toMs: number) => number,
  { limit }: Policy,
): Excess | undefined {
  for (const { atMs } of uses) {
    const held = uses.filter((use) => use.atMs <= atMs && use.endMs! > atMs);
    const used = sumOf(held, ({ cost }) => cost);
    if (used <= limit) continue;
    const fromMs = Math.min(...held.map((use) => use.atMs));
    const most = limit + freedIn(fromMs, atMs);
    if (used > most) return { fromMs, toMs: atMs, used, limit: most };
  }
  return undefined;
}

function sumOf<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}
