import { describe, expect, it, vi } from 'vitest';
import { checkTime, monotonicClock } from './clock.ts';

describe('the default clock', () => {
  it('tells the wall time and does not follow it back', () => {
    const before = monotonicClock.now();
    expect(Math.abs(before - Date.now())).toBeLessThan(60_000);
    vi.spyOn(Date, 'now').mockReturnValue(0);
    expect(monotonicClock.now()).toBeGreaterThanOrEqual(before);
    vi.restoreAllMocks();
  });

  it('sleeps for no less than it was told', async () => {
    const startMs = performance.now();
    await monotonicClock.sleep(3);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(3);
  });

  it('wakes from a sleep longer than a timer can hold only when aborted', async () => {
    const stop = new AbortController();
    const asleep = monotonicClock.sleep(2 ** 40, stop.signal);
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    await expect(monotonicClock.sleep(1, stop.signal)).rejects.toThrow('enough');
    await expect(monotonicClock.sleep(0, stop.signal)).rejects.toThrow('enough');
  });
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e15, '5', null])('a time of %s is refused', (time) => {
  expect(() => checkTime(time as number)).toThrow('atMs must be milliseconds since the epoch');
});
