/** What can be said to a check that nobody was asked about. */
import { algorithmOf } from '../algorithms/algorithm.ts';
import type { Check } from '../stores/store.ts';
import type { Decision } from '../vocabulary/decision.ts';
import type { Policy } from '../vocabulary/policy.ts';

const limits = new WeakMap<Policy, number>();

/** The most that a policy lets pass at once. */
export function limitOf(policy: Policy): number {
  let limit = limits.get(policy);
  if (limit === undefined) {
    limit = algorithmOf(policy).prepare(policy, 0, 0).limit;
    limits.set(policy, limit);
  }
  return limit;
}

/** That it did not refuse. How much is left is not known, so nothing is promised: 0. */
export function notAsked({ name, policy, shadow, operation }: Check): Decision {
  return {
    allowed: true,
    limit: limitOf(policy),
    remaining: 0,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    rule: name,
    policy,
    ...(operation === 'take' && { granted: 0 }),
    ...(shadow && { shadow: true }),
  };
}
