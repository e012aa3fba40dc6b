/** The words that a result may use: measures with their units, texts, and the names of series. Claims are held against them. */
import type { Measure, Unit } from './result.ts';

export const measureUnits = {
  // What was said to the calls.
  asked: 'count',
  allowed: 'count',
  refused: 'count',
  refusedRatio: 'ratio',
  refusedKeys: 'count',
  allowedCost: 'number',
  firstRefusalMs: 'ms',
  allowedBefore: 'count',
  worstWindow: 'number',
  worstRatio: 'ratio',
  inFlightMax: 'number',
  delayed: 'count',
  delayMsMean: 'ms',
  delayMsMax: 'ms',
  gapMsMin: 'ms',
  extraAllowed: 'count',
  extraRefused: 'count',
  // What became of them.
  completed: 'count',
  failed: 'count',
  unfinished: 'count',
  goodput: 'rate',
  responseMsMean: 'ms',
  responseMsP99: 'ms',
  responseMsMax: 'ms',
  // Who waited for a turn.
  started: 'count',
  shed: 'count',
  expired: 'count',
  removed: 'count',
  aborted: 'count',
  closed: 'count',
  starved: 'count',
  waitMsMean: 'ms',
  waitMsP99: 'ms',
  waitMsMax: 'ms',
  startGapMsMin: 'ms',
  startGapMsMax: 'ms',
  servedShare: 'ratio',
  // Where they went.
  reached: 'count',
  share: 'ratio',
  shareMin: 'ratio',
  shareMax: 'ratio',
  fullestMax: 'count',
  fullestMean: 'number',
  keysMovedRatio: 'ratio',
  unroutable: 'count',
  reachedFailing: 'count',
  ejections: 'count',
  // What stood between.
  attempts: 'count',
  retries: 'count',
  throttled: 'count',
  shortCircuited: 'count',
  timedOut: 'count',
  opened: 'count',
} as const satisfies Record<string, Unit>;

export type MeasureName = keyof typeof measureUnits;

/** Things in words: the first answers, picks, starts, states of the circuit and what came of operations, and how often a scheduler told what. */
export const textNames = ['answers', 'picks', 'starts', 'operations', 'states', 'events'] as const;

export type TextName = (typeof textNames)[number];

/** So many of each are told; nobody reads more. */
export const mostInWords = 40;

/** Series, beside those that have the name of a measure. */
export const seriesNames = ['arrived', 'remaining', 'waiting', 'fullest', 'circuit'] as const;

/** The measures of a variant, in the order in which they are put in. */
export class Measures {
  readonly all: Record<string, Measure> = {};

  /** What is not a finite number was not measured, and is left out. */
  put(name: MeasureName, value: number | undefined, of?: string): void {
    if (value === undefined || !Number.isFinite(value)) return;
    this.all[of === undefined ? name : `${name}.${of}`] = { value, unit: measureUnits[name] };
  }
}

/** What a stage has to say in the end. */
export interface Findings {
  readonly measures: Measures;
  /** For claims. */
  readonly texts: Map<TextName, string>;
  /** For people: such texts as are worth reading. */
  readonly notes: string[];
}
