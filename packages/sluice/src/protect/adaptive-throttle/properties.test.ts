import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Outcome, Pass } from '../protection.ts';
import { adaptiveThrottle } from './adaptive-throttle.ts';

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('begin', 'begin', 'begin', 'ok', 'failed', 'ignored', 'later', 'later', 'much later'),
    which: fc.nat({ max: 300 }),
  }),
  { maxLength: 150 },
);
const options = fc.record({
  k: fc.constantFrom(1, 1.5, 2, 10),
  window: fc.constantFrom(60, 600, 777),
  answerWithin: fc.constantFrom(0, 1, 50, 2000),
  minRequests: fc.constantFrom(1, 5),
});

interface Known {
  readonly pass: Pass;
  readonly atMs: number;
}

it('counts each call once, as a plain list would, and never more accepts than requests', () => {
  fc.assert(
    fc.property(options, steps, (given, life) => {
      const clock = new TestClock();
      const throttle = adaptiveThrottle({ ...given, clock, random: seededRandom(1) });
      const out: Known[] = [];
      const list: { readonly atMs: number; readonly isAccepted: boolean }[] = [];
      for (const { what, which } of life) {
        const nowMs = clock.now();
        if (what === 'begin') {
          const pass = throttle.tryPass();
          if (pass) out.push({ pass, atMs: nowMs });
          else list.push({ atMs: nowMs, isAccepted: false });
        } else if (what === 'later') clock.advance(which / 10);
        else if (what === 'much later') clock.advance(which * 5);
        else if (out.length > 0) {
          out.splice(which % out.length, 1)[0]!.pass[what as Outcome]();
          if (what !== 'ignored') list.push({ atMs: nowMs, isAccepted: what === 'ok' });
        }

        const { requests, accepts, undecided, rejectRatio } = throttle.stats();
        const dueMs = out.map(({ atMs }) => atMs + given.answerWithin);
        const hanging = dueMs.filter((atMs) => atMs <= clock.now()).map((atMs) => ({ atMs, isAccepted: false }));
        const since = (ms: number) => [...list, ...hanging].filter(({ atMs }) => clock.now() - atMs < ms);
        const longMs = (given.window * 61) / 60 + 1e-6;
        expect(undecided).toBe(out.length - hanging.length);
        // All of the window, and of what is older at most a slot.
        expect(requests - undecided).toBeGreaterThanOrEqual(since(given.window).length);
        expect(requests - undecided).toBeLessThanOrEqual(since(longMs).length);
        const accepted = (ms: number) => since(ms).filter(({ isAccepted }) => isAccepted).length;
        expect(accepts).toBeGreaterThanOrEqual(accepted(given.window));
        expect(accepts).toBeLessThanOrEqual(accepted(longMs));
        expect(accepts).toBeLessThanOrEqual(requests - undecided);
        expect(rejectRatio).toBeGreaterThanOrEqual(0);
        expect(rejectRatio).toBeLessThanOrEqual(0.9);
      }
    }),
    { numRuns: 500 },
  );
});

it('is not broken by a clock that steps anywhere', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: -1e13, max: 1e13 }), steps), { maxLength: 6 }), (lives) => {
      const clock = new TestClock();
      const throttle = adaptiveThrottle({ clock, random: seededRandom(2) });
      const out: Pass[] = [];
      for (const [atMs, life] of lives) {
        clock.set(atMs);
        // Whoever looks notices the step; without, it would take the time after it for part of it.
        throttle.stats();
        for (const { what, which } of life) {
          if (what === 'begin') out.push(...[throttle.tryPass() ?? []].flat());
          else if (what === 'later' || what === 'much later') clock.advance(which);
          else out.splice(0, 1)[0]?.[what as Outcome]();
          const { requests, accepts, undecided } = throttle.stats();
          expect(accepts).toBeGreaterThanOrEqual(0);
          expect(accepts).toBeLessThanOrEqual(requests - undecided);
        }
      }
      // Silence forgets, whatever came before.
      clock.advance(125_000);
      for (const pass of out) pass.ignored();
      expect(throttle.stats()).toMatchObject({ requests: 0, accepts: 0, undecided: 0 });
    }),
    { numRuns: 200 },
  );
});
