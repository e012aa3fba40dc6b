/** What a history is held against: the promise of every policy, progress once all is well, and that nobody is refused wrongly by plan. */
import { type Policy, parsePolicy } from 'sluice';
import { audit } from 'sluice/testing';
import { drift } from 'sluice-server/cluster';
import { overBudget } from './budget.ts';
import type { Decided, Intervention, Ledger, Use } from './ledger.ts';
import type { Plan } from './plan.ts';
import type { Asked } from './simulated-node.ts';
import { type Rule, spanMs, type World } from './world.ts';

export interface Objection {
  readonly kind: 'too-much' | 'despite-block' | 'no-progress' | 'refused-by-plan' | 'thrown';
  readonly text: string;
  /** When to look. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Every rule, by its policy; where that was changed, by each version of it and by what both allow. */
export function tooMuch(world: World): Objection[] {
  return world.rules.flatMap((rule) => {
    const uses = world.ledger.uses.filter((use) => use.rule === rule.name);
    const byVersion = rule.versions.map((_, version) => uses.filter((use) => use.version === version));
    const isChanged = byVersion.filter((some) => some.length > 0).length > 1;
    // What a bucket has left under one policy it has left under the next, by whose rate it was filled meanwhile.
    const isApart = !isChanged || rule.versions[0]!.burst === undefined;
    const apart = isApart
      ? rule.versions.flatMap((policy, version) => auditOf(world, rule, byVersion[version]!, policy))
      : [];
    const together = isChanged ? auditOf(world, rule, uses, loosest(rule)) : [];
    return [...apart, ...together].map((objection) => ({ ...objection, text: `${rule.name}: ${objection.text}` }));
  });
}

/** Keys that nobody did anything to are the auditor's; of the others it would have to know what that was. */
function auditOf(world: World, rule: Rule, uses: readonly Use[], policy: Policy): Objection[] {
  const interventions = world.ledger.interventions.filter((one) => one.rule === rule.name);
  const changed = new Set(interventions.map(({ key }) => key));
  const plain = uses.filter(({ key }) => !changed.has(key));
  const report = plain.length > 0 ? audit(plain, policy, { maxViolations: 5 }) : undefined;
  const objections = Array.from(changed, (key): Objection | undefined => {
    const isIt = (one: Asked) => one.key === key;
    return budgetOf(world, rule, key, uses.filter(isIt), interventions.filter(isIt), policy);
  });
  if (report && !report.ok) {
    const { fromMs, toMs } = report.violations[0]!;
    objections.push({ kind: 'too-much', text: report.describe(), fromMs, toMs });
  }
  return objections.filter((objection) => objection !== undefined);
}

function budgetOf(
  { settings: { shared } }: World,
  { versions }: Rule,
  key: string,
  uses: readonly Use[],
  interventions: readonly Intervention[],
  policy: Policy,
): Objection | undefined {
  // A log is waited for by whoever knows nothing of it. Of a bucket only what one that was empty would owe is made up for; and what is taken in any case
  // is known to etcd only if that answers.
  const isWaitedFor = policy.burst === undefined && spanMs(policy) < shared.durableFromMs;
  const excess = overBudget(uses, interventions, {
    policy,
    most: Math.max(...versions.map(({ limit, burst }) => burst ?? limit)),
    graceMs: shared.graceMs,
    isForgetful: !isWaitedFor,
  });
  if (excess === undefined) return undefined;
  const { fromMs, toMs, used, limit } = excess;
  const times = `from ${fromMs.toFixed(3)} to ${toMs.toFixed(3)}`;
  const text = `key "${key}" had ${used}, with what was taken from it, ${times}; ${limit} would be allowed, with what was freed`;
  return { kind: 'too-much', text, fromMs, toMs };
}

/** Uses by one version and by another together are within what either allows. */
function loosest({ versions }: Rule): Policy {
  const most = (field: 'limit' | 'burst') => Math.max(...versions.map((policy) => policy[field] ?? 0));
  const [first] = versions as [Policy];
  return parsePolicy({
    ...first,
    limit: most('limit'),
    ...(first.window !== undefined && { window: Math.min(...versions.map((policy) => policy.window!)) }),
    ...(first.burst !== undefined && { burst: most('burst') }),
  });
}

/** Nobody passes a block before it is over, unless somebody may have lifted it, or its owner is lost without a copy. */
export function despiteBlock({ ledger }: World): Objection[] {
  const blocks = ledger.interventions.filter(({ operation }) => operation === 'block');
  // By whatever clock it was counted.
  const leastMs = ({ durationMs }: Intervention) => durationMs * (1 - 2 * drift);
  return blocks.flatMap((block): Objection[] => {
    const isIt = ({ rule, key }: Asked) => rule === block.rule && key === block.key;
    const isLifted = (use: Use) =>
      ledger.interventions.some(
        (other) =>
          other !== block &&
          isIt(other) &&
          other.toMs >= block.fromMs &&
          other.fromMs <= use.atMs &&
          (other.operation === 'reset' || (other.operation === 'block' && other.fromMs + leastMs(other) <= use.atMs)),
      );
    const passed = ledger.uses.find(
      (use) =>
        isIt(use) &&
        use.askedMs >= block.toMs &&
        use.atMs < block.fromMs + leastMs(block) &&
        use.statesLost === block.statesLost &&
        !isLifted(use),
    );
    if (passed === undefined) return [];
    const { rule, key, fromMs, durationMs } = block;
    const text = `${rule}/${key} was used at ${passed.atMs.toFixed(3)}, though blocked at ${fromMs.toFixed(3)} for ${durationMs.toFixed(0)} ms`;
    return [{ kind: 'despite-block', text, fromMs, toMs: passed.atMs }];
  });
}

// A key that is hardly asked for, only together with others, or for much at once, may be unlucky each time.
const fewest = 6;

/** Every key that is asked for is granted something again, some time after the last fault is over. */
export function noProgress({ ledger, rules }: World, { wellMs, endMs }: Plan): Objection[] {
  return rules.flatMap(({ name, keys, versions }) =>
    keys.flatMap((key): Objection[] => {
      const isIt = (each: Asked) => each.rule === name && each.key === key;
      const asked = ledger.asked.filter(
        (one) => one.atMs >= wellMs && one.asked.length === 1 && isIt(one.asked[0]!) && one.asked[0]!.cost === 1,
      ).length;
      // What was granted within the window before may be what it is refused for.
      const sinceMs = wellMs - Math.max(...versions.map(spanMs));
      const decisions = ledger.decisions.filter((one) => isIt(one) && one.fromMs >= sinceMs);
      const isGranted = decisions.some(({ allowed }) => allowed);
      // Together with something else it may have been taken, though nobody was told so.
      const isSpent =
        decisions.some(({ reason, fromMs }) => reason === 'limit' && fromMs >= wellMs) &&
        ledger.failures.some((one) => one.atMs >= sinceMs && one.asked.length > 1 && one.asked.some(isIt));
      // Whoever renews a place is granted it again.
      const heldMs = wellMs + Math.min(...versions.map(spanMs));
      const isHeld = ledger.uses.some((use) => isIt(use) && use.endMs !== undefined && use.endMs > heldMs);
      if (asked < fewest || isGranted || isSpent || isHeld) return [];
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
    .find((one) => !isBlocked(one, ledger.interventions) && !isUsedUp(one, ledger, rules, graceMs));
  const failure = ledger.failures.find(({ atMs, isAwaited }) => isAwaited && atMs >= settledMs);
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

// State that is handed over looks younger by the time that it is on its way, and may be handed over several times.
const travelledMsMax = 25;

/** Somebody forbade it, and that may not be over yet. */
function isBlocked(refused: Decided, interventions: readonly Intervention[]): boolean {
  return (
    refused.reason === 'blocked' &&
    interventions.some(
      ({ operation, rule, key, fromMs, toMs, durationMs }) =>
        operation === 'block' &&
        rule === refused.rule &&
        key === refused.key &&
        fromMs <= refused.toMs &&
        toMs + durationMs * (1 + 2 * drift) + travelledMsMax >= refused.fromMs,
    )
  );
}

/**
 * What was granted in the window before it, and it too, would have been more than the limit. Known only of exact logs, of keys that were asked for alone
 * and that nothing else was done to.
 */
function isUsedUp(
  refused: Decided,
  { decisions, interventions }: Ledger,
  rules: readonly Rule[],
  graceMs: number,
): boolean {
  if (refused.reason !== 'limit') return false;
  const { versions } = rules.find(({ name }) => name === refused.rule)!;
  const { algorithm, limit, window } = versions[refused.version]!;
  if (algorithm !== 'sliding-log') return true;
  const isSame = ({ rule, key }: Asked) => rule === refused.rule && key === refused.key;
  if (interventions.some(isSame) || decisions.some((each) => isSame(each) && each.isOneOfMany)) return true;
  const sinceMs = refused.fromMs - (window! + graceMs) * 1.01 - 5;
  let used = refused.cost;
  for (const each of decisions) {
    if (isSame(each) && each.allowed && each.toMs >= sinceMs && each.fromMs <= refused.toMs) used += each.cost;
  }
  return used > limit;
}
