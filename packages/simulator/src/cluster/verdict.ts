/** What a history is held against: the promise of every policy, progress once all is well, and that nobody is refused wrongly by plan. */
import { type Policy, parsePolicy } from 'sluice';
import { audit } from 'sluice/testing';
import type { Decided, Use } from './ledger.ts';
import type { Plan } from './plan.ts';
import type { Asked } from './simulated-node.ts';
import type { Rule, World } from './world.ts';

export interface Objection {
  readonly kind: 'too-much' | 'no-progress' | 'refused-by-plan' | 'thrown';
  readonly text: string;
  /** When to look. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Every rule, by its policy; where that was changed, by each version of it and by what both allow. */
export function tooMuch({ ledger, rules }: World): Objection[] {
  return rules.flatMap((rule) => {
    const uses = ledger.uses.filter((use) => use.rule === rule.name);
    const byVersion = rule.versions.map((_, version) => uses.filter((use) => use.version === version));
    const isChanged = byVersion.filter((some) => some.length > 0).length > 1;
    // What a bucket has left under one policy it has left under the next, by whose rate it was filled meanwhile.
    const isApart = !isChanged || rule.versions[0]!.burst === undefined;
    const apart = isApart ? rule.versions.flatMap((policy, version) => auditOf(byVersion[version]!, policy)) : [];
    const together = isChanged ? auditOf(uses, loosest(rule)) : [];
    return [...apart, ...together].map((objection) => ({ ...objection, text: `${rule.name}: ${objection.text}` }));
  });
}

function auditOf(uses: readonly Use[], policy: Policy): Objection[] {
  if (uses.length === 0) return [];
  const report = audit(uses, policy, { maxViolations: 5 });
  if (report.ok) return [];
  const { fromMs, toMs } = report.violations[0]!;
  return [{ kind: 'too-much', text: report.describe(), fromMs, toMs }];
}

/** Uses by one version and by another together are within what either allows. */
function loosest({ versions }: Rule): Policy {
  const most = (field: 'limit' | 'burst') => Math.max(...versions.map((policy) => policy[field] ?? 0));
  const window = Math.min(...versions.map((policy) => policy.window!));
  const [first] = versions as [Policy];
  return parsePolicy({
    ...first,
    limit: most('limit'),
    window,
    ...(first.burst !== undefined && { burst: most('burst') }),
  });
}

// A key that is hardly asked for, or only together with others, may be unlucky each time.
const fewest = 6;

/** Every key that is asked for is granted something again, some time after the last fault is over. */
export function noProgress({ ledger, rules }: World, { wellMs, endMs }: Plan): Objection[] {
  return rules.flatMap(({ name, keys, versions }) =>
    keys.flatMap((key): Objection[] => {
      const isIt = (each: Asked) => each.rule === name && each.key === key;
      const asked = ledger.asked.filter(
        (one) => one.atMs >= wellMs && one.asked.length === 1 && isIt(one.asked[0]!),
      ).length;
      // What was granted within the window before may be what it is refused for.
      const sinceMs = wellMs - Math.max(...versions.map(({ window = 0 }) => window));
      const isGranted = ledger.decisions.some((one) => isIt(one) && one.allowed && one.fromMs >= sinceMs);
      if (asked < fewest || isGranted) return [];
      const text = `${name}/${key} was asked for ${asked} times from ${wellMs.toFixed(0)} on, and never granted`;
      return [{ kind: 'no-progress', text, fromMs: wellMs, toMs: endMs }];
    }),
  );
}

/** Where only plans were carried out, everybody is answered, and nobody is refused but by a limit, and only when it was used up. */
export function refusedByPlan({ ledger, rules, settings }: World, { settledMs }: Plan): Objection[] {
  const { graceMs } = settings.shared;
  const refused = ledger.decisions
    .filter(({ fromMs, allowed }) => fromMs >= settledMs && !allowed)
    .find((one) => one.reason !== 'limit' || hadRoom(one, ledger.decisions, rules, graceMs));
  const failure = ledger.failures.find(({ atMs }) => atMs >= settledMs);
  const but = 'though nothing but plans was carried out';
  const objections: Objection[] = [];
  if (refused) {
    const { rule, key, reason, fromMs, toMs } = refused;
    const text = `${rule}/${key} was refused (${reason}) at ${toMs.toFixed(3)}, ${but}`;
    objections.push({ kind: 'refused-by-plan', text, fromMs, toMs });
  }
  if (failure) {
    const { code, atMs } = failure;
    const text = `a question was not answered (${code}) at ${atMs.toFixed(3)}, ${but}`;
    objections.push({ kind: 'refused-by-plan', text, fromMs: atMs, toMs: atMs });
  }
  return objections;
}

/** What was granted in the window before it, and it too, would have been within the limit. Only of exact logs, of keys asked for alone. */
function hadRoom(refused: Decided, decisions: readonly Decided[], rules: readonly Rule[], graceMs: number): boolean {
  const { versions } = rules.find(({ name }) => name === refused.rule)!;
  const { algorithm, limit, window } = versions[refused.version]!;
  if (algorithm !== 'sliding-log') return false;
  const isSame = ({ rule, key }: Decided) => rule === refused.rule && key === refused.key;
  if (decisions.some((each) => isSame(each) && each.isOneOfMany)) return false;
  const sinceMs = refused.fromMs - (window! + graceMs) * 1.01 - 5;
  let used = refused.cost;
  for (const each of decisions) {
    if (isSame(each) && each.allowed && each.toMs >= sinceMs && each.fromMs <= refused.toMs) used += each.cost;
  }
  return used <= limit;
}
