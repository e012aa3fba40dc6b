/**
 * Reads plain data strictly, and goes on after a mistake: whoever writes a scenario is told of all of them at once. What cannot be
 * read is stood in for by something harmless, which nobody gets to see, because a scenario with problems is never made.
 */
import { type Duration, parseDuration, SluiceError } from 'sluice';

export class ScenarioError extends Error {
  /** Each begins with its place, such as `traffic[1].rate`. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ScenarioError';
    this.problems = problems;
  }
}

export type Data = Readonly<Record<string, unknown>>;

export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
  readonly isWhole?: boolean;
}

/** Names stand in claims, between dots. */
const namePattern = /^[A-Za-z][A-Za-z0-9_-]*$/;
const zeroPattern = /^0(ms|s|m|h|d|w)?$/;
const ratePattern = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)?(ms|s|m|h|d|w)$/;

export class Problems {
  readonly list: string[] = [];

  add(place: string, problem: string): void {
    this.list.push(`${place} ${problem}`);
  }

  /** `place must be so, got this.` */
  wrong(place: string, mustBe: string, got: unknown): void {
    this.add(place, `must be ${mustBe}, got ${show(got)}.`);
  }

  /** Runs what throws for wrong values, as the library does, and makes its words a problem of this place. */
  attempt<T>(place: string, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.list.push(`${place}: ${error.message}`);
      return undefined;
    }
  }

  /** An object with none but the known fields. */
  record(place: string, value: unknown, known: readonly string[]): Data {
    if (!isRecord(value)) {
      this.wrong(place || 'A scenario', `an object of ${known.join(', ')}`, value);
      return {};
    }
    for (const field of Object.keys(value)) {
      if (!known.includes(field))
        this.add(place ? `${place}.${field}` : field, `is no field here. There are: ${known.join(', ')}.`);
    }
    return value;
  }

  items(place: string, value: unknown, mustBe: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.wrong(place, mustBe, value);
    return [];
  }

  text(place: string, value: unknown): string {
    if (typeof value === 'string' && value !== '') return value;
    this.wrong(place, 'a text', value);
    return '';
  }

  name(place: string, value: unknown): string {
    if (isName(value)) return value;
    this.wrong(place, 'a name of letters, digits, - and _, beginning with a letter', value);
    return '';
  }

  number(
    place: string,
    value: unknown,
    { min = 0, max = Number.MAX_VALUE, isWhole = false }: NumberRange = {},
  ): number {
    const isRight = typeof value === 'number' && value >= min && value <= max && (!isWhole || Number.isInteger(value));
    if (isRight) return value;
    const range = max === Number.MAX_VALUE ? `of ${min} or more` : `from ${min} to ${max}`;
    this.wrong(place, `a ${isWhole ? 'whole ' : ''}number ${range}`, value);
    return Math.max(min, 1);
  }

  choice<T extends string>(place: string, value: unknown, choices: readonly T[]): T {
    if (choices.includes(value as T)) return value as T;
    this.wrong(place, `one of ${choices.join(', ')}`, value);
    return choices[0]!;
  }

  /** A length of time, above 0. */
  duration(place: string, value: unknown): number {
    try {
      // Nothing is no slip of the pen: how a time is written need not be told in full.
      if (value !== undefined && value !== null) return parseDuration(value as Duration, place);
      this.wrong(place, 'a time above 0 such as 10s', undefined);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      this.list.push(error.message);
    }
    return 1;
  }

  /** A moment of the run, 0 included. */
  time(place: string, value: unknown): number {
    if (value === 0 || (typeof value === 'string' && zeroPattern.test(value))) return 0;
    if (value !== undefined && value !== null) return this.duration(place, value);
    this.wrong(place, 'a time such as 0s or 2s', undefined);
    return 1;
  }

  /** Calls per second. */
  rate(place: string, value: unknown): number {
    const [, count, of = '1', unit] = (typeof value === 'string' && ratePattern.exec(value)) || [];
    const perSecond = unit === undefined ? 0 : (Number(count) * 1000) / durationOf(`${of}${unit}`);
    if (perSecond > 0 && perSecond < Number.POSITIVE_INFINITY) return perSecond;
    this.wrong(place, 'a rate above 0 such as 50/s, 600/m or 3/10s', value);
    return 1;
  }

  throwIfAny(): void {
    // What variants have in common is looked at once for each of them, and told once.
    if (this.list.length > 0) throw new ScenarioError([...new Set(this.list)]);
  }
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && namePattern.test(value);
}

export function isRecord(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function durationOf(text: string): number {
  return Number.parseFloat(text) === 0 ? 0 : parseDuration(text as Duration);
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
