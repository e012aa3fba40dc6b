import { invalidOption, mustBe } from '../invalid-option.ts';

export type LogFormat = 'combined' | 'common' | 'json' | 'csv';

export interface LogReaderOptions {
  /** Default `'auto'`: decided from the first lines, and said in the report. */
  readonly format?: 'auto' | LogFormat;
  /**
   * Who is counted. `'ip'` (default): the address; `'user'`; `'route'`: method and path; `'all'`: everybody as one; or the name of a field, in JSON
   * with dots into objects. Several with a plus: `'user+route'`.
   */
  readonly key?: string;
  /** IPv6 addresses are counted by networks of so many bits, 32 to 128. Default 56, as rules do it. */
  readonly ipv6Subnet?: number;
  /** The field of the time. Default: one of the usual names. */
  readonly time?: string;
  /** The field of the cost, or several with a plus, whose sum it is. Default: 1 each, or the column `cost` of CSV. */
  readonly cost?: string;
  /** The field of HTTP's status. Default: one of the usual names. */
  readonly status?: string;
  /** The field that says what was called. Default: method and path, or whatever comes close to them. */
  readonly route?: string;
}

const formats = ['auto', 'combined', 'common', 'json', 'csv'];
const names = ['format', 'key', 'ipv6Subnet', 'time', 'cost', 'status', 'route'];

const mostParts = 8;

/** Throws for what cannot work, before the first byte is read. */
export function checkOptions(options: LogReaderOptions): void {
  for (const name of Object.keys(options))
    if (!names.includes(name))
      throw invalidOption(`There is no option ${JSON.stringify(name)}. There are ${names.join(', ')}.`);
  const { format = 'auto', ipv6Subnet = 56 } = options;
  if (!formats.includes(format)) throw mustBe('format', `one of ${formats.join(', ')}`, format);
  if (!Number.isInteger(ipv6Subnet) || ipv6Subnet < 32 || ipv6Subnet > 128)
    throw mustBe('ipv6Subnet', 'a whole number from 32 to 128', ipv6Subnet);
  for (const name of ['key', 'time', 'cost', 'status', 'route'] as const) {
    const value = options[name];
    if (value === undefined) continue;
    const isList = name === 'key' || name === 'cost';
    const parts = typeof value === 'string' ? (isList ? partsOf(value) : [value]) : [''];
    if (parts.includes('') || parts.length > mostParts) {
      const way = isList ? `, or up to ${mostParts} with a plus between them` : '';
      throw mustBe(name, `the name of a field${way}`, value);
    }
  }
}

export function partsOf(list: string): string[] {
  return list.split('+').map((part) => part.trim());
}
