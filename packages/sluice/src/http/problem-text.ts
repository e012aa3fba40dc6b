/**
 * The body of a refusal as the text that is sent. Where many are refused it is what a server writes most, and from one refusal to the next of a
 * limit only the wait is another:
 *
 *      {"type":"...","title":"Quota exceeded","status":429,"detail":"default allows 100 in 60 s. Try again in 7 s.","violated-policies":["default"]}
 *      └────────────────────────────────── before ──────────────────────────────────────────────────────────┘ └──────────── after ────────────┘
 */
import type { Decision } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { type Answered, decisionsOf, tightestOf, wholeSeconds } from './answered.ts';
import { problemBody } from './problem-body.ts';

/** What `JSON.stringify(problemBody(answered))` gives, sooner. */
export function problemText(answered: Answered): string {
  const tightest = tightestOf(answered);
  if (tightest === undefined || !isPlain(tightest) || decisionsOf(answered).length !== 1)
    return JSON.stringify(problemBody(answered));
  const { before, after } = partsOf(tightest);
  return `${before}${wholeSeconds(tightest.retryAfterMs)}${after}`;
}

/** A limit was reached, and waiting helps. */
function isPlain({ allowed, reason, retryAfterMs, shadow }: Decision): boolean {
  return !allowed && reason === 'limit' && retryAfterMs < Number.POSITIVE_INFINITY && !shadow;
}

interface Parts {
  readonly rule: string;
  readonly before: string;
  readonly after: string;
}

// A policy belongs to one rule as a rule; where it is shared, the rules take turns.
const parts = new WeakMap<Policy, Parts>();

function partsOf(decision: Decision): Parts {
  const known = parts.get(decision.policy);
  if (known !== undefined && known.rule === decision.rule) return known;
  const made = { rule: decision.rule, ...split(decision) };
  parts.set(decision.policy, made);
  return made;
}

const unit = ' s.';

/** Cut where the wait is: at the end of the detail, but for the unit. */
function split(decision: Decision): Omit<Parts, 'rule'> {
  const body = problemBody(decision);
  const text = JSON.stringify(body);
  // What stands before the detail is ours, and has no such member.
  const detail = text.indexOf('"detail":') + '"detail":'.length;
  const end = detail + JSON.stringify(body.detail).length - `${unit}"`.length;
  const start = end - String(wholeSeconds(decision.retryAfterMs)).length;
  return { before: text.slice(0, start), after: text.slice(end) };
}
