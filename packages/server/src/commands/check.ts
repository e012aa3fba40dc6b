/** `sluice check`: asks a running service, or decides in this process, and prints the decision. */
import { Command, InvalidArgumentError } from 'commander';
import { type Decision, limiter, memoryStore, parsePolicy, rules, SluiceError } from 'sluice';
import { formatProblems } from '../config/format-problems.ts';
import { readConfig } from '../config/read-config.ts';

interface CheckFlags {
  readonly url?: string;
  readonly token?: string;
  readonly policy?: string;
  readonly key?: string;
  readonly config?: string;
  readonly cost: number;
  readonly times: number;
  readonly json?: boolean;
}

/** What is printed of an answer, whoever gave it. */
interface Answered {
  readonly allowed: boolean;
  readonly tightest?: Partial<Decision> | null | undefined;
  readonly decisions: readonly Partial<Decision>[];
  readonly list?: string | undefined;
}

type Ask = () => Promise<Answered>;

const defaultUrl = 'http://127.0.0.1:8080';

export function checkCommand(): Command {
  return new Command('check')
    .description('Asks whether a request may go, and prints the decision.')
    .argument('[field=value...]', 'the subject: user=42 path=/upload')
    .option('-u, --url <url>', `the service (default: ${defaultUrl}, unless --policy or --config is given)`)
    .option('--token <token>', 'the service wants one (default: $SLUICE_TOKEN)')
    .option('-p, --policy <json>', 'an ad hoc policy, decided in this process unless --url is given')
    .option('-k, --key <key>', 'whom an ad hoc policy limits (default: "me")')
    .option('-c, --config <file>', 'decide by the rules of this file, in this process')
    .option('--cost <number>', 'how much to take', numberOf, 1)
    .option('-n, --times <count>', 'ask so often, one after the other', countOf, 1)
    .option('--json', 'print JSON, one object per answer')
    .addHelpText(
      'after',
      `
  sluice check user=42 path=/upload
  sluice check --policy '{"algorithm":"gcra","limit":5,"window":"1m"}' --times 7
  sluice check --config sluice.yaml user=42 tier=free

Exit codes: 0 allowed, 1 refused or the service did not answer, 2 bad usage.`,
    )
    .action(check);
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError('It must be a number of 0 or more.');
  }
  return value;
}

function countOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100_000) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 100000.');
  }
  return value;
}

async function check(fields: readonly string[], flags: CheckFlags): Promise<void> {
  try {
    const ask = askerFor(subjectOf(fields), flags);
    let isAllowed = true;
    for (let i = 0; i < flags.times; i += 1) {
      const answer = await ask();
      if (!answer.allowed) isAllowed = false;
      process.stdout.write(`${flags.json ? JSON.stringify(answer) : inWords(answer)}\n`);
    }
    process.exitCode = isAllowed ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = error instanceof Unanswered ? 1 : 2;
  }
}

/** The service could not be asked, or did not answer with a decision. */
class Unanswered extends Error {}

function subjectOf(fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    fields.map((field) => {
      const at = field.indexOf('=');
      if (at < 1) throw new SluiceError('invalid-option', `A field must be name=value, got "${field}".`);
      return [field.slice(0, at), field.slice(at + 1)];
    }),
  );
}

function askerFor(subject: Record<string, string>, flags: CheckFlags): Ask {
  const { url, policy, config, cost, key = 'me' } = flags;
  if (policy === undefined && flags.key !== undefined) {
    throw new SluiceError(
      'invalid-option',
      `--key is whom a --policy limits. Rules are asked about fields: user=${flags.key}, not --key ${flags.key}.`,
    );
  }
  if (policy !== undefined && (config !== undefined || Object.keys(subject).length > 0)) {
    throw new SluiceError(
      'invalid-option',
      '--policy limits --key; it takes neither --config nor fields of a subject.',
    );
  }
  if (url !== undefined && config !== undefined) {
    throw new SluiceError('invalid-option', '--config decides in this process; it cannot be given with --url.');
  }
  if (config !== undefined) return askRules(config, subject, cost);
  if (policy === undefined) return askService(url ?? defaultUrl, { subject, cost }, flags.token);
  const data = policyData(policy);
  if (url !== undefined) return askService(url, { policy: data, key, cost }, flags.token);
  const limit = limiter(parsePolicy(data as { algorithm: string }), { name: 'ad-hoc', store: memoryStore() });
  return async () => {
    const decision = limit.check(key, cost);
    return { allowed: decision.allowed, tightest: decision, decisions: [decision] };
  };
}

function policyData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SluiceError('invalid-option', `--policy must be JSON: ${(error as Error).message}.`);
  }
}

function askRules(path: string, subject: Record<string, string>, cost: number): Ask {
  const read = readConfig({ path, environment: process.env });
  if ('problems' in read) throw new SluiceError('invalid-option', formatProblems(read.problems, read.sources));
  const { rules: list, allow, deny, ipv6Subnet } = read.config;
  const limits = rules(list, { allow, deny, ipv6Subnet });
  return async () => limits.check(subject, { cost });
}

function askService(url: string, body: object, token = process.env.SLUICE_TOKEN): Ask {
  const address = URL.canParse('/v1/check', url) ? new URL('/v1/check', url) : undefined;
  if (address?.protocol !== 'http:' && address?.protocol !== 'https:') {
    throw new SluiceError('invalid-option', `--url must be an address such as ${defaultUrl}, got "${url}".`);
  }
  return async () => {
    let response: Response;
    try {
      response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
      });
    } catch (error) {
      const { cause, message } = error as Error;
      throw new Unanswered(`${address.origin} does not answer: ${(cause as Error | undefined)?.message ?? message}`);
    }
    let answer: Answered & { detail?: string; title?: string };
    try {
      answer = await response.json();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new Unanswered(`${address.origin} answered ${response.status} without JSON. Is it a Sluice?`);
    }
    if (response.status === 400)
      throw new SluiceError('invalid-option', answer.detail ?? answer.title ?? 'bad request');
    if (typeof answer.allowed !== 'boolean') {
      throw new Unanswered(`${address.origin} answered ${response.status}: ${answer.detail ?? answer.title ?? ''}`);
    }
    return answer;
  };
}

function inWords({ allowed, decisions, list }: Answered): string {
  if (list !== undefined) return `${allowed ? 'allowed' : 'refused'}   by the ${list}-list`;
  if (decisions.length === 0) return 'allowed   no rule applies';
  const widest = Math.max(...decisions.map(({ rule = '' }) => rule.length));
  const rows = decisions.map((decision) => `  ${(decision.rule ?? '').padEnd(widest)}  ${decisionInWords(decision)}`);
  return [allowed ? 'allowed' : 'refused', ...rows].join('\n');
}

function decisionInWords(decision: Partial<Decision>): string {
  const { allowed, remaining, limit, retryAfterMs, shadow, delayMs = 0 } = decision;
  const left = `${remaining} of ${limit} left`;
  if (allowed) return delayMs > 0 ? `yes, in ${inSeconds(delayMs)}; ${left}` : `yes, ${left}`;
  const never = retryAfterMs === null || retryAfterMs === Number.POSITIVE_INFINITY;
  const when = never ? 'never passes: it costs more than the limit' : `again in ${inSeconds(retryAfterMs ?? 0)}`;
  return `no, ${left}; ${when}${shadow ? ' (shadow: not enforced)' : ''}`;
}

function inSeconds(ms: number): string {
  return ms < 1000 ? `${Math.ceil(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
