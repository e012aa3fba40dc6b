/** The rule that is being tried: what the sliders say, what the address says, and its YAML. */
import { durationText } from '@sluice/tuner';
import { parseDuration } from 'sluice';
import type { PolicyData } from './messages.ts';

export const algorithms = [
  'gcra',
  'token-bucket',
  'leaky-bucket',
  'fixed-window',
  'sliding-window',
  'sliding-slots',
  'sliding-log',
] as const;
export type AlgorithmName = (typeof algorithms)[number];

export const windowsMs: readonly number[] = [1000, 10_000, 60_000, 600_000, 3_600_000];

export interface RuleChoice {
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly windowMs: number;
  /** What may come at once; only of algorithms that have one. */
  readonly burst: number;
}

const defaults: RuleChoice = { algorithm: 'gcra', limit: 100, windowMs: 60_000, burst: 100 };
const mostLimit = 1_000_000_000;

export function hasBurst(algorithm: AlgorithmName): boolean {
  return ['gcra', 'token-bucket', 'leaky-bucket'].includes(algorithm);
}

export function policyOf({ algorithm, limit, windowMs, burst }: RuleChoice): PolicyData {
  return { algorithm, limit, window: windowMs, ...(hasBurst(algorithm) && { burst }) };
}

/** What cannot be is the default: an address may have been cut off, or written by hand. */
export function choiceOfQuery(query: URLSearchParams): RuleChoice {
  const algorithm = algorithms.find((name) => name === query.get('algorithm')) ?? defaults.algorithm;
  const limit = wholeFrom(query.get('limit'), 1) ?? defaults.limit;
  const given = durationOf(query.get('window'));
  const windowMs = windowsMs.find((ms) => ms === given) ?? defaults.windowMs;
  const burst = wholeFrom(query.get('burst'), algorithm === 'leaky-bucket' ? 0 : 1) ?? limit;
  return { algorithm, limit, windowMs, burst };
}

export function queryOfChoice({ algorithm, limit, windowMs, burst }: RuleChoice, key: string): URLSearchParams {
  const query = new URLSearchParams({ key, algorithm, limit: String(limit), window: durationText(windowMs) });
  if (hasBurst(algorithm)) query.set('burst', String(burst));
  return query;
}

function wholeFrom(text: string | null, least: number): number | undefined {
  const number = text !== null && /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= mostLimit ? number : undefined;
}

function durationOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  try {
    return parseDuration(text as never);
  } catch {
    return undefined; // As above.
  }
}

/** Of a policy that was advised. */
export function choiceOfPolicy(policy: PolicyData): RuleChoice {
  const { algorithm, limit, window, burst } = policy as {
    algorithm: AlgorithmName;
    limit: number;
    window: number;
    burst?: number;
  };
  return { algorithm, limit, windowMs: window, burst: burst ?? limit };
}

export function ruleYaml(choice: RuleChoice, key: string): string {
  const fields = key.split('+').flatMap((part) => (part === 'route' ? ['method', 'path'] : [part]));
  const isPlain = fields.every((field) => /^[A-Za-z_][\w.-]*$/.test(field));
  const written = isPlain ? fields : fields.map((field) => JSON.stringify(field));
  return [
    'rules:',
    `  - name: ${isPlain ? `per-${fields.join('-')}` : JSON.stringify(`per-${key}`)}`,
    `    key: ${written.length === 1 ? written[0] : `[${written.join(', ')}]`}`,
    `    algorithm: ${choice.algorithm}`,
    `    limit: ${choice.limit}`,
    `    window: ${durationText(choice.windowMs)}`,
    ...(hasBurst(choice.algorithm) ? [`    burst: ${choice.burst}`] : []),
    '    shadow: true # counts, and refuses nobody yet',
    '',
  ].join('\n');
}
