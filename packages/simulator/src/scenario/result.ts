/**
 * What a scenario gave: plain data, the same on every run, ready to be printed, drawn or read by a program.
 *
 *      variant          measures                       series (one picture)
 *      gcra             allowed 120, worst window 40   allowed ▂▃▅▂  refused ▁▁▇▁
 *      fixed-window     allowed 160, worst window 80   allowed ▂▃▇▂  refused ▁▁▂▁
 */

/** How a number is written: `count` as it is, `ms` as a duration, `ratio` as a share of 1, `rate` per second. */
export type Unit = 'count' | 'ms' | 'ratio' | 'rate' | 'number';

export interface Measure {
  readonly value: number;
  readonly unit: Unit;
}

/**
 * What a series shows, which is what decides its colour and its place: what passed is drawn from below, what did not above it. What is `delayed` is
 * also `allowed`; a `state` is that of a circuit: 0 closed, 0.5 half open, 1 open.
 */
export type SeriesKind = 'arrived' | 'allowed' | 'delayed' | 'refused' | 'level' | 'queue' | 'share' | 'state';

/** One number per slice of the run, all slices as long. */
export interface Series {
  readonly name: string;
  readonly kind: SeriesKind;
  readonly unit: Unit;
  readonly values: readonly number[];
}

export interface VariantResult {
  readonly name: string;
  /** By name (`refusedRatio`, `worstWindow`), in the order in which a table shows them. */
  readonly measures: Readonly<Record<string, Measure>>;
  readonly series: readonly Series[];
  /** Things that are neither a number nor a line: a sequence of picks such as `A A B A C A A`, a first refusal in words. */
  readonly notes: readonly string[];
}

/** A claim about the result, and whether it held. */
export interface ExpectationResult {
  /** As the scenario says it. */
  readonly claim: string;
  readonly isMet: boolean;
  /** What was measured instead, or too. */
  readonly measured: string;
}

export interface ScenarioResult {
  readonly name: string;
  /** What the scenario shows, in a sentence or two. */
  readonly about: string;
  readonly seed: number;
  readonly durationMs: number;
  /** The length of a slice of every series. */
  readonly sliceMs: number;
  /** How many calls arrived, in all variants alike. */
  readonly arrivals: number;
  readonly variants: readonly VariantResult[];
  readonly expectations: readonly ExpectationResult[];
}
