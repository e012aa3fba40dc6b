/**
 * Rules from plain data such as YAML or JSON:
 *
 *      rules:
 *        - { name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m, burst: 20 }
 *        - { name: per-user, key: user, algorithm: sliding-log, tiers: { free: { limit: 10, window: 1m } } }
 *
 * A tier takes over what it does not say itself from the rule.
 */
import { parsePolicy } from '../algorithms/parse-policy.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import type { Policy } from '../vocabulary/policy.ts';
import type { Rule } from './rules.ts';

type Data = Record<string, unknown>;

/** Takes the list, or an object that has it under `rules`. */
export function parseRules(data: unknown): Rule[] {
  const list = Array.isArray(data) ? data : (data as { rules?: unknown } | null)?.rules;
  if (!Array.isArray(list)) throw invalid('rules', 'a list, or an object with a list under "rules"', data);
  return list.map((entry: unknown, i) => {
    const name = (entry as Data | null)?.name;
    try {
      return parseRule(entry);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      throw new SluiceError(error.code, `Rule ${typeof name === 'string' ? `"${name}"` : i + 1}: ${error.message}`, {
        cause: error,
      });
    }
  });
}

function parseRule(entry: unknown): Rule {
  if (typeof entry !== 'object' || entry === null) throw invalid('a rule', 'an object', entry);
  const { name, key, match, skip, tiers, shadow, onStoreFailure, ...policy } = entry as Data;
  const rule = { name, key, match, skip, shadow, onStoreFailure, ...policiesOf(policy, tiers) };
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)) as unknown as Rule;
}

function policiesOf(policy: Data, tiers: unknown): { policy?: Policy; tiers?: Record<string, Policy> } {
  if (tiers === undefined) return { policy: parsePolicy(policy) };
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers))
    throw invalid('tiers', 'an object of policies by tier', tiers);
  const byTier = Object.entries(tiers).map(([tier, own]) => {
    if (typeof own !== 'object' || own === null) throw invalid(`tiers.${tier}`, 'an object', own);
    return [tier, parsePolicy({ ...policy, ...own })] as const;
  });
  if (byTier.length === 0) throw invalid('tiers', 'an object with at least one tier', tiers);
  // With a limit of its own the rule has a policy for those without a tier.
  return { ...('limit' in policy && { policy: parsePolicy(policy) }), tiers: Object.fromEntries(byTier) };
}
