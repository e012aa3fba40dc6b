import type { Case } from '../case.ts';
import { slidingWindow } from './sliding-window.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: '80 before, 30 now, 40% in, gives 78',
    policy: slidingWindow({ limit: 100, window: '1s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [    0,   80,  true,  20,    0, 2000 ],
      [ 1400,    0,  true,  52,    0,  600 ],  // 60% of 80 still count
      [ 1400,   53,  false, 52,   13,  600 ],
      [ 1400,   30,  true,  22,    0, 1600 ],
      [ 1400,   22,  true,   0,    0, 1600 ],
      [ 1400,    1,  false,  0,   13, 1600 ],
      [ 1412,    1,  false,  0,    1, 1588 ],  // one of the 80 leaves every 12.5 ms
      [ 1413,    1,  true,   0,    0, 1587 ],
    ],
  },
  {
    name: 'a full window frees its places evenly over the next one',
    policy: slidingWindow({ limit: 10, window: '1s' }),
    rows: [
      [    0,   10,  true,   0,    0, 2000 ],
      [  500,    1,  false,  0,  600, 1500 ],
      [ 1000,    1,  false,  0,  100, 1000 ],
      [ 1099,    1,  false,  0,    1,  901 ],  // one millisecond too soon
      [ 1100,    1,  true,   0,    0, 1900 ],  // exactly on time
      [ 1500,    4,  true,   0,    0, 1500 ],
      [ 1500,    1,  false,  0,  100, 1500 ],
      [ 2000,    5,  true,   0,    0, 2000 ],
      [ 2000,    1,  false,  0,  200, 2000 ],
    ],
  },
  {
    name: 'after a window without calls nothing counts any more',
    policy: slidingWindow({ limit: 10, window: '1s' }),
    rows: [
      [  999,   10,  true,   0,    0, 1001 ],
      [ 1999,   10,  false,  9,    1,    1 ],
      [ 2000,   10,  true,   0,    0, 2000 ],
    ],
  },
  {
    name: 'refuses a cost larger than the limit for ever',
    policy: slidingWindow({ limit: 3, window: '1s' }),
    rows: [
      [    0,    4,  false,  3, never,    0 ],
      [    0,    3,  true,   0,     0, 2000 ],
      [ 1500,    4,  false,  1, never,  500 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: slidingWindow({ limit: 2, window: '1s' }),
    rows: [
      [    0,    0,  true,   2,    0,    0 ],
      [    0,    2,  true,   0,    0, 2000 ],
      [  999,    0,  true,   0,    0, 1001 ],
      [ 1500,    0,  true,   1,    0,  500 ],
    ],
  },
  {
    name: 'costs may be fractions',
    policy: slidingWindow({ limit: 1, window: '1s' }),
    rows: [
      [    0,  0.5,  true,   0,    0, 2000 ],
      [    0,  0.5,  true,   0,    0, 2000 ],
      [ 1500,  0.5,  true,   0,    0, 1500 ],
      [ 1500, 0.25,  false,  0,  250, 1500 ],
      [ 1750, 0.25,  true,   0,    0, 1250 ],
    ],
  },
  {
    name: 'a clock that steps back behind the window counts it in full, and waits count from the caller\'s own time',
    policy: slidingWindow({ limit: 10, window: '1s' }),
    rows: [
      [ 1500,   10,  true,   0,    0, 1500 ],
      [  500,    1,  false,  0, 1600, 2500 ],
      [ 2099,    1,  false,  0,    1,  901 ],
      [ 2100,    1,  true,   0,    0, 1900 ],
    ],
  },
  {
    name: 'a clock that steps back within the window counts more of the window before, never less',
    policy: slidingWindow({ limit: 10, window: '1s' }),
    rows: [
      [    0,   10,  true,   0,    0, 2000 ],
      [ 1900,    1,  true,   8,    0, 1100 ],
      [ 1100,    1,  false,  0,  100, 1900 ],
      [ 1900,    8,  true,   0,    0, 1100 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead starts anew',
    policy: slidingWindow({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,      0, 120_000 ],
      [   604_800_000,  10,  true,   0,      0, 120_000 ],
      [ 4_924_800_000,  10,  true,   0,      0, 120_000 ],
      [ 7_072_283_648,  10,  true,   0,      0,  96_352 ],
      [ 7_072_283_648,   1,  false,  0, 42_352,  96_352 ],
    ],
  },
  {
    name: '1 per 30 days: the one before must have left altogether',
    policy: slidingWindow({ limit: 1, window: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 5_184_000_000 ],
      [             1,  1,  false,  0, 5_183_999_999, 5_183_999_999 ],
      [ 5_183_999_999,  1,  false,  0,             1,             1 ],
      [ 5_184_000_000,  1,  true,   0,             0, 5_184_000_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: slidingWindow({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0, 10_000_000,  true,        0,    0, 2000 ],
      [ 1000,          1,  false,       0,    1, 1000 ],
      [ 1001,     10_001,  false,  10_000,    1,  999 ],
      [ 1001,     10_000,  true,        0,    0, 1999 ],
      [ 1001,          1,  false,       0,    1, 1999 ],
    ],
  },
  {
    name: 'a window of 1 ms, a limit of 1',
    policy: slidingWindow({ limit: 1, window: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    2 ],
      [    1,    1,  false,  0,    1,    1 ],
      [    2,    1,  true,   0,    0,    2 ],
    ],
  },
];
