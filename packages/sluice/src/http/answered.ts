/** What headers and problem bodies are written from: one decision, several, or what rules answered. */
import type { RulesResult } from '../limit/rules.ts';
import type { Decision } from '../vocabulary/decision.ts';

export type Answered = Decision | readonly Decision[] | RulesResult;

/** Every decision, shadow rules' included. */
export function decisionsOf(answered: Answered): readonly Decision[] {
  if (Array.isArray(answered)) return answered;
  return 'decisions' in answered ? answered.decisions : [answered as Decision];
}

/** The one decision to speak of: the longest wait of those that refused, else the smallest share left. Shadow rules have no say. */
export function tightestOf(answered: Answered): Decision | undefined {
  if (!Array.isArray(answered)) {
    if ('decisions' in answered) return answered.tightest;
    return (answered as Decision).shadow ? undefined : (answered as Decision);
  }
  let tightest: Decision | undefined;
  for (const decision of answered as readonly Decision[]) {
    if (!decision.shadow && (tightest === undefined || isTighter(decision, tightest))) tightest = decision;
  }
  return tightest;
}

function isTighter(a: Decision, b: Decision): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  return a.allowed ? a.remaining / a.limit < b.remaining / b.limit : a.retryAfterMs > b.retryAfterMs;
}

/** Seconds as HTTP has them: whole, and rounded up, so that nobody comes back too early. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
