/**
 * What of a result is drawn, for the terminal and for an SVG alike: one panel for each variant, with the same scales in all of them.
 *
 *      stack     what passed, on it what was delayed, on that what was refused
 *      strips    a level, a queue, a share: a line of its own under the stack
 *      states    closed, half open, open: a band
 */
import type { ScenarioResult, Series } from '@sluice/simulator';
import { roundTop } from './ticks.ts';

export type StackedKind = 'arrived' | 'allowed' | 'delayed' | 'refused';

export interface Layer extends Series {
  readonly kind: StackedKind;
}

export interface Panel {
  readonly name: string;
  /** From the bottom. No call is in two of them. */
  readonly stack: readonly Layer[];
  readonly strips: readonly Series[];
  readonly states: readonly Series[];
}

export interface Picture {
  readonly panels: readonly Panel[];
  /** What there is to be seen in stacks, from the bottom, and what it is called there. */
  readonly legend: readonly { readonly kind: StackedKind; readonly names: string }[];
  readonly slices: number;
  readonly hasStacks: boolean;
  readonly hasStates: boolean;
  /** The highest value of a series among all that are drawn on its scale. */
  topOf(series: Series): number;
}

export function pictureOf({ variants }: ScenarioResult): Picture {
  const panels = variants.map(
    ({ name, series }): Panel => ({
      name,
      stack: stackOf(series),
      strips: series.filter(({ kind }) => kind === 'level' || kind === 'queue' || kind === 'share'),
      states: series.filter(({ kind }) => kind === 'state'),
    }),
  );
  const strips = panels.flatMap((panel) => panel.strips);
  return {
    panels,
    legend: legendOf(panels.flatMap(({ stack }) => stack)),
    slices: highest(variants.flatMap(({ series }) => series.map(({ values }) => values.length))),
    hasStacks: panels.some(({ stack }) => stack.length > 0),
    hasStates: panels.some(({ states }) => states.length > 0),
    topOf({ kind, unit }) {
      const alike = strips.filter((strip) => strip.kind === kind && strip.unit === unit);
      return highest(alike.flatMap(({ values }) => values));
    },
  };
}

function stackOf(series: readonly Series[]): Layer[] {
  const of = <Kind extends StackedKind>(kind: Kind) =>
    series.filter((one): one is Series & { readonly kind: Kind } => one.kind === kind);
  const [delayed] = of('delayed');
  const passed = of('allowed');
  const refused = of('refused');
  // Arrivals are the sum of what became of them, where that is known.
  if (passed.length + refused.length === 0) return of('arrived');
  const allowed = passed.find(({ name }) => name === 'allowed');
  // Where calls are followed to their end, what a limit delayed is among what ended.
  if (delayed === undefined || allowed === undefined) return [...passed, ...refused];
  const atOnce = {
    ...allowed,
    values: allowed.values.map((value, i) => Math.max(0, value - (delayed.values[i] ?? 0))),
  };
  return [...passed.map((one) => (one === allowed ? atOnce : one)), delayed, ...refused];
}

function legendOf(layers: readonly Layer[]): Picture['legend'] {
  return (['arrived', 'allowed', 'delayed', 'refused'] as const).flatMap((kind) => {
    const seen = layers.filter((layer) => layer.kind === kind && layer.values.some((value) => value > 0));
    const names = new Set(seen.map(({ name }) => name));
    return names.size === 0 ? [] : [{ kind, names: [...names].join(', ') }];
  });
}

/** Of a circuit, from the best to the worst, in the colours of calls. */
export const circuitStates = [
  { name: 'closed', letter: 'C', kind: 'allowed' },
  { name: 'half-open', letter: 'H', kind: 'delayed' },
  { name: 'open', letter: 'O', kind: 'refused' },
] as const;

/** From 0 (closed) to 1 (open). */
export function circuitState(value: number): (typeof circuitStates)[number] {
  const last = circuitStates.length - 1;
  return circuitStates[Math.round(Math.min(1, Math.max(0, value)) * last)]!;
}

/** The round number at the top of all stacks, when each stack has these columns. */
export function stackTopOf(stacks: readonly (readonly (readonly number[])[])[]): number {
  const sums = stacks.flatMap(([first = [], ...others]) =>
    first.map((value, at) => others.reduce((sum, values) => sum + (values[at] ?? 0), value)),
  );
  return roundTop(highest(sums));
}

/** One by one: a long run has more slices than a call may have arguments. */
function highest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(value, most), 0);
}
