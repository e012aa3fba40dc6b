/** Where a value of a request comes from: `header:x-user`, `cookie:sid`, `query:plan`, or a field of the subject such as `ip`. */
import type { Source } from './gateway-config.ts';
import type { SettingSchema } from './schema-kinds.ts';

/** Names of headers, cookies and methods (RFC 9110, section 5.6.2). */
export const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const read = `(header|cookie):${token}|query:[^\\s:&=#]+`;
const field = '[A-Za-z_][\\w-]*';

interface About {
  readonly description: string;
}

/** What only the request itself can say. */
export function readableSource(about: About): SettingSchema {
  return {
    type: 'string',
    ...about,
    examples: ['header:x-user', 'cookie:sid', 'query:plan'],
    pattern: `^(${read})$`,
    errorMessage: 'must be header:name, cookie:name or query:name',
  };
}

/** That, or a field that is known already. */
export function source(about: About): SettingSchema {
  return {
    type: 'string',
    ...about,
    examples: ['header:x-tenant', 'user', 'ip'],
    pattern: `^(${read}|${field})$`,
    errorMessage: 'must be header:name, cookie:name, query:name, or a field such as user or ip',
  };
}

/** Fields of the subject that every request has. */
export const givenFields: readonly string[] = ['ip', 'method', 'path', 'host', 'route'];

/** Of text that has the form of one. Names of headers are the same in any case. */
export function parseSource(text: string): Source {
  const [, from, name = ''] = /^(header|cookie|query):(.*)$/s.exec(text) ?? [];
  if (from === undefined) return { from: 'field', name: text };
  return { from: from as Source['from'], name: from === 'header' ? name.toLowerCase() : name };
}

export function sourceText({ from, name }: Source): string {
  return from === 'field' ? name : `${from}:${name}`;
}
