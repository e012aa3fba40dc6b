/**
 * One request may come by several rateLimit()s: one for everybody, one of the route. A client sees one set of headers, and that speaks of all:
 *
 *      app.use(rateLimit({ name: 'everybody', ... }))      RateLimit-Policy: "everybody";q=100;w=60, "log-in";q=5;w=60
 *      app.post('/log-in', rateLimit({ name: 'log-in' }))  RateLimit: "log-in";r=1;t=30             the tightest, whoever came last
 */
import { type RulesResult, tightestOf } from '../../limit/rules.ts';
import type { Store } from '../../stores/store.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';

/** What was said before and what is said now, as one result. A refusal is always the tightest. */
export function together(before: RulesResult | undefined, now: RulesResult): RulesResult {
  if (before === undefined) return now;
  const decisions = [...before.decisions];
  for (const decision of now.decisions) {
    // One limit that was asked twice, or for two keys: the client is told once, of what binds it more.
    const at = decisions.findIndex(({ rule, policy }) => rule === decision.rule && policy === decision.policy);
    if (at === -1) decisions.push(decision);
    else decisions[at] = tightestOf([decision, decisions[at] as Decision]) ?? decision;
  }
  return { ...now, allowed: before.allowed && now.allowed, tightest: tightestOf(decisions), decisions };
}

/** What a framework's request has under a name that limiters of other kinds use too, if it is ours. */
export function earlierResult(found: unknown): RulesResult | undefined {
  return Array.isArray((found as Partial<RulesResult> | undefined)?.decisions) ? (found as RulesResult) : undefined;
}

const policies = new WeakMap<Store, Map<string, string>>();

/** Whether another policy goes by the same name in the same store. The two would be one limit that changes with every request. */
export function isNameTaken(store: Store, name: string, policy: Policy): boolean {
  const named = policies.get(store) ?? new Map<string, string>();
  policies.set(store, named);
  const text = JSON.stringify(policy);
  const before = named.get(name) ?? text;
  named.set(name, before);
  return before !== text;
}

let middlewares = 0;
const spokenTo = new WeakMap<object, RulesResult>();

/** For each rateLimit() that shows headers: what they are to say, given what others have said to the same client already. */
export function speaker(): (request: object, result: RulesResult) => RulesResult {
  middlewares += 1;
  return (request, result) => {
    // Nobody else can have spoken, and nothing has to be remembered.
    if (middlewares === 1) return result;
    const all = together(spokenTo.get(request), result);
    spokenTo.set(request, all);
    return all;
  };
}
