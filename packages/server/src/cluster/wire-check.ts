/** A check as it travels between nodes: its policy as plain data. */
import { type Check, type Decision, type Policy, parsePolicy } from 'sluice';
import type { WireDecision } from './messages.ts';

export type WireCheck = Omit<Check, 'policy'> & { readonly policy: object };

/** Written out: of a check that its owner has looked at, nothing more may travel than was asked. JSON leaves out what is undefined. */
export function wireOfCheck({
  name,
  key,
  policy,
  cost,
  operation,
  shadow,
  maxDelayMs,
  receipt,
  actual,
  durationMs,
}: Check): WireCheck {
  return { name, key, policy, cost, operation, shadow, maxDelayMs, receipt, actual, durationMs };
}

// Policies that others choose: so many are kept ready, and the oldest is made anew.
const mostPolicies = 10_000;

/** Makes one policy of equal data: what is known of a policy is known by the object. */
export class PolicyTexts {
  private readonly ready = new Map<string, Policy>();

  checkOf(check: WireCheck): Check {
    return { ...check, policy: this.policyOf(check.policy) };
  }

  private policyOf(data: object): Policy {
    const text = JSON.stringify(data);
    let policy = this.ready.get(text);
    if (policy === undefined) {
      policy = parsePolicy(data);
      if (this.ready.size >= mostPolicies) this.ready.delete(this.ready.keys().next().value!);
      this.ready.set(text, policy);
    }
    return policy;
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
