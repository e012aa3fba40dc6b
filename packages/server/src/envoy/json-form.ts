/**
 * Envoy's rate limit messages as JSON, the way protobuf writes them (proto3 JSON): what `POST /json` takes and gives.
 *
 * Fields may be named `hitsAddend` or `hits_addend`; numbers may be strings, because 64 bits do not fit into a JSON number; enums go by
 * name or number; null is as good as absent. What has its default value is left out of answers.
 */
import { SluiceError } from 'sluice';
import {
  type CurrentLimit,
  type Descriptor,
  type DescriptorEntry,
  type DescriptorStatus,
  type HeaderValue,
  type RateLimitRequest,
  type RateLimitResponse,
  type Unit,
  units,
} from './rate-limit-message.ts';

const uint32Max = 2 ** 32 - 1;
const uint64Max = 2 ** 64;

/** Takes the text of a body, or what was already parsed of it. Throws a `SluiceError` that names the field. */
export function requestFromJson(body: unknown): RateLimitRequest {
  const fields = fieldsOf(typeof body === 'string' ? parsed(body) : body, 'request', [
    'domain',
    'descriptors',
    'hitsAddend',
  ]);
  return {
    domain: text(fields.domain, 'domain'),
    descriptors: list(fields.descriptors, 'descriptors', descriptor),
    hitsAddend: whole(fields.hitsAddend, 'hitsAddend', uint32Max),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw wrong(`the request must be JSON: ${(cause as Error).message}`, cause);
  }
}

function descriptor(value: unknown, path: string): Descriptor {
  const fields = fieldsOf(value, path, ['entries', 'limit', 'hitsAddend', 'isNegativeHits']);
  return {
    entries: list(fields.entries, `${path}.entries`, entry),
    limit: isAbsent(fields.limit) ? undefined : override(fields.limit, `${path}.limit`),
    hitsAddend: isAbsent(fields.hitsAddend) ? undefined : whole(fields.hitsAddend, `${path}.hitsAddend`, uint64Max),
    isNegativeHits: flag(fields.isNegativeHits, `${path}.isNegativeHits`),
  };
}

function entry(value: unknown, path: string): DescriptorEntry {
  const fields = fieldsOf(value, path, ['key', 'value']);
  return { key: text(fields.key, `${path}.key`), value: text(fields.value, `${path}.value`) };
}

function override(value: unknown, path: string): Descriptor['limit'] {
  const fields = fieldsOf(value, path, ['requestsPerUnit', 'unit']);
  return {
    requestsPerUnit: whole(fields.requestsPerUnit, `${path}.requestsPerUnit`, uint32Max),
    unit: unit(fields.unit, `${path}.unit`),
  };
}

// What Envoy may override a limit with has no week.
const overrideUnits: readonly Unit[] = units.filter((name) => name !== 'WEEK');

function unit(value: unknown, path: string): Unit {
  if (isAbsent(value)) return 'UNKNOWN';
  const found = typeof value === 'number' ? overrideUnits[value] : overrideUnits.find((name) => name === value);
  if (found === undefined) throw wrong(`${path} must be one of ${overrideUnits.join(', ')}, got ${show(value)}`);
  return found;
}

/** The fields of an object under their camel-case names. */
function fieldsOf<Name extends string>(
  value: unknown,
  path: string,
  names: readonly Name[],
): Partial<Record<Name, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong(`${path} must be an object, got ${show(value)}`);
  }
  const fields: Partial<Record<Name, unknown>> = {};
  for (const [written, field] of Object.entries(value)) {
    const name = names.find((known) => known === written || snakeCase(known) === written);
    if (name === undefined) {
      throw wrong(`${path} has an unknown field ${show(written)}. It may have ${names.join(', ')}.`);
    }
    if (name in fields) throw wrong(`${path} has the field ${name} twice, in camel case and in snake case`);
    fields[name] = field;
  }
  return fields;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isAbsent = (value: unknown) => value === undefined || value === null;

function list<Item>(value: unknown, path: string, item: (value: unknown, path: string) => Item): Item[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw wrong(`${path} must be a list, got ${show(value)}`);
  return value.map((each, index) => item(each, `${path}[${index}]`));
}

function text(value: unknown, path: string): string {
  if (isAbsent(value)) return '';
  if (typeof value !== 'string') throw wrong(`${path} must be a string, got ${show(value)}`);
  // Half a character cannot be sent on as UTF-8: two different keys would become one.
  if (/\p{Surrogate}/u.test(value)) throw wrong(`${path} must be valid Unicode, got half of a surrogate pair`);
  return value;
}

function whole(value: unknown, path: string, most: number): number {
  if (isAbsent(value)) return 0;
  const isNumeric = typeof value === 'string' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
  const number = isNumeric ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > most) {
    throw wrong(`${path} must be a whole number from 0 to ${most}, got ${show(value)}`);
  }
  return number;
}

function flag(value: unknown, path: string): boolean {
  if (isAbsent(value)) return false;
  if (typeof value !== 'boolean') throw wrong(`${path} must be true or false, got ${show(value)}`);
  return value;
}

function wrong(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid-option', message, { cause });
}

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const shown = JSON.stringify(value) ?? String(value);
  return shown.length > 80 ? `${shown.slice(0, 77)}...` : shown;
}

/** Plain data for `JSON.stringify`, in the order of the protocol's field numbers. */
export function responseToJson(response: RateLimitResponse): Record<string, unknown> {
  return {
    overallCode: response.overallCode,
    ...unlessEmpty('statuses', response.statuses.map(statusToJson)),
    ...unlessEmpty('responseHeadersToAdd', response.responseHeadersToAdd.map(headerToJson)),
    ...unlessEmpty('requestHeadersToAdd', response.requestHeadersToAdd.map(headerToJson)),
    ...(response.dynamicMetadata && { dynamicMetadata: response.dynamicMetadata }),
  };
}

function statusToJson(status: DescriptorStatus): Record<string, unknown> {
  const { code, currentLimit, limitRemaining, durationUntilResetSeconds } = status;
  return {
    code,
    ...(currentLimit && { currentLimit: limitToJson(currentLimit) }),
    ...(limitRemaining > 0 && { limitRemaining }),
    ...(durationUntilResetSeconds !== undefined && { durationUntilReset: `${durationUntilResetSeconds}s` }),
  };
}

function limitToJson({ requestsPerUnit, unit, name }: CurrentLimit): Record<string, unknown> {
  return {
    ...(requestsPerUnit > 0 && { requestsPerUnit }),
    ...(unit !== 'UNKNOWN' && { unit }),
    ...(name !== '' && { name }),
  };
}

function headerToJson({ key, value }: HeaderValue): Record<string, unknown> {
  return { ...(key !== '' && { key }), ...(value !== '' && { value }) };
}

function unlessEmpty(name: string, items: readonly unknown[]): Record<string, unknown> {
  return items.length === 0 ? {} : { [name]: items };
}
