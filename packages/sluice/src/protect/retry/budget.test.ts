import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { type RetryBudget, type RetryBudgetOptions, retryBudget } from './budget.ts';

type Row = [atMs: number, what: 'request' | 'retry', times: number, granted: number];

function request(budget: RetryBudget, times: number): void {
  for (let i = 0; i < times; i += 1) budget.request();
}

function retries(budget: RetryBudget, times: number): number {
  let granted = 0;
  for (let i = 0; i < times; i += 1) if (budget.tryRetry()) granted += 1;
  return granted;
}

interface Case {
  readonly name: string;
  readonly options: RetryBudgetOptions;
  readonly rows: Row[];
}

// biome-ignore format: rows are read in columns
const cases: Case[] = [
  {
    name: 'grants one retry for every ten requests, and one a second on top',
    options: {},
    rows: [
      [      0, 'retry',     20, 10 ],  // the floor: one for each of the ten seconds
      [      0, 'request',  100,  0 ],
      [      0, 'retry',     20, 10 ],
      [      0, 'request',    9,  0 ],
      [      0, 'retry',     20,  0 ],
      [      0, 'request',    1,  0 ],
      [      0, 'retry',     20,  1 ],
    ],
  },
  {
    name: 'what was taken comes back when it is as old as the window',
    options: { ratio: 0, minPerSecond: 2, window: 1000 },
    rows: [
      [      0, 'retry',      1,  1 ],
      [    100, 'retry',      5,  1 ],
      [    999, 'retry',      5,  0 ],
      [   1000, 'retry',      5,  1 ],
      [   1099, 'retry',      5,  0 ],
      [   1100, 'retry',      5,  1 ],
    ],
  },
  {
    name: 'requests count until they are as old as the window',
    options: { ratio: 1, minPerSecond: 0, window: 1000 },
    rows: [
      [      0, 'request',    3,  0 ],
      [    500, 'request',    1,  0 ],
      [    999, 'retry',      1,  1 ],
      [   1000, 'retry',      5,  0 ],  // one request is left, and one retry
      [   1001, 'request',    2,  0 ],
      [   1001, 'retry',      5,  2 ],
    ],
  },
  {
    name: 'does not halve now and then: what is old leaves little by little',
    options: { ratio: 1, minPerSecond: 0, window: 1000 },
    rows: [
      [      0, 'request',    1,  0 ],
      [    250, 'request',    1,  0 ],
      [    500, 'request',    1,  0 ],
      [    750, 'request',    1,  0 ],
      [   1250, 'retry',      5,  2 ],
    ],
  },
  {
    name: 'the requests of a part leave with the first of them, and its retries with the last',
    options: { ratio: 1, minPerSecond: 3, window: 1000 },
    rows: [
      [      0, 'request',    1,  0 ],
      [     40, 'request',    5,  0 ],  // in the same twentieth
      [    980, 'retry',      4,  4 ],
      [   1000, 'request',    1,  0 ],
      [   1000, 'retry',      5,  0 ],  // one request, though five more are younger than the window; and three on top
      [   1020, 'retry',      5,  0 ],
      [   1020, 'request',    1,  0 ],
      [   1020, 'retry',      5,  1 ],
      [   1980, 'request',    3,  0 ],  // of the twentieth of 980 to 1030 the retry at 1020 is still young
      [   1980, 'retry',      5,  1 ],
      [   2020, 'retry',      9,  5 ],
    ],
  },
  {
    name: 'a share of nothing and no floor is no retry at all',
    options: { ratio: 0, minPerSecond: 0 },
    rows: [
      [      0, 'request', 1000,  0 ],
      [      0, 'retry',     10,  0 ],
    ],
  },
  {
    name: 'a fraction of a retry is none',
    options: { ratio: 0.25, minPerSecond: 0.5, window: 1000 },
    rows: [
      [      0, 'retry',      1,  0 ],  // half of one
      [      0, 'request',    1,  0 ],
      [      0, 'retry',      1,  0 ],  // three quarters
      [      0, 'request',    1,  0 ],
      [      0, 'retry',      2,  1 ],
    ],
  },
];

describe('retryBudget', () => {
  it.each(cases)('$name', ({ options, rows }) => {
    const clock = new TestClock();
    const budget = retryBudget({ ...options, clock });
    const seen = rows.map(([atMs, what, times]) => {
      clock.set(atMs);
      if (what === 'request') request(budget, times);
      return [atMs, what, times, what === 'retry' ? retries(budget, times) : 0];
    });
    expect(seen).toEqual(rows);
  });

  it('says what counts, and how much is left', () => {
    const budget = retryBudget({ clock: new TestClock() });
    request(budget, 25);
    expect(budget.stats()).toEqual({ requests: 25, retries: 0, available: 12 });
    expect(retries(budget, 5)).toBe(5);
    expect(budget.stats()).toEqual({ requests: 25, retries: 5, available: 7 });
  });

  it('after a clock that stepped back the requests count no more, and the retries as if no time had passed', () => {
    const clock = new TestClock(1e6);
    const budget = retryBudget({ ratio: 0.1, minPerSecond: 1, clock });
    request(budget, 100);
    expect(retries(budget, 3)).toBe(3);
    clock.advance(2000);
    expect(retries(budget, 1)).toBe(1);
    clock.set(0);
    expect(budget.stats()).toEqual({ requests: 0, retries: 4, available: 6 });
    request(budget, 10);
    expect(budget.stats()).toMatchObject({ requests: 10, available: 7 });
    // The first three are two seconds old, as they were.
    clock.set(7999);
    expect(budget.stats()).toMatchObject({ requests: 10, retries: 4 });
    clock.set(8000);
    expect(budget.stats()).toMatchObject({ requests: 10, retries: 1 });
    clock.set(9999);
    expect(budget.stats()).toMatchObject({ requests: 10, retries: 1 });
    clock.set(10_000);
    expect(budget.stats()).toEqual({ requests: 0, retries: 0, available: 10 });
  });

  it('is not used up for good by a clock that steps back all the time', () => {
    const clock = new TestClock();
    const budget = retryBudget({ clock });
    expect(retries(budget, 20)).toBe(10);
    for (let second = 0; second < 12; second += 1) {
      clock.advance(1000);
      budget.request();
      clock.advance(-1);
    }
    expect(retries(budget, 20)).toBe(10);
  });

  it.each([
    [{ ratio: -0.1 }, 'ratio'],
    [{ ratio: Number.NaN }, 'ratio'],
    [{ ratio: 101 }, 'ratio'],
    [{ minPerSecond: -1 }, 'minPerSecond'],
    [{ minPerSecond: Number.POSITIVE_INFINITY }, 'minPerSecond'],
    [{ window: 0 }, 'window'],
    [{ window: 'soon' }, 'window'],
    [{ clock: {} }, 'clock'],
    [{ percent: 10 }, 'retryBudget options has no field "percent"'],
  ])('refuses %o', (options, message) => {
    expect(() => retryBudget(options as RetryBudgetOptions)).toThrow(message);
  });
});

describe('the promise of a budget', () => {
  const budgets = fc.record({
    ratio: fc.constantFrom(0, 0.1, 0.37, 1, 3),
    minPerSecond: fc.constantFrom(0, 0.5, 1, 10),
    window: fc.oneof(fc.integer({ min: 50, max: 300 }), fc.integer({ min: 50, max: 5000 })),
  });
  interface Step {
    readonly gapMs: number;
    readonly backMs: number;
    readonly what: 'request' | 'retry';
    readonly times: number;
  }

  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.record({
      // Mostly close together, so that most parts of a window hold several moments.
      gapMs: fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 0, max: 10 }) },
        { weight: 4, arbitrary: fc.double({ min: 0, max: 20, noNaN: true }) },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: 2000 }) },
      ),
      backMs: fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 100_000 }) }),
      what: fc.constantFrom<Step['what'][]>('request', 'request', 'retry'),
      times: fc.integer({ min: 1, max: 12 }),
    }),
    // A short life fills no window.
    { maxLength: 150, size: 'max' },
  );

  interface Event {
    readonly atMs: number;
    readonly what: 'request' | 'retry';
  }

  /** Lives through the steps. `atMs` is the true time; the clock is what somebody sets back now and then. */
  function live(options: RetryBudgetOptions, life: readonly Step[]): Event[] {
    const clock = new TestClock(1e9);
    const budget = retryBudget({ ...options, clock });
    let atMs = 0;
    const events: Event[] = [];
    for (const { gapMs, backMs, what, times } of life) {
      atMs += gapMs;
      // A step back by less than the time since it was last asked looks like a shorter time to any clock, and cannot be noticed.
      clock.advance(backMs > gapMs ? gapMs - backMs : gapMs);
      for (let i = 0; i < times; i += 1) {
        if (what === 'request') budget.request();
        else if (!budget.tryRetry()) break;
        events.push({ atMs, what });
      }
    }
    return events;
  }

  const count = (events: Event[], what: Event['what'], sinceMs: number, untilMs: number) =>
    events.filter((event) => event.what === what && event.atMs > sinceMs && event.atMs <= untilMs).length;

  // Sums of times round; a millionth of a millisecond more or less is the test's, not the budget's.
  const tinyMs = 1e-6;

  it('with each retry that it grants, the retries of the window before it are at most ratio * requests of that window + floor', () => {
    fc.assert(
      fc.property(budgets, steps, (options, life) => {
        const events = live(options, life);
        const floor = (options.minPerSecond * options.window) / 1000;
        for (const [i, { atMs, what }] of events.entries()) {
          if (what === 'request') continue;
          const before = events.slice(0, i + 1);
          const retried = count(before, 'retry', atMs - options.window + tinyMs, atMs);
          const requested = count(before, 'request', atMs - options.window - tinyMs, atMs);
          expect(retried).toBeLessThanOrEqual(options.ratio * requested + floor);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('over any time, the retries are at most ratio * requests since a window before it + floor for each window begun', () => {
    fc.assert(
      fc.property(budgets, steps, fc.nat(), fc.nat(), (options, life, a, b) => {
        const events = live(options, life);
        if (events.length === 0) return;
        const [from, to] = [a % events.length, b % events.length].sort((x, y) => x - y) as [number, number];
        const [fromMs, toMs] = [events[from]!.atMs, events[to]!.atMs];
        const floor = (options.minPerSecond * options.window) / 1000;
        const windows = Math.floor((toMs - fromMs + tinyMs) / options.window) + 1;
        const requested = count(events, 'request', fromMs - options.window - tinyMs, toMs);
        expect(count(events, 'retry', fromMs - tinyMs, toMs)).toBeLessThanOrEqual(
          options.ratio * requested + floor * windows,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('grants whatever the last nineteen twentieths leave room for, while the clock goes forward', () => {
    const forward = steps.map((life) => life.map((step) => ({ ...step, backMs: 0 })));
    fc.assert(
      fc.property(budgets, forward, (options, life) => {
        const clock = new TestClock();
        const budget = retryBudget({ ...options, clock });
        const events: Event[] = [];
        const floor = (options.minPerSecond * options.window) / 1000;
        for (const { gapMs, what, times } of life) {
          clock.advance(gapMs);
          const atMs = clock.now();
          for (let i = 0; i < times; i += 1) {
            if (what === 'request') budget.request();
            else if (!budget.tryRetry()) {
              const requested = count(events, 'request', atMs - (options.window * 19) / 20 + tinyMs, atMs);
              const retried = count(events, 'retry', atMs - (options.window * 21) / 20 - tinyMs, atMs);
              expect(retried + 1).toBeGreaterThan(options.ratio * requested + floor - tinyMs);
              break;
            }
            events.push({ atMs, what });
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
