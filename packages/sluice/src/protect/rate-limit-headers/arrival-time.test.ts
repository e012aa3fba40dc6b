import { afterEach, describe, expect, it, vi } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { monotonicClock } from '../../vocabulary/clock.ts';
import { arrivalMs } from './arrival-time.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('when a response came', () => {
  it('the wall clock says, where the default clock stood still for days', () => {
    const wallMs = monotonicClock.now() + 3 * 86_400_000;
    vi.spyOn(Date, 'now').mockReturnValue(wallMs);
    expect(arrivalMs(monotonicClock)).toBe(wallMs);
  });

  it('a clock that was given says, and nothing else', () => {
    expect(arrivalMs(new TestClock(7000))).toBe(7000);
  });
});
