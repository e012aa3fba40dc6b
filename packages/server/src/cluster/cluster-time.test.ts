import { expect, test } from 'vitest';
import { ClusterTime } from './cluster-time.ts';

function nodeClock(startMs: number) {
  const clock = { at: startMs, nowMs: () => clock.at, uptimeMs: () => clock.at, after: () => () => {} };
  return clock;
}

test('goes on from the furthest that anybody has come, by the own clock', () => {
  const clock = nodeClock(1e12);
  const time = new ClusterTime(clock);
  expect(time.nowMs()).toBe(0);
  clock.at += 500;
  time.seen(2000);
  expect(time.nowMs()).toBe(2000);
  clock.at += 300;
  expect(time.nowMs()).toBe(2300);
});

test('never goes back, and wall clocks mean nothing to it', () => {
  const clock = nodeClock(1e12);
  const time = new ClusterTime(clock);
  clock.at += 1000;
  time.seen(400);
  time.seen(undefined);
  expect(time.nowMs()).toBe(1000);
  const later = new ClusterTime(nodeClock(5e12));
  later.seen(time.nowMs());
  expect(later.nowMs()).toBe(1000);
});
