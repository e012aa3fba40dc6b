import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PassingClock } from '../../protect/passing-clock.test-support.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { type FairScheduler, fairScheduler } from './fair-scheduler.ts';

/** A stretch of time that somebody had to itself. */
interface Served {
  readonly tenant: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** How much a tenant was served by each of the instants, the middle of a task included. */
function servedBy(served: readonly Served[], tenant: string, instants: readonly number[]): number[] {
  const own = served.filter((one) => one.tenant === tenant);
  return instants.map((atMs) =>
    own.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, atMs) - fromMs), 0),
  );
}

/** The most by which the service per weight of a and b differs, over every pair of instants. */
function worstGap(served: readonly Served[], weights: Readonly<Record<'a' | 'b', number>>): number {
  const instants = served.flatMap(({ fromMs, toMs }) => [fromMs, (fromMs + toMs) / 2, toMs]);
  const a = servedBy(served, 'a', instants);
  const b = servedBy(served, 'b', instants);
  // Over an interval it is the difference of a difference; so the worst interval lies between its least and its greatest.
  const lead = instants.map((_, i) => a[i]! / weights.a - b[i]! / weights.b);
  let worst = 0;
  for (const from of lead) for (const to of lead) worst = Math.max(worst, Math.abs(to - from));
  return worst;
}

const longest = (served: readonly Served[], tenant: string) =>
  Math.max(0, ...served.filter((one) => one.tenant === tenant).map(({ fromMs, toMs }) => toMs - fromMs));

function expectFair(served: readonly Served[], weights: Readonly<Record<'a' | 'b', number>>): void {
  const bound = longest(served, 'a') / weights.a + longest(served, 'b') / weights.b;
  expect(worstGap(served, weights)).toBeLessThanOrEqual(bound * (1 + 1e-9));
}

const nice = fc.integer({ min: -20, max: 19 });
const tookMs = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 500 }));

describe('over any interval the service per weight of two who are always busy differs by at most the longest task of each, per weight', () => {
  const others = fc.constantFrom('none', 'come', 'block', 'wake', 'leave');

  it('pulled, one at a time, whatever others do', () => {
    const life = fc.array(fc.record({ tookMs, what: others, which: fc.nat({ max: 3 }) }), {
      minLength: 10,
      maxLength: 80,
      size: 'max',
    });
    fc.assert(
      fc.property(nice, nice, life, (niceA, niceB, steps) => {
        const scheduler = fairScheduler({ clock: new TestClock() });
        scheduler.add('a', { nice: niceA });
        scheduler.add('b', { nice: niceB });
        const served: Served[] = [];
        let nowMs = 0;
        for (const { tookMs: ms, what, which } of steps) {
          const other = `other ${which}`;
          if (what === 'come') scheduler.add(other, { nice: which });
          else if (what === 'block') scheduler.block(other);
          else if (what === 'wake') scheduler.wake(other);
          else if (what === 'leave') scheduler.remove(other);
          const tenant = scheduler.next()!;
          served.push({ tenant, fromMs: nowMs, toMs: nowMs + ms });
          nowMs += ms;
          scheduler.charge(tenant, ms);
        }
        expectFair(served, { a: scheduler.view('a')!.weight, b: scheduler.view('b')!.weight });
      }),
      { numRuns: 500 },
    );
  });

  it('run, at concurrency 1', async () => {
    const tasks = fc.array(tookMs, { minLength: 5, maxLength: 25, size: 'max' });
    await fc.assert(
      fc.asyncProperty(nice, nice, tasks, tasks, tasks, async (niceA, niceB, ofA, ofB, ofC) => {
        const clock = new PassingClock();
        const scheduler = fairScheduler({ clock });
        scheduler.add('a', { nice: niceA });
        scheduler.add('b', { nice: niceB });
        const served: Served[] = [];
        const left: Record<string, number> = { a: ofA.length, b: ofB.length };
        let isBusyUntil = Number.POSITIVE_INFINITY;
        const run = (tenant: string, ms: number) =>
          scheduler.run(
            async () => {
              const fromMs = clock.now();
              await clock.sleep(ms);
              // From its last task on a tenant is not busy any more.
              if (fromMs < isBusyUntil) served.push({ tenant, fromMs, toMs: clock.now() });
              if (left[tenant] !== undefined && --left[tenant] === 0) isBusyUntil = Math.min(isBusyUntil, clock.now());
            },
            { tenant },
          );
        const all = [run('gate', 1), ...ofA.map((ms) => run('a', ms)), ...ofB.map((ms) => run('b', ms))];
        await clock.pass(20);
        all.push(...ofC.map((ms) => run('c', ms)));
        await clock.pass(100_000);
        await Promise.all(all);
        expectFair(served, { a: scheduler.view('a')!.weight, b: scheduler.view('b')!.weight });
      }),
      { numRuns: 60 },
    );
  });
});

it('whoever is awake is served before the others have had more than what it had itself and a task each', () => {
  const life = fc.array(
    fc.record({ tookMs: fc.integer({ min: 1, max: 100 }), which: fc.nat({ max: 4 }), what: fc.nat({ max: 2 }) }),
    { minLength: 20, maxLength: 120, size: 'max' },
  );
  fc.assert(
    fc.property(fc.array(nice, { minLength: 5, maxLength: 5 }), life, (levels, steps) => {
      const scheduler = fairScheduler({ clock: new TestClock() });
      scheduler.add('patient', { nice: 5 });
      for (const [n, level] of levels.entries()) scheduler.add(`${n}`, { nice: level });
      const weightOf = (tenant: string) => scheduler.view(tenant)!.weight;
      const longestMs = 100;
      let waitedMs = 0;
      let hadMs = 0;
      for (const { tookMs: ms, which, what } of steps) {
        if (what === 0) scheduler.block(`${which}`);
        else scheduler.wake(`${which}`);
        const tenant = scheduler.next()!;
        scheduler.charge(tenant, ms);
        if (tenant === 'patient') {
          waitedMs = 0;
          hadMs = ms;
        } else waitedMs += ms;
        const most = levels.reduce(
          (sum, _, n) => sum + (hadMs * weightOf(`${n}`)) / weightOf('patient') + longestMs,
          0,
        );
        expect(waitedMs).toBeLessThanOrEqual(most * (1 + 1e-9));
      }
    }),
    { numRuns: 300 },
  );
});

/** The same rules without any art: everybody is looked at every time, and nobody is ever forgotten. */
class NaiveTenants {
  minimumMs = 0;
  readonly all = new Map<
    string,
    { weight: number; virtualMs: number; isIn: boolean; isBlocked: boolean; running: number }
  >();

  raise(): void {
    const counted = [...this.all.values()].filter((one) => (one.isIn && !one.isBlocked) || one.running > 0);
    if (counted.length > 0)
      this.minimumMs = Math.max(this.minimumMs, Math.min(...counted.map(({ virtualMs }) => virtualMs)));
  }

  add(tenant: string, weight: number): void {
    const old = this.all.get(tenant);
    if (old?.isIn) old.weight = weight;
    else {
      const virtualMs = Math.max(old?.virtualMs ?? 0, this.minimumMs);
      this.all.set(tenant, { weight, virtualMs, isIn: true, isBlocked: false, running: old?.running ?? 0 });
    }
    this.raise();
  }

  wake(tenant: string): void {
    const one = this.all.get(tenant);
    if (one?.isIn && one.isBlocked) one.virtualMs = Math.max(one.virtualMs, this.minimumMs);
    if (one?.isIn) one.isBlocked = false;
    this.raise();
  }

  charge(tenant: string, ms: number): void {
    const one = this.all.get(tenant)!;
    one.virtualMs += (ms * 1024) / one.weight;
    this.raise();
  }

  /** Whoever may be next: several where they are equal. */
  firsts(): string[] {
    const awake = [...this.all].filter(([, one]) => one.isIn && !one.isBlocked);
    const least = Math.min(...awake.map(([, { virtualMs }]) => virtualMs));
    return awake.filter(([, { virtualMs }]) => virtualMs === least).map(([tenant]) => tenant);
  }
}

function expectSame(scheduler: FairScheduler, naive: NaiveTenants, lastMinimumMs: number): void {
  const { minimumVirtualMs } = scheduler.stats();
  expect(minimumVirtualMs).toBe(naive.minimumMs);
  expect(minimumVirtualMs).toBeGreaterThanOrEqual(lastMinimumMs);
  const seen = [...naive.all.keys()].map((tenant) => scheduler.view(tenant)?.virtualMs);
  expect(seen).toEqual([...naive.all.values()].map(({ isIn, virtualMs }) => (isIn ? virtualMs : undefined)));
  if ([...naive.all.values()].some(({ running }) => running > 0)) return;
  const next = scheduler.next();
  if (next === undefined) expect(naive.firsts()).toEqual([]);
  else expect(naive.firsts()).toContain(next);
}

it('whoever comes, sleeps, wakes, leaves and comes back: nobody gains by it, as if nobody were ever forgotten', () => {
  const what = fc.constantFrom('add', 'add', 'charge', 'charge', 'begin', 'end', 'block', 'wake', 'remove');
  const life = fc.array(fc.record({ what, which: fc.nat({ max: 5 }), ms: fc.integer({ min: 0, max: 50 }) }), {
    maxLength: 200,
    size: 'max',
  });
  fc.assert(
    fc.property(life, (steps) => {
      const scheduler = fairScheduler({ clock: new TestClock() });
      const naive = new NaiveTenants();
      for (const { what, which, ms } of steps) {
        const tenant = 'abcdef'[which]!;
        const before = naive.minimumMs;
        const one = naive.all.get(tenant);
        const weight = [512, 1024, 2048][ms % 3]!;
        if (what === 'add') {
          scheduler.add(tenant, { weight });
          naive.add(tenant, weight);
        } else if (what === 'charge' && one?.isIn) {
          scheduler.charge(tenant, ms);
          naive.charge(tenant, ms);
        } else if (what === 'begin' && one?.isIn && !one.isBlocked) {
          scheduler.begin(tenant);
          one.running += 1;
        } else if (what === 'end' && one && one.running > 0) {
          scheduler.end(tenant, ms);
          naive.charge(tenant, ms);
          one.running -= 1;
          naive.raise();
        } else if (what === 'block') {
          scheduler.block(tenant);
          if (one) one.isBlocked = true;
          naive.raise();
        } else if (what === 'wake') {
          scheduler.wake(tenant);
          naive.wake(tenant);
        } else if (what === 'remove') {
          scheduler.remove(tenant);
          if (one) one.isIn = false;
          naive.raise();
        }
        expectSame(scheduler, naive, before);
      }
    }),
    { numRuns: 200 },
  );
});
