/** The promises, checked the slow way: by trying every stretch of time, and for small intervals every moment. */
import type { Policy } from '../../vocabulary/policy.ts';
import { costOf, earliestMs, type Grant, latestMs } from './grant.ts';
import { promiseOf } from './promise.ts';

interface Use {
  readonly fromMs: number;
  readonly toMs: number;
  readonly endMs: number;
  readonly cost: number;
}

const tolerance = 1e-6;

function usesOf(grants: readonly Grant[]): Use[] {
  return grants.map((grant) => ({
    fromMs: earliestMs(grant),
    toMs: latestMs(grant),
    endMs: grant.endMs ?? Number.POSITIVE_INFINITY,
    cost: costOf(grant),
  }));
}

const sum = (uses: readonly Use[]) => uses.reduce((total, { cost }) => total + cost, 0);

/** The highest share of the promise that one key's grants come to; above 1 it is broken. Not for clauses that lend. */
export function naiveFill(grants: readonly Grant[], policy: Policy, verdict: 'certain' | 'possible'): number {
  const uses = usesOf(grants).filter(({ cost }) => cost > 0);
  const isCertain = verdict === 'certain';
  let worst = 0;
  for (const clause of promiseOf(policy)) {
    if (clause.kind === 'held') {
      const startOf = (use: Use) => (isCertain ? use.toMs : use.fromMs);
      for (const at of uses.map(startOf)) {
        const held = uses.filter((use) => startOf(use) <= at && use.endMs > at);
        worst = Math.max(worst, sum(held) / clause.most);
      }
      continue;
    }
    if (clause.kind === 'estimate') {
      for (const last of uses) {
        const { windowMs } = clause;
        const atMs = isCertain ? last.toMs : last.fromMs;
        const window = Math.floor(atMs / windowMs);
        const left = 1 - (atMs - window * windowMs) / windowMs;
        let estimate = 0;
        for (const use of uses) {
          if ((isCertain ? use.toMs : use.fromMs) > atMs) continue;
          // The window that weighs least (or most) among those that the use may be in.
          const counted = Math.floor((isCertain ? use.fromMs : use.toMs) / windowMs);
          estimate += counted >= window ? use.cost : counted === window - 1 ? use.cost * left : 0;
        }
        worst = Math.max(worst, estimate / clause.most);
      }
      continue;
    }
    if (clause.kind === 'window' && clause.aligned) {
      const windowOf = (ms: number) => Math.floor(ms / clause.windowMs);
      for (const window of uses.flatMap(({ fromMs, toMs }) => [windowOf(fromMs), windowOf(toMs)])) {
        const inside = uses.filter(({ fromMs, toMs }) =>
          isCertain
            ? windowOf(fromMs) === window && windowOf(toMs) === window
            : windowOf(fromMs) <= window && windowOf(toMs) >= window,
        );
        worst = Math.max(worst, sum(inside) / clause.most);
      }
      continue;
    }
    // Every stretch between an end of one interval and an end of another; of no length too.
    const moments = [...new Set(uses.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))];
    for (const fromMs of moments) {
      for (const toMs of moments) {
        if (toMs < fromMs) continue;
        if (clause.kind === 'window' && toMs - fromMs >= clause.windowMs) continue;
        const inside = uses.filter((use) =>
          isCertain ? use.fromMs >= fromMs && use.toMs <= toMs : use.fromMs <= toMs && use.toMs >= fromMs,
        );
        if (clause.kind === 'window') {
          const used = clause.countsCalls ? inside.length : sum(inside);
          worst = Math.max(worst, used / clause.most);
        } else {
          const level = sum(inside) - ((toMs - fromMs) * clause.limit) / clause.windowMs;
          worst = Math.max(worst, level / clause.burst);
        }
      }
    }
  }
  return worst > 1 && worst <= 1 + tolerance ? 1 : worst;
}
