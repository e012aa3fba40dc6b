import { expect, test, vi } from 'vitest';
import { backgroundClock, monotonicClock } from '../../vocabulary/clock.ts';
import { roundRobin } from '../round-robin/round-robin.ts';
import { healthChecked } from './health-checked.ts';

/** How many timers keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

test('a sleep in the background does not keep the process alive', async () => {
  const before = timers();
  const stop = new AbortController();
  const quiet = backgroundClock.sleep(60_000, stop.signal);
  expect(timers()).toBe(before);
  const loud = monotonicClock.sleep(60_000, stop.signal);
  expect(timers()).toBe(before + 1);
  stop.abort(new Error('enough'));
  await expect(quiet).rejects.toThrow('enough');
  await expect(loud).rejects.toThrow('enough');
});

test('nor do the checks of a balancer that was not given a clock', () => {
  const before = timers();
  const balancer = healthChecked(roundRobin(['A', 'B']), { checks: { probe: () => true } });
  expect(timers()).toBe(before);
  balancer.close();
});

test('a sleep ends after its time, however long that is, and at once when it is too late to begin', async () => {
  vi.useFakeTimers();
  try {
    let isOver = false;
    const days30Ms = 30 * 24 * 3600 * 1000;
    const sleep = backgroundClock.sleep(days30Ms).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(days30Ms - 1000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(2000);
    await sleep;
    expect(isOver).toBe(true);
    await expect(backgroundClock.sleep(5, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    await expect(backgroundClock.sleep(0, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  } finally {
    vi.useRealTimers();
  }
});
