/** Policies in words: `100 per minute, 20 at once`. */
import type { Policy, Rule } from 'sluice';

const unitNames: readonly (readonly [ms: number, name: string])[] = [
  [604_800_000, 'week'],
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
];

/** `1 minute`, `10 seconds`, `250 ms`. */
export function durationWords(ms: number): string {
  const [unitMs, name] = unitNames.find(([unit]) => ms % unit === 0) ?? [1, undefined];
  const count = ms / unitMs;
  if (name === undefined || count === 0) return `${count} ms`;
  return `${count} ${count === 1 ? name : `${name}s`}`;
}

/** After `per`: `minute`, `10 seconds`. */
function windowWords(ms: number): string {
  return durationWords(ms).replace(/^1 (?!ms)/, '');
}

/** Fields of policies that are times. */
const timeFields = new Set(['wait', 'minGap', 'warmup', 'maxDelay', 'lease']);

export function numberWords(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

export function policyWords(policy: Policy): string {
  const { limit, window, burst, algorithm, ...rest } = policy as Policy & Record<string, unknown>;
  const rate =
    window === undefined ? `${numberWords(limit)} at once` : `${numberWords(limit)} per ${windowWords(window)}`;
  const words = [rate];
  if (burst !== undefined && algorithm === 'leaky-bucket') words.push(`${numberWords(burst)} waiting`);
  else if (burst !== undefined && burst !== limit) words.push(`${numberWords(burst)} at once`);
  // The rest are choices of one algorithm each, and are best told by their names.
  for (const [name, value] of Object.entries(rest)) {
    words.push(`${name} ${timeFields.has(name) ? durationWords(value as number) : String(value)}`);
  }
  return words.join(', ');
}

/** A rule on a line or more: its own policy, then those of its tiers. */
export function ruleWords(rule: Rule): string[] {
  const tiers = Object.entries(rule.tiers ?? {});
  const own = rule.policy as Policy | undefined;
  const algorithms = new Set([own, ...tiers.map(([, policy]) => policy)].flatMap((policy) => policy?.algorithm ?? []));
  const isMixed = algorithms.size > 1;
  const inWords = (policy: Policy) => `${isMixed ? `${policy.algorithm} ` : ''}${policyWords(policy)}`;
  const key = [rule.key ?? 'all'].flat().join(' and ');
  const head = [
    own ? inWords(own) : undefined,
    isMixed ? undefined : `by ${[...algorithms][0]}`,
    key === 'all' ? 'for all together' : `for each ${key}`,
    rule.match && `where ${matchWords(rule.match)}`,
    rule.skip && `except where ${matchWords(rule.skip)}`,
    rule.shadow && 'as a shadow',
    rule.onStoreFailure && `${rule.onStoreFailure} when the store fails`,
  ];
  return [
    head.filter((part) => part !== undefined && part !== false).join(', '),
    ...tiers.map(([tier, policy]) => `${tier}: ${inWords(policy)}`),
  ];
}

function matchWords(match: NonNullable<Rule['match']>): string {
  return Object.entries(match)
    .map(([field, values]) => `${field} is ${[values].flat().join(' or ')}`)
    .join(' and ');
}
