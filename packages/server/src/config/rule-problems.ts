/**
 * What the library has against a rule, field by field. It stops at the first; here the field is mended and it is asked again, so
 * that somebody with three slips in a rule need not run three times.
 */
import { algorithmNames, parsePolicy, parseRules, type Rule, rules, SluiceError } from 'sluice';
import { nearestName } from './nearest-name.ts';
import { type Path, pathText } from './problem.ts';
import { policyFields } from './rule-schema.ts';

type Data = Readonly<Record<string, unknown>>;

export interface RuleProblem {
  /** Inside the rule; empty for the rule as a whole. */
  readonly path: Path;
  /** Without the path. */
  readonly message: string;
  /** A field that should not be there is told at its name. */
  readonly part?: 'name';
}

/** So generous that no other field is wrong only because of it. */
const standIns: Data = { limit: 1_000_000, window: '1d' };

/** What is wrong with the policies of a rule, its own and those of its tiers. */
export function policyProblems(data: Data): RuleProblem[] {
  const policy = Object.fromEntries(Object.entries(data).filter(([name]) => Object.hasOwn(policyFields, name)));
  const tiers = Object.entries(isMap(data.tiers) ? data.tiers : {});
  const problems: RuleProblem[] = [];
  // With tiers, a rule without a limit has no policy of its own.
  if (tiers.length === 0 || 'limit' in policy) problems.push(...fieldProblems(policy));
  for (const [tier, own] of tiers) {
    if (!isMap(own)) continue;
    for (const { path: field, ...problem } of fieldProblems({ ...policy, ...own })) {
      const [name] = field;
      // What the tier took over is wrong where it was written; what nobody wrote is missing in the tier.
      const isTakenOver = name !== undefined && !(name in own) && name in policy;
      const path = isTakenOver ? field : ['tiers', tier, ...field];
      if (!problems.some((other) => pathText(other.path) === pathText(path))) problems.push({ ...problem, path });
    }
  }
  return problems;
}

/** A rule whose policies have no problems. */
export function readRule(data: Data, ipv6Subnet: number): { readonly rule: Rule } | { readonly problem: RuleProblem } {
  try {
    const [rule] = parseRules([data]) as [Rule];
    rules([rule], { maxKeys: 1, ipv6Subnet });
    return { rule };
  } catch (error) {
    return { problem: problemOf(error, data) };
  }
}

function fieldProblems(policy: Data): RuleProblem[] {
  const problems: RuleProblem[] = [];
  const data: Record<string, unknown> = { ...policy };
  // Every turn mends a field, so there are at most as many turns as fields.
  for (let turn = 0; turn <= Object.keys(policyFields).length; turn++) {
    try {
      parsePolicy(data);
      return problems;
    } catch (error) {
      const problem = problemOf(error, data);
      const [field] = problem.path;
      const isSecond = problems.some((other) => other.path[0] === field);
      if (!isSecond) problems.push(problem);
      // Which fields there are depends on the algorithm.
      if (isSecond || field === undefined || field === 'algorithm') return problems;
      if (field in standIns) data[field] = standIns[field];
      else delete data[field];
    }
  }
  return problems;
}

/** The field that an error of the library names, and what it says about it. */
function problemOf(error: unknown, data: Data): RuleProblem {
  if (!(error instanceof SluiceError)) throw error;
  // The innermost error is about the field; the outer ones add which rule it is of.
  let innermost: Error = error;
  while (innermost.cause instanceof SluiceError) innermost = innermost.cause;
  // A file calls no functions; who is refused whatever the limit has a list of their own in it.
  const message = innermost.message.replace(
    'To refuse everything use block().',
    'To refuse somebody always, use deny.',
  );
  const foreign = /^\w+ has no field "(\w+)"\. (.*)$/s.exec(message);
  if (foreign) {
    const [, name = '', takes = ''] = foreign;
    return { path: [name], message: `is not a field of ${String(data.algorithm)}. ${takes}`, part: 'name' };
  }
  const [, field, words = ''] = /^(\w+) (must be .*)$/s.exec(message) ?? [];
  if (field === undefined) return { path: [], message: `cannot work: ${message}` };
  if (data[field] === undefined) {
    return { path: [field], message: `is missing; it ${words.replace(/, got undefined\.(?= |$)/, '.')}` };
  }
  const meant =
    field === 'algorithm' && typeof data.algorithm === 'string'
      ? nearestName(data.algorithm, algorithmNames)
      : undefined;
  return { path: [field], message: meant === undefined ? words : `${words} Did you mean ${meant}?` };
}

function isMap(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
