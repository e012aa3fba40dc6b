/**
 * A subject is what is known of a request: `{ user: '42', ip: '203.0.113.9', path: '/upload', tier: 'paid' }`.
 * A rule reads its key from it and says by it whether it applies.
 */
import { isPromise } from '../vocabulary/answer.ts';
import { invalid } from '../vocabulary/errors.ts';
import { addressGroups, networkOf } from './ip-address.ts';
import { networkTest } from './networks.ts';

export type Subject = Readonly<Record<string, unknown>>;

/**
 * Who is limited: a field of the subject, several fields together, `'all'` (everyone shares one budget), or a function.
 * A subject without the field (or for which the function returns undefined) is not limited by the rule.
 */
export type KeyOf = string | readonly string[] | ((subject: Subject) => string | undefined);

/**
 * Which subjects a rule applies to: by field, with `*` for any text in it (a list means any of them), or a function. The field `ip` is
 * compared as an address, however it is written: with an address, a network (`'10.0.0.0/8'`), or a text with `*`.
 */
export type Match = Readonly<Record<string, string | readonly string[]>> | ((subject: Subject) => boolean);

export const everyone = 'all';

/** The function behind a `key`. IPv6 addresses are grouped by subnet: one customer has more of them than can be counted. */
export function keyReader(key: KeyOf, ipv6Subnet: number): (subject: Subject) => string | undefined {
  if (typeof key === 'function') return atOnce('key', key);
  const fields = typeof key === 'string' ? [key] : key;
  if (
    !Array.isArray(fields) ||
    fields.length === 0 ||
    !fields.every((field) => typeof field === 'string' && field !== '')
  ) {
    throw invalid('key', 'a field, a list of fields, "all" or a function', key);
  }
  return (subject) => {
    const parts: string[] = [];
    for (const field of fields) {
      if (field === everyone) {
        parts.push(everyone);
        continue;
      }
      const value = subject[field];
      if (value === undefined || value === null || value === '') return undefined;
      parts.push(field === 'ip' ? networkOf(textOf(value), ipv6Subnet) : textOf(value));
    }
    return parts.length === 1 ? parts[0] : joinKey(parts);
  };
}

/** A key as `keyReader` gives it: where it has an address, that may be written in any way. */
export function normalKey(key: KeyOf, given: string, ipv6Subnet: number): string {
  const fields = [key].flat();
  const parts = fields.length > 1 ? given.split('|') : [given];
  if (parts.length !== fields.length) return given;
  return parts.map((part, i) => (fields[i] === 'ip' ? normalNetwork(part, ipv6Subnet) : part)).join('|');
}

/** An address, or the network that it counts as. */
function normalNetwork(given: string, ipv6Subnet: number): string {
  const [address = '', bits] = given.split('/');
  if (bits === undefined || !addressGroups(address)) return networkOf(given, ipv6Subnet);
  if (!address.includes(':') || Number(bits) !== ipv6Subnet)
    throw invalid('key', `an address, or an IPv6 network of ${ipv6Subnet} bits`, given);
  return networkOf(address, ipv6Subnet);
}

const noText = 'object';

/** Fields come from requests: what has no text of its own must not make a check throw. */
function textOf(value: unknown): string {
  if (typeof value !== 'object') return String(value);
  try {
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? noText;
  } catch {
    // It is part of itself, or says no to being written: all such count as one.
    return noText;
  }
}

/** Joins the parts so that no two lists of parts give the same key. */
export function joinKey(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('|', '%7C')).join('|');
}

/** The function behind a `match`, or what is written like one. */
export function matcher(match: Match, name = 'match'): (subject: Subject) => boolean {
  if (typeof match === 'function') return atOnce(name, match);
  if (typeof match !== 'object' || match === null || Array.isArray(match))
    throw invalid(name, 'an object of fields, or a function', match);
  const fields = Object.entries(match);
  // Without a field it is everybody: what a rule may apply to, but nothing that a limit is lifted for by mistake.
  if (fields.length === 0 && name !== 'match') throw invalid(name, 'an object of at least one field', match);
  const tests = fields.map(([field, patterns]): ((subject: Subject) => boolean) => {
    const globs = [patterns].flat().map((pattern) => (field === 'ip' ? addressTest(pattern) : glob(field, pattern)));
    return (subject) => {
      const value = subject[field];
      return value !== undefined && value !== null && globs.some((matches) => matches(textOf(value)));
    };
  });
  return (subject) => tests.every((test) => test(subject));
}

/** A function that does not answer later. A promise would be a yes to everything, and one key for everybody: what has to be waited for belongs into the subject. */
function atOnce<T>(field: string, ask: (subject: Subject) => T): (subject: Subject) => T {
  return (subject) => {
    const said = ask(subject);
    if (!isPromise(said)) return said;
    // Whether it comes true or not, nobody waits for it.
    Promise.resolve(said).catch(() => undefined);
    throw invalid(field, 'answered at once', `${said}`);
  };
}

// Patterns of several lists and rules are asked about one address after the other: it is read once.
let lastAddress = '';
let lastGroups: number[] | undefined;

/** A test for addresses. One that was written in another way, or reached another socket, is still the same caller. */
function addressTest(pattern: unknown): (address: string) => boolean {
  const text = String(pattern);
  const isIn = networkTest(text);
  if (isIn) {
    return (address) => {
      if (address !== lastAddress) {
        lastGroups = addressGroups(address);
        lastAddress = address;
      }
      return lastGroups !== undefined && isIn(lastGroups);
    };
  }
  // Which groups a `::` beside a `*` stands for nobody can say.
  if (!/^(?=.*\*)(?!.*::)([\d.*]+|[\da-f:*]+)$/i.test(text)) {
    throw invalid('match.ip', 'an address, a network such as "2001:db8::/32", or an address with * and no ::', pattern);
  }
  const matches = glob('ip', text.toLowerCase().replace(/(^|:)0+(?=[\da-f])/g, '$1'));
  return (address) => matches(networkOf(address, 128).replace('/128', ''));
}

/** A test for `*` patterns. Parts are looked for one after the other, so that no value, however hostile, takes long. */
function glob(field: string, pattern: unknown): (value: string) => boolean {
  if (typeof pattern !== 'string' && typeof pattern !== 'number' && typeof pattern !== 'boolean') {
    throw invalid(`match.${field}`, 'text, or a list of texts', pattern);
  }
  const [first = '', ...rest] = String(pattern).split('*');
  const last = rest.pop();
  return (value) => {
    if (last === undefined) return value === first;
    if (!value.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = value.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return value.length - last.length >= at && value.endsWith(last);
  };
}
