// What Guava's RateLimiter answers in its own tests (RateLimiterTest), bursty and with warm-up. Its caller sleeps for the
// wait that it is told, so the clock of a row is where the waits and sleeps before it have led. Guava counts in whole
// microseconds and rounds down at each step, hence the tolerance.
//
// Not here: testInfinity_bursty, testInfinity_bustyTimeElapsed, testInfinity_warmUp, testInfinity_warmUpTimeElapsed. A rate
// is finite; what is not limited needs no limiter.
import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { type SmoothOptions, smooth } from './smooth.ts';

const toleranceMs = 0.002;
const forever = Number.MAX_SAFE_INTEGER;

type Row =
  | readonly ['acquire', permits: number, waitMs: number]
  /** Guava takes a timeout below 0 as 0. */
  | readonly ['try', permits: number, timeoutMs: number, waitMs: number | 'refused']
  | readonly ['sleep', ms: number]
  | readonly ['rate', permitsPerSecond: number];

interface Trace {
  readonly name: string;
  readonly permitsPerSecond: number;
  readonly options?: Pick<SmoothOptions, 'warmup' | 'coldFactor'>;
  readonly rows: readonly Row[];
  /** Where the clock is in the end. */
  readonly endMs: number;
}

// biome-ignore format: one row per call
const traces: readonly Trace[] = [
  {
    name: 'testSimple',
    permitsPerSecond: 5,
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
    ],
    endMs: 400,
  },
  {
    name: 'testSimpleWithWait',
    permitsPerSecond: 5,
    rows: [
      ['acquire', 1, 0],
      ['sleep', 200],
      ['acquire', 1, 0],
      ['acquire', 1, 200],
    ],
    endMs: 400,
  },
  {
    name: 'testSimpleAcquireEarliestAvailableIsInPast',
    permitsPerSecond: 5,
    rows: [
      ['acquire', 1, 0],
      ['sleep', 400],
      ['acquire', 1, 0],
      ['acquire', 1, 0],
      ['acquire', 1, 200],
    ],
    endMs: 600,
  },
  {
    name: 'testOneSecondBurst',
    permitsPerSecond: 5,
    rows: [
      ['sleep', 1000],
      ['sleep', 1000],
      ['acquire', 1, 0],
      ['acquire', 1, 0],
      ['acquire', 3, 0],
      ['acquire', 1, 0],
      ['acquire', 1, 200],
    ],
    endMs: 2200,
  },
  {
    name: 'testWarmUp',
    permitsPerSecond: 2,
    options: { warmup: 4000 },
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1375],
      ['acquire', 1, 1125],
      ['acquire', 1, 875],
      ['acquire', 1, 625],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['sleep', 500],
      ['sleep', 4000],
      ['acquire', 1, 0],
      ['acquire', 1, 1375],
      ['acquire', 1, 1125],
      ['acquire', 1, 875],
      ['acquire', 1, 625],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['sleep', 500],
      ['sleep', 2000],
      ['acquire', 1, 0],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
    ],
    endMs: 21500,
  },
  {
    name: 'testWarmUpWithColdFactor',
    permitsPerSecond: 5,
    options: { warmup: 4000, coldFactor: 10 },
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1752.5],
      ['acquire', 1, 1257.5],
      ['acquire', 1, 762.5],
      ['acquire', 1, 300.227],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['sleep', 200],
      ['sleep', 4000],
      ['acquire', 1, 0],
      ['acquire', 1, 1752.5],
      ['acquire', 1, 1257.5],
      ['acquire', 1, 762.5],
      ['acquire', 1, 300.227],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['sleep', 200],
      ['sleep', 1000],
      ['acquire', 1, 0],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
    ],
    endMs: 16145.454,
  },
  {
    name: 'testWarmUpWithColdFactor1',
    permitsPerSecond: 5,
    options: { warmup: 4000, coldFactor: 1 },
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['sleep', 340],
      ['acquire', 1, 0],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
    ],
    endMs: 3140,
  },
  {
    name: 'testWarmUpAndUpdate',
    permitsPerSecond: 2,
    options: { warmup: 4000 },
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1375],
      ['acquire', 1, 1125],
      ['acquire', 1, 875],
      ['acquire', 1, 625],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['acquire', 1, 500],
      ['sleep', 4500],
      ['acquire', 1, 0],
      ['acquire', 1, 1375],
      ['acquire', 1, 1125],
      ['rate', 4],
      ['acquire', 1, 875],
      ['acquire', 1, 343.75],
      ['acquire', 1, 281.25],
      ['acquire', 1, 250],
      ['acquire', 1, 250],
      ['sleep', 4250],
      ['acquire', 1, 0],
      ['acquire', 1, 718.75],
      ['acquire', 1, 656.25],
      ['acquire', 1, 593.75],
      ['acquire', 1, 531.25],
      ['acquire', 1, 468.75],
      ['acquire', 1, 406.25],
      ['acquire', 1, 343.75],
      ['acquire', 1, 281.25],
      ['acquire', 1, 250],
      ['acquire', 1, 250],
    ],
    endMs: 23250,
  },
  {
    name: 'testWarmUpAndUpdateWithColdFactor',
    permitsPerSecond: 5,
    options: { warmup: 4000, coldFactor: 10 },
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1752.5],
      ['acquire', 1, 1257.5],
      ['acquire', 1, 762.5],
      ['acquire', 1, 300.227],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['acquire', 1, 200],
      ['sleep', 4200],
      ['acquire', 1, 0],
      ['acquire', 1, 1752.5],
      ['acquire', 1, 1257.5],
      ['rate', 10],
      ['acquire', 1, 762.5],
      ['acquire', 1, 195.625],
      ['acquire', 1, 104.602],
      ['acquire', 1, 100],
      ['acquire', 1, 100],
      ['sleep', 4100],
      ['acquire', 1, 0],
      ['acquire', 1, 938.125],
      ['acquire', 1, 814.375],
      ['acquire', 1, 690.625],
      ['acquire', 1, 566.875],
      ['acquire', 1, 443.125],
      ['acquire', 1, 319.375],
      ['acquire', 1, 195.625],
      ['acquire', 1, 104.602],
      ['acquire', 1, 100],
      ['acquire', 1, 100],
    ],
    endMs: 21518.181,
  },
  {
    name: 'testBurstyAndUpdate',
    permitsPerSecond: 1,
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1000],
      ['rate', 2],
      ['acquire', 1, 1000],
      ['acquire', 2, 500],
      ['acquire', 4, 1000],
      ['acquire', 1, 2000],
    ],
    endMs: 5500,
  },
  {
    name: 'testSimpleWeights',
    permitsPerSecond: 1,
    rows: [
      ['acquire', 1, 0],
      ['acquire', 1, 1000],
      ['acquire', 2, 1000],
      ['acquire', 4, 2000],
      ['acquire', 8, 4000],
      ['acquire', 1, 8000],
    ],
    endMs: 16000,
  },
  {
    name: 'testTryAcquire_noWaitAllowed',
    permitsPerSecond: 5,
    rows: [
      ['try', 1, 0, 0],
      ['try', 1, 0, 'refused'],
      ['try', 1, 0, 'refused'],
      ['sleep', 100],
      ['try', 1, 0, 'refused'],
    ],
    endMs: 100,
  },
  {
    name: 'testTryAcquire_someWaitAllowed',
    permitsPerSecond: 5,
    rows: [
      ['try', 1, 0, 0],
      ['try', 1, 200, 200],
      ['try', 1, 100, 'refused'],
      ['sleep', 100],
      ['try', 1, 100, 100],
    ],
    endMs: 400,
  },
  {
    name: 'testTryAcquire_overflow',
    permitsPerSecond: 5,
    rows: [
      ['try', 1, 0, 0],
      ['sleep', 100],
      ['try', 1, forever, 100],
    ],
    endMs: 200,
  },
  {
    name: 'testTryAcquire_negative',
    permitsPerSecond: 5,
    rows: [
      ['try', 5, 0, 0],
      ['sleep', 900],
      ['try', 1, -forever, 'refused'],
      ['sleep', 100],
      ['try', 1, -1000, 0],
    ],
    endMs: 1000,
  },
];

for (const { name, permitsPerSecond, options, rows, endMs } of traces) {
  test(name, () => {
    const clock = new TestClock(0);
    const policyAt = (limit: number) => smooth({ limit, window: '1s', ...options } as SmoothOptions);
    const subject = limiter(policyAt(permitsPerSecond), { clock });

    function expectWait(waitMs: number, expectedMs: number, row: number): void {
      expect(Math.abs(waitMs - expectedMs), `row ${row}: waits ${waitMs} ms, not ${expectedMs}`).toBeLessThan(
        toleranceMs,
      );
      clock.advance(waitMs);
    }

    for (const [i, row] of rows.entries()) {
      if (row[0] === 'sleep') clock.advance(row[1]);
      else if (row[0] === 'rate') subject.update(policyAt(row[1]));
      else if (row[0] === 'acquire') expectWait(subject.acquire('key', row[1]), row[2], i);
      else {
        const [, cost, timeoutMs, expected] = row;
        const { allowed, delayMs } = subject.tryAcquire('key', { cost, timeout: Math.max(0, timeoutMs) });
        expect(allowed, `row ${i}`).toBe(expected !== 'refused');
        if (expected !== 'refused') expectWait(delayMs, expected, i);
      }
    }
    // The roundings of all rows together.
    expect(Math.abs(clock.now() - endMs)).toBeLessThan(toleranceMs * rows.length);
  });
}
