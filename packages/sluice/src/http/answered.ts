/** What headers and problem bodies are written from: one decision, several, or what rules answered. */
import { type RulesResult, tightestOf as tightestDecision } from '../limit/rules.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { SluiceError } from '../vocabulary/errors.ts';

export type Answered = Decision | readonly Decision[] | RulesResult;

/** Every decision, shadow rules' included. */
export function decisionsOf(answered: Answered): readonly Decision[] {
  if (Array.isArray(answered)) return answered;
  return 'decisions' in answered ? answered.decisions : [answered as Decision];
}

/** The one decision to speak of. */
export function tightestOf(answered: Answered): Decision | undefined {
  if ('decisions' in answered) return answered.tightest;
  // It would be read as a refusal without numbers.
  if ('then' in answered) throw new SluiceError('invalid-option', 'The decision is a promise. Await it first.');
  return tightestDecision(decisionsOf(answered));
}

/** Seconds as HTTP has them: whole, and rounded up, so that nobody comes back too early. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
