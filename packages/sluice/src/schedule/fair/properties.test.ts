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

interface NaiveTenant {
  weight: number;
  virtualMs: number;
  isIn: boolean;
  isBlocked: boolean;
  /** When each of its tasks under way began, and the sum of what was thought of them. */
  begins: number[];
  estimatesMs: number;
  usualMs: number;
  turn: number;
}

/** The same rules without any art: everybody is looked at every time, and nobody is ever forgotten. */
class NaiveTenants {
  nowMs = 0;
  minimumMs = 0;
  readonly all = new Map<string, NaiveTenant>();
  /** Those with something under way, who began last at the end. */
  private begun: NaiveTenant[] = [];
  private usualMs = Number.NaN;
  private turns = 0;

  add(tenant: string, weight: number): void {
    this.raise();
    const one = this.all.get(tenant) ?? newNaiveTenant();
    this.all.set(tenant, one);
    // What it has had stays what it was.
    const hadMs = one.weight > 0 ? this.hadMs(one) : one.virtualMs;
    one.weight = weight;
    one.virtualMs += hadMs - this.hadMs(one);
    if (one.isIn) this.goBehind(one);
    else this.getUp(one);
  }

  wake(tenant: string): void {
    const one = this.all.get(tenant);
    if (!one?.isIn || !one.isBlocked) return;
    this.raise();
    this.getUp(one);
  }

  leave(tenant: string, how: 'isBlocked' | 'isIn'): void {
    const one = this.all.get(tenant);
    if (!one?.isIn || (how === 'isBlocked' && one.isBlocked)) return;
    one[how] = how === 'isBlocked';
    this.raise();
  }

  charge(tenant: string, ms: number): void {
    const one = this.all.get(tenant)!;
    one.virtualMs += (ms * 1024) / one.weight;
    this.goBehind(one);
    this.raise();
  }

  begin(tenant: string): void {
    const one = this.all.get(tenant)!;
    one.estimatesMs += [one.usualMs, this.usualMs, 1].find((ms) => !Number.isNaN(ms))!;
    one.begins.push(this.nowMs);
    this.begun = [...this.begun.filter((other) => other !== one), one];
    this.goBehind(one);
    this.raise();
  }

  /** How long it took. */
  end(tenant: string, which: number): number {
    const one = this.all.get(tenant)!;
    one.estimatesMs -= one.estimatesMs / one.begins.length;
    const [beginMs] = one.begins.splice(which % one.begins.length, 1);
    if (one.begins.length === 0) one.estimatesMs = 0;
    const elapsedMs = this.nowMs - beginMs!;
    one.usualMs = learnt(one.usualMs, elapsedMs);
    this.usualMs = learnt(this.usualMs, elapsedMs);
    this.charge(tenant, elapsedMs);
    this.begun = this.begun.filter(({ begins }) => begins.length > 0);
    this.raise();
    return elapsedMs;
  }

  first(): string | undefined {
    const awake = [...this.all].filter(([, one]) => one.isIn && !one.isBlocked);
    return awake.sort(([, a], [, b]) => this.rankMs(a) - this.rankMs(b) || a.turn - b.turn)[0]?.[0];
  }

  private takenMs({ begins }: NaiveTenant): number {
    return begins.reduce((sum, beginMs) => sum + this.nowMs - beginMs, 0);
  }

  private hadMs(one: NaiveTenant): number {
    return one.virtualMs + (this.takenMs(one) * 1024) / one.weight;
  }

  private rankMs(one: NaiveTenant): number {
    return one.virtualMs + (Math.max(one.estimatesMs, this.takenMs(one)) * 1024) / one.weight;
  }

  private goBehind(one: NaiveTenant): void {
    this.turns += 1;
    one.turn = this.turns;
  }

  private getUp(one: NaiveTenant): void {
    one.virtualMs += Math.max(0, this.minimumMs - this.hadMs(one));
    one.isIn = true;
    one.isBlocked = false;
    this.goBehind(one);
    this.raise();
  }

  private raise(): void {
    const first = this.all.get(this.first() ?? 'nobody');
    const counted = [...this.begun.slice(-1), ...(first ? [first] : [])];
    if (counted.length > 0)
      this.minimumMs = Math.max(this.minimumMs, Math.min(...counted.map((one) => this.hadMs(one))));
    // How long its tasks take is all that may be forgotten of one who has left and owes nothing.
    for (const one of this.all.values())
      if (!one.isIn && one.begins.length === 0 && one.virtualMs <= this.minimumMs) one.usualMs = Number.NaN;
  }
}

function learnt(usualMs: number, elapsedMs: number): number {
  return Number.isNaN(usualMs) ? elapsedMs : usualMs + (elapsedMs - usualMs) / 8;
}

function newNaiveTenant(): NaiveTenant {
  const nothing = { virtualMs: 0, begins: [], estimatesMs: 0, usualMs: Number.NaN, turn: 0 };
  return { ...nothing, weight: 0, isIn: false, isBlocked: false };
}

function expectSame(scheduler: FairScheduler, naive: NaiveTenants, lastMinimumMs: number): void {
  const { minimumVirtualMs } = scheduler.stats();
  expect(minimumVirtualMs).toBe(naive.minimumMs);
  expect(minimumVirtualMs).toBeGreaterThanOrEqual(lastMinimumMs);
  const seen = [...naive.all.keys()].map((tenant) => scheduler.view(tenant)?.virtualMs);
  expect(seen).toEqual([...naive.all.values()].map(({ isIn, virtualMs }) => (isIn ? virtualMs : undefined)));
  expect(scheduler.next()).toBe(naive.first());
}

it('whoever comes, sleeps, wakes, leaves and comes back: nobody gains by it, as if nobody were ever forgotten', () => {
  const what = fc.constantFrom('add', 'add', 'charge', 'pass', 'begin', 'begin', 'end', 'block', 'wake', 'remove');
  const life = fc.array(fc.record({ what, which: fc.nat({ max: 5 }), ms: fc.integer({ min: 0, max: 50 }) }), {
    maxLength: 200,
    size: 'max',
  });
  fc.assert(
    fc.property(life, (steps) => {
      const clock = new TestClock();
      const scheduler = fairScheduler({ clock });
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
        } else if (what === 'pass') {
          clock.advance(ms);
          naive.nowMs += ms;
        } else if (what === 'begin' && one?.isIn) {
          scheduler.begin(tenant);
          naive.begin(tenant);
        } else if (what === 'end' && one && one.begins.length > 0) scheduler.end(tenant, naive.end(tenant, ms));
        else if (what === 'block') {
          scheduler.block(tenant);
          naive.leave(tenant, 'isBlocked');
        } else if (what === 'wake') {
          scheduler.wake(tenant);
          naive.wake(tenant);
        } else if (what === 'remove') {
          scheduler.remove(tenant);
          naive.leave(tenant, 'isIn');
        }
        expectSame(scheduler, naive, before);
      }
    }),
    { numRuns: 200 },
  );
});
