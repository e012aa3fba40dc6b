/**
 * The kinds of values that settings have, as pieces of JSON Schema. No piece uses `anyOf`: a union of types whose keywords each
 * concern one type says the same, and a wrong value is one problem in one place. `errorMessage` is what editors show, and what
 * `sluice validate` says after the name of the field.
 */
import { tokenForm, tokenPattern } from '../service/tokens.ts';

export interface SettingSchema {
  readonly type: string | readonly string[];
  readonly description: string;
  /** `must be ...`; the value and the way out follow. */
  readonly errorMessage: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly not?: object;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly minProperties?: number;
  /** A secret: its value is never shown. */
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SettingSchema;
  readonly items?: SettingSchema;
}

/** What every kind takes: what the setting is for, and what it is when nobody sets it. */
interface About {
  readonly description: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

/** Node's timers count in 31 bits; a longer one would ring at once. */
export const longestTimerMs = 2 ** 31 - 1;

const durationPattern = '(\\d+(?:\\.\\d+)?)(ms|s|m|h|d|w)';
const notZero = '(?!0+(?:\\.0+)?[a-z])';

/** A time above 0: milliseconds, or text such as `10s`. */
export function duration(about: About): SettingSchema {
  return {
    type: ['number', 'string'],
    ...about,
    exclusiveMinimum: 0,
    pattern: `^${notZero}${durationPattern}$`,
    errorMessage: 'must be a time above 0, such as 250ms, 10s, 1m, 1h, 1d, or a number of milliseconds',
  };
}

/** A time, or 0 for what the description says. */
export function durationOrZero(about: About): SettingSchema {
  return {
    type: ['number', 'string'],
    ...about,
    minimum: 0,
    pattern: `^${durationPattern}$`,
    errorMessage: 'must be a time such as 250ms, 10s, 1m, 1h, a number of milliseconds, or 0',
  };
}

/** A number of bytes, or text such as `64kb` (1 kb is 1024 bytes). */
export function bytes(about: About): SettingSchema {
  return {
    type: ['integer', 'string'],
    ...about,
    minimum: 1,
    pattern: '^[1-9]\\d*(b|kb|mb|gb)$',
    errorMessage: 'must be a number of bytes above 0, or text such as 512b, 64kb, 1mb',
  };
}

export function wholeNumber(range: { readonly from: number; readonly to?: number }, about: About): SettingSchema {
  return {
    type: 'integer',
    ...about,
    minimum: range.from,
    ...(range.to !== undefined && { maximum: range.to }),
    errorMessage: `must be a whole number ${range.to === undefined ? `of ${range.from} or more` : `from ${range.from} to ${range.to}`}`,
  };
}

export function number(
  range: { readonly from?: number; readonly above?: number; readonly to?: number },
  about: About,
): SettingSchema {
  const least = range.above !== undefined ? `above ${range.above}` : `from ${range.from}`;
  return {
    type: 'number',
    ...about,
    ...(range.from !== undefined && { minimum: range.from }),
    ...(range.above !== undefined && { exclusiveMinimum: range.above }),
    ...(range.to !== undefined && { maximum: range.to }),
    errorMessage: `must be a number ${least}${range.to === undefined ? '' : ` to ${range.to}`}`,
  };
}

export function text(about: About & { readonly writeOnly?: boolean }): SettingSchema {
  return { type: 'string', ...about, minLength: 1, errorMessage: 'must be text' };
}

/** A secret that travels in headers. */
export function token(about: About): SettingSchema {
  return { ...text({ ...about, writeOnly: true }), pattern: tokenPattern, errorMessage: tokenForm };
}

/** A file or folder. In the file it starts from the file's own folder, elsewhere from where the process runs. */
export function path(about: About): SettingSchema {
  return { ...text(about), errorMessage: 'must be a path' };
}

export function flag(about: About): SettingSchema {
  return { type: 'boolean', ...about, errorMessage: 'must be true or false' };
}

export function choice(choices: readonly string[], about: About): SettingSchema {
  return { type: 'string', ...about, enum: choices, errorMessage: `must be one of ${choices.join(', ')}` };
}

/** Where a door listens, or `false`. */
export function address(about: About): SettingSchema {
  return {
    type: ['integer', 'string', 'object', 'boolean'],
    ...about,
    minimum: 0,
    maximum: 65_535,
    pattern: '^((\\[[0-9a-fA-F:.]+\\]|[^\\s:\\[\\]]+):)?\\d{1,5}$',
    not: { const: true },
    properties: {
      host: text({ description: 'The address to listen on. Default: that of `listen.host`.' }),
      port: wholeNumber({ from: 0, to: 65_535 }, { description: 'The port; 0 is any free one.' }),
    },
    required: ['port'],
    additionalProperties: false,
    errorMessage: 'must be a port from 0 to 65535, "host:port", { host, port }, or false to keep this door closed',
  };
}

/** Where a door listens that is never closed. */
export function openAddress(about: About): SettingSchema {
  const { not: _, ...rest } = address(about);
  return {
    ...rest,
    type: ['integer', 'string', 'object'],
    errorMessage: 'must be a port from 0 to 65535, "host:port", or { host, port }',
  };
}

export function section(
  about: About,
  properties: Readonly<Record<string, SettingSchema>>,
  required: readonly string[] = [],
): SettingSchema {
  return {
    type: 'object',
    ...about,
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    errorMessage: `must be a map of ${Object.keys(properties).join(', ')}`,
  };
}

/** A section that `true` turns on with all its defaults, and `false` off. */
export function switchedSection(about: About, properties: Readonly<Record<string, SettingSchema>>): SettingSchema {
  const { errorMessage, ...rest } = section(about, properties);
  return { ...rest, type: ['object', 'boolean'], errorMessage: `${errorMessage}, or true, or false` };
}

/** Things by names that the user gives them. */
export function mapOf(about: About, each: SettingSchema, mustBe: string): SettingSchema {
  return { type: 'object', ...about, additionalProperties: each, errorMessage: `must be a map ${mustBe}` };
}

/** One text, or a list of several, all of the same form. */
export function texts(about: About, form: { readonly pattern: string; readonly mustBe: string }): SettingSchema {
  return {
    type: ['string', 'array'],
    ...about,
    minLength: 1,
    pattern: form.pattern,
    minItems: 1,
    items: {
      type: 'string',
      description: 'One of them.',
      minLength: 1,
      pattern: form.pattern,
      errorMessage: `must be ${form.mustBe}`,
    },
    errorMessage: `must be ${form.mustBe}, or a list of such`,
  };
}
