/**
 * What happened between snapshots. Counts of a service only grow; the difference of two is what happened in between, and a bounded number of
 * differences is all that is remembered.
 *
 *      snapshot  12  ──►  20  ──►  20  ──►  3          a count that fell began again from zero
 *      point          8        0        3
 *
 * Where the whole service began again, so does the history: what another process counted is not before this one's.
 */
import type { LiveRule, LiveSnapshot } from './contract.ts';
import { type Moves, memberNumbers, movesBetween } from './shards.ts';

export interface Counts {
  readonly allowed: number;
  readonly refused: number;
  readonly shadowRefused: number;
  readonly errors: number;
}

export interface Point {
  /** When it ends. */
  readonly atMs: number;
  /** How long it is: longer where the connection was lost in between. */
  readonly spanMs: number;
  /** Of all rules. */
  readonly counts: Counts;
  readonly rules: ReadonlyMap<string, Counts>;
  readonly degraded: number;
  readonly durations: readonly number[];
}

export interface History {
  readonly latest: LiveSnapshot | undefined;
  /** The latest last. */
  readonly points: readonly Point[];
  /** The last time that shards moved. */
  readonly moves: (Moves & { readonly atMs: number }) | undefined;
  /** Of the members of a cluster, by id. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** How far back it reaches: two minutes. */
export const historyMs = 120_000;
/** At one snapshot per second. */
export const mostPoints = historyMs / 1000;

export const noHistory: History = { latest: undefined, points: [], moves: undefined, numbers: new Map() };

export function nextHistory(history: History, snapshot: LiveSnapshot): History {
  const { latest: before, points } = history;
  if (before === undefined || isAnotherProcess(before, snapshot))
    return { ...noHistory, latest: snapshot, numbers: memberNumbers(new Map(), snapshot.cluster) };
  const moves = movesBetween(before.cluster, snapshot.cluster);
  return {
    latest: snapshot,
    // Two of one moment, or a clock that was set back: there is no time that a rate could be of. The next point is right again.
    points: snapshot.atMs > before.atMs ? [...points, pointBetween(before, snapshot)].slice(-mostPoints) : points,
    moves: moves === undefined ? history.moves : { ...moves, atMs: snapshot.atMs },
    numbers: memberNumbers(history.numbers, snapshot.cluster),
  };
}

function isAnotherProcess(before: LiveSnapshot, after: LiveSnapshot): boolean {
  return (
    before.startedAtMs !== after.startedAtMs ||
    before.durations.boundsMs.length !== after.durations.boundsMs.length ||
    after.durations.counts.some((count, place) => count < before.durations.counts[place]!)
  );
}

function pointBetween(before: LiveSnapshot, after: LiveSnapshot): Point {
  const earlier = new Map(before.rules.map((rule) => [rule.name, rule]));
  const rules = new Map(after.rules.map((rule) => [rule.name, countsSince(earlier.get(rule.name), rule)]));
  return {
    atMs: after.atMs,
    spanMs: after.atMs - before.atMs,
    counts: sumOf([...rules.values()]),
    rules,
    degraded: since(before.store.degraded, after.store.degraded),
    durations: after.durations.counts.map((count, place) => count - before.durations.counts[place]!),
  };
}

/** A rule that was taken out and put back by a reload counts from zero, all of its numbers at once. */
function countsSince(before: LiveRule | undefined, { allowed, refused, shadowRefused, errors }: LiveRule): Counts {
  const after = { allowed, refused, shadowRefused, errors };
  if (before === undefined || countNames.some((name) => after[name] < before[name])) return after;
  return {
    allowed: allowed - before.allowed,
    refused: refused - before.refused,
    shadowRefused: shadowRefused - before.shadowRefused,
    errors: errors - before.errors,
  };
}

const countNames = ['allowed', 'refused', 'shadowRefused', 'errors'] as const;
const none: Counts = { allowed: 0, refused: 0, shadowRefused: 0, errors: 0 };

function since(before: number, after: number): number {
  return after < before ? after : after - before;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function sumOf(list: readonly Counts[]): Counts {
  return list.reduce(
    (sum, counts) => ({
      allowed: sum.allowed + counts.allowed,
      refused: sum.refused + counts.refused,
      shadowRefused: sum.shadowRefused + counts.shadowRefused,
      errors: sum.errors + counts.errors,
    }),
    none,
  );
}

/** Per second, of several points together. */
export interface Rates {
  readonly spanMs: number;
  /** By the histogram, where each counts once. A busy service times some of them and counts each for all that it stands for: right on average. */
  readonly requests: number;
  /** One for each rule that a request was asked about. */
  readonly decisions: number;
  readonly allowed: number;
  readonly refused: number;
  readonly shadowRefused: number;
  readonly errors: number;
  readonly degraded: number;
  /** Of the decisions; 0 where there was none. */
  readonly refusedRatio: number;
  /** How many took how long, not per second. */
  readonly durations: readonly number[];
}

/** The points of the last `spanMs`; one at least. One that is longer, after a time without connection, is no part of them. */
export function lastPoints(points: readonly Point[], spanMs: number): readonly Point[] {
  const last = points.at(-1);
  if (last === undefined) return [];
  return points.filter((point) => point === last || (point.atMs > last.atMs - spanMs && point.spanMs <= spanMs));
}

/** Undefined: nothing was seen yet. */
export function ratesOf(points: readonly Point[]): Rates | undefined {
  if (points.length === 0) return undefined;
  const spanMs = total(points.map((point) => point.spanMs));
  const counts = sumOf(points.map((point) => point.counts));
  const decisions = totalOf(counts);
  const durations = points[0]!.durations.map((_, place) => total(points.map((point) => point.durations[place]!)));
  const degraded = total(points.map((point) => point.degraded));
  return {
    spanMs,
    ...perSecond(counts, spanMs),
    requests: (total(durations) * 1000) / spanMs,
    decisions: (decisions * 1000) / spanMs,
    degraded: (degraded * 1000) / spanMs,
    refusedRatio: decisions === 0 ? 0 : counts.refused / decisions,
    durations,
  };
}

/** What one rule said, per second. */
export function ruleRates(points: readonly Point[], rule: string): Counts {
  const spanMs = total(points.map((point) => point.spanMs));
  if (spanMs === 0) return none;
  return perSecond(sumOf(points.map(({ rules }) => rules.get(rule) ?? none)), spanMs);
}

export function perSecond(counts: Counts, spanMs: number): Counts {
  return {
    allowed: (counts.allowed * 1000) / spanMs,
    refused: (counts.refused * 1000) / spanMs,
    shadowRefused: (counts.shadowRefused * 1000) / spanMs,
    errors: (counts.errors * 1000) / spanMs,
  };
}

export function totalOf({ allowed, refused, shadowRefused, errors }: Counts): number {
  return allowed + refused + shadowRefused + errors;
}
