/**
 * Points of a history as bars on top of each other, each as wide as its time.
 *
 *      ▒▒          ▒▒   refused
 *      ██  ██  ██  ██   allowed
 *      ├───┼───┼───┼───► time, the newest at the right end
 */
import { type Counts, type Point, perSecond, ruleRates, totalOf } from './history.ts';

/** Per second. */
export interface Bar {
  readonly startMs: number;
  readonly endMs: number;
  readonly counts: Counts;
}

/** Of all rules, or of one. */
export function barsOf(points: readonly Point[], rule?: string): Bar[] {
  return points.map((point) => ({
    startMs: point.atMs - point.spanMs,
    endMs: point.atMs,
    counts: rule === undefined ? perSecond(point.counts, point.spanMs) : ruleRates([point], rule),
  }));
}

export interface Frame {
  readonly endMs: number;
  readonly spanMs: number;
  readonly width: number;
  readonly height: number;
  /** The rate at the upper end. */
  readonly most: number;
}

/** What passed, what did not, and what nobody could decide: from below. A shadow rule's refusals have passed. */
export const bandNames = ['allowed', 'refused', 'errors'] as const;
export type BandName = (typeof bandNames)[number];

export function bandRate({ allowed, refused, shadowRefused, errors }: Counts, band: BandName): number {
  if (band === 'allowed') return allowed + shadowRefused;
  return band === 'refused' ? refused : errors;
}

export function mostRate(bars: readonly Bar[]): number {
  return bars.reduce((most, { counts }) => Math.max(most, totalOf(counts)), 0);
}

export function xOf(atMs: number, { endMs, spanMs, width }: Frame): number {
  return width * (1 - (endMs - atMs) / spanMs);
}

/** The outlines of all bars of a band, as an SVG path. */
export function bandPath(bars: readonly Bar[], band: BandName, frame: Frame, gap: number): string {
  const { height, most } = frame;
  let path = '';
  for (const { startMs, endMs, counts } of bars) {
    const rate = bandRate(counts, band);
    if (rate === 0) continue;
    let below = 0;
    for (const other of bandNames) {
      if (other === band) break;
      below += bandRate(counts, other);
    }
    const left = Math.max(0, xOf(startMs, frame));
    const right = xOf(endMs, frame);
    if (right <= 0) continue;
    const bottom = height * (1 - below / most);
    // What happened is seen, however little it is beside the rest.
    const tall = Math.max(1, (height * rate) / most);
    path += `M${shown(left)} ${shown(bottom)}h${shown(Math.max(0.5, right - left - gap))}v${shown(-tall)}H${shown(left)}z`;
  }
  return path;
}

function shown(value: number): string {
  return String(Math.round(value * 100) / 100);
}
