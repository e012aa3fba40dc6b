/**
 * Under which policy what others used of a key is charged here: the key's own, if it was asked about here. Under another one of its rule, of another tier
 * or somebody's override, it would be forgotten sooner than it may be.
 */
import { isSamePolicy, type Policy } from '../../vocabulary/policy.ts';

/** Of one name: tiers and overrides. Beyond that the ones that were asked for longest ago are dropped. */
const mostOfName = 16;

export class PoliciesInUse {
  private recent = new Map<string, Policy>();
  private older = new Map<string, Policy>();
  private readonly byName = new Map<string, Policy[]>();
  private readonly maxKeys: number;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  /** `id`: of the name and the key. */
  asked(id: string, name: string, policy: Policy): void {
    if (this.recent.get(id) === policy) return;
    if (this.recent.size >= this.maxKeys) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(id, policy);
    const ofName = this.byName.get(name) ?? [];
    if (ofName[0] === policy) return;
    this.byName.set(name, [policy, ...ofName.filter((one) => !isSamePolicy(one, policy))].slice(0, mostOfName));
  }

  of(id: string, name: string): Policy | undefined {
    return this.recent.get(id) ?? this.older.get(id) ?? this.byName.get(name)?.reduce(slower);
  }
}

/** The one of two that forgets later: the wrong one of them may only refuse more. */
function slower(one: Policy, other: Policy): Policy {
  const { window = 0, limit = 0 } = one;
  const { window: otherWindow = 0, limit: otherLimit = 0 } = other;
  if (window !== otherWindow) return window > otherWindow ? one : other;
  return limit <= otherLimit ? one : other;
}
