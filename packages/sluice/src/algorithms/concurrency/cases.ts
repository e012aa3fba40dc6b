import type { Case } from '../case.ts';
import { concurrency } from './concurrency.ts';

const never = Number.POSITIVE_INFINITY;

// Nobody gives a place back in these rows: they come back when their leases end.
// biome-ignore format: aligned rows
export const cases: readonly Case[] = [
  {
    name: 'lets the limit in, and the next one when the oldest lease ends',
    policy: concurrency({ limit: 2, lease: '1s' }),
    rows: [
      //  at  cost  allowed  remaining  retryAfterMs  resetAfterMs
      [    0,    1,  true,   1,    0, 1000 ],
      [  500,    1,  true,   0,    0, 1000 ],
      [  999,    1,  false,  0,    1,  501 ],  // one millisecond too soon
      [ 1000,    1,  true,   0,    0, 1000 ],  // exactly on time
      [ 1499,    1,  false,  0,    1,  501 ],
      [ 1500,    1,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a lease lasts a minute where nothing else is said',
    policy: concurrency({ limit: 1 }),
    rows: [
      [      0,    1,  true,   0,      0, 60_000 ],
      [      1,    1,  false,  0, 59_999, 59_999 ],
      [ 60_000,    1,  true,   0,      0, 60_000 ],
    ],
  },
  {
    name: 'waits for as many leases to end as the cost needs',
    policy: concurrency({ limit: 5, lease: '1s' }),
    rows: [
      [    0,    2,  true,   3,     0, 1000 ],
      [  300,    2,  true,   1,     0, 1000 ],
      [  600,    3,  false,  1,   400,  700 ],
      [  600,    4,  false,  1,   700,  700 ],  // both have to end
      [  600,    6,  false,  1, never,  700 ],
      [ 1000,    3,  true,   0,     0, 1000 ],
    ],
  },
  {
    name: 'a cost of 0 asks without taking, and always passes',
    policy: concurrency({ limit: 1, lease: '1s' }),
    rows: [
      [    0,    0,  true,   1,    0,    0 ],
      [    0,    1,  true,   0,    0, 1000 ],
      [  999,    0,  true,   0,    0,    1 ],
      [ 1000,    0,  true,   1,    0,    0 ],
    ],
  },
  {
    name: 'a clock that steps back ends no lease early, and waits count from the caller\'s own time',
    policy: concurrency({ limit: 2, lease: '1s' }),
    rows: [
      [ 5000,    1,  true,   1,    0, 1000 ],
      [ 4000,    1,  true,   0,    0, 2000 ],  // ends with the newest, not before it
      [ 4000,    1,  false,  0, 2000, 2000 ],
      [ 5999,    1,  false,  0,    1,    1 ],
      [ 6000,    2,  true,   0,    0, 1000 ],
    ],
  },
  {
    name: 'a clock that leaps a week, 50 days or 2^31 ms ahead ends every lease',
    policy: concurrency({ limit: 10, lease: '1m' }),
    rows: [
      [             0,  10,  true,   0,      0, 60_000 ],
      [   604_800_000,  10,  true,   0,      0, 60_000 ],
      [ 4_924_800_000,  10,  true,   0,      0, 60_000 ],
      [ 7_072_283_648,  10,  true,   0,      0, 60_000 ],
      [ 7_072_283_648,   1,  false,  0, 60_000, 60_000 ],
    ],
  },
  {
    name: 'a lease of 30 days',
    policy: concurrency({ limit: 1, lease: '30d' }),
    rows: [
      [             0,  1,  true,   0,             0, 2_592_000_000 ],
      [ 2_591_999_999,  1,  false,  0,             1,             1 ],
      [ 2_592_000_000,  1,  true,   0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: 'a lease of 1 ms',
    policy: concurrency({ limit: 1, lease: 1 }),
    rows: [
      [    0,    1,  true,   0,    0,    1 ],
      [ 0.75,    1,  false,  0,    1,    1 ],
      [    1,    1,  true,   0,    0,    1 ],
    ],
  },
  {
    name: 'ten million places',
    policy: concurrency({ limit: 10_000_000, lease: '1s' }),
    rows: [
      [    0, 9_999_999,  true,   1,    0, 1000 ],
      [    0,         1,  true,   0,    0, 1000 ],
      [    0,         1,  false,  0, 1000, 1000 ],
    ],
  },
];
