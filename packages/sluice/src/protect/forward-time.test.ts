import { expect, it } from 'vitest';
import { TestClock } from '../testing/test-clock.ts';
import { ForwardTime } from './forward-time.ts';

it('is the time of the clock, stands still where that steps back, and goes on from there', () => {
  const clock = new TestClock(1000);
  const time = new ForwardTime(clock);
  const seen = [1000, 1500, 300, 400, 400, 100, 2000].map((atMs) => {
    clock.set(atMs);
    return [atMs, time.now(), time.steps];
  });
  // biome-ignore format: aligned rows
  expect(seen).toEqual([
    [ 1000, 1000, 0 ],
    [ 1500, 1500, 0 ],
    [  300, 1500, 1 ],
    [  400, 1600, 1 ],
    [  400, 1600, 1 ],
    [  100, 1600, 2 ],
    [ 2000, 3500, 2 ],
  ]);
});

it('refuses a clock that tells no time', () => {
  const clock = new TestClock();
  const time = new ForwardTime(clock);
  clock.now = () => Number.NaN;
  expect(() => time.now()).toThrow('the time of the clock must be milliseconds since the epoch');
});
