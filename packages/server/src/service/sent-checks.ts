/**
 * Checks that clients send whole, with names and policies of their own. State belongs to (name, key), here as everywhere: whoever
 * sends the name of a configured rule means that rule's keys. Names and policies stay in the store, so there may be so many of
 * them, and none may be too large: whoever may ask must not be able to fill the memory.
 */
import { type Check, type Policy, SluiceError } from 'sluice';
import type { SentCheck } from 'sluice/client';
import { AdHocPolicies } from './ad-hoc-policies.ts';

const mostNames = 10_000;

export class SentChecks {
  private readonly names = new Set<string>();
  private readonly policies = new AdHocPolicies();
  // Those that were admitted before: a policy's text is made once.
  private readonly known = new WeakSet<Policy>();
  private lastName: string | undefined;
  private lastPolicy: Policy | undefined;

  /** Names that are in the store from an earlier run: they take room as new ones do, and so they count. */
  restore(names: Iterable<string>): void {
    for (const name of names) if (!name.startsWith('{')) this.names.add(name);
  }

  /** Throws on a name or a policy that is one too many, or on a policy that needs too much room. */
  admit(checks: readonly Check[]): void {
    for (let i = 0; i < checks.length; i += 1) {
      const { name, policy } = checks[i]!;
      if (name === this.lastName && policy === this.lastPolicy) continue;
      if (!this.names.has(name)) this.admitName(name);
      if (!this.known.has(policy)) {
        this.policies.nameOf(policy);
        this.known.add(policy);
      }
      this.lastName = name;
      this.lastPolicy = policy;
    }
  }

  private admitName(name: string): void {
    if (this.names.size >= mostNames) {
      throw new SluiceError(
        'store-full',
        `There are ${mostNames} different names that came with checks. What differs from call to call belongs into the key.`,
      );
    }
    this.names.add(name);
  }
}

/** The checks with the client's times as this clock would have had them. */
export function timedChecks(checks: readonly SentCheck[], now: () => number): readonly Check[] {
  if (!checks.some(hasAge)) return checks;
  const nowMs = now();
  return checks.map(({ idleMs, changedAgoMs, ...check }) => ({
    ...check,
    ...(idleMs !== undefined && { sinceMs: nowMs - idleMs }),
    ...(changedAgoMs !== undefined && { changedMs: nowMs - changedAgoMs }),
  }));
}

function hasAge({ idleMs, changedAgoMs }: SentCheck): boolean {
  return idleMs !== undefined || changedAgoMs !== undefined;
}
