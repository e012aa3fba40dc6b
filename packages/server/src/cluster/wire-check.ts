/** A check as it travels between nodes: its policy as a text, which is made once and read once. */
import { type Check, type Decision, type Policy, parsePolicy, SluiceError } from 'sluice';
import type { WireDecision } from './messages.ts';
import { anything, flag, listOf, mustFit, number, object, orAbsent, type Shape, text } from './peers/shape.ts';

export type WireCheck = Omit<Check, 'policy'> & { readonly policy: string; readonly once?: string | undefined };

/** What one must look like before it is believed; its policy is read by whoever knows policies. */
export const checkShape: Shape = object<WireCheck>({
  name: text,
  key: text,
  policy: text,
  cost: number,
  operation: orAbsent(text),
  shadow: orAbsent(flag),
  maxDelayMs: orAbsent(number),
  sinceMs: orAbsent(number),
  changedMs: orAbsent(number),
  receipt: orAbsent(anything),
  actual: orAbsent(number),
  durationMs: orAbsent(number),
  onStoreFailure: orAbsent(text),
  once: orAbsent(text),
});

const checksShape = listOf(checkShape);

/** Checks from elsewhere, as JSON. */
export function mustBeChecks(json: string): readonly WireCheck[] {
  const checks: unknown = dataOf('checks', json);
  mustFit(checksShape, checks, 'checks');
  return checks as readonly WireCheck[];
}

/** Written out: of a check that its owner has looked at, nothing more may travel than was asked. JSON leaves out what is undefined. */
export function wireOfCheck(check: Check & Pick<WireCheck, 'once'>, policy: Policy = check.policy): WireCheck {
  const { name, key, cost, operation, shadow, maxDelayMs, receipt, actual, durationMs, once } = check;
  return {
    name,
    key,
    policy: policyText(policy),
    cost,
    operation,
    shadow,
    maxDelayMs,
    receipt,
    actual,
    durationMs,
    once,
  };
}

const texts = new WeakMap<Policy, string>();

export function policyText(policy: Policy): string {
  let text = texts.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    texts.set(policy, text);
  }
  return text;
}

// Policies that others choose: so many are kept ready, and the oldest is made anew.
const mostPolicies = 10_000;

/** Makes one policy of equal data: what is known of a policy is known by the object. */
export class PolicyTexts {
  private readonly ready = new Map<string, Policy>();

  checkOf(check: WireCheck): Check & Pick<WireCheck, 'once'> {
    return { ...check, policy: this.policyOf(check.policy) };
  }

  policyOf(text: string): Policy {
    let policy = this.ready.get(text);
    if (policy === undefined) {
      policy = parsePolicy(dataOf('policy', text));
      if (this.ready.size >= mostPolicies) this.ready.delete(this.ready.keys().next().value!);
      this.ready.set(text, policy);
    }
    return policy;
  }
}

function dataOf(field: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SluiceError('invalid-option', `${field} must be JSON, got ${text.slice(0, 100)}`, { cause });
  }
}

export function wireOfDecision({ policy: _, retryAfterMs, resetAfterMs, ...decision }: Decision): WireDecision {
  return { ...decision, retryAfterMs: finite(retryAfterMs), resetAfterMs: finite(resetAfterMs) };
}

export function decisionOfWire({ retryAfterMs, resetAfterMs, ...decision }: WireDecision, policy: Policy): Decision {
  const endless = Number.POSITIVE_INFINITY;
  return { ...decision, retryAfterMs: retryAfterMs ?? endless, resetAfterMs: resetAfterMs ?? endless, policy };
}

function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}
