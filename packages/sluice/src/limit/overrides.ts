/** Other limits for single keys of a rule, changeable while running, with an end if wished. */
import { remadePolicy } from '../algorithms/algorithm.ts';
import type { Clock } from '../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../vocabulary/duration.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { aboveZero, knownFields, type Policy, zeroOrMore } from '../vocabulary/policy.ts';

/** What to change about a rule's policy for one key; at least one field besides `expiresIn`. */
export interface Override {
  readonly limit?: number;
  readonly window?: Duration;
  readonly burst?: number;
  /** When the rule's own policy applies again. Default: never. */
  readonly expiresIn?: Duration;
}

export interface ActiveOverride {
  readonly rule: string;
  /** As the rule knows it. */
  readonly key: string;
  /** As it was given, where that was another way to write it. Under another `ipv6Subnet` this is the one to give again. */
  readonly givenKey?: string;
  readonly override: Override;
  /** `Infinity` when it has no end. */
  readonly expiresAtMs: number;
}

const maxOverrides = 100_000;

/** The policy with the override's fields in place of its own. A burst that was the limit stays the limit. */
function overridden(policy: Policy, { expiresIn: _, ...fields }: Override): Policy {
  const { burst, initial, ...rest } = policy as Policy & { readonly initial?: number };
  const data = { ...rest, ...(burst !== undefined && burst !== policy.limit && { burst }), ...fields };
  // A bucket cannot start with more than fits.
  const starts = initial !== undefined && { initial: Math.min(initial, data.burst ?? data.limit) };
  return remadePolicy(policy, { ...data, ...starts });
}

/** The overrides of one rule. */
export function overridesOf(rule: string, clock: Clock) {
  const byKey = new Map<string, ActiveOverride>();
  // When the policy of a key last changed: a new one must not apply to the time before.
  const changes = new Map<string, number>();

  function note(key: string, atMs: number): void {
    changes.delete(key);
    changes.set(key, atMs);
    // The oldest are forgotten: what is not known to have changed counts as always so.
    if (changes.size > maxOverrides) changes.delete(changes.keys().next().value as string);
  }

  // Each policy is changed once, not at every request.
  const changed = new WeakMap<Override, WeakMap<Policy, Policy>>();

  function find(key: string): ActiveOverride | undefined {
    const active = byKey.get(key);
    if (active === undefined || active.expiresAtMs > clock.now()) return active;
    byKey.delete(key);
    note(key, active.expiresAtMs);
    return undefined;
  }

  return {
    /** Tried on the rule's policies first, so that a wrong one is refused here and not at the next request. */
    set(key: string, givenKey: string, given: Override, policies: readonly Policy[], endMs?: number): void {
      knownFields('override', given, 'limit window burst expiresIn');
      // A copy: what the caller does with its own afterwards is no longer an override.
      const override = { ...given };
      const { expiresIn, ...fields } = override;
      if (Object.keys(fields).length === 0) throw invalid('override', 'a change of limit, window or burst', override);
      const leftMs = expiresIn === undefined ? Number.POSITIVE_INFINITY : parseDuration(expiresIn, 'expiresIn');
      if (endMs !== undefined && !(endMs > Number.NEGATIVE_INFINITY)) throw invalid('expiresAtMs', 'a time', endMs);
      const expiresAtMs = endMs ?? clock.now() + leftMs;
      for (const policy of policies) overridden(policy, override);
      // A policy that is a function is not there to be tried on.
      if ('limit' in override) aboveZero('limit', override.limit);
      if ('window' in override) parseDuration(override.window as Duration, 'window');
      if ('burst' in override) zeroOrMore('burst', override.burst as number);
      if (byKey.size >= maxOverrides && !byKey.has(key)) {
        throw new SluiceError(
          'store-full',
          `Rule "${rule}" has ${maxOverrides} overrides. Use tiers for groups of keys.`,
        );
      }
      byKey.set(key, { rule, key, ...(givenKey !== key && { givenKey }), override, expiresAtMs });
      note(key, clock.now());
      changed.set(override, new WeakMap());
    },
    remove(key: string): boolean {
      const wasThere = byKey.delete(key);
      if (wasThere) note(key, clock.now());
      return wasThere;
    },
    /** When the policy of a key changed last; long ago where it never did. */
    changedMs: (key: string) => changes.get(key) ?? Number.NEGATIVE_INFINITY,
    list: (keys: Iterable<string> = byKey.keys()) => [...keys].flatMap((key) => find(key) ?? []),
    /** The policy for a key: the rule's, unless overridden. */
    apply(key: string, policy: Policy): Policy {
      const active = find(key);
      if (active === undefined) return policy;
      const known = changed.get(active.override);
      const own = known?.get(policy) ?? overridden(policy, active.override);
      known?.set(policy, own);
      return own;
    },
  };
}
