/**
 * What data from elsewhere must look like before it is believed. A shape says what is wrong, and where, or nothing: the path is put together only
 * when there is something to say, because most messages are right and some are large.
 */
import { SluiceError } from 'sluice';

/** What is wrong with a value, beginning with the path to it; undefined: nothing. */
export type Shape = (value: unknown) => string | undefined;

/** A shape for each field, also those that may be absent: a field that is new to the type is missing here, and the compiler says so. */
export type Fields<T> = { readonly [K in keyof T]-?: Shape };

export const text: Shape = (value) => unless(typeof value === 'string', 'a text');
export const flag: Shape = (value) => unless(typeof value === 'boolean', 'true or false');
export const number: Shape = (value) => unless(Number.isFinite(value), 'a number');
export const whole: Shape = (value) => unless(Number.isSafeInteger(value), 'a whole number');
/** For whoever knows more of it. */
export const anything: Shape = () => undefined;

export function exactly(...words: readonly unknown[]): Shape {
  const mustBe = `one of ${words.join(', ')}`;
  return (value) => unless(words.includes(value), mustBe);
}

export function below(most: number): Shape {
  const mustBe = `from 0 below ${most}`;
  return (value) => unless(Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < most, mustBe);
}

export function orAbsent(shape: Shape): Shape {
  return (value) => (value === undefined ? undefined : shape(value));
}

export function orNull(shape: Shape): Shape {
  return (value) => (value === null ? undefined : shape(value));
}

export function listOf(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return unless(false, 'a list');
    for (let i = 0; i < value.length; i += 1) {
      const wrong = shape(value[i]);
      if (wrong !== undefined) return `[${i}]${wrong}`;
    }
    return undefined;
  };
}

/** A list of exactly these. */
export function tupleOf(...shapes: readonly Shape[]): Shape {
  return (value) => {
    if (!Array.isArray(value)) return unless(false, 'a list');
    if (value.length !== shapes.length) return unless(false, `${shapes.length} entries`);
    for (let i = 0; i < shapes.length; i += 1) {
      const wrong = shapes[i]!(value[i]);
      if (wrong !== undefined) return `[${i}]${wrong}`;
    }
    return undefined;
  };
}

/** Fields that are not named may be there. */
export function object<T>(fields: Fields<T>): Shape {
  const named = Object.entries<Shape>(fields);
  return (value) => {
    if (!isObject(value)) return unless(false, 'an object');
    for (let i = 0; i < named.length; i += 1) {
      const [name, shape] = named[i]!;
      const wrong = shape(value[name]);
      if (wrong !== undefined) return `.${name}${wrong}`;
    }
    return undefined;
  };
}

/** One of several kinds of object, told apart by their field `kind`. */
export function oneOfKinds(kinds: Readonly<Record<string, Shape>>): Shape {
  const mustBe = `one of ${Object.keys(kinds).join(', ')}`;
  return (value) => {
    if (!isObject(value)) return unless(false, 'an object');
    const { kind } = value;
    if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) return `.kind${unless(false, mustBe)}`;
    return kinds[kind]!(value);
  };
}

/** Throws when it does not fit. */
export function mustFit(shape: Shape, value: unknown, field: string): void {
  const wrong = shape(value);
  if (wrong !== undefined) throw new SluiceError('invalid-option', `${field}${wrong}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unless(isSo: boolean, mustBe: string): string | undefined {
  return isSo ? undefined : ` must be ${mustBe}`;
}
