import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Picked, PickOutcome } from '../balancer.ts';
import { twoChoices } from '../two-choices/two-choices.ts';
import { type HealthChecked, healthChecked } from './health-checked.ts';
import type { HealthCheckedOptions } from './settings.ts';

const ids = ['A', 'B', 'C', 'D', 'E', 'F'];
const probes = 2;

const options: fc.Arbitrary<HealthCheckedOptions> = fc.record(
  {
    outliers: fc.record({
      consecutiveFailures: fc.integer({ min: 1, max: 3 }),
      ejectFor: fc.integer({ min: 100, max: 2000 }),
      ejectedShareMax: fc.constantFrom(0.2, 0.5, 1),
    }),
    breaker: fc.record({
      consecutiveFailures: fc.integer({ min: 1, max: 4 }),
      openFor: fc.integer({ min: 50, max: 2000 }),
      probes: fc.constant(probes),
      probeTimeout: fc.constant(100_000),
    }),
    slowStart: fc.record({ over: fc.integer({ min: 100, max: 3000 }), forNewcomers: fc.boolean() }),
    panicBelow: fc.constantFrom(0, 0.5),
  },
  { requiredKeys: [] },
);

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('pick', 'pick', 'pick', 'done', 'done', 'done', 'hold', 'release', 'add', 'remove'),
    id: fc.constantFrom(...ids),
    outcome: fc.constantFrom<PickOutcome>('ok', 'failed', 'failed', 'ignored'),
    gapMs: fc.constantFrom(0, 0, 10, 100, 1500),
    which: fc.nat(),
  }),
  { maxLength: 150, size: 'max' },
);
type Step = typeof steps extends fc.Arbitrary<readonly (infer S)[]> ? S : never;

function take(balancer: HealthChecked, { what, id, outcome, which }: Step, out: Picked[]): void {
  const isThere = balancer.members.some((member) => member.id === id);
  if (what === 'pick') {
    const picked = balancer.pick();
    if (picked) out.push(picked);
  } else if (what === 'done') out.splice(which % Math.max(1, out.length), 1)[0]?.done(outcome);
  else if (what === 'hold') balancer.hold(id, 'by hand');
  else if (what === 'release') balancer.release(id, 'by hand');
  else if (what === 'remove') balancer.remove(id);
  else if (!isThere) balancer.add(id);
}

function forEachLife(
  judge: (balancer: HealthChecked, given: HealthCheckedOptions, life: () => Generator<Step>) => void,
) {
  fc.assert(
    fc.property(options, steps, fc.nat(), (given, all, seed) => {
      const clock = new TestClock();
      const random = seededRandom(seed);
      const balancer = healthChecked(twoChoices(ids, { random }), { ...given, clock, random });
      const errors: unknown[] = [];
      balancer.on('error', ({ error }) => errors.push(error));
      const out: Picked[] = [];
      judge(balancer, given, function* () {
        for (const step of all) {
          clock.advance(step.gapMs);
          // What time has brought about comes before what the step does.
          balancer.stats();
          yield step;
          take(balancer, step, out);
        }
      });
      expect(errors).toEqual([]);
      balancer.close();
      expect(clock.sleeping).toBe(0);
    }),
    { numRuns: 100 },
  );
}

describe('healthChecked, whatever happens', () => {
  it('gives a share to whom nothing holds, and to others only as a probe or in a panic', () => {
    forEachLife((balancer, _, life) => {
      for (const _step of life()) {
        for (const { share, reasons, isHealthy } of balancer.stats()) {
          expect(isHealthy).toBe(reasons.length === 0);
          if (isHealthy) expect(share).toBeGreaterThan(0);
          else if (reasons.includes('by hand')) expect(share).toBe(0);
          else if (!balancer.isPanicking && reasons.includes('outlier')) expect(share).toBe(0);
        }
      }
    });
  });

  it('panics exactly while fewer than the share of those not held by hand are healthy', () => {
    forEachLife((balancer, { panicBelow = 0 }, life) => {
      for (const _step of life()) {
        const usable = balancer.stats().filter(({ reasons }) => !reasons.includes('by hand'));
        const healthy = usable.filter(({ isHealthy }) => isHealthy).length;
        expect(balancer.isPanicking).toBe(usable.length > 0 && healthy < panicBelow * usable.length);
      }
    });
  });

  it('has nobody out as an outlier beyond the share that may be, nor the last that nothing holds', () => {
    forEachLife((balancer, { outliers }, life) => {
      for (const _step of life()) {
        const all = balancer.stats();
        const out = all.filter(({ reasons }) => reasons.includes('outlier')).length;
        if (out === 0) continue;
        const healthy = all.filter(({ isHealthy }) => isHealthy).length;
        expect(out).toBeLessThanOrEqual(outliers!.ejectedShareMax! * (out + healthy));
        expect(healthy).toBeGreaterThan(0);
      }
    });
  });

  it('lets no more calls through to a half-open member than its probes', () => {
    forEachLife((balancer, { breaker }, life) => {
      if (breaker === undefined) return;
      const probing = new Map<string, number>();
      balancer.on('change', ({ id, reasons }) => {
        if (!reasons.includes('breaker')) probing.delete(id);
      });
      let before = new Map(balancer.stats().map((stats) => [stats.id, stats.picks]));
      for (const step of life()) {
        const stats = balancer.stats();
        for (const { id, picks, reasons } of stats) {
          const isProbe = reasons.length === 1 && reasons[0] === 'breaker' && !balancer.isPanicking;
          if (isProbe && picks > (before.get(id) ?? 0)) probing.set(id, (probing.get(id) ?? 0) + 1);
          // One that ended, whichever way, decides or gives its place back.
          if (step.what === 'done') probing.delete(id);
          expect(probing.get(id) ?? 0).toBeLessThanOrEqual(probes);
        }
        before = new Map(stats.map(({ id, picks }) => [id, picks]));
      }
    });
  });
});
