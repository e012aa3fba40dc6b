/**
 * The answer to a check: the decision as JSON, and the headers. 200 when allowed. A refusal is problem details at the same time: 429, or 503
 * when only the store is at fault, with the members of the problem beside those of the decision.
 *
 * Written by hand, because it is written for every request: what stays the same for a rule is turned into text once.
 */
import type { Decision, Policy, RulesResult } from 'sluice';
import { type Answered, problemBody, rateLimitHeaders, statusOf } from 'sluice/http';
import { jsonType, problemType, type Reply } from './reply.ts';

export function rulesReply(result: RulesResult): Reply {
  return reply(result, rulesMembers(result));
}

export function policyReply(decision: Decision): Reply {
  return reply(decision, decisionMembers(decision));
}

function reply(answered: Answered, members: string): Reply {
  const headers = flat(rateLimitHeaders(answered));
  const status = statusOf(answered);
  return status === 200
    ? { status, type: jsonType, body: `{${members}}`, headers }
    : { status, type: problemType, body: `${refusalStart(answered)},${members}}`, headers };
}

/** The same for one item of a batch: always with a status, and without headers. */
export function rulesItem(result: RulesResult): string {
  return item(result, rulesMembers(result));
}

export function policyItem(decision: Decision): string {
  return item(decision, decisionMembers(decision));
}

function item(answered: Answered, members: string): string {
  return statusOf(answered) === 200 ? `{"status":200,${members}}` : `${refusalStart(answered)},${members}}`;
}

/** The problem, without its closing brace. */
function refusalStart(answered: Answered): string {
  return JSON.stringify(problemBody(answered)).slice(0, -1);
}

function flat(headers: Readonly<Record<string, string>>): string[] {
  const list: string[] = [];
  for (const name in headers) list.push(name, headers[name] as string);
  return list;
}

function rulesMembers({ allowed, tightest, decisions, list }: RulesResult): string {
  let texts = '';
  let tightestText = 'null';
  for (const decision of decisions) {
    const text = decisionText(decision);
    if (decision === tightest) tightestText = text;
    texts = texts === '' ? text : `${texts},${text}`;
  }
  const members = `"allowed":${allowed},"tightest":${tightestText},"decisions":[${texts}]`;
  return list === undefined ? members : `${members},"list":"${list}"`;
}

export function decisionText(decision: Decision): string {
  return `{${decisionMembers(decision)}}`;
}

function decisionMembers(decision: Decision): string {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs } = decision;
  const numbers = `"allowed":${allowed},"limit":${limit},"remaining":${remaining},"retryAfterMs":${finite(retryAfterMs)},"resetAfterMs":${finite(resetAfterMs)},"delayMs":${delayMs}`;
  let members = `${numbers},${constantMembers(decision)}`;
  if (decision.reason !== undefined) members += `,"reason":"${decision.reason}"`;
  if (decision.shadow) members += ',"shadow":true';
  if (decision.degraded !== undefined) members += `,"degraded":"${decision.degraded}"`;
  if (decision.remembered) members += ',"remembered":true';
  return members;
}

/** Waiting never helps: null. */
function finite(ms: number): number | null {
  return ms === Number.POSITIVE_INFINITY ? null : ms;
}

const constants = new WeakMap<Policy, { readonly rule: string; readonly text: string }>();

function constantMembers({ rule, policy }: Decision): string {
  const known = constants.get(policy);
  if (known !== undefined && known.rule === rule) return known.text;
  const text = `"rule":${JSON.stringify(rule)},"policy":${JSON.stringify(policy)}`;
  constants.set(policy, { rule, text });
  return text;
}
