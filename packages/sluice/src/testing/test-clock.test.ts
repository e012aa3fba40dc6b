import { describe, expect, it } from 'vitest';
import { TestClock } from './test-clock.ts';

describe('TestClock', () => {
  it('moves only when told to', () => {
    const clock = new TestClock(5);
    expect(clock.now()).toBe(5);
    clock.advance(10);
    expect(clock.now()).toBe(15);
    clock.set(3);
    expect(clock.now()).toBe(3);
    expect(new TestClock().now()).toBe(0);
  });

  it('wakes sleepers in the order of their times', async () => {
    const clock = new TestClock();
    const woken: string[] = [];
    const sleepers = [
      clock.sleep(20).then(() => woken.push('later')),
      clock.sleep(10).then(() => woken.push('sooner')),
    ];
    await clock.sleep(0);
    expect(clock.sleeping).toBe(2);
    clock.advance(9);
    await Promise.resolve();
    expect(woken).toEqual([]);
    clock.advance(11);
    await Promise.all(sleepers);
    expect(woken).toEqual(['sooner', 'later']);
    expect(clock.sleeping).toBe(0);
  });

  it('forgets a sleeper that was aborted', async () => {
    const clock = new TestClock();
    const stop = new AbortController();
    const asleep = clock.sleep(10, stop.signal);
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    await expect(clock.sleep(10, stop.signal)).rejects.toThrow('enough');
    expect(clock.sleeping).toBe(0);
  });

  it('refuses a time that is none', () => {
    expect(() => new TestClock(Number.NaN)).toThrow('atMs must be');
  });
});
