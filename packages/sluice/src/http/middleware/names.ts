/** Limits of one name in one store are one limit: on purpose, or by mistake. */
import type { Store } from '../../stores/store.ts';
import { type Policy, policyJson } from '../../vocabulary/policy.ts';

const policies = new WeakMap<Store, Map<string, string>>();

/** Whether another policy goes by the same name in the same store. The two would be one limit that changes with every request. */
export function isNameTaken(store: Store, name: string, policy: Policy): boolean {
  const named = policies.get(store) ?? new Map<string, string>();
  policies.set(store, named);
  const text = policyJson(policy);
  const before = named.get(name) ?? text;
  named.set(name, before);
  return before !== text;
}

const seen = new WeakMap<Store, Map<string, WeakSet<object>>>();

/** The requests that a limit has counted, by whichever rateLimit() of its name. */
export function countedBy(store: Store | undefined, name: string): WeakSet<object> {
  if (store === undefined) return new WeakSet();
  const named = seen.get(store) ?? new Map<string, WeakSet<object>>();
  seen.set(store, named);
  const counted = named.get(name) ?? new WeakSet();
  named.set(name, counted);
  return counted;
}
