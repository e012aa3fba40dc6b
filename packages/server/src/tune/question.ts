/** What was asked of `sluice tune`, from the words of the command line. */
import { type Policy, parsePolicy, type Rule, SluiceError } from 'sluice';
import type { Environment } from '../config/environment.ts';
import { formatProblems } from '../config/format-problems.ts';
import { readConfig } from '../config/read-config.ts';
import { typedTime } from '../terminal/typed-time.ts';

export function bad(message: string): SluiceError {
  return new SluiceError('invalid-option', message);
}

/** `1m,1h`. */
export function windowsOf(text: string): number[] {
  const windowsMs = text.split(',').map((part) => typedTime(part.trim(), '--window'));
  return [...new Set(windowsMs)].sort((a, b) => a - b);
}

/** `0.1%`, or `0.001`. */
export function shareOf(text: string): number {
  const [, digits, percent] = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text.trim()) ?? [];
  const share = Number(digits) / (percent === '%' ? 100 : 1);
  if (share >= 0 && share < 1) return share;
  throw bad(`--refuse must be a part of all such as 0.1% or 0.001, from 0 to below 100%, got "${text}".`);
}

const unitBytes: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9 };

/** `512MB`. */
export function bytesOf(text: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*(MB|GB)$/i.exec(text.trim()) ?? [];
  const bytes = Number(digits) * (unitBytes[unit.toUpperCase()] ?? Number.NaN);
  if (bytes >= 64e6 && bytes <= 64e9) return bytes;
  throw bad(`--max-memory must be from 64MB to 64GB, such as 512MB, got "${text}".`);
}

/**
 * How much of a log is kept. An entry takes 24 bytes and about as much again in each of two analyses, a client some 250 bytes; the rest is for
 * reading, and for those whom a policy is asked about.
 */
export function roomIn(bytes: number): { maxEntries: number; maxClients: number; replayBytes: number } {
  return {
    maxEntries: Math.floor((bytes * 0.5) / 64),
    maxClients: Math.floor((bytes * 0.25) / 256),
    replayBytes: bytes * 0.15,
  };
}

export interface PolicyFlags {
  readonly policy?: string | undefined;
  readonly config?: string | undefined;
  readonly rule?: string | undefined;
  readonly tier?: string | undefined;
}

export interface AskedPolicy {
  readonly policy: Policy;
  /** The rule it is of; undefined: it was typed in. */
  readonly rule: Rule | undefined;
  /** By networks of so many bits its configuration counts IPv6 addresses; undefined: it has none. */
  readonly ipv6Subnet: number | undefined;
}

export function askedPolicy(flags: PolicyFlags, environment: Environment): AskedPolicy | undefined {
  const { policy, config, rule, tier } = flags;
  if (policy !== undefined) {
    if (config !== undefined || rule !== undefined)
      throw bad('--policy and --config are two ways to say the same: give one.');
    if (tier !== undefined)
      throw bad('--tier belongs to a rule of --config, and --policy is none: give one of the two.');
    return { policy: typedPolicy(policy), rule: undefined, ipv6Subnet: undefined };
  }
  if (config === undefined && rule === undefined) {
    if (tier !== undefined) throw bad('--tier belongs to --config and --rule, which are missing.');
    return undefined;
  }
  if (config === undefined) throw bad(`--rule ${rule} needs --config with the file that has it.`);
  return ruleOf(config, rule, tier, environment);
}

function typedPolicy(text: string): Policy {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw bad(
      `--policy must be JSON such as '{"algorithm":"gcra","limit":100,"window":"1m"}': ${(error as Error).message}`,
    );
  }
  try {
    return parsePolicy(data as never);
  } catch (error) {
    if (error instanceof SluiceError) throw bad(`--policy: ${error.message}`);
    throw error;
  }
}

function ruleOf(
  file: string,
  name: string | undefined,
  tier: string | undefined,
  environment: Environment,
): AskedPolicy {
  const read = readConfig({ path: file, environment });
  if ('problems' in read) throw bad(formatProblems(read.problems, read.sources));
  const { rules, ipv6Subnet } = read.config;
  const names = rules.map((each) => each.name);
  const list = names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`;
  if (name === undefined && rules.length !== 1) throw bad(`--rule must name one of the rules in ${file}. ${list}`);
  const rule = name === undefined ? rules[0] : rules.find((each) => each.name === name);
  if (rule === undefined) throw bad(`There is no rule ${JSON.stringify(name)} in ${file}. ${list}`);
  const tiers = Object.keys(rule.tiers ?? {});
  if (tier !== undefined) {
    const policy = rule.tiers?.[tier];
    if (policy !== undefined) return { policy, rule, ipv6Subnet };
    throw bad(`The rule ${rule.name} has no tier ${JSON.stringify(tier)}. It has ${tiers.join(', ') || 'none'}.`);
  }
  if (rule.policy !== undefined && typeof rule.policy !== 'function') return { policy: rule.policy, rule, ipv6Subnet };
  throw bad(`The rule ${rule.name} has only tiers. Name one with --tier: ${tiers.join(', ')}.`);
}

/** The key of a rule as the reader of logs has it; undefined where the log cannot be read by it. */
export function logKeyOf({ key }: Rule): string | undefined {
  const fields = [key ?? 'all'].flat();
  const isKnown = fields.every((field) => field === 'ip' || field === 'user' || field === 'all');
  return isKnown ? fields.join('+') : undefined;
}
