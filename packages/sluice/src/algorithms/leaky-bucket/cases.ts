import type { Case } from '../case.ts';
import { leakyBucket } from './leaky-bucket.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'serves one at a time, and refuses the rest where nothing may wait',
    policy: leakyBucket({ limit: 2, window: '1s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs  delayMs
      [    0,    1,  true,   0,    0,  500, 0 ],
      [  499,    1,  false,  0,    1,    1, 0 ],  // one millisecond too soon
      [  500,    1,  true,   0,    0,  500, 0 ],  // exactly on time
      [  500,    2,  false,  0, never, 500, 0 ],
    ],
  },
  {
    name: 'a burst of 2 lets 3 in at once, and tells the excess how long to wait',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 2 }),
    rows: [
      [    0,    1,  true,   2,    0, 1000,    0 ],
      [    0,    1,  true,   1,    0, 2000, 1000 ],
      [    0,    1,  true,   0,    0, 3000, 2000 ],
      [    0,    1,  false,  0, 1000, 3000,    0 ],
      [  999,    1,  false,  0,    1, 2001,    0 ],
      [ 1000,    1,  true,   0,    0, 3000, 2000 ],  // it leaves at 3000, one interval after the one before
      [ 5000,    1,  true,   2,    0, 1000,    0 ],
    ],
  },
  {
    name: 'with delay "none" what fits goes at once',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 2, delay: 'none' }),
    rows: [
      [    0,    1,  true,   2,    0, 1000, 0 ],
      [    0,    2,  true,   0,    0, 3000, 0 ],
      [    0,    1,  false,  0, 1000, 3000, 0 ],
      [ 1000,    1,  true,   0,    0, 3000, 0 ],
    ],
  },
  {
    name: 'with delay 1 the first of the excess goes at once, the rest is held back',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 3, delay: 1 }),
    rows: [
      [    0,    1,  true,   3,    0, 1000,    0 ],
      [    0,    1,  true,   2,    0, 2000,    0 ],  // the first of the excess
      [    0,    1,  true,   1,    0, 3000, 1000 ],
      [    0,    1,  true,   0,    0, 4000, 2000 ],
      [    0,    1,  false,  0, 1000, 4000,    0 ],
      [ 1500,    1,  true,   0,    0, 3500, 1500 ],
    ],
  },
  {
    name: 'a delay of 0 is "all"',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 1, delay: 0 }),
    rows: [
      [    0,    1,  true,   1,    0, 1000,    0 ],
      [    0,    1,  true,   0,    0, 2000, 1000 ],
    ],
  },
  {
    name: 'a delay larger than the burst is "none"',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 1, delay: 5 }),
    rows: [
      [    0,    1,  true,   1,    0, 1000, 0 ],
      [    0,    1,  true,   0,    0, 2000, 0 ],
      [    0,    1,  false,  0, 1000, 2000, 0 ],
    ],
  },
  {
    name: 'a cost of n waits as long as the last of n single calls',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 4 }),
    rows: [
      [    0,    6,  false,  5, never,   0,    0 ],
      [    0,    3,  true,   2,    0, 3000, 2000 ],
      [    0,    2,  true,   0,    0, 5000, 4000 ],
      [ 1000,    2,  false,  1, 1000, 4000,    0 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and is never held back',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 2 }),
    rows: [
      [    0,    0,  true,   3,    0,    0, 0 ],
      [    0,    3,  true,   0,    0, 3000, 2000 ],
      [    0,    0,  true,   0,    0, 3000, 0 ],
      [ 1000,    0,  true,   1,    0, 2000, 0 ],
    ],
  },
  {
    name: 'costs may be fractions',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 1 }),
    rows: [
      [    0,  0.5,  true,   1,    0,  500,    0 ],
      [    0,  0.5,  true,   1,    0, 1000,    0 ],  // together they are the one being served
      [    0,  0.5,  true,   0,    0, 1500,  500 ],
      [    0,  0.5,  true,   0,    0, 2000, 1000 ],
      [    0,  0.5,  false,  0,  500, 2000,    0 ],
    ],
  },
  {
    name: 'the burst may be a fraction',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 0.5, delay: 'none' }),
    rows: [
      [    0,    1,  true,   0,    0, 1000, 0 ],
      [    0,    1,  false,  0,  500, 1000, 0 ],
      [  500,    1,  true,   0,    0, 1500, 0 ],
    ],
  },
  {
    name: 'a clock that steps back frees nothing, and delays count from the caller\'s own time',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 5 }),
    rows: [
      [ 1000,    1,  true,   5,    0, 1000,    0 ],
      [  500,    1,  true,   4,    0, 2500, 1500 ],  // it counts as 1000 and leaves at 2000
      [ 2000,    1,  true,   4,    0, 2000, 1000 ],
      [ 1000,    5,  false,  4, 2000, 3000,    0 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead drains it, no more',
    policy: leakyBucket({ limit: 1, window: '1s', burst: 2 }),
    rows: [
      [             0,  3,  true,   0,    0, 3000, 2000 ],
      [   604_800_000,  3,  true,   0,    0, 3000, 2000 ],
      [ 4_924_800_000,  3,  true,   0,    0, 3000, 2000 ],
      [ 7_072_283_648,  3,  true,   0,    0, 3000, 2000 ],
      [ 7_072_283_648,  1,  false,  0, 1000, 3000,    0 ],
    ],
  },
  {
    name: '1 per 30 days, one more waiting',
    policy: leakyBucket({ limit: 1, window: '30d', burst: 1 }),
    rows: [
      [             0,  1,  true,   1,    0, 2_592_000_000,             0 ],
      [             0,  1,  true,   0,    0, 5_184_000_000, 2_592_000_000 ],
      [ 2_591_999_999,  1,  false,  0,    1, 2_592_000_001,             0 ],
      [ 2_592_000_000,  1,  true,   0,    0, 5_184_000_000, 2_592_000_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: leakyBucket({ limit: 10_000_000, window: '1s', burst: 9_999_999 }),
    rows: [
      [    0,          1,  true,  9_999_999,    0,    1,        0 ],
      [    0,          1,  true,  9_999_998,    0,    1,   0.0001 ],
      [    0,  9_999_998,  true,          0,    0, 1000, 999.9999 ],
      [    0,          1,  false,         0,    1, 1000,        0 ],
      [    1,     10_000,  true,          0,    0, 1000, 999.9999 ],
    ],
  },
  {
    name: 'a window of 1 ms',
    policy: leakyBucket({ limit: 1, window: 1, burst: 1 }),
    rows: [
      [    0,    1,  true,   1,    0,    1,   0 ],
      [    0,    1,  true,   0,    0,    2,   1 ],
      [  0.5,    1,  false,  0,    1,    2,   0 ],
      [    1,    1,  true,   0,    0,    2,   1 ],
    ],
  },
];
