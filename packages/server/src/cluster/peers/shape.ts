/** What data from elsewhere must look like before it is believed: a shape throws, and says where and why, when it does not. */
import { SluiceError } from 'sluice';

export type Shape = (value: unknown, field: string) => void;

/** A shape for each field, also those that may be absent: a field that is new to the type is missing here, and the compiler says so. */
export type Fields<T> = { readonly [K in keyof T]-?: Shape };

export const text: Shape = (value, field) => must(typeof value === 'string', field, 'a text');
export const flag: Shape = (value, field) => must(typeof value === 'boolean', field, 'true or false');
export const number: Shape = (value, field) => must(Number.isFinite(value), field, 'a number');
export const whole: Shape = (value, field) => must(Number.isSafeInteger(value), field, 'a whole number');
/** For whoever knows more of it. */
export const anything: Shape = () => undefined;

export function exactly(...words: readonly unknown[]): Shape {
  return (value, field) => must(words.includes(value), field, `one of ${words.join(', ')}`);
}

export function below(most: number): Shape {
  return (value, field) =>
    must(
      Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < most,
      field,
      `from 0 below ${most}`,
    );
}

export function orAbsent(shape: Shape): Shape {
  return (value, field) => value === undefined || shape(value, field);
}

export function orNull(shape: Shape): Shape {
  return (value, field) => value === null || shape(value, field);
}

export function listOf(shape: Shape): Shape {
  return (value, field) => {
    must(Array.isArray(value), field, 'a list');
    const list = value as readonly unknown[];
    for (let i = 0; i < list.length; i += 1) shape(list[i], `${field}[${i}]`);
  };
}

/** Fields that are not named may be there. */
export function object<T>(fields: Fields<T>): Shape {
  const named = Object.entries<Shape>(fields);
  return (value, field) => {
    mustBeObject(value, field);
    for (const [name, shape] of named) shape((value as Record<string, unknown>)[name], `${field}.${name}`);
  };
}

/** One of several kinds of object, told apart by their field `kind`. */
export function oneOfKinds(kinds: Readonly<Record<string, Shape>>): Shape {
  return (value, field) => {
    mustBeObject(value, field);
    const { kind } = value as { readonly kind?: unknown };
    must(
      typeof kind === 'string' && Object.hasOwn(kinds, kind),
      `${field}.kind`,
      `one of ${Object.keys(kinds).join(', ')}`,
    );
    kinds[kind as string]!(value, field);
  };
}

function mustBeObject(value: unknown, field: string): void {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), field, 'an object');
}

function must(isSo: boolean, field: string, mustBe: string): void {
  if (!isSo) throw new SluiceError('invalid-option', `${field} must be ${mustBe}`);
}
