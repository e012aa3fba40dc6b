import type { Case } from '../case.ts';
import { fixedWindow } from './fixed-window.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'counts per window, and windows begin with the epoch',
    policy: fixedWindow({ limit: 3, window: '1s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [ 1700,    1,  true,   2,    0,  300 ],
      [ 1999,    2,  true,   0,    0,    1 ],
      [ 1999,    1,  false,  0,    1,    1 ],  // one millisecond too soon
      [ 2000,    3,  true,   0,    0, 1000 ],  // exactly on time
      [ 2000,    1,  false,  0, 1000, 1000 ],
    ],
  },
  {
    name: 'lets twice the limit through within a millisecond across a boundary: its flaw',
    policy: fixedWindow({ limit: 3, window: '1s' }),
    rows: [
      [  999,    3,  true,   0,    0,    1 ],
      [ 1000,    3,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'with align "first" a window begins at the first call, and the next at the first call after it',
    policy: fixedWindow({ limit: 3, window: '1s', align: 'first' }),
    rows: [
      [   1700,    1,  true,   2,    0, 1000 ],
      [   2699,    2,  true,   0,    0,    1 ],
      [   2699,    1,  false,  0,    1,    1 ],
      [   2700,    1,  true,   2,    0, 1000 ],
      [   9999,    1,  true,   2,    0, 1000 ],  // not 9700: an idle key has no beat
      [ 10_998,    2,  true,   0,    0,    1 ],
      [ 10_999,    3,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'refuses a cost larger than the limit for ever',
    policy: fixedWindow({ limit: 3, window: '1s' }),
    rows: [
      [    0,    4,  false,  3, never,    0 ],
      [    0,    2,  true,   1,     0, 1000 ],
      [    0,    2,  false,  1,  1000, 1000 ],
      [    0,    4,  false,  1, never, 1000 ],
      [ 1000,    4,  false,  3, never,    0 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: fixedWindow({ limit: 1, window: '1s', align: 'first' }),
    rows: [
      [    0,    0,  true,   1,    0,    0 ],
      [  400,    1,  true,   0,    0, 1000 ],  // the question at 0 began no window
      [  400,    0,  true,   0,    0, 1000 ],
      [ 1399,    0,  true,   0,    0,    1 ],
      [ 1400,    0,  true,   1,    0,    0 ],
    ],
  },
  {
    name: 'costs and limits may be fractions',
    policy: fixedWindow({ limit: 1.5, window: '1s' }),
    rows: [
      [    0, 0.25,  true,   1,    0, 1000 ],
      [    0, 1.25,  true,   0,    0, 1000 ],
      [    0, 0.25,  false,  0, 1000, 1000 ],
      [ 1000,  1.5,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'with wait a caller may be served from a later window, and is told how long that is away',
    policy: fixedWindow({ limit: 2, window: '1s', wait: '2s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs  delayMs
      [    0,    2,  true,   0,    0, 1000,    0 ],
      [    0,    2,  true,   0,    0, 2000, 1000 ],
      [    0,    2,  true,   0,    0, 3000, 2000 ],
      [    0,    1,  false,  0, 1000, 3000,    0 ],  // the window at 3000 is more than 2 s away
      [  999,    1,  false,  0,    1, 2001,    0 ],
      [ 1000,    1,  true,   0,    0, 3000, 2000 ],
      [ 9000,    1,  true,   1,    0, 1000,    0 ],
    ],
  },
  {
    name: 'a wait shorter than the window helps only near its end',
    policy: fixedWindow({ limit: 1, window: '1s', wait: '300ms' }),
    rows: [
      [    0,    1,  true,   0,    0, 1000,   0 ],
      [  699,    1,  false,  0,    1,  301,   0 ],
      [  700,    1,  true,   0,    0, 1300, 300 ],
      [  700,    1,  false,  0, 1000, 1300,   0 ],
    ],
  },
  {
    name: 'with wait a cost that does not fit takes what is left and the rest from the next window, as in resilience4j',
    policy: fixedWindow({ limit: 3, window: '1s', wait: '1s' }),
    rows: [
      [    0,    4,  false,  3, never,   0,    0 ],
      [    0,    2,  true,   1,    0, 1000,    0 ],
      [    0,    2,  true,   0,    0, 2000, 1000 ],
      [    0,    1,  true,   0,    0, 2000, 1000 ],
      [ 1000,    1,  true,   0,    0, 1000,    0 ],
      [ 1000,    1,  true,   0,    0, 2000, 1000 ],
    ],
  },
  {
    name: 'a clock that steps back stays in the newest window, and waits count from the caller\'s own time',
    policy: fixedWindow({ limit: 3, window: '1s' }),
    rows: [
      [ 5500,    1,  true,   2,    0,  500 ],
      [ 3000,    2,  true,   0,    0, 3000 ],  // counted in the window at 5000
      [ 4000,    1,  false,  0, 2000, 2000 ],
      [ 5999,    1,  false,  0,    1,    1 ],
      [ 6000,    3,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead begins one new window',
    policy: fixedWindow({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,      0, 60_000 ],
      [   604_800_000,  10,  true,   0,      0, 60_000 ],
      [ 4_924_800_000,  10,  true,   0,      0, 60_000 ],
      [ 7_072_283_648,  10,  true,   0,      0, 36_352 ],
      [ 7_072_283_648,   1,  false,  0, 36_352, 36_352 ],
    ],
  },
  {
    name: '1 per 30 days',
    policy: fixedWindow({ limit: 1, window: '30d', align: 'first' }),
    rows: [
      [             5,  1,  true,   0,             0, 2_592_000_000 ],
      [ 2_592_000_004,  1,  false,  0,             1,             1 ],
      [ 2_592_000_005,  1,  true,   0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: fixedWindow({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0,  9_999_999,  true,   1,    0, 1000 ],
      [    1,          1,  true,   0,    0,  999 ],
      [    2,          1,  false,  0,  998,  998 ],
      [ 1000, 10_000_000,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a window of 1 ms, a limit of 1',
    policy: fixedWindow({ limit: 1, window: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    1 ],
      [ 0.75,    1,  false,  0,    1,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
    ],
  },
];
