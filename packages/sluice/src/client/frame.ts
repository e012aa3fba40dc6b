/** Commands as the Redis protocol has them: `*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`. */
import { algorithmOf } from '../algorithms/algorithm.ts';
import type { Check } from '../stores/store.ts';
import { type Policy, policyJson } from '../vocabulary/policy.ts';
import { applyCommandName, argumentsPerCheck, detailsOf } from './wire.ts';

export function frameOf(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map(part).join('')}`;
}

/** One argument. */
function part(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

const start = part(applyCommandName);
const plainEnd = `${part('1')}${part('')}`;
const single = `*${3 + argumentsPerCheck}\r\n${start}`;
const countOne = part('1');

// The arguments that come again and again, ready to be sent. A policy's text goes with the policy.
const policyParts = new WeakMap<Policy, string>();
const nameParts = new Map<string, string>();
const mostNames = 10_000;

function policyPart(policy: Policy): string {
  const known = policyParts.get(policy);
  if (known !== undefined) return known;
  const made = part(policyJson(policy));
  policyParts.set(policy, made);
  return made;
}

function namePart(name: string): string {
  const known = nameParts.get(name);
  if (known !== undefined) return known;
  const made = part(name);
  if (nameParts.size >= mostNames) nameParts.clear();
  nameParts.set(name, made);
  return made;
}

/** Whether each character is one byte. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** `SLUICE.APPLY` of a batch; see wire.ts. */
export function applyFrame(requestId: string, checks: readonly Check[], now: () => number): string {
  if (checks.length === 1) return `${single}${part(requestId)}${countOne}${checkParts(checks[0] as Check, now)}`;
  let frame = `*${3 + argumentsPerCheck * checks.length}\r\n${start}${part(requestId)}${part(String(checks.length))}`;
  for (const check of checks) frame += checkParts(check, now);
  return frame;
}

function checkParts(check: Check, now: () => number): string {
  const { name, key, policy, cost } = check;
  const asked = namePart(name) + part(key) + policyPart(policy);
  if (cost === 1 && isPlain(check)) return asked + plainEnd;
  return asked + part(String(cost)) + part(detailsOf(check, now()));
}

/** Whether there can be no details. */
function isPlain(check: Check): boolean {
  return (
    (check.operation === undefined || check.operation === 'check') &&
    !check.shadow &&
    check.maxDelayMs === undefined &&
    (check.sinceMs === undefined || !algorithmOf(check.policy).idles) &&
    (check.changedMs === undefined || check.changedMs === check.sinceMs) &&
    check.receipt === undefined &&
    check.actual === undefined &&
    check.durationMs === undefined
  );
}
