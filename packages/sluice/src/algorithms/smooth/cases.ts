import type { Case } from '../case.ts';
import { smooth } from './smooth.ts';

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'the first call goes at once, and each next one waits for the one before',
    policy: smooth({ limit: 5, window: '1s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs  delayMs
      [    0,    1,  true,   0,    0, 1200,   0 ],
      [    0,    1,  true,   0,    0, 1400, 200 ],
      [    0,    1,  true,   0,    0, 1600, 400 ],
      [  599,    1,  true,   0,    0, 1201,   1 ],
      [  800,    1,  true,   0,    0, 1200,   0 ],  // exactly on time
    ],
  },
  {
    name: 'the next caller pays for a large call, the large one goes at once',
    policy: smooth({ limit: 5, window: '1s' }),
    rows: [
      [    0,   10,  true,   0,    0, 3000,    0 ],
      [    0,    1,  true,   0,    0, 3200, 2000 ],
      [ 2200,    1,  true,   0,    0, 1200,    0 ],
    ],
  },
  {
    name: 'idle time is stored, one second of it where nothing else is said',
    policy: smooth({ limit: 5, window: '1s' }),
    rows: [
      [    0,    0,  true,   1,    0, 1000,   0 ],  // nothing stored yet, but one may go and let the next one pay
      [ 2000,    1,  true,   5,    0,  200,   0 ],  // a key never seen has been idle since the limiter began
      [ 2000,    4,  true,   1,    0, 1000,   0 ],
      [ 2000,    1,  true,   0,    0, 1200,   0 ],  // the storage is empty: this one borrows
      [ 2000,    1,  true,   0,    0, 1400, 200 ],
      [ 2900,    0,  true,   3,    0,  500,   0 ],  // free at 2400; half a second stored two and a half
      [ 9000,    0,  true,   6,    0,    0,   0 ],
    ],
  },
  {
    name: 'maxBurst is how much idle time may store',
    policy: smooth({ limit: 1, window: '1s', maxBurst: 2 }),
    rows: [
      [      0,    0,  true,   1,    0, 2000,    0 ],
      [ 10_000,    0,  true,   3,    0,    0,    0 ],
      [ 10_000,    3,  true,   0,    0, 3000,    0 ],
      [ 10_000,    1,  true,   0,    0, 4000, 1000 ],
    ],
  },
  {
    name: 'maxBurst may be less than one',
    policy: smooth({ limit: 1, window: '1s', maxBurst: 0.5 }),
    rows: [
      [      0,    0,  true,   1,    0,  500,    0 ],
      [ 10_000,    1,  true,   0,    0, 1000,    0 ],
      [ 10_000,    1,  true,   0,    0, 2000,  500 ],
    ],
  },
  {
    name: 'maxDelay refuses rather than make anyone wait longer, and takes nothing then',
    policy: smooth({ limit: 1, window: '1s', maxDelay: '500ms' }),
    rows: [
      [    0,    1,  true,   0,    0, 2000,   0 ],
      [    0,    1,  false,  0,  500, 2000,   0 ],
      [  499,    1,  false,  0,    1, 1501,   0 ],  // one millisecond too soon
      [  500,    1,  true,   0,    0, 2500, 500 ],  // exactly on time
    ],
  },
  {
    name: 'with warmup a cold limiter starts at a third of its rate and speeds up',
    policy: smooth({ limit: 2, window: '1s', warmup: '4s' }),
    rows: [
      [    0,    0,  true,   1,    0,    0,    0 ],
      [    0,    1,  true,   0,    0, 1875,    0 ],
      [    0,    1,  true,   0,    0, 3500, 1375 ],
      [ 2500,    1,  true,   0,    0, 2375,    0 ],  // each interval is a quarter of a second shorter
      [ 3375,    1,  true,   0,    0, 2625,    0 ],
      [ 4000,    1,  true,   0,    0, 3000,    0 ],  // warm: from here on two per second
      [ 4500,    1,  true,   0,    0, 3500,    0 ],
      [ 4500,    1,  true,   0,    0, 4500,  500 ],
    ],
  },
  {
    name: 'with warmup an idle limiter grows cold again',
    policy: smooth({ limit: 2, window: '1s', warmup: '4s' }),
    rows: [
      [      0,    8,  true,   0,    0, 10_000,    0 ],  // all that is stored: 4 s to warm up, then 4 at two per second
      [   6000,    1,  true,   0,    0,   4500,    0 ],
      [ 10_500,    1,  true,   0,    0,   1875,    0 ],  // four seconds of idling stored everything
      [ 10_500,    1,  true,   0,    0,   3500, 1375 ],
    ],
  },
  {
    name: 'a coldFactor of 1 is a warm-up that is never slower, only without bursts',
    policy: smooth({ limit: 5, window: '1s', warmup: '4s', coldFactor: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,  334,   0 ],
      [    0,    1,  true,   0,    0,  667, 200 ],
      [ 4000,    1,  true,   0,    0,  334,   0 ],
      [ 4000,    1,  true,   0,    0,  667, 200 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and does not wait',
    policy: smooth({ limit: 1, window: '1s' }),
    rows: [
      [    0,    1,  true,   0,    0, 2000,    0 ],
      [    0,    0,  true,   0,    0, 2000,    0 ],
      [    0,    1,  true,   0,    0, 3000, 1000 ],
    ],
  },
  {
    name: 'costs may be fractions',
    policy: smooth({ limit: 5, window: '1s' }),
    rows: [
      [    0,  0.5,  true,   0,    0, 1100,   0 ],
      [    0, 0.25,  true,   0,    0, 1150, 100 ],
      [    0,    1,  true,   0,    0, 1350, 150 ],
    ],
  },
  {
    name: 'a clock that steps back frees nothing, and delays count from the caller\'s own time',
    policy: smooth({ limit: 1, window: '1s' }),
    rows: [
      [ 5000,    1,  true,   0,    0, 2000,    0 ],
      [ 4000,    1,  true,   0,    0, 4000, 2000 ],  // it may go at 6000
      [ 7000,    1,  true,   0,    0, 2000,    0 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead fills the storage, never more',
    policy: smooth({ limit: 1, window: '1s', maxBurst: 3 }),
    rows: [
      [             0,  1,  true,   0,    0, 4000,    0 ],
      [   604_800_000,  4,  true,   0,    0, 4000,    0 ],
      [ 4_924_800_000,  4,  true,   0,    0, 4000,    0 ],
      [ 7_072_283_648,  4,  true,   0,    0, 4000,    0 ],
      [ 7_072_283_648,  1,  true,   0,    0, 5000, 1000 ],
    ],
  },
  {
    name: '1 per 30 days',
    policy: smooth({ limit: 1, window: '30d', maxBurst: 1 }),
    rows: [
      [             0,  1,  true,   0,    0, 5_184_000_000,             0 ],
      [             0,  1,  true,   0,    0, 7_776_000_000, 2_592_000_000 ],
      [ 5_184_000_000,  1,  true,   0,    0, 5_184_000_000,             0 ],
    ],
  },
  {
    name: '10 million per second: the next one waits a ten-thousandth of a millisecond',
    policy: smooth({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0,          1,  true,           0,    0, 1001,      0 ],
      [    0,          1,  true,           0,    0, 1001, 0.0001 ],
      [    0, 10_000_000,  true,           0,    0, 2001, 0.0002 ],
      [ 9000, 10_000_000,  true,           1,    0, 1000,      0 ],
    ],
  },
  {
    name: 'a window of 1 ms',
    policy: smooth({ limit: 1, window: 1, maxBurst: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    2,   0 ],
      [  0.5,    1,  true,   0,    0,    3, 0.5 ],
      [    2,    1,  true,   0,    0,    2,   0 ],
    ],
  },
];
