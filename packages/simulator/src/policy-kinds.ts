/** What is to be known of a policy before it is asked anything. */
import type { ConcurrencyPolicy, Policy } from 'sluice';

/** What it lets through is under way until it is given back. */
export function isConcurrency(policy: Policy): policy is ConcurrencyPolicy {
  return policy.algorithm === 'concurrency';
}

/** Whether it ever says "yes, but later". */
export function canDelay(policy: Policy): boolean {
  const { algorithm, delay, wait } = policy as Policy & { readonly delay?: unknown; readonly wait?: number };
  return algorithm === 'smooth' || (delay !== undefined && delay !== 'none') || (wait !== undefined && wait > 0);
}
