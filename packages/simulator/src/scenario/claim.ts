/**
 * What a scenario says of its result, in a small language:
 *
 *      fixed-window.worstWindow == 200
 *      random.responseMsMean within 5% of 2s
 *      round-robin.share.B from 12s to 20s == 0
 *      two-choices.fullestMean < random.fullestMean / 1.5
 *      smooth-weighted.picks starts with "A A B A C A A"
 *
 *      claim    = sum (== | != | < | <= | > | >=) sum  |  sum within tolerance of sum  |  name (== | starts with) "text"
 *      sum      = product {(+ | -) product}            product = value {(* | /) value}
 *      value    = number [ms | s | m | h | d] | ( sum ) | name [at time | from time to time]
 *      tolerance = number% | sum
 *
 * A name is `variant.measure`, and `measure` alone where there is only one variant. With a time it is that of a series: its value in
 * the slice of that moment, or the mean of the slices between two.
 */
import type { ExpectationResult, Measure, Series, Unit } from './result.ts';
import { measureUnits, seriesNames, textNames } from './vocabulary.ts';

export interface Claim {
  readonly text: string;
  readonly evaluate: (results: Results) => ExpectationResult;
}

/** What claims are about, by variant. */
export interface Results {
  readonly sliceMs: number;
  readonly variants: ReadonlyMap<string, Evidence>;
}

export interface Evidence {
  readonly measures: Readonly<Record<string, Measure>>;
  readonly texts: ReadonlyMap<string, string>;
  readonly series: readonly Series[];
}

interface Found {
  readonly value: number;
  readonly unit: Unit;
}

/** Says of every name it meets what it was. */
type Look = (name: Name) => Found;

type Term = (look: Look) => number;

interface Name {
  /** As it was written, with its time. */
  readonly text: string;
  readonly variant: string;
  readonly measure: string;
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A measure that a variant does not have: the claim is not met, and says so. */
class Missing extends Error {}

/** A side that is no number, which is neither the same as another nor different from it: the claim is not met either. */
class NoNumber extends Error {}

const tokenPattern =
  /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:ms|s|m|h|d|%)?(?![\w.]))|([A-Za-z][\w-]*(?:\.[A-Za-z0-9][\w-]*)*)|("[^"]*")|(==|!=|<=|>=|[<>()+*/-]))/y;

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': isSame,
  '!=': (a, b) => !isSame(a, b),
  '<': (a, b) => a < b && !isSame(a, b),
  '<=': (a, b) => a < b || isSame(a, b),
  '>': (a, b) => a > b && !isSame(a, b),
  '>=': (a, b) => a > b || isSame(a, b),
};

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Times are sums of fractions: what differs in the last digits only is the same. */
function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}

/** Throws a sentence that says what is wrong with the claim. */
export function parseClaim(text: string, variants: readonly string[]): Claim {
  const test = new ClaimParser(text, variants).claim();
  return {
    text,
    evaluate(results) {
      const seen = new Map<string, string>();
      const measured = () => [...seen].map(([name, value]) => `${name} = ${value}`).join(', ');
      try {
        const isMet = test(results, seen);
        return { claim: text, isMet, measured: measured() };
      } catch (error) {
        if (error instanceof NoNumber)
          return { claim: text, isMet: false, measured: [error.message, measured()].filter(Boolean).join(': ') };
        if (error instanceof Missing) return { claim: text, isMet: false, measured: error.message };
        throw error;
      }
    },
  };
}

type Test = (results: Results, seen: Map<string, string>) => boolean;

class ClaimParser {
  private readonly tokens: string[] = [];
  private at = 0;
  private readonly variants: readonly string[];

  constructor(text: string, variants: readonly string[]) {
    this.variants = variants;
    tokenPattern.lastIndex = 0;
    for (let end = 0; text.slice(end).trim() !== ''; end = tokenPattern.lastIndex) {
      const [, ...kinds] = tokenPattern.exec(text) ?? [];
      const token = kinds.find((each) => each !== undefined);
      if (token === undefined) throw new Error(`cannot be read from "${text.slice(end).trim()}" on.`);
      this.tokens.push(token);
    }
  }

  claim(): Test {
    const test = this.textClaim() ?? this.numberClaim();
    if (this.peek() !== undefined) throw new Error(`goes on with "${this.peek()}", and should end there.`);
    return test;
  }

  private textClaim(): Test | undefined {
    const [first = '', second, third] = this.tokens;
    const name = /^[A-Za-z]/.test(first) ? this.resolve(first) : undefined;
    if (!name || !isText(name.measure)) return undefined;
    const isStart = second === 'starts' && third === 'with';
    if (!isStart && second !== '==')
      throw new Error(`compares a text: ${first} == "..." or ${first} starts with "...".`);
    this.at = isStart ? 3 : 2;
    const quoted = this.take();
    if (!quoted?.startsWith('"')) throw new Error(`compares ${first}, which is a text, with ${quoted ?? 'nothing'}.`);
    const expected = quoted.slice(1, -1);
    return (results, seen) => {
      const actual = evidenceOf(results, name).texts.get(name.measure);
      if (actual === undefined) throw missing(name);
      seen.set(name.text, `"${actual}"`);
      return isStart ? actual.startsWith(expected) : actual === expected;
    };
  }

  private numberClaim(): Test {
    const left = this.sum();
    const operator = this.take();
    if (operator === 'within') return this.withinClaim(left);
    const compare = comparisons[operator ?? ''];
    if (!compare)
      throw new Error(`needs one of ${Object.keys(comparisons).join(' ')} within, got ${operator ?? 'its end'}.`);
    const right = this.sum();
    return (results, seen) => {
      const look = looking(results, seen);
      const [a, b] = [left(look), right(look)];
      return compare(finite(a), finite(b));
    };
  }

  private withinClaim(left: Term): Test {
    const isPercent = this.peek()?.endsWith('%') === true;
    const tolerance: Term = isPercent ? constant(Number.parseFloat(this.take()!) / 100) : this.sum();
    this.expect('of');
    const right = this.sum();
    return (results, seen) => {
      const look = looking(results, seen);
      const [a, b] = [left(look), right(look)];
      const allowed = finite(tolerance(look) * (isPercent ? Math.abs(b) : 1));
      return Math.abs(finite(a) - finite(b)) <= allowed * (1 + 1e-9);
    };
  }

  private sum(): Term {
    let term = this.product();
    for (let sign = this.peek(); sign === '+' || sign === '-'; sign = this.peek()) {
      this.at += 1;
      const [left, right] = [term, this.product()];
      term = sign === '+' ? (look) => left(look) + right(look) : (look) => left(look) - right(look);
    }
    return term;
  }

  private product(): Term {
    let term = this.value();
    for (let sign = this.peek(); sign === '*' || sign === '/'; sign = this.peek()) {
      this.at += 1;
      const [left, right] = [term, this.value()];
      term = sign === '*' ? (look) => left(look) * right(look) : (look) => quotient(left(look), right(look));
    }
    return term;
  }

  private value(): Term {
    const token = this.take();
    if (token === '(') {
      const inner = this.sum();
      this.expect(')');
      return inner;
    }
    if (token === undefined) throw new Error('ends where a number or a measure should stand.');
    if (/^\d/.test(token)) return constant(numberOf(token));
    if (!/^[A-Za-z]/.test(token)) throw new Error(`has "${token}" where a number or a measure should stand.`);
    return this.named(this.timed(this.resolve(token)));
  }

  private named(name: Name): Term {
    return (look) => look(name).value;
  }

  /** A name that is followed by a time is that of a series. */
  private timed(name: Name): Name {
    const word = this.peek();
    if (word !== 'at' && word !== 'from') return this.mustBeMeasure(name);
    this.at += 1;
    const [first, fromMs] = this.moment();
    if (word === 'at') return { ...name, text: `${name.text} at ${first}`, fromMs };
    this.expect('to');
    const [last, toMs] = this.moment();
    if (toMs <= fromMs) throw new Error(`has from ${first} to ${last}, and must end after it begins.`);
    return { ...name, text: `${name.text} from ${first} to ${last}`, fromMs, toMs };
  }

  private mustBeMeasure(name: Name): Name {
    const base = name.measure.split('.', 1)[0]!;
    if (base in measureUnits) return name;
    throw new Error(`names ${name.text}, which is a series: say when, such as "${name.text} at 2s".`);
  }

  private moment(): [text: string, ms: number] {
    const token = this.take() ?? '';
    if (!/^\d+(?:\.\d+)?(ms|s|m|h|d)?$/.test(token)) throw new Error(`needs a time such as 10s, got "${token}".`);
    return [token, numberOf(token)];
  }

  private resolve(text: string): Name {
    const [first, ...rest] = text.split('.');
    const isOfVariant = rest.length > 0 && this.variants.includes(first!);
    if (!isOfVariant && this.variants.length !== 1) {
      throw new Error(
        `names ${text}, and no variant: begin with one of ${this.variants.join(', ')}, as in ${this.variants[0]}.asked.`,
      );
    }
    const measure = isOfVariant ? rest.join('.') : text;
    const base = measure.split('.', 1)[0]!;
    const known: readonly string[] = [...Object.keys(measureUnits), ...textNames, ...seriesNames];
    if (!known.includes(base)) throw new Error(`names ${base}, which is not measured. There are: ${known.join(', ')}.`);
    return { text, variant: isOfVariant ? first! : this.variants[0]!, measure };
  }

  private peek(): string | undefined {
    return this.tokens[this.at];
  }

  private take(): string | undefined {
    this.at += 1;
    return this.tokens[this.at - 1];
  }

  private expect(token: string): void {
    const got = this.take();
    if (got !== token) throw new Error(`needs "${token}", got ${got === undefined ? 'its end' : `"${got}"`}.`);
  }
}

function isText(measure: string): boolean {
  return (textNames as readonly string[]).includes(measure);
}

function quotient(dividend: number, divisor: number): number {
  if (divisor === 0) throw new NoNumber('divides by 0');
  return dividend / divisor;
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new NoNumber('not a number');
  return value;
}

function constant(value: number): Term {
  return () => value;
}

function numberOf(token: string): number {
  const [, digits, unit = ''] = /^([\d.e+-]+?)([a-z%]*)$/.exec(token) ?? [];
  if (unit === '%') throw new Error(`has ${token}; ratios are from 0 to 1, and percent stands only after within.`);
  return Number(digits) * (unit === '' ? 1 : (unitMs[unit] ?? Number.NaN));
}

function looking(results: Results, seen: Map<string, string>): Look {
  return (name) => {
    const evidence = evidenceOf(results, name);
    const found =
      name.fromMs === undefined ? evidence.measures[name.measure] : inSeries(evidence, name, results.sliceMs);
    if (found === undefined) throw missing(name);
    seen.set(name.text, written(found));
    return found;
  };
}

function inSeries({ series }: Evidence, { measure, fromMs = 0, toMs }: Name, sliceMs: number): Found | undefined {
  const found = series.find(({ name }) => name === measure);
  if (!found) return undefined;
  const first = Math.floor(fromMs / sliceMs + 1e-9);
  // A moment is the slice that it lies in; a slice that begins where the time ends is not part of it.
  const end = toMs === undefined ? first + 1 : Math.max(first + 1, Math.ceil(toMs / sliceMs - 1e-9));
  const values = found.values.slice(first, end);
  if (values.length === 0) return undefined;
  return { value: values.reduce((sum, each) => sum + each, 0) / values.length, unit: found.unit };
}

function evidenceOf(results: Results, { variant }: Name): Evidence {
  return results.variants.get(variant) ?? { measures: {}, texts: new Map(), series: [] };
}

function missing({ text, variant }: Name): Missing {
  return new Missing(`${text} was not measured in ${variant}`);
}

function written({ value, unit }: Found): string {
  const digits = Number(value.toPrecision(7));
  return unit === 'ms' ? `${digits} ms` : `${digits}${unit === 'rate' ? '/s' : ''}`;
}
