/**
 * What a check asks, read from JSON and checked field by field: `{ subject, cost?, id? }` for the configured rules, or
 * `{ policy, key, cost?, id? }` for a policy that comes along.
 */
import { type Policy, parsePolicy, type Subject } from 'sluice';
import type { LimitsConfig } from '../config/config.ts';
import type { ServiceCall, TraceContext } from '../service/service.ts';
import { Problem, shown } from './problem.ts';

export type CheckRequest =
  | { readonly subject: Subject; readonly call: ServiceCall | undefined }
  | { readonly policy: Policy; readonly key: string; readonly call: ServiceCall | undefined };

type Data = Readonly<Record<string, unknown>>;

const fieldNames = 'subject, policy, key, cost, id';

export function readCheckRequest(data: unknown, limits: LimitsConfig, trace: TraceContext | undefined): CheckRequest {
  const body = objectOf('A check', data, fieldNames);
  let subject: unknown;
  let policy: unknown;
  let key: unknown;
  let cost: unknown;
  let id: unknown;
  for (const field in body) {
    const value = body[field];
    switch (field) {
      case 'subject':
        subject = value;
        break;
      case 'policy':
        policy = value;
        break;
      case 'key':
        key = value;
        break;
      case 'cost':
        cost = value;
        break;
      case 'id':
        id = value;
        break;
      default:
        throw unknownField(field, value);
    }
  }
  const isPlain = cost === undefined && id === undefined && trace === undefined;
  const call = isPlain ? undefined : callOf(cost, id, limits, trace);
  if (subject !== undefined) {
    if (policy !== undefined || key !== undefined)
      throw new Problem(
        400,
        'A check has either subject, for the configured rules, or policy and key. Leave one of them out.',
      );
    mustBeSubject(subject, limits);
    return { subject: subject as Subject, call };
  }
  if (policy === undefined)
    throw new Problem(400, 'A check needs subject, for the configured rules, or policy and key. Neither was given.');
  return { policy: policyOf(policy), key: keyOf('key', key, limits), call };
}

function unknownField(field: string, value: unknown): Problem {
  // Who could choose the time could choose to have waited.
  if (/^(at|atMs|now|nowMs|time|timestamp|timestampMs)$/.test(field)) {
    return new Problem(
      400,
      `${field} must be left out, got ${shown(value)}: the service counts by its own time. To replay a history, use the library: check(key, { atMs }).`,
    );
  }
  return new Problem(400, `A check has no field ${shown(field)}. It takes ${fieldNames}.`);
}

/** An object, and no list. */
export function objectOf(what: string, data: unknown, fields: string): Data {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data as Data;
  throw new Problem(400, `${what} must be an object of ${fields}, got ${shown(data)}.`);
}

function callOf(cost: unknown, id: unknown, limits: LimitsConfig, trace: TraceContext | undefined): ServiceCall {
  if (cost !== undefined && !(typeof cost === 'number' && cost >= 0 && cost < Number.POSITIVE_INFINITY))
    throw new Problem(400, `cost must be a finite number of 0 or more, got ${shown(cost)}.`);
  const requestId = id === undefined ? undefined : keyOf('id', id, limits);
  return { cost: cost as number | undefined, requestId, ...trace };
}

function mustBeSubject(subject: unknown, { keyBytes }: LimitsConfig): void {
  if (typeof subject !== 'object' || subject === null || Array.isArray(subject))
    throw new Problem(
      400,
      `subject must be an object of fields such as user, ip, path and tier, got ${shown(subject)}.`,
    );
  for (const field in subject) {
    const value = (subject as Data)[field];
    switch (typeof value) {
      case 'string':
        mustFit(`subject.${field}`, value, keyBytes);
        break;
      case 'number':
        mustBeExact(`subject.${field}`, value);
        break;
      case 'boolean':
        break;
      default:
        if (value !== null)
          throw new Problem(400, `subject.${field} must be text, a number, true, false or null, got ${shown(value)}.`);
    }
  }
}

/** Numbers beyond these are rounded to one another when JSON is read: two users would be one. */
export const mostExact = Number.MAX_SAFE_INTEGER;

function mustBeExact(field: string, value: number): void {
  if (Math.abs(value) <= mostExact) return;
  throw new Problem(
    400,
    `${field} must be a number from -${mostExact} to ${mostExact}, got ${shown(value)}. Send greater ones as text.`,
  );
}

/** Text that names something: a key, or a request. */
export function keyOf(field: string, key: unknown, { keyBytes }: LimitsConfig): string {
  if (typeof key !== 'string' || key === '')
    throw new Problem(400, `${field} must be text of 1 to ${keyBytes} bytes, got ${shown(key)}.`);
  mustFit(field, key, keyBytes);
  return key;
}

function mustFit(field: string, text: string, keyBytes: number): void {
  // No character is more than three bytes for each of its one or two units.
  if (text.length * 3 <= keyBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > keyBytes)
    throw new Problem(
      400,
      `${field} must be at most ${keyBytes} bytes long, got ${bytes}: ${shown(text)}. Send a hash of it instead.`,
    );
}

// Callers send the same few policies over and over. The same policy is the same object then, for whoever remembers things by it.
const parsed = new Map<string, Policy>();
const mostParsed = 1000;

function policyOf(data: unknown): Policy {
  const text = JSON.stringify(data);
  const known = parsed.get(text);
  if (known !== undefined) return known;
  objectOf('policy', data, 'algorithm, limit, window and what the algorithm takes');
  const policy = parsePolicy(data);
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(text, policy);
  return policy;
}
