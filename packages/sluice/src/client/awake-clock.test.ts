import { expect, test } from 'vitest';
import { monotonicClock } from '../vocabulary/clock.ts';
import { awakeClock } from './awake-clock.ts';
import { settingsOf } from './options.ts';

interface Row {
  readonly what: string;
  readonly monotonicMs: number;
  readonly wallMs: number;
  /** Since the row before. */
  readonly passedMs: number;
}

const rows: Row[] = [
  { what: 'both run', monotonicMs: 5, wallMs: 5, passedMs: 5 },
  { what: 'the wall clock counts whole milliseconds', monotonicMs: 0.6, wallMs: 1, passedMs: 0.6 },
  { what: 'the machine sleeps', monotonicMs: 1, wallMs: 60_001, passedMs: 60_001 },
  { what: 'and is awake', monotonicMs: 10, wallMs: 10, passedMs: 10 },
  { what: 'somebody sets the wall clock back', monotonicMs: 10, wallMs: -3_600_000, passedMs: 10 },
  { what: 'it sleeps again', monotonicMs: 1, wallMs: 31, passedMs: 31 },
  { what: 'it stood still while nobody asked', monotonicMs: 1000, wallMs: 61_000, passedMs: 61_000 },
];

test('the time that the machine slept has passed', () => {
  let monotonicMs = 1000;
  let wallMs = 1_700_000_000_000;
  const clock = awakeClock({ ...monotonicClock, now: () => monotonicMs }, () => wallMs);
  let beforeMs = clock.now();
  for (const row of rows) {
    monotonicMs += row.monotonicMs;
    wallMs += row.wallMs;
    const nowMs = clock.now();
    expect(nowMs - beforeMs, row.what).toBeCloseTo(row.passedMs, 6);
    beforeMs = nowMs;
  }
});

test('what it is corrected by little by little is no sleep', () => {
  let monotonicMs = 1000;
  let wallMs = 1_700_000_000_000;
  const clock = awakeClock({ ...monotonicClock, now: () => monotonicMs }, () => Math.floor(wallMs));
  const beganMs = clock.now();
  for (let i = 0; i < 100_000; i += 1) {
    monotonicMs += 10;
    wallMs += 10 * 1.0005;
    clock.now();
  }
  expect(clock.now() - beganMs).toBe(1_000_000);
});

test('a client counts ages by it, unless it is given a clock', () => {
  const nodes = ['10.0.0.1:6380'];
  const { clock, ageClock } = settingsOf({ nodes });
  expect(clock).toBe(monotonicClock);
  expect(ageClock).not.toBe(monotonicClock);
  const own = { ...monotonicClock };
  expect(settingsOf({ nodes, clock: own }).ageClock).toBe(own);
});
