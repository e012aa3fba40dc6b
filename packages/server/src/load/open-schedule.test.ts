import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpenSchedule } from './open-schedule.ts';

describe('open schedule', () => {
  it('spreads the requests evenly over the time, the first one at its start', () => {
    const schedule = new OpenSchedule({ perSecond: 4, durationMs: 1000 });
    expect(schedule.count).toBe(4);
    expect([0, 1, 2, 3].map((request) => schedule.atMs(request))).toEqual([0, 250, 500, 750]);
  });

  it('makes a request due at its time, not before', () => {
    const schedule = new OpenSchedule({ perSecond: 4, durationMs: 1000 });
    const rows: [elapsedMs: number, due: number][] = [
      [-1, 0],
      [0, 1],
      [249.9, 1],
      [250, 2],
      [750, 4],
      [5000, 4], // all there are
    ];
    for (const [elapsedMs, due] of rows) expect(schedule.dueAt(elapsedMs)).toBe(due);
  });

  it('finds each request due exactly from its own time on, whatever the rate', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.5, max: 1_000_000, noNaN: true }), fc.nat(100_000), (perSecond, request) => {
        const schedule = new OpenSchedule({ perSecond, durationMs: 86_400_000 });
        fc.pre(request + 1 < schedule.count);
        const atMs = schedule.atMs(request);
        expect(schedule.dueAt(atMs)).toBeGreaterThanOrEqual(request);
        expect(schedule.atMs(schedule.dueAt(atMs) - 1)).toBeLessThanOrEqual(atMs);
        // Half an interval later it must be due.
        expect(schedule.dueAt(atMs + 500 / perSecond)).toBe(request + 1);
      }),
      { numRuns: 500 },
    );
  });

  it('sends at least one request, however low the rate', () => {
    expect(new OpenSchedule({ perSecond: 0.1, durationMs: 100 }).count).toBe(1);
  });

  it.each([
    [{ perSecond: 0, durationMs: 1 }, 'perSecond must be above 0'],
    [{ perSecond: Number.NaN, durationMs: 1 }, 'perSecond must be above 0'],
    [{ perSecond: 1, durationMs: 0 }, 'durationMs must be above 0'],
    [{ perSecond: 1, durationMs: Number.POSITIVE_INFINITY }, 'durationMs must be above 0'],
  ])('refuses %o', (options, message) => {
    expect(() => new OpenSchedule(options)).toThrow(message);
  });
});
