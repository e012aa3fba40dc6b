import type { Case } from '../case.ts';
import { slidingSlots } from './sliding-slots.ts';

const never = Number.POSITIVE_INFINITY;

// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'a slot counts until it has wholly left the window',
    policy: slidingSlots({ limit: 3, window: '1s', slots: 10 }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [   50,    1,  true,   2,    0, 1050 ],
      [  150,    2,  true,   0,    0, 1050 ],
      [ 1050,    1,  false,  0,   50,  150 ],  // the exact log would let this one pass
      [ 1099,    1,  false,  0,    1,  101 ],  // one millisecond too soon
      [ 1100,    1,  true,   0,    0, 1100 ],  // exactly on time
      [ 1199,    1,  false,  0,    1, 1001 ],
      [ 1200,    2,  true,   0,    0, 1100 ],
    ],
  },
  {
    name: 'cuts the window into 60 where nothing else is said',
    policy: slidingSlots({ limit: 2, window: '1m' }),
    rows: [
      [    500,    2,  true,   0,    0, 60_500 ],
      [ 60_500,    1,  false,  0,  500,    500 ],  // the log would let it pass, one slot's length is the price
      [ 60_999,    1,  false,  0,    1,      1 ],
      [ 61_000,    2,  true,   0,    0, 61_000 ],
    ],
  },
  {
    name: 'a slot that is only partly outside is neither forgotten nor overwritten',
    policy: slidingSlots({ limit: 4, window: 400, slots: 4 }),
    rows: [
      [   99,    1,  true,   3,    0,  401 ],
      [  199,    1,  true,   2,    0,  401 ],
      [  299,    1,  true,   1,    0,  401 ],
      [  399,    1,  true,   0,    0,  401 ],
      [  400,    1,  false,  0,  100,  400 ],  // a ring of 4 counters would begin anew in the counter of 99
      [  499,    1,  false,  0,    1,  301 ],
      [  500,    1,  true,   0,    0,  500 ],
    ],
  },
  {
    name: 'with one slot everything counts for up to two windows',
    policy: slidingSlots({ limit: 1, window: '1s', slots: 1 }),
    rows: [
      [    0,    1,  true,   0,    0, 2000 ],
      [  999,    1,  false,  0, 1001, 1001 ],
      [ 1999,    1,  false,  0,    1,    1 ],
      [ 2000,    1,  true,   0,    0, 2000 ],
    ],
  },
  {
    name: 'slots need not be whole milliseconds',
    policy: slidingSlots({ limit: 1, window: '1s', slots: 3 }),
    rows: [
      [    0,    1,  true,   0,    0, 1334 ],
      [ 1333,    1,  false,  0,    1,    1 ],  // the slot ends a third of a millisecond later
      [ 1334,    1,  true,   0,    0, 1333 ],
    ],
  },
  {
    name: 'waits for as many slots to leave as the cost needs',
    policy: slidingSlots({ limit: 5, window: '1s', slots: 10 }),
    rows: [
      [    0,    2,  true,   3,     0, 1100 ],
      [  300,    2,  true,   1,     0, 1100 ],
      [  600,    2,  false,  1,   500,  800 ],
      [  600,    4,  false,  1,   800,  800 ],  // both have to leave
      [  600,    6,  false,  1, never,  800 ],
      [ 1100,    3,  true,   0,     0, 1100 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: slidingSlots({ limit: 1, window: '1s', slots: 10 }),
    rows: [
      [    0,    0,  true,   1,    0,    0 ],
      [    0,    1,  true,   0,    0, 1100 ],
      [ 1099,    0,  true,   0,    0,    1 ],
      [ 1100,    0,  true,   1,    0,    0 ],
    ],
  },
  {
    name: 'costs and limits may be fractions',
    policy: slidingSlots({ limit: 1.5, window: '1s', slots: 10 }),
    rows: [
      [    0, 0.25,  true,   1,     0, 1100 ],
      [  100, 1.25,  true,   0,     0, 1100 ],
      [  500, 0.25,  false,  0,   600,  700 ],
      [ 1100, 0.25,  true,   0,     0, 1100 ],
      [ 1100,    2,  false,  0, never, 1100 ],
    ],
  },
  {
    name: 'a clock that steps back stays in the newest slot, and waits count from the caller\'s own time',
    policy: slidingSlots({ limit: 2, window: '1s', slots: 10 }),
    rows: [
      [ 5050,    1,  true,   1,    0, 1050 ],
      [ 4000,    1,  true,   0,    0, 2100 ],  // counted in the slot at 5000
      [ 4000,    1,  false,  0, 2100, 2100 ],
      [ 6099,    1,  false,  0,    1,    1 ],
      [ 6100,    2,  true,   0,    0, 1100 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead empties every slot',
    policy: slidingSlots({ limit: 10, window: '1m' }),
    rows: [
      [             0,  10,  true,   0,      0, 61_000 ],
      [   604_800_000,  10,  true,   0,      0, 61_000 ],
      [ 4_924_800_000,  10,  true,   0,      0, 61_000 ],
      [ 7_072_283_648,  10,  true,   0,      0, 60_352 ],
      [ 7_072_283_648,   1,  false,  0, 60_352, 60_352 ],
    ],
  },
  {
    name: '1 per 30 days',
    policy: slidingSlots({ limit: 1, window: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 2_635_200_000 ],
      [ 2_592_000_000,  1,  false,  0,    43_200_000,    43_200_000 ],
      [ 2_635_199_999,  1,  false,  0,             1,             1 ],
      [ 2_635_200_000,  1,  true,   0,             0, 2_635_200_000 ],
    ],
  },
  {
    name: '10 million per second',
    policy: slidingSlots({ limit: 10_000_000, window: '1s' }),
    rows: [
      [    0,  9_999_999,  true,   1,    0, 1017 ],
      [   20,          1,  true,   0,    0, 1014 ],
      [   20,          1,  false,  0,  997, 1014 ],
      [ 1016,          1,  false,  0,    1,   18 ],
      [ 1017,  9_999_999,  true,   0,    0, 1017 ],
    ],
  },
  {
    name: 'a window of 1 ms',
    policy: slidingSlots({ limit: 1, window: 1, slots: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    2 ],
      [    1,    1,  false,  0,    1,    1 ],
      [    2,    1,  true,   0,    0,    2 ],
    ],
  },
  {
    name: 'ten thousand slots of a tenth of a millisecond',
    policy: slidingSlots({ limit: 1, window: '1s', slots: 10_000 }),
    rows: [
      [    0,    1,  true,   0,    0, 1001 ],
      [ 1000,    1,  false,  0,    1,    1 ],
      [ 1001,    1,  true,   0,    0, 1001 ],
    ],
  },
];
