import type { Case } from '../case.ts';
import { slidingLog } from './sliding-log.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'an event exactly one window old no longer counts',
    policy: slidingLog({ limit: 3, window: 10_000 }),
    rows: [
      //    at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [      0,    1,  true,   2,    0, 10_000 ],
      [   1000,    1,  true,   1,    0, 10_000 ],
      [   2000,    1,  true,   0,    0, 10_000 ],
      [   3000,    1,  false,  0, 7000,   9000 ],
      [   9999,    1,  false,  0,    1,   2001 ],  // one millisecond too soon
      [ 11_000,    1,  true,   1,    0, 10_000 ],  // 0 and, exactly, 1000 have left
    ],
  },
  {
    name: 'refused calls do not count by default',
    policy: slidingLog({ limit: 2, window: '1m' }),
    rows: [
      [ 3_601_000,    1,  true,   1,      0, 60_000 ],  // 1:00:01
      [ 3_630_000,    1,  true,   0,      0, 60_000 ],  // 1:00:30
      [ 3_650_000,    1,  false,  0, 11_000, 40_000 ],  // 1:00:50
      [ 3_700_000,    1,  true,   1,      0, 60_000 ],  // 1:01:40
      [ 3_701_000,    1,  true,   0,      0, 60_000 ],  // 1:01:41
    ],
  },
  {
    name: 'with countRejected refused calls count, and a hammering caller stays refused until it pauses',
    policy: slidingLog({ limit: 2, window: '1m', countRejected: true }),
    rows: [
      [ 3_601_000,    1,  true,   1,      0, 60_000 ],
      [ 3_630_000,    1,  true,   0,      0, 60_000 ],
      [ 3_650_000,    1,  false,  0, 40_000, 60_000 ],
      [ 3_700_000,    1,  true,   0,      0, 60_000 ],  // the refusal of 1:00:50 is still in the window
      [ 3_701_000,    1,  false,  0, 59_000, 60_000 ],  // so here the two part
      [ 3_750_000,    1,  false,  0, 11_000, 60_000 ],
      [ 3_801_000,    1,  true,   0,      0, 60_000 ],
    ],
  },
  {
    name: 'with countRejected a cost that can never pass counts too, and keeps everyone out until it has left',
    policy: slidingLog({ limit: 2, window: '1s', countRejected: true }),
    rows: [
      [    0,    1,  true,   1,     0, 1000 ],
      [  100,  500,  false,  0, never, 1000 ],
      [ 1000,    1,  false,  0,   100, 1000 ],
      [ 1100,    1,  true,   0,     0, 1000 ],
    ],
  },
  {
    name: 'equal timestamps are separate events',
    policy: slidingLog({ limit: 3, window: '1s' }),
    rows: [
      [  500,    1,  true,   2,    0, 1000 ],
      [  500,    1,  true,   1,    0, 1000 ],
      [  500,    1,  true,   0,    0, 1000 ],
      [  500,    1,  false,  0, 1000, 1000 ],
      [ 1499,    1,  false,  0,    1,    1 ],
      [ 1500,    3,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'waits for as many events to leave as the cost needs',
    policy: slidingLog({ limit: 5, window: '1s' }),
    rows: [
      [    0,    2,  true,   3,     0, 1000 ],
      [  300,    2,  true,   1,     0, 1000 ],
      [  600,    2,  false,  1,   400,  700 ],
      [  600,    3,  false,  1,   400,  700 ],
      [  600,    4,  false,  1,   700,  700 ],  // both have to leave
      [  600,    6,  false,  1, never,  700 ],
      [ 1000,    3,  true,   0,     0, 1000 ],
      [ 1299,    1,  false,  0,     1,  701 ],
      [ 1300,    2,  true,   0,     0, 1000 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: slidingLog({ limit: 1, window: '1s' }),
    rows: [
      [    0,    0,  true,   1,    0,    0 ],
      [    0,    1,  true,   0,    0, 1000 ],
      [  500,    0,  true,   0,    0,  500 ],
      [ 1000,    0,  true,   1,    0,    0 ],
    ],
  },
  {
    name: 'costs and limits may be fractions',
    policy: slidingLog({ limit: 1.5, window: '1s' }),
    rows: [
      [    0, 0.25,  true,   1,     0, 1000 ],
      [  100, 1.25,  true,   0,     0, 1000 ],
      [  500, 0.25,  false,  0,   500,  600 ],
      [ 1000, 0.25,  true,   0,     0, 1000 ],
      [ 1000,  0.5,  false,  0,   100, 1000 ],
      [ 1000,    2,  false,  0, never, 1000 ],
    ],
  },
  {
    name: 'minGap also refuses two events closer than that',
    policy: slidingLog({ limit: 3, window: '1s', minGap: '200ms' }),
    rows: [
      [    0,    1,  true,   0,    0, 1000 ],
      [    0,    1,  false,  0,  200, 1000 ],  // two at one moment are too close
      [  199,    1,  false,  0,    1,  801 ],
      [  200,    1,  true,   0,    0, 1000 ],
      [  400,    1,  true,   0,    0, 1000 ],
      [  600,    1,  false,  0,  400,  800 ],  // far enough apart, but the limit is reached
      [ 1000,    1,  true,   0,    0, 1000 ],
      [ 1100,    1,  false,  0,  100,  900 ],
    ],
  },
  {
    name: 'nothing remains while the gap lasts, and what is left of the limit after it',
    policy: slidingLog({ limit: 5, window: '1s', minGap: '200ms' }),
    rows: [
      [    0,    1,  true,   0,    0, 1000 ],
      [  199,    0,  true,   0,    0,  801 ],
      [  200,    0,  true,   4,    0,  800 ],
      [  200,    4,  true,   0,    0, 1000 ],  // one event of cost 4
    ],
  },
  {
    name: 'minGap may be the window: one event at a time',
    policy: slidingLog({ limit: 3, window: '1s', minGap: '1s' }),
    rows: [
      [    0,    1,  true,   0,    0, 1000 ],
      [  999,    1,  false,  0,    1,    1 ],
      [ 1000,    1,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a clock that steps back counts as the latest time seen, and waits count from the caller\'s own time',
    policy: slidingLog({ limit: 2, window: '1s' }),
    rows: [
      [ 5000,    1,  true,   1,    0, 1000 ],
      [ 4000,    1,  true,   0,    0, 2000 ],  // logged at 5000
      [ 4500,    1,  false,  0, 1500, 1500 ],
      [ 5999,    1,  false,  0,    1,    1 ],
      [ 6000,    2,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a clock that steps back does not shorten the gap',
    policy: slidingLog({ limit: 1, window: '1s', minGap: '200ms' }),
    rows: [
      [ 5000,    1,  true,   0,    0, 1000 ],
      [ 4000,    1,  false,  0, 2000, 2000 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead empties the log',
    policy: slidingLog({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,      0, 60_000 ],
      [   604_800_000,  10,  true,   0,      0, 60_000 ],
      [ 4_924_800_000,  10,  true,   0,      0, 60_000 ],
      [ 7_072_283_648,  10,  true,   0,      0, 60_000 ],
      [ 7_072_283_648,   1,  false,  0, 60_000, 60_000 ],
      [             0,   1,  false,  0, 7_072_343_648, 7_072_343_648 ],  // and all the way back
    ],
  },
  {
    name: '1 per 30 days',
    policy: slidingLog({ limit: 1, window: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 2_592_000_000 ],
      [             1,  1,  false,  0, 2_591_999_999, 2_591_999_999 ],
      [ 2_591_999_999,  1,  false,  0,             1,             1 ],
      [ 2_592_000_000,  1,  true,   0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: slidingLog({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0,  4_000_000,  true,  6_000_000,    0, 1000 ],
      [    1,  5_999_999,  true,          1,    0, 1000 ],
      [    2,          1,  true,          0,    0, 1000 ],
      [    3,          1,  false,         0,  997,  999 ],
      [ 1000,  4_000_001,  false, 4_000_000,    1,    2 ],
      [ 1000,  4_000_000,  true,          0,    0, 1000 ],
    ],
  },
  {
    name: 'a window of 1 ms',
    policy: slidingLog({ limit: 2, window: 1 }),
    rows: [
      [    0,    1,  true,   1,    0,    1 ],
      [  0.5,    1,  true,   0,    0,    1 ],
      [ 0.75,    1,  false,  0,    1,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
      [ 1.25,    1,  false,  0,    1,    1 ],
      [  1.5,    1,  true,   0,    0,    1 ],
    ],
  },
];
