import { expect, it } from 'vitest';
import { TestClock } from '../testing/test-clock.ts';
import { Moments } from './moments.ts';

it('takes the time of the clock, or the one that is given', () => {
  const clock = new TestClock(100);
  const moments = new Moments(clock);
  expect(moments.now()).toBe(100);
  expect(moments.now(150)).toBe(150);
  expect(new Moments(clock).now(5)).toBe(5);
  expect(moments.isGiven).toBe(true);
  moments.now();
  expect(moments.isGiven).toBe(false);
});

it('takes a given time that is earlier for the latest seen', () => {
  const moments = new Moments(new TestClock());
  moments.now(100);
  expect([moments.now(50), moments.now(100), moments.now(101)]).toEqual([100, 100, 101]);
});

it('lets time go on after a clock that stepped back', () => {
  const clock = new TestClock(10_000);
  const moments = new Moments(clock);
  moments.now();
  clock.set(4000);
  expect(moments.now()).toBe(10_000);
  clock.advance(5);
  expect(moments.now()).toBe(10_005);
  // 4,105 by the clock as it goes now is a hundred milliseconds ahead.
  expect(moments.onOwnTime(4105)).toBe(10_105);
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, '5' as never])('refuses %s as a time', (atMs) => {
  expect(() => new Moments(new TestClock()).now(atMs)).toThrow('atMs must be milliseconds');
});
