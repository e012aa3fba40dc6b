import type { Case } from '../case.ts';
import { tokenBucket } from './token-bucket.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'starts full, refills continuously, and overflows when full',
    policy: tokenBucket({ limit: 5, window: '1s', burst: 10 }),
    rows: [
      //   at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [     0,   10,  true,   0,    0, 2000 ],
      [   199,    1,  false,  0,    1, 1801 ],  // one millisecond too soon
      [   200,    1,  true,   0,    0, 2000 ],  // exactly on time
      [  1200,    5,  true,   0,    0, 2000 ],
      [ 60_000,  10,  true,   0,    0, 2000 ],
      [ 60_000,   1,  false,  0,  200, 2000 ],  // a minute filled it once
    ],
  },
  {
    name: 'holds the limit where no burst is given',
    policy: tokenBucket({ limit: 100, window: '1m' }),
    rows: [
      [     0,   99,  true,   1,    0, 59_400 ],
      [     0,    2,  false,  1,  600, 59_400 ],
      [     0,    1,  true,   0,    0, 60_000 ],
      [   600,    1,  true,   0,    0, 60_000 ],
    ],
  },
  {
    name: '10 per minute with a burst of 20 is 20 tokens at a sixth per second, not none',
    policy: tokenBucket({ limit: 10, window: '1m', burst: 20 }),
    rows: [
      [     0,   20,  true,   0,    0, 120_000 ],
      [  5999,    1,  false,  0,    1, 114_001 ],
      [  6000,    1,  true,   0,    0, 120_000 ],
    ],
  },
  {
    name: 'refuses a cost larger than the bucket for ever',
    policy: tokenBucket({ limit: 10, window: '1s', burst: 5 }),
    rows: [
      [    0,    6,  false,  5, never,   0 ],
      [    0,    5,  true,   0,     0, 500 ],
      [  100,    6,  false,  1, never, 400 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: tokenBucket({ limit: 2, window: '2s' }),
    rows: [
      [    0,    0,  true,   2,    0,    0 ],
      [    0,    2,  true,   0,    0, 2000 ],
      [    0,    0,  true,   0,    0, 2000 ],
      [ 1500,    0,  true,   1,    0,  500 ],
      [ 1500,    2,  false,  1,  500,  500 ],  // one and a half tokens are there
    ],
  },
  {
    name: 'costs may be fractions',
    policy: tokenBucket({ limit: 1, window: '1s', burst: 1 }),
    rows: [
      [    0, 0.25,  true,   0,    0,  250 ],
      [    0, 0.75,  true,   0,    0, 1000 ],
      [  500,  0.5,  true,   0,    0, 1000 ],
      [  500,  0.5,  false,  0,  500, 1000 ],
    ],
  },
  {
    name: 'the bucket itself may hold less than one',
    policy: tokenBucket({ limit: 1, window: '1s', burst: 0.5 }),
    rows: [
      [    0,  0.5,  true,   0,     0, 500 ],
      [    0,    1,  false,  0, never, 500 ],
      [  500,  0.5,  true,   0,     0, 500 ],
    ],
  },
  {
    name: 'may start empty, and fills from the first call on',
    policy: tokenBucket({ limit: 10, window: '1s', initial: 0 }),
    rows: [
      [    0,    1,  false,  0,  100, 1000 ],
      [   99,    1,  false,  0,    1,  901 ],
      [  100,    1,  true,   0,    0, 1000 ],
      [ 1100,   10,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'may start partly filled',
    policy: tokenBucket({ limit: 10, window: '1s', initial: 3 }),
    rows: [
      [    0,    3,  true,   0,    0, 1000 ],
      [    0,    1,  false,  0,  100, 1000 ],
      [  100,    1,  true,   0,    0, 1000 ],
      [ 5000,   10,  true,   0,    0, 1000 ],  // an idle key is full, not back at its start
    ],
  },
  {
    name: 'with refill "interval" a whole limit comes at the end of each window since the first call',
    policy: tokenBucket({ limit: 5, window: '1s', refill: 'interval' }),
    rows: [
      [  100,    5,  true,   0,    0, 1000 ],
      [ 1099,    1,  false,  0,    1,    1 ],  // nothing trickles in between
      [ 1100,    5,  true,   0,    0, 1000 ],
      [ 1100,    1,  false,  0, 1000, 1000 ],
    ],
  },
  {
    name: 'with refill "interval" a larger bucket fills over several windows',
    policy: tokenBucket({ limit: 5, window: '1s', burst: 12, refill: 'interval' }),
    rows: [
      [    0,   13,  false, 12, never,   0 ],
      [    0,   12,  true,   0,    0, 3000 ],
      [  999,    1,  false,  0,    1, 2001 ],
      [ 1000,    5,  true,   0,    0, 3000 ],
      [ 1000,    6,  false,  0, 2000, 3000 ],  // two windows' worth
      [ 2999,    6,  false,  5,    1, 1001 ],
      [ 3000,    6,  true,   4,    0, 2000 ],
    ],
  },
  {
    name: 'with refill "interval" a bucket that was full counts its windows from the next call, as a new key would',
    policy: tokenBucket({ limit: 5, window: '1s', refill: 'interval' }),
    rows: [
      [    0,    1,  true,   4,    0, 1000 ],
      [ 2500,    5,  true,   0,    0, 1000 ],
      [ 3000,    1,  false,  0,  500,  500 ],
      [ 3499,    1,  false,  0,    1,    1 ],
      [ 3500,    1,  true,   4,    0, 1000 ],
    ],
  },
  {
    name: 'with refill "interval" a clock that steps back frees nothing',
    policy: tokenBucket({ limit: 5, window: '1s', refill: 'interval' }),
    rows: [
      [ 5000,    5,  true,   0,    0, 1000 ],
      [ 4000,    1,  false,  0, 2000, 2000 ],
      [ 6000,    1,  true,   4,    0, 1000 ],
      [    0,    0,  true,   4,    0, 7000 ],
    ],
  },
  {
    name: 'with refill "interval" a bucket may start empty, and fills at the end of the first window',
    policy: tokenBucket({ limit: 5, window: '1s', initial: 0, refill: 'interval' }),
    rows: [
      [  200,    1,  false,  0, 1000, 1000 ],
      [ 1199,    1,  false,  0,    1,    1 ],
      [ 1200,    5,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'with refill "interval" a clock that leaps ahead fills the bucket, never more',
    policy: tokenBucket({ limit: 5, window: '1s', burst: 12, refill: 'interval' }),
    rows: [
      [             0,  12,  true,   0,    0, 3000 ],
      [   604_800_500,  12,  true,   0,    0, 3000 ],
      [ 4_924_800_500,  12,  true,   0,    0, 3000 ],
      [ 7_072_284_148,  12,  true,   0,    0, 3000 ],
      [ 7_072_284_148,   1,  false,  0, 1000, 3000 ],
    ],
  },
  {
    name: 'a clock that steps back frees nothing, and waits count from the caller\'s own time',
    policy: tokenBucket({ limit: 1, window: '1s', burst: 2 }),
    rows: [
      [ 10_000,  2,  true,   0,    0,  2000 ],
      [  9_000,  1,  false,  0, 2000,  3000 ],
      [ 11_000,  1,  true,   0,    0,  2000 ],
      [      0,  0,  true,   0,    0, 13_000 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead fills the bucket, never more',
    policy: tokenBucket({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,    0, 60_000 ],
      [   604_800_000,  10,  true,   0,    0, 60_000 ],
      [ 4_924_800_000,  10,  true,   0,    0, 60_000 ],
      [ 7_072_283_648,  10,  true,   0,    0, 60_000 ],
      [ 7_072_283_648,   1,  false,  0, 6000, 60_000 ],
    ],
  },
  {
    name: '1 per 30 days',
    policy: tokenBucket({ limit: 1, window: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 2_592_000_000 ],
      [ 2_591_999_999,  1,  false,  0,             1,             1 ],
      [ 2_592_000_000,  1,  true,   0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: tokenBucket({ limit: 10_000_000, window: '1s', burst: 20_000_000 }),
    rows: [
      [    0, 20_000_000,  true,   0,    0, 2000 ],
      [    0,          1,  false,  0,    1, 2000 ],
      [    1,     10_000,  true,   0,    0, 2000 ],
      [    1,          1,  false,  0,    1, 2000 ],
    ],
  },
  {
    name: 'a window of 1 ms, a limit of 1',
    policy: tokenBucket({ limit: 1, window: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    1 ],
      [  0.5,    1,  false,  0,    1,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
    ],
  },
];
