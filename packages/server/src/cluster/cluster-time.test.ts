import { expect, test } from 'vitest';
import { ClusterTime } from './cluster-time.ts';

const ttlMs = 1000;

function nodeClock(startMs: number) {
  const clock = { at: startMs, nowMs: () => clock.at, uptimeMs: () => clock.at, after: () => () => {} };
  return clock;
}

test('goes on from the furthest that anybody has come, by the own clock', () => {
  const clock = nodeClock(1e12);
  const time = new ClusterTime(clock, ttlMs);
  expect(time.nowMs()).toBe(0);
  clock.at += 500;
  time.seen(2000);
  expect(time.nowMs()).toBe(2000);
  clock.at += 300;
  expect(time.nowMs()).toBe(2300);
});

test('never goes back, and wall clocks mean nothing to it', () => {
  const clock = nodeClock(1e12);
  const time = new ClusterTime(clock, ttlMs);
  clock.at += 1000;
  time.seen(400);
  time.seen(undefined);
  expect(time.nowMs()).toBe(1000);
  const later = new ClusterTime(nodeClock(5e12), ttlMs);
  later.seen(time.nowMs());
  expect(later.nowMs()).toBe(1000);
});

test('stands still where nothing is heard of etcd, and goes on from there', () => {
  const clock = nodeClock(1e12);
  const time = new ClusterTime(clock, ttlMs);
  time.seen(5000);
  clock.at += 3_600_000;
  expect(time.nowMs()).toBe(5000 + ttlMs);
  // What we wrote ourselves, as far as we had come.
  time.seen(time.nowMs());
  expect(time.nowMs()).toBe(6000);
  clock.at += 200;
  expect(time.nowMs()).toBe(6200);
});

test('may be behind by the longest that anybody goes on without etcd, and by as long as we do', () => {
  const time = new ClusterTime(nodeClock(0), ttlMs);
  expect(time.lagMs).toBe(2 * ttlMs);
  time.seen(100, 7000);
  time.seen(200, 3000);
  expect(time.lagMs).toBe(ttlMs + 7000);
});
