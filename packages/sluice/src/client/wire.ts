/**
 * Checks and decisions as they travel between `sluice/client` and a server:
 *
 *      SLUICE.APPLY <request id> <count>   then of each check:   <name> <key> <policy> <cost> <details>
 *
 *      reply  [ [allowed, limit, remaining, retryAfterMs, resetAfterMs, more?], ... ]        one array for each check
 *
 * Policies are JSON, and each text is read once: both sides remember a bounded number of them. Details and what there is more to a
 * decision are JSON too, and empty or absent for a plain check. Numbers of a reply are integers, -1 is Infinity, and a fraction is a
 * text. Times go as how long ago they were: the server's clock is another.
 */
import { algorithmOf } from '../algorithms/algorithm.ts';
import { parsePolicy } from '../algorithms/parse-policy.ts';
import type { Check, Operation } from '../stores/store.ts';
import type { Decision, Receipt } from '../vocabulary/decision.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { checkCost, knownFields, oneOf, type Policy, policyJson, zeroOrMore } from '../vocabulary/policy.ts';

export const applyCommandName = 'SLUICE.APPLY';
/** Which argument is the first key, the command's name being argument 0; further keys follow every `argumentsPerCheck`. */
export const firstKeyAt = 4;
export const argumentsPerCheck = 5;
/** As many as fit one command of the server. */
export const mostChecks = 200;

const beforeChecks = 3;
// A few thousand years.
const mostIdleMs = 1e14;

/** A check as a server gets it. */
export interface SentCheck extends Check {
  /** How long ago its limiter began: `sinceMs` on the server's clock. */
  readonly idleMs?: number;
  /** How long ago its policy came into force: `changedMs` on the server's clock. */
  readonly changedAgoMs?: number;
}

interface Details {
  operation?: Operation;
  shadow?: true;
  maxDelayMs?: number;
  receipt?: readonly (number | string)[];
  actual?: number;
  durationMs?: number;
  idleMs?: number;
  changedAgoMs?: number | string;
}

// --- Checks, on the client ---

/** What follows the name of the command. `nowMs` is the time of the clock that the checks' own times are by. */
export function argumentsOfChecks(requestId: string, checks: readonly Check[], nowMs: number): string[] {
  const all = [requestId, String(checks.length)];
  for (const check of checks) {
    all.push(check.name, check.key, policyJson(check.policy), String(check.cost), detailsOf(check, nowMs));
  }
  return all;
}

/** Everything but the plainest; empty when there is nothing. */
export function detailsOf(check: Check, nowMs: number): string {
  const { operation, shadow, maxDelayMs, receipt, actual, durationMs, sinceMs, changedMs, policy } = check;
  const details: Details = {};
  let isPlain = true;
  const add = <Field extends keyof Details>(field: Field, value: NonNullable<Details[Field]>) => {
    details[field] = value;
    isPlain = false;
  };
  if (operation !== undefined && operation !== 'check') add('operation', operation);
  if (shadow) add('shadow', true);
  if (maxDelayMs !== undefined && maxDelayMs !== Number.POSITIVE_INFINITY) add('maxDelayMs', maxDelayMs);
  if (receipt !== undefined) add('receipt', receipt.map(jsonNumber));
  if (actual !== undefined) add('actual', actual);
  if (durationMs !== undefined) add('durationMs', durationMs);
  if (sinceMs !== undefined && algorithmOf(policy).idles)
    add('idleMs', Math.min(mostIdleMs, Math.max(0, nowMs - sinceMs)));
  // Since the beginning means: since before any state that could be found.
  if (changedMs !== undefined && changedMs !== sinceMs) add('changedAgoMs', jsonNumber(Math.max(0, nowMs - changedMs)));
  return isPlain ? '' : JSON.stringify(details);
}

/** JSON has neither Infinity nor -0. */
function jsonNumber(value: number): number | string {
  return Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? '-0' : String(value);
}

// --- Checks, on the server ---

/** A command's arguments, the name being argument 0; a server has them as bytes. */
export interface Arguments {
  readonly count: number;
  text(i: number): string;
  /** The same, for what must not be mistaken for another: throws on what is no text, or too long. */
  key(i: number, field?: string): string;
}

/** Undefined where the client gave none. */
export function requestIdOf(args: Arguments): string | undefined {
  return args.key(1, 'request id') || undefined;
}

/** Throws `invalid-option` on everything that is not a batch of checks. */
export function checksOfArguments(args: Arguments): SentCheck[] {
  const countText = args.text(2);
  const count = /^[1-9]\d{0,5}$/.test(countText) ? Number(countText) : 0;
  if (count < 1 || count > mostChecks) throw invalid('count', `a whole number from 1 to ${mostChecks}`, countText);
  if (args.count !== beforeChecks + argumentsPerCheck * count) {
    throw invalid('arguments', `${argumentsPerCheck} for each of ${count} checks`, args.count - beforeChecks);
  }
  const checks: SentCheck[] = [];
  for (let at = beforeChecks; at < args.count; at += argumentsPerCheck) checks.push(checkAt(args, at));
  return checks;
}

function checkAt(args: Arguments, at: number): SentCheck {
  const details = args.text(at + 4);
  const name = args.key(at, 'name');
  const key = args.key(at + 1);
  const policy = policyOfText(args.text(at + 2));
  const cost = costOf(args.text(at + 3));
  if (details === '') return { name, key, policy, cost };
  const more = readDetails(details);
  mustHaveLeases(policy, more.operation);
  return { name, key, policy, cost, ...more };
}

/** What only leases have; limiters of other algorithms have no such method, so nobody else looks. */
function mustHaveLeases(policy: Policy, operation: Operation | undefined): void {
  const { name, release } = algorithmOf(policy);
  if (release !== undefined || (operation !== 'release' && operation !== 'renew')) return;
  throw invalid('operation', `one that ${name} has`, operation, 'Only concurrency has leases to release and renew.');
}

function costOf(text: string): number {
  if (text === '1') return 1;
  if (!/^\d{1,320}(\.\d{1,320})?(e[+-]?\d{1,3})?$/.test(text)) throw invalid('cost', 'a number of 0 or more', text);
  return checkCost(Number(text));
}

// Policies that clients choose: so many are kept ready, and the oldest is made anew.
const mostPolicies = 10_000;
const policies = new Map<string, Policy>();
// Nearly always the next check is of the policy of the last one.
let lastText = '';
let lastPolicy: Policy | undefined;

/** The policy of a text; of the same text, the same one while it is remembered. */
export function policyOfText(text: string): Policy {
  if (text === lastText && lastPolicy !== undefined) return lastPolicy;
  let policy = policies.get(text);
  if (policy === undefined) {
    policy = parsePolicy(readJson('policy', text) as Parameters<typeof parsePolicy>[0]);
    if (policies.size >= mostPolicies) policies.delete(policies.keys().next().value as string);
    policies.set(text, policy);
  }
  lastText = text;
  lastPolicy = policy;
  return policy;
}

const operations: readonly Operation[] = [
  'check',
  'peek',
  'reserve',
  'acquire',
  'take',
  'penalize',
  'reward',
  'settle',
  'release',
  'renew',
  'reset',
  'block',
];
const mostReceiptNumbers = 64;

function readDetails(text: string): Partial<SentCheck> {
  const given = readJson('details', text) as Details;
  knownFields('details', given, 'operation shadow maxDelayMs receipt actual durationMs idleMs changedAgoMs');
  const { operation, shadow, maxDelayMs, receipt, actual, durationMs, idleMs, changedAgoMs } = given;
  oneOf('operation', operation, operations);
  oneOf('shadow', shadow, [true]);
  return {
    ...(operation !== undefined && { operation }),
    ...(shadow && { shadow }),
    ...(maxDelayMs !== undefined && { maxDelayMs: zeroOrMore('maxDelayMs', maxDelayMs) }),
    ...(receipt !== undefined && { receipt: receiptOf(receipt) }),
    ...(actual !== undefined && { actual: checkCost(actual) }),
    ...(durationMs !== undefined && { durationMs: zeroOrMore('durationMs', durationMs) }),
    ...(idleMs !== undefined && { idleMs: zeroOrMore('idleMs', idleMs, mostIdleMs) }),
    ...(changedAgoMs !== undefined && { changedAgoMs: ageOf(changedAgoMs) }),
  };
}

/** How long ago; a policy may have been in force since ever. */
function ageOf(given: number | string): number {
  return given === 'Infinity' ? Number.POSITIVE_INFINITY : zeroOrMore('changedAgoMs', given as number);
}

function receiptOf(given: unknown): Receipt {
  const isReceipt = Array.isArray(given) && given.length <= mostReceiptNumbers && given.every(isJsonNumber);
  if (!isReceipt) throw invalid('receipt', `at most ${mostReceiptNumbers} numbers`, given);
  return given.map(Number);
}

function isJsonNumber(value: unknown): boolean {
  return typeof value === 'number' || ['Infinity', '-Infinity', 'NaN', '-0'].includes(value as string);
}

function readJson(field: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(field, 'JSON', text);
  }
}

// --- Decisions, on the server ---

/** Where replies are written. */
export interface DecisionWriter {
  array(count: number): void;
  integer(value: number): void;
  bulk(text: string): void;
}

export function writeDecisions(writer: DecisionWriter, decisions: readonly Decision[]): void {
  writer.array(decisions.length);
  for (let i = 0; i < decisions.length; i += 1) writeDecision(writer, decisions[i] as Decision);
}

function writeDecision(writer: DecisionWriter, decision: Decision): void {
  const more = moreOf(decision);
  writer.array(more === undefined ? 5 : 6);
  writer.integer(decision.allowed ? 1 : 0);
  writeNumber(writer, decision.limit);
  writeNumber(writer, decision.remaining);
  writeNumber(writer, decision.retryAfterMs);
  writeNumber(writer, decision.resetAfterMs);
  if (more !== undefined) writer.bulk(more);
}

function writeNumber(writer: DecisionWriter, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) writer.integer(value);
  else if (value === Number.POSITIVE_INFINITY) writer.integer(-1);
  else writer.bulk(String(value));
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** What a decision may have beside its numbers. */
interface More {
  /** Where it is not what every refusal by a limit has; empty: none. */
  reason?: string;
  delayMs?: number;
  granted?: number;
  receipt?: readonly (number | string)[];
  shadow?: true;
  degraded?: Decision['degraded'];
  remembered?: true;
}

function moreOf(decision: Decision): string | undefined {
  const { allowed, reason, delayMs, granted, receipt, shadow, degraded, remembered } = decision;
  const isUsual = reason === (allowed ? undefined : 'limit') && delayMs === 0;
  if (isUsual && granted === undefined && receipt === undefined && !shadow && !degraded && !remembered) {
    return undefined;
  }
  const more: More = {};
  if (reason !== (allowed ? undefined : 'limit')) more.reason = reason ?? '';
  if (delayMs !== 0) more.delayMs = delayMs;
  if (granted !== undefined) more.granted = granted;
  if (receipt !== undefined) more.receipt = receipt.map(jsonNumber);
  if (shadow) more.shadow = true;
  if (degraded) more.degraded = degraded;
  if (remembered) more.remembered = true;
  return JSON.stringify(more);
}

// --- Decisions, on the client ---

/** Throws `store-unavailable` on everything that is not an answer to these checks: then nobody knows what was counted. */
export function decisionsOfReply(checks: readonly Check[], reply: unknown): Decision[] {
  if (!Array.isArray(reply) || reply.length !== checks.length) throw unreadable(reply);
  const decisions: Decision[] = [];
  for (let i = 0; i < checks.length; i += 1) decisions.push(decisionOf(checks[i] as Check, reply[i]));
  return decisions;
}

function decisionOf({ name, policy }: Check, reply: unknown): Decision {
  if (!Array.isArray(reply) || reply.length < 5 || reply.length > 6) throw unreadable(reply);
  const allowed = reply[0] === 1;
  if (!allowed && reply[0] !== 0) throw unreadable(reply);
  const decision: Mutable<Decision> = {
    allowed,
    limit: numberOf(reply[1]),
    remaining: numberOf(reply[2]),
    retryAfterMs: numberOf(reply[3]),
    resetAfterMs: numberOf(reply[4]),
    delayMs: 0,
    rule: name,
    policy,
  };
  if (!allowed) decision.reason = 'limit';
  if (reply.length === 6) readMore(decision, reply[5]);
  return decision;
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') {
    if (value >= 0) return value;
    if (value === -1) return Number.POSITIVE_INFINITY;
  } else if (typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(value)) return Number(value);
  throw unreadable(value);
}

const reasons = ['', 'limit', 'blocked', 'store-full', 'store-failure', 'quarantine', 'too-many-waiters', 'max-wait'];

function readMore(decision: Mutable<Decision>, text: unknown): void {
  try {
    const more = JSON.parse(String(text)) as More;
    knownFields('a decision', more, 'reason delayMs granted receipt shadow degraded remembered');
    oneOf('reason', more.reason, reasons);
    if (more.reason === '') delete decision.reason;
    else if (more.reason !== undefined) decision.reason = more.reason as NonNullable<Decision['reason']>;
    if (more.delayMs !== undefined) decision.delayMs = zeroOrMore('delayMs', more.delayMs);
    if (more.granted !== undefined) decision.granted = zeroOrMore('granted', more.granted);
    if (more.receipt !== undefined) decision.receipt = receiptOf(more.receipt);
    if (more.shadow) decision.shadow = true;
    if (more.degraded !== undefined) {
      oneOf('degraded', more.degraded, ['closed', 'open', 'local']);
      decision.degraded = more.degraded;
    }
    if (more.remembered) decision.remembered = true;
  } catch (error) {
    throw unreadable(text, error);
  }
}

function unreadable(reply: unknown, cause?: unknown): SluiceError {
  const text = (typeof reply === 'string' ? reply : (JSON.stringify(reply) ?? String(reply))).slice(0, 80);
  return new SluiceError('store-unavailable', `The cluster answered something unexpected: ${text}`, { cause });
}
