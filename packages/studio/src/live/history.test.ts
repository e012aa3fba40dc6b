import { describe, expect, test } from 'vitest';
import type { LiveSnapshot } from './contract.ts';
import { type History, lastPoints, mostPoints, nextHistory, noHistory, ratesOf, ruleRates } from './history.ts';
import { ruleCounts, snapshot } from './live.test-support.ts';

function historyOf(...snapshots: readonly LiveSnapshot[]): History {
  return snapshots.reduce(nextHistory, noHistory);
}

const durations = (...counts: number[]) => ({ boundsMs: [1, 10], counts, sumMs: 0 });
const degradedStore = (degraded: number) => ({ type: 'redis', keys: null, errors: 0, degraded, evictedLiveKeys: 0 });

describe('rates', () => {
  test('one snapshot has none', () => {
    expect(ratesOf(historyOf(snapshot(1000)).points)).toBeUndefined();
  });

  test('are the difference of two by the time between them', () => {
    const { points } = historyOf(
      snapshot(1000, {
        rules: [ruleCounts('a', { allowed: 100, refused: 10 }), ruleCounts('b', { errors: 5 })],
        durations: durations(10, 0, 0),
        store: degradedStore(3),
      }),
      snapshot(3000, {
        rules: [
          ruleCounts('a', { allowed: 160, refused: 30, shadowRefused: 4 }),
          ruleCounts('b', { allowed: 14, errors: 7 }),
        ],
        durations: durations(10, 6, 1),
        store: degradedStore(9),
      }),
    );
    expect(ratesOf(points)).toEqual({
      spanMs: 2000,
      requests: 3.5,
      decisions: 50,
      allowed: 37,
      refused: 10,
      shadowRefused: 2,
      errors: 1,
      degraded: 3,
      refusedRatio: 0.2,
      durations: [0, 6, 1],
    });
    expect(ruleRates(points, 'b')).toEqual({ allowed: 7, refused: 0, shadowRefused: 0, errors: 1 });
    expect(ruleRates(points, 'gone')).toEqual({ allowed: 0, refused: 0, shadowRefused: 0, errors: 0 });
  });

  test('of several points weigh each by its length', () => {
    const allowed = (count: number) => ({ rules: [ruleCounts('a', { allowed: count })] });
    const { points } = historyOf(snapshot(0, allowed(0)), snapshot(1000, allowed(90)), snapshot(10_000, allowed(100)));
    expect(ratesOf(points)?.allowed).toBe(10);
    expect(ratesOf(lastPoints(points, 5000))?.allowed).toBeCloseTo(10 / 9);
    // A moment later, what was long ago is no part of the last seconds.
    const later = historyOf(
      snapshot(0, allowed(0)),
      snapshot(10_000, allowed(100)),
      snapshot(11_000, allowed(101)),
      snapshot(12_000, allowed(104)),
    );
    expect(ratesOf(lastPoints(later.points, 5000))?.allowed).toBe(2);
  });

  test('nothing asked is nothing refused', () => {
    expect(ratesOf(historyOf(snapshot(0), snapshot(1000)).points)?.refusedRatio).toBe(0);
  });

  test('a rule that came back after a reload counts from zero', () => {
    const { points } = historyOf(
      snapshot(0, { rules: [ruleCounts('a', { allowed: 100, refused: 1 }), ruleCounts('b', { allowed: 5 })] }),
      // Refused has not fallen, and still is of another life.
      snapshot(1000, { rules: [ruleCounts('a', { allowed: 3, refused: 2 }), ruleCounts('c', { allowed: 4 })] }),
    );
    expect(ruleRates(points, 'a')).toMatchObject({ allowed: 3, refused: 2 });
    expect(ruleRates(points, 'c')).toMatchObject({ allowed: 4 });
    expect(ratesOf(points)?.allowed).toBe(7);
  });
});

describe('a history', () => {
  test.each<[string, Partial<LiveSnapshot>]>([
    ['another start', { startedAtMs: 500, durations: durations(9, 9, 9) }],
    ['counts that fell', { durations: durations(5, 4, 4) }],
  ])('starts over with %s', (_, given) => {
    const before = historyOf(
      snapshot(0, { durations: durations(5, 5, 5) }),
      snapshot(1000, { durations: durations(6, 6, 6) }),
    );
    expect(before.points).toHaveLength(1);
    const after = nextHistory(before, snapshot(2000, given));
    expect(after.points).toEqual([]);
    expect(nextHistory(after, snapshot(3000, given)).points).toHaveLength(1);
  });

  test('has no point of no time, and goes on from there', () => {
    const allowed = (count: number) => ({ rules: [ruleCounts('a', { allowed: count })] });
    const stood = historyOf(snapshot(5000, allowed(1)), snapshot(5000, allowed(2)), snapshot(2000, allowed(3)));
    expect(stood.points).toEqual([]);
    expect(ratesOf(nextHistory(stood, snapshot(3000, allowed(7))).points)?.allowed).toBe(4);
  });

  test('is bounded, and keeps the newest', () => {
    const { points } = historyOf(...Array.from({ length: 3 * mostPoints }, (_, second) => snapshot(second * 1000)));
    expect(points).toHaveLength(mostPoints);
    expect(points.at(-1)?.atMs).toBe((3 * mostPoints - 1) * 1000);
  });

  test('remembers the last moves of shards', () => {
    const cluster = (...owners: number[]) => ({
      cluster: {
        revision: 1,
        members: [
          { id: 'a', address: 'host-a', isSelf: true, isLeaving: false },
          { id: 'b', address: 'host-b', isSelf: false, isLeaving: false },
        ],
        owners,
        standbys: owners,
      },
    });
    const history = historyOf(snapshot(0, cluster(0, 0)), snapshot(1000, cluster(0, 1)), snapshot(2000, cluster(0, 1)));
    expect(history.moves).toEqual({ shards: new Set([1]), words: 'Moved: 1 from host-a to host-b.', atMs: 1000 });
  });
});
