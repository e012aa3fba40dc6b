/** The list under `rules`, and those of who always or never passes: what the library makes of each, and what it has against them. */
import { type Match, type Rule, rules as rulesOf, SluiceError } from 'sluice';
import type { Path } from './problem.ts';
import { policyProblems, type RuleProblem, readRule } from './rule-problems.ts';
import type { StructureProblem } from './structure.ts';

type Data = Readonly<Record<string, unknown>>;

// What state and metrics beside the rules are kept under: CL.THROTTLE, policies of requests, Envoy's limits, the deny-list.
const reserved = /^(cl\.throttle|ad-hoc$|deny-list$|envoy(\/|$)|\{)/;

export interface ReadRules {
  readonly rules: readonly Rule[];
  readonly ruleData: readonly Data[];
}

export function readRules(
  data: Data,
  form: readonly StructureProblem[],
): { readonly rules: ReadRules; readonly problems: readonly RuleProblem[] } {
  const list: readonly unknown[] = Array.isArray(data.rules) ? data.rules : [];
  const ipv6Subnet = form.some(({ path }) => path[0] === 'ipv6Subnet')
    ? 56
    : ((data.ipv6Subnet as number | undefined) ?? 56);
  const problems: RuleProblem[] = [];
  const rules: Rule[] = [];
  const firstOf = new Map<string, number>();
  const wrongOf = new Map<Path[number] | undefined, StructureProblem[]>();
  for (const problem of form) {
    if (problem.path[0] !== 'rules') continue;
    const [, i] = problem.path;
    wrongOf.set(i, [...(wrongOf.get(i) ?? []), problem]);
  }
  list.forEach((entry, i) => {
    const at: Path = ['rules', i];
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return;
    const rule = entry as Data;
    const wrong = wrongOf.get(i) ?? [];
    const found = policyProblems(without(rule, wrong));
    problems.push(...found.map((problem) => ({ ...problem, path: [...at, ...problem.path] })));
    if (wrong.length === 0 && found.length === 0) {
      const result = readRule(rule, ipv6Subnet);
      if ('rule' in result) rules.push(result.rule);
      else problems.push({ ...result.problem, path: [...at, ...result.problem.path] });
    }
    if (typeof rule.name !== 'string') return;
    if (reserved.test(rule.name)) {
      const message = `is ${JSON.stringify(rule.name)}, which the service counts other things under. Choose another name.`;
      problems.push({ path: [...at, 'name'], message });
    }
    const first = firstOf.get(rule.name);
    if (first === undefined) firstOf.set(rule.name, i);
    else
      problems.push({
        path: [...at, 'name'],
        message: `is ${JSON.stringify(rule.name)}, as rules[${first}].name is. State belongs to the name: give each rule its own.`,
      });
  });
  problems.push(...listProblems(data, form));
  return { rules: { rules, ruleData: list as readonly Data[] }, problems };
}

function listProblems(data: Data, form: readonly StructureProblem[]): RuleProblem[] {
  return (['allow', 'deny'] as const).flatMap((list) => {
    const given = data[list];
    if (given === undefined || form.some(({ path }) => path[0] === list)) return [];
    const matches = (Array.isArray(given) ? given : [given]) as readonly Match[];
    return matches.flatMap((match, i) => {
      const at: Path = Array.isArray(given) ? [list, i] : [list];
      try {
        rulesOf([], { [list]: match });
        return [];
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        const [, field, message] = /^match\.(\S+) (.*)$/s.exec(error.message) ?? [];
        return [{ path: field === undefined ? at : [...at, field], message: message ?? error.message }];
      }
    });
  });
}

/** The rule without the fields that are none: the library would only say so again. */
function without(rule: Data, wrong: readonly StructureProblem[]): Data {
  const copy = structuredClone(rule) as Record<string, unknown>;
  for (const { path, kind } of wrong) {
    if (kind !== 'unknown') continue;
    const [, , first, ...rest] = path;
    if (rest.length === 0) delete copy[first as string];
    const [tier, field] = rest;
    if (first === 'tiers' && field !== undefined)
      delete (copy.tiers as Record<string, Record<string, unknown>>)[tier as string]?.[field];
  }
  return copy;
}
