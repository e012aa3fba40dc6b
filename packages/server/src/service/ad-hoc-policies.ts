/**
 * Policies that come with requests. Each is a name in the store, and names stay for as long as anything granted under them counts; some need
 * room for every call in their window. So there may be so many of them, each so large, and large ones have a store of their own with
 * fewer keys: whoever may ask must not be able to fill the memory.
 */
import { type Policy, SluiceError } from 'sluice';

const mostPolicies = 10_000;

// How many a newcomer makes it look at when there are so many: the work of one call, and all of them after a hundred.
const looksPerNewcomer = 100;

/** How many keys policies may have whose state grows with their limit. */
export const mostLargeKeys = 20_000;

/** By algorithm, the field that its state grows with, and the most it may be. */
const bounds: Readonly<Record<string, readonly [field: 'limit' | 'slots', most: number]>> = {
  'sliding-log': ['limit', 1000],
  'sliding-slots': ['slots', 1000],
  concurrency: ['limit', 300],
};

export function isLarge({ algorithm }: Policy): boolean {
  return Object.hasOwn(bounds, algorithm);
}

export class AdHocPolicies {
  private readonly names = new Set<string>();
  private readonly forget: (name: string) => boolean;

  /** @param forget has the store forget a name and says whether it did: not before its state can matter to nobody. Default: names stay */
  constructor(forget: (name: string) => boolean = () => false) {
    this.forget = forget;
  }

  /** Names that are in the store from an earlier run. They take room as new ones do, and so they count; other names do not. */
  restore(names: Iterable<string>): void {
    // No rule may be named so.
    for (const name of names) if (name.startsWith('{')) this.names.add(name);
  }

  /** What the state of a policy is kept under: the policy itself. Throws where it is too large, or one too many. */
  nameOf(policy: Policy): string {
    const name = JSON.stringify(policy);
    if (this.names.has(name)) return name;
    mustBeModest(policy);
    if (this.names.size >= mostPolicies && !this.forgotOne()) {
      throw new SluiceError(
        'store-full',
        `There are ${mostPolicies} different policies that came with requests and still count. Configure rules with tiers instead.`,
      );
    }
    this.names.add(name);
    return name;
  }

  private forgotOne(): boolean {
    let looks = looksPerNewcomer;
    for (const name of this.names) {
      if (looks === 0) return false;
      looks -= 1;
      this.names.delete(name);
      if (this.forget(name)) return true;
      // The next one looks at others first.
      this.names.add(name);
    }
    return false;
  }
}

function mustBeModest(policy: Policy): void {
  const [field, most] = bounds[policy.algorithm] ?? [];
  if (field === undefined || most === undefined) return;
  const value = (policy as unknown as Record<string, number>)[field] ?? 0;
  if (value <= most) return;
  throw new SluiceError(
    'invalid-option',
    `policy.${field} must be at most ${most} for a ${policy.algorithm} that comes with a request, got ${value}. Configure a rule for it, or use gcra.`,
  );
}
