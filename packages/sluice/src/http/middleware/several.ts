/**
 * One request may come by several rateLimit()s: one for everybody, one of the route. A client sees one set of headers, and that speaks of all:
 *
 *      app.use(rateLimit({ name: 'everybody', ... }))      RateLimit-Policy: "everybody";q=100;w=60, "log-in";q=5;w=60
 *      app.post('/log-in', rateLimit({ name: 'log-in' }))  RateLimit: "log-in";r=1;t=30             the tightest, whoever came last
 */
import { type RulesResult, tightestOf } from '../../limit/rules.ts';
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

/** What one rateLimit() said to a request, after all that others had said to it. */
interface Spoken {
  readonly by: object;
  readonly result: RulesResult;
  readonly cost: number;
  /** Of those that show headers, this one included. */
  readonly shown: RulesResult | undefined;
  readonly before: Spoken | undefined;
}

/** Is what it is given, so that a class made from it adds its private fields to that. */
class Given {
  constructor(given: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is what it is for
    return given;
  }
}

/**
 * What was said to a request, on the request: as a private field, which nobody else sees or copies. Most requests are only ever written to,
 * and to write into a `WeakMap` takes as long as the limit itself.
 */
class Listener extends Given {
  #spoken: Spoken;

  private constructor(request: object, spoken: Spoken) {
    super(request);
    this.#spoken = spoken;
  }

  static heard(request: object): Spoken | undefined {
    return #spoken in request ? request.#spoken : undefined;
  }

  static tell(request: object, spoken: Spoken): void {
    if (#spoken in request) request.#spoken = spoken;
    // Newer engines add nothing to what is frozen, not even a private field; of such a request nothing is remembered.
    else if (Object.isExtensible(request)) new Listener(request, spoken);
  }
}

let middlewares = 0;

/**
 * For each rateLimit(): what its headers are to say, given what others have said to the same client already.
 *
 * What an earlier one took stays taken when a later one refuses. Where it has nothing left, the client has to wait for that too: told only the
 * wait of the one that refused, it would come back too early.
 *
 * @param isShown whether it shows more than `Retry-After`: if not, nobody speaks of its limits
 */
export function speaker(isShown: boolean): (request: object, result: RulesResult, cost: number) => RulesResult {
  middlewares += 1;
  const by = {};
  return (request, result, cost) => {
    // Nobody else can have spoken, and nothing has to be remembered.
    if (middlewares === 1) return result;
    const known = Listener.heard(request);
    // Whoever speaks again speaks of another time: the request was made again.
    const before = hasSpoken(known, by) ? undefined : known;
    const all = isShown ? together(before?.shown, result) : result;
    Listener.tell(request, { by, result, cost, shown: isShown ? all : before?.shown, before });
    return result.allowed ? all : notBefore(all, exhaustedMs(before));
  };
}

function hasSpoken(spoken: Spoken | undefined, by: object): boolean {
  return spoken !== undefined && (spoken.by === by || hasSpoken(spoken.before, by));
}

/** How long until the same request would pass all of the limits that have let it in. */
function exhaustedMs(spoken: Spoken | undefined): number {
  if (spoken === undefined) return 0;
  const { result, cost, before } = spoken;
  const waits = result.allowed ? result.decisions.map((decision) => waitFor(decision, cost)) : [];
  return Math.max(exhaustedMs(before), ...waits);
}

/**
 * How long until a limit that has let a request in has room for another like it: never less, and where the limit refills steadily no more than
 * rounding adds. How others refill cannot be told from a decision; when they are as good as new they have room.
 */
function waitFor({ limit, remaining, resetAfterMs, policy, shadow }: Decision, cost: number): number {
  // A place comes back as soon as this request is over, and that it is with the refusal.
  if (shadow || remaining >= cost || policy.window === undefined) return 0;
  if (!isSteady(policy)) return resetAfterMs;
  // From the end: so long before it is full there is room for the cost already. Counted from what remains, it would be too early after a clock
  // that stepped back, and for an instance that has a share of the policy and refills more slowly.
  const roomBeforeMs = (Math.max(0, limit - cost) * policy.window) / policy.limit;
  return Math.max(0, Math.ceil(resetAfterMs - roomBeforeMs));
}

function isSteady(policy: Policy & { readonly refill?: unknown }): boolean {
  return ['gcra', 'leaky-bucket', 'token-bucket'].includes(policy.algorithm) && policy.refill !== 'interval';
}

function notBefore(result: RulesResult, waitMs: number): RulesResult {
  const { tightest } = result;
  if (tightest === undefined || tightest.retryAfterMs >= waitMs) return result;
  const told = { ...tightest, retryAfterMs: waitMs };
  // In its place too: of a long list, some are left out that are not the tightest.
  const decisions = result.decisions.map((decision) => (decision === tightest ? told : decision));
  return { ...result, tightest: told, decisions };
}
