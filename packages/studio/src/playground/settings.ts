/**
 * Everything that can be set, and its form in an address: `?limit=10&window=10s&burst=5&shape=bursts&rate=1.5&seed=1`.
 *
 * An address may come from anywhere: what cannot be read is what it is without it, and nothing throws.
 */
import { type Duration, parseDuration } from 'sluice';
import { type AlgorithmName, algorithmNames } from './algorithms.ts';
import { policyDuration } from './time-text.ts';
import { type ShapeName, shapeNames } from './traffic-shape.ts';

export interface Settings {
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number;
  /** Of `smooth`: refused rather than delayed for longer. */
  readonly maxDelayMs: number;
  /** Of `concurrency`: how many at once. */
  readonly inFlight: number;
  /** How long each call of `concurrency` is under way. */
  readonly holdMs: number;
  /** Of `sliding-slots`. */
  readonly slots: number;
  readonly shape: ShapeName;
  /** The mean of every shape. */
  readonly callsPerSecond: number;
  readonly seed: number;
}

/** What is shown of a run, and how. */
export interface Showing {
  readonly lanes: readonly AlgorithmName[];
  /** The lane whose code is shown. */
  readonly selected: AlgorithmName;
  /** Simulated time per real time. */
  readonly speed: number;
  /** The moment at which it stands still. Absent: it runs. */
  readonly stoppedAtMs?: number | undefined;
  /** When somebody called by hand, in order. */
  readonly handCallsMs: readonly number[];
}

export interface State {
  readonly settings: Settings;
  readonly showing: Showing;
}

export const defaultSettings: Settings = {
  limit: 10,
  windowMs: 10_000,
  burst: 5,
  maxDelayMs: 3000,
  inFlight: 3,
  holdMs: 1500,
  slots: 10,
  shape: 'bursts',
  callsPerSecond: 1.5,
  seed: 1,
};

export const defaultShowing: Showing = {
  lanes: algorithmNames,
  selected: 'gcra',
  speed: 1,
  handCallsMs: [],
};

/** Where a run ends: as far as a page gets in a moment when an address asks for it, at the highest rate. */
export const runEndMs = 3_600_000;

/** The least and the most of each number; the most keeps a picture of three windows within what a page can draw. */
export const ranges = {
  limit: [1, 100],
  windowMs: [1000, 60_000],
  burst: [1, 100],
  maxDelayMs: [100, 60_000],
  inFlight: [1, 50],
  holdMs: [100, 30_000],
  slots: [1, 60],
  callsPerSecond: [0.1, 20],
  seed: [0, 999_999],
  speed: [0.25, 20],
  stoppedAtMs: [0, runEndMs],
} as const satisfies Record<string, readonly [least: number, most: number]>;

type Ranged = keyof typeof ranges;

/** The most calls by hand that an address carries. */
export const mostHandCalls = 100;

export function stateOf(query: URLSearchParams): State {
  return {
    settings: {
      limit: whole(query, 'limit', 'limit', defaultSettings.limit),
      windowMs: duration(query, 'window', 'windowMs', defaultSettings.windowMs),
      burst: whole(query, 'burst', 'burst', defaultSettings.burst),
      maxDelayMs: duration(query, 'maxDelay', 'maxDelayMs', defaultSettings.maxDelayMs),
      inFlight: whole(query, 'inFlight', 'inFlight', defaultSettings.inFlight),
      holdMs: duration(query, 'hold', 'holdMs', defaultSettings.holdMs),
      slots: whole(query, 'slots', 'slots', defaultSettings.slots),
      shape: oneOf(query.get('shape'), shapeNames) ?? defaultSettings.shape,
      callsPerSecond: number(query.get('rate'), 'callsPerSecond') ?? defaultSettings.callsPerSecond,
      seed: whole(query, 'seed', 'seed', defaultSettings.seed),
    },
    showing: {
      lanes: lanesOf(query.get('lanes')),
      selected: oneOf(query.get('lane'), algorithmNames) ?? defaultShowing.selected,
      speed: number(query.get('speed'), 'speed') ?? defaultShowing.speed,
      stoppedAtMs: momentOf(query.get('at')),
      handCallsMs: handCallsOf(query.get('calls')),
    },
  };
}

export function queryOf({ settings, showing }: State): URLSearchParams {
  const query = new URLSearchParams({
    limit: String(settings.limit),
    window: policyDuration(settings.windowMs),
    burst: String(settings.burst),
    maxDelay: policyDuration(settings.maxDelayMs),
    inFlight: String(settings.inFlight),
    hold: policyDuration(settings.holdMs),
    slots: String(settings.slots),
    shape: settings.shape,
    rate: String(settings.callsPerSecond),
    seed: String(settings.seed),
    lane: showing.selected,
  });
  if (showing.lanes.length < algorithmNames.length) query.set('lanes', showing.lanes.join('.'));
  if (showing.speed !== defaultShowing.speed) query.set('speed', String(showing.speed));
  if (showing.stoppedAtMs !== undefined) query.set('at', String(Math.min(showing.stoppedAtMs, runEndMs)));
  if (showing.handCallsMs.length > 0) query.set('calls', showing.handCallsMs.slice(0, mostHandCalls).join('_'));
  return query;
}

function number(text: string | null, field: Ranged): number | undefined {
  if (text === null || text.trim() === '') return undefined;
  return within(Number(text), field);
}

function within(value: number, field: Ranged): number | undefined {
  const [least, most] = ranges[field];
  return value >= least && value <= most ? value : undefined;
}

function whole(query: URLSearchParams, name: string, field: Ranged, otherwise: number): number {
  const value = number(query.get(name), field);
  return value !== undefined && Number.isInteger(value) ? value : otherwise;
}

function duration(query: URLSearchParams, name: string, field: Ranged, otherwise: number): number {
  try {
    return within(parseDuration((query.get(name) ?? '') as Duration), field) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Whoever asks for a moment beyond the end of a run gets the end. */
function momentOf(text: string | null): number | undefined {
  return number(Number(text) > runEndMs ? String(runEndMs) : text, 'stoppedAtMs');
}

function oneOf<T extends string>(text: string | null, names: readonly T[]): T | undefined {
  return names.find((name) => name === text);
}

/** In the order in which they are always shown; none at all would be an empty page. */
function lanesOf(text: string | null): readonly AlgorithmName[] {
  const asked = (text ?? '').split('.');
  const lanes = algorithmNames.filter((name) => asked.includes(name));
  return lanes.length === 0 ? algorithmNames : lanes;
}

function handCallsOf(text: string | null): number[] {
  if (text === null || text === '') return [];
  const moments = text.split('_', mostHandCalls).map((one) => number(one, 'stoppedAtMs'));
  return moments.filter((one) => one !== undefined).sort((a, b) => a - b);
}
