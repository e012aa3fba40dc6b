import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Pass } from '../protection.ts';
import { type CircuitBreaker, circuitBreaker } from './circuit-breaker.ts';
import type { CircuitBreakerOptions } from './settings.ts';

const options: fc.Arbitrary<CircuitBreakerOptions> = fc
  .record({
    trips: fc.oneof(
      fc.record({ consecutiveFailures: fc.integer({ min: 1, max: 4 }) }),
      fc.record({
        failureRatio: fc.double({ min: 0.1, max: 1, noNaN: true }),
        window: fc.integer({ min: 50, max: 2000 }),
        minCalls: fc.integer({ min: 1, max: 5 }),
      }),
      fc.record({
        failureRatio: fc.double({ min: 0.1, max: 1, noNaN: true }),
        windowCalls: fc.integer({ min: 5, max: 10 }),
        minCalls: fc.integer({ min: 1, max: 5 }),
      }),
    ),
    rest: fc.record({
      openFor: fc.integer({ min: 10, max: 1000 }),
      openGrowth: fc.constantFrom(1, 1.5, 3),
      jitter: fc.constantFrom(0, 0.5, 1),
      probes: fc.integer({ min: 1, max: 4 }),
      probeTimeout: fc.integer({ min: 1, max: 2000 }),
    }),
  })
  .map(({ trips, rest }) => ({ ...trips, ...rest }));

const steps = fc.array(
  fc.record({
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 600 })),
    what: fc.constantFrom('begin', 'begin', 'begin', 'ok', 'failed', 'failed', 'ignored', 'open', 'close', 'trip'),
    which: fc.nat({ max: 50 }),
  }),
  { maxLength: 120 },
);

type Step = { readonly what: string; readonly which: number };

/** One step of a life; calls that were begun end in any order, or never. */
function take(breaker: CircuitBreaker, { what, which }: Step, out: Pass[]): void {
  if (what === 'begin') {
    const pass = breaker.tryPass();
    if (pass) out.push(pass);
  } else if (what === 'open' || what === 'close' || what === 'trip') breaker[what]();
  else if (out.length > 0) out.splice(which % out.length, 1)[0]![what as keyof Pass]();
}

describe('circuitBreaker', () => {
  it('lets no more than its probes through between opening and deciding', () => {
    fc.assert(
      fc.property(options, steps, (given, life) => {
        const clock = new TestClock();
        const breaker = circuitBreaker({ ...given, clock, random: seededRandom(1) });
        let probing = 0;
        let ignored = 0;
        breaker.on('change', () => {
          probing = 0;
          ignored = 0;
        });
        breaker.on('ended', ({ outcome, isLate }) => {
          if (outcome === 'ignored' && !isLate) ignored += 1;
        });
        const out: Pass[] = [];
        for (const step of life) {
          clock.advance(step.gapMs);
          const before = out.length;
          take(breaker, step, out);
          if (out.length <= before) continue;
          if (breaker.state === 'half-open') probing += 1;
          expect(breaker.state).not.toBe('open');
          expect(probing - ignored).toBeLessThanOrEqual(given.probes!);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is never wedged: whatever happened, it closes once its calls succeed', () => {
    fc.assert(
      fc.property(options, steps, (given, life) => {
        const clock = new TestClock();
        const breaker = circuitBreaker({ ...given, clock, random: seededRandom(2) });
        const out: Pass[] = [];
        for (const step of life) {
          clock.advance(step.gapMs);
          take(breaker, step, out);
        }
        // Those still out never end. Only what a hand holds open needs a hand to close.
        if (breaker.stats().isForced) return;
        let rounds = 0;
        while (breaker.state !== 'closed') {
          clock.advance(breaker.retryAfterMs());
          breaker.tryPass()?.ok();
          rounds += 1;
          expect(rounds).toBeLessThanOrEqual(3 * given.probes! + 3);
        }
        expect(breaker.tryPass()).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });

  it('refuses until retryAfterMs, and lets a call through exactly at it', () => {
    fc.assert(
      fc.property(options, steps, (given, life) => {
        const clock = new TestClock();
        const breaker = circuitBreaker({ ...given, jitter: 0, openGrowth: 1, clock });
        const out: Pass[] = [];
        for (const step of life) {
          clock.advance(step.gapMs);
          take(breaker, step, out);
        }
        const waitMs = breaker.retryAfterMs();
        if (breaker.state !== 'open' || waitMs === Number.POSITIVE_INFINITY) return;
        clock.advance(waitMs - 1);
        expect(breaker.tryPass()).toBeUndefined();
        clock.advance(1);
        expect(breaker.tryPass()).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });

  it('is not changed by what calls of an earlier state say', () => {
    const outcomes = fc.array(fc.constantFrom('ok', 'failed', 'ignored'), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(options, steps, outcomes, (given, life, late) => {
        const clock = new TestClock();
        const breaker = circuitBreaker({ ...given, clock, random: seededRandom(3) });
        const old: Pass[] = [];
        for (let call = 0; call < late.length; call += 1) old.push(breaker.tryPass()!);
        breaker.trip();
        const out: Pass[] = [];
        for (const [i, step] of life.entries()) {
          clock.advance(step.gapMs);
          take(breaker, step, out);
          const before = breaker.snapshot();
          old[i]?.[late[i % late.length] as keyof Pass]();
          expect(breaker.snapshot()).toEqual(before);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('goes on from a snapshot as the original does', () => {
    const calls = fc.array(
      fc.record({ gapMs: fc.integer({ min: 0, max: 600 }), what: fc.constantFrom('ok' as const, 'failed' as const) }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(options, calls, calls, (given, before, after) => {
        const clock = new TestClock();
        const original = circuitBreaker({ ...given, jitter: 0, clock });
        for (const { gapMs, what } of before) {
          clock.advance(gapMs);
          original.tryPass()?.[what]();
        }
        if (original.state === 'half-open') return;
        const restored = circuitBreaker({ ...given, jitter: 0, clock });
        restored.restore(JSON.parse(JSON.stringify(original.snapshot())));
        for (const { gapMs, what } of after) {
          clock.advance(gapMs);
          for (const breaker of [original, restored]) breaker.tryPass()?.[what]();
          expect(restored.snapshot()).toEqual(original.snapshot());
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the ratio', () => {
  const calls = fc.array(fc.record({ gapMs: fc.integer({ min: 0, max: 300 }), isFailure: fc.boolean() }), {
    maxLength: 100,
  });

  it('of a window by count, bounded in time, is that of a plain list', () => {
    fc.assert(
      fc.property(
        calls,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 100, max: 2000 }),
        (life, windowCalls, window) => {
          const clock = new TestClock();
          // A ratio that is met by failures only, and more calls than there are: it never opens, and can be compared for long.
          const breaker = circuitBreaker({ failureRatio: 1, windowCalls, window, minCalls: windowCalls, clock });
          let list: { atMs: number; isFailure: boolean }[] = [];
          for (const { gapMs, isFailure } of life) {
            clock.advance(gapMs);
            breaker.tryPass()![isFailure ? 'failed' : 'ok']();
            list.push({ atMs: clock.now(), isFailure });
            list = list.filter(({ atMs }) => clock.now() - atMs < window).slice(-windowCalls);
            const failures = list.filter((call) => call.isFailure).length;
            const mustOpen = list.length === windowCalls && failures === windowCalls;
            expect(breaker.state).toBe(mustOpen ? 'open' : 'closed');
            if (mustOpen) return;
            expect(breaker.stats()).toMatchObject({ calls: list.length, failures });
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  // Close enough together that every twentieth of a window has a call.
  const dense = fc.array(
    fc.record({
      gapMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 300 })),
      isFailure: fc.boolean(),
    }),
    { maxLength: 150 },
  );

  it('of a window by time counts nothing older than the window, and all of its last nineteen twentieths', () => {
    fc.assert(
      fc.property(dense, fc.integer({ min: 100, max: 400 }), (life, window) => {
        const clock = new TestClock();
        const breaker = circuitBreaker({ failureRatio: 1, window, minCalls: 1000, clock });
        const list: { atMs: number; isFailure: boolean }[] = [];
        const since = (ageMs: number) => list.filter(({ atMs }) => clock.now() - atMs < ageMs);
        for (const { gapMs, isFailure } of life) {
          clock.advance(gapMs);
          breaker.tryPass()![isFailure ? 'failed' : 'ok']();
          list.push({ atMs: clock.now(), isFailure });
          const { calls: counted, failures } = breaker.stats();
          expect(counted).toBeLessThanOrEqual(since(window).length);
          expect(counted).toBeGreaterThanOrEqual(since((window * 19) / 20).length);
          expect(failures).toBeLessThanOrEqual(since(window).filter((call) => call.isFailure).length);
          expect(failures).toBeGreaterThanOrEqual(since((window * 19) / 20).filter((call) => call.isFailure).length);
        }
      }),
      { numRuns: 500 },
    );
  });
});
