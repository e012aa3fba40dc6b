import type { Case } from '../case.ts';
import { gcra } from './gcra.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'lets a burst through, then one per emission interval',
    policy: gcra({ limit: 3, window: '3s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [    0,    1,  true,   2,    0, 1000 ],
      [    0,    2,  true,   0,    0, 3000 ],
      [  999,    1,  false,  0,    1, 2001 ],  // one millisecond too soon
      [ 1000,    1,  true,   0,    0, 3000 ],  // exactly on time
      [  500,    1,  false,  0, 1500, 3500 ],  // the clock stepped back: nothing is minted
    ],
  },
  {
    name: 'lets exactly the burst through at once, not the burst and one more',
    policy: gcra({ limit: 10, window: '10s', burst: 3 }),
    rows: [
      [    0,    1,  true,   2,    0, 1000 ],
      [    0,    1,  true,   1,    0, 2000 ],
      [    0,    1,  true,   0,    0, 3000 ],
      [    0,    1,  false,  0, 1000, 3000 ],  // a tolerance that is not charged for the call itself would let this one pass
      [ 1000,    1,  true,   0,    0, 3000 ],
    ],
  },
  {
    name: 'a burst larger than the limit is saved up over several windows',
    policy: gcra({ limit: 1, window: '1s', burst: 5 }),
    rows: [
      [    0,    5,  true,   0,    0, 5000 ],
      [    0,    1,  false,  0, 1000, 5000 ],
      [ 4999,    5,  false,  4,    1,    1 ],
      [ 5000,    5,  true,   0,    0, 5000 ],
    ],
  },
  {
    name: 'refuses a cost larger than the burst for ever, and takes nothing for it',
    policy: gcra({ limit: 10, window: '1s', burst: 5 }),
    rows: [
      [    0,    6,  false,  5, never,   0 ],
      [    0,    5,  true,   0,     0, 500 ],
      [    0,    6,  false,  0, never, 500 ],
      [  500,    6,  false,  5, never,   0 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: gcra({ limit: 2, window: '2s' }),
    rows: [
      [    0,    0,  true,   2,    0,    0 ],
      [    0,    2,  true,   0,    0, 2000 ],
      [    0,    0,  true,   0,    0, 2000 ],
      [ 1000,    0,  true,   1,    0, 1000 ],
      [ 1000,    1,  true,   0,    0, 2000 ],
    ],
  },
  {
    name: 'costs may be fractions',
    policy: gcra({ limit: 2, window: '1s' }),
    rows: [
      [    0,  0.5,  true,   1,    0,  250 ],  // 1.5 are left, of which one whole
      [    0,  1.5,  true,   0,    0, 1000 ],
      [  125, 0.25,  true,   0,    0, 1000 ],
      [  125, 0.25,  false,  0,  125, 1000 ],
      [  250, 0.25,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'an emission interval that is no whole number of milliseconds does not drift',
    policy: gcra({ limit: 3, window: '1s' }),
    rows: [
      [    0,    3,  true,   0,    0, 1000 ],
      [  333,    1,  false,  0,    1,  667 ],  // a third of a millisecond too soon
      [  334,    1,  true,   0,    0, 1000 ],
      [  666,    1,  false,  0,    1,  668 ],  // what was waited too long counts: due at 666 2/3
      [  667,    1,  true,   0,    0, 1000 ],
      [ 1000,    1,  true,   0,    0, 1000 ],  // three in this second, to the millisecond
      [ 1000,    1,  false,  0,  334, 1000 ],
    ],
  },
  {
    name: 'the time may be a fraction of a millisecond, waits are whole',
    policy: gcra({ limit: 1, window: '1s' }),
    rows: [
      [      0,  1,  true,   0,    0, 1000 ],
      [  999.5,  1,  false,  0,    1,    1 ],
      [ 1000.5,  1,  true,   0,    0, 1000 ],
      [1000.75,  1,  false,  0, 1000, 1000 ],  // 999.75, rounded up
    ],
  },
  {
    name: 'a clock that steps back frees nothing, and waits count from the caller\'s own time',
    policy: gcra({ limit: 1, window: '1s', burst: 2 }),
    rows: [
      [ 10_000,  2,  true,   0,    0,  2000 ],
      [  9_000,  1,  false,  0, 2000,  3000 ],
      [ 11_000,  1,  true,   0,    0,  2000 ],
      [      0,  0,  true,   0,    0, 13_000 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead fills the burst, never more',
    policy: gcra({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,    0, 60_000 ],
      [   604_800_000,  10,  true,   0,    0, 60_000 ],
      [   604_800_000,   1,  false,  0, 6000, 60_000 ],
      [ 4_924_800_000,  10,  true,   0,    0, 60_000 ],
      [ 4_924_800_000,   1,  false,  0, 6000, 60_000 ],
      [ 7_072_283_648,  10,  true,   0,    0, 60_000 ],
      [ 7_072_283_648,   1,  false,  0, 6000, 60_000 ],
      [             0,   1,  false,  0, 7_072_289_648, 7_072_343_648 ],  // and all the way back
    ],
  },
  {
    name: '1 per 30 days',
    policy: gcra({ limit: 1, window: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 2_592_000_000 ],
      [             1,  1,  false,  0, 2_591_999_999, 2_591_999_999 ],
      [ 2_591_999_999,  1,  false,  0,             1,             1 ],
      [ 2_592_000_000,  1,  true,   0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: '1,000 per 30 days come back one every 43 minutes and 12 seconds',
    policy: gcra({ limit: 1000, window: '30d' }),
    rows: [
      [         0, 1000,  true,   0,    0, 2_592_000_000 ],
      [ 2_591_999,    1,  false,  0,    1, 2_589_408_001 ],
      [ 2_592_000,    1,  true,   0,    0, 2_592_000_000 ],
    ],
  },
  {
    name: '10 million per second: one ten-thousandth of a millisecond each',
    policy: gcra({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0, 9_999_999,  true,       1,    0, 1000 ],
      [    0,         1,  true,       0,    0, 1000 ],
      [    0,         1,  false,      0,    1, 1000 ],
      [    1,    10_000,  true,       0,    0, 1000 ],
      [    1,         1,  false,      0,    1, 1000 ],
      [    2,    10_001,  false, 10_000,    1,  999 ],
      [    2,    10_000,  true,       0,    0, 1000 ],
    ],
  },
  {
    name: '10 million per second without a burst still waits for its ten-thousandth of a millisecond',
    policy: gcra({ limit: 10_000_000, window: '1s', burst: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    1 ],
      [    0,    1,  false,  0,    1,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
    ],
  },
  {
    name: 'a window of 1 ms',
    policy: gcra({ limit: 2, window: 1 }),
    rows: [
      [    0,    2,  true,   0,    0,    1 ],
      [    0,    1,  false,  0,    1,    1 ],
      [  0.5,    1,  true,   0,    0,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
    ],
  },
];
