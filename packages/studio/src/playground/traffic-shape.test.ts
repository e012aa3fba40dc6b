import { expect, test } from 'vitest';
import { shapeNames, type TrafficSettings, trafficOf } from './traffic-shape.ts';

function timesUntil(settings: TrafficSettings, untilMs: number): number[] {
  const times: number[] = [];
  for (const { atMs } of trafficOf(settings)) {
    if (atMs >= untilMs) return times;
    times.push(atMs);
  }
  return times;
}

test.each(shapeNames)('%s comes at the rate that was asked for, in order, and never ends', (shape) => {
  const settings: TrafficSettings = { shape, callsPerSecond: 5, windowMs: 10_000, seed: 3 };
  // A multiple of every period: 13 windows of crowds are 5, 12 of bursts are 10.
  const untilMs = 10_000 * 2.6 * 1.2 * 100;
  const times = timesUntil(settings, untilMs);
  expect((times.length / untilMs) * 1000).toBeGreaterThan(4.8);
  expect((times.length / untilMs) * 1000).toBeLessThan(5.2);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(0);
  expect(times.every(Number.isInteger)).toBe(true);
});

test.each(shapeNames)('%s is the same each time with the same seed', (shape) => {
  const settings: TrafficSettings = { shape, callsPerSecond: 1.5, windowMs: 10_000, seed: 4 };
  expect(timesUntil(settings, 100_000)).toEqual(timesUntil(settings, 100_000));
});

test('across the boundary comes half before every second boundary and half after it', () => {
  const settings: TrafficSettings = { shape: 'boundary', callsPerSecond: 2, windowMs: 10_000, seed: 0 };
  const times = timesUntil(settings, 30_000);
  const within = (fromMs: number, toMs: number) => times.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
  expect([within(8500, 10_000), within(10_000, 11_500), within(11_500, 28_500), within(28_500, 30_000)]).toEqual([
    20, 20, 0, 20,
  ]);
});
