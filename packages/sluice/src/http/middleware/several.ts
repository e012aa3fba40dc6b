/**
 * One request may come by several rateLimit()s: one for everybody, one of the route. A client sees one set of headers, and that speaks of all:
 *
 *      app.use(rateLimit({ name: 'everybody', ... }))      RateLimit-Policy: "everybody";q=100;w=60, "log-in";q=5;w=60
 *      app.post('/log-in', rateLimit({ name: 'log-in' }))  RateLimit: "log-in";r=1;t=30             the tightest, whoever came last
 */
import { type RulesResult, tightestOf } from '../../limit/rules.ts';
import type { Decision } from '../../vocabulary/decision.ts';

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

/** What was said to a request, by whom, and until when the same request would at least have to wait because of it. */
interface Spoken {
  readonly result: RulesResult;
  readonly by: readonly object[];
  readonly exhaustedMs: number;
}

let middlewares = 0;
const spokenTo = new WeakMap<object, Spoken>();

/**
 * For each rateLimit() that shows headers: what they are to say, given what others have said to the same client already.
 *
 * What an earlier one took stays taken when a later one refuses. Where it has nothing left, the client has to wait for that too: told only the
 * wait of the one that refused, it would come back too early.
 */
export function speaker(): (request: object, result: RulesResult, cost: number) => RulesResult {
  middlewares += 1;
  const own = {};
  return (request, result, cost) => {
    // Nobody else can have spoken, and nothing has to be remembered.
    if (middlewares === 1) return result;
    const known = spokenTo.get(request);
    // Whoever speaks again speaks of another time: the request was made again.
    const before = known?.by.includes(own) ? undefined : known;
    const all = together(before?.result, result);
    const exhaustedMs = Math.max(before?.exhaustedMs ?? 0, exhausted(result, cost));
    spokenTo.set(request, { result: all, by: [...(before?.by ?? []), own], exhaustedMs });
    return result.allowed ? all : notBefore(all, before?.exhaustedMs ?? 0);
  };
}

/** How long until those limits are as good as new that have less left than the request takes. */
function exhausted({ allowed, decisions }: RulesResult, cost: number): number {
  if (!allowed) return 0;
  return Math.max(0, ...decisions.map(({ remaining, resetAfterMs }) => (remaining < cost ? resetAfterMs : 0)));
}

function notBefore(result: RulesResult, waitMs: number): RulesResult {
  const { tightest } = result;
  if (tightest === undefined || tightest.retryAfterMs >= waitMs) return result;
  return { ...result, tightest: { ...tightest, retryAfterMs: waitMs } };
}
