import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Balancer, Member, Picked, PickOutcome } from '../balancer.ts';
import { everyLoad, sharesUnderLoad } from '../conformance.test-support.ts';
import { healthChecked } from '../health/health-checked.ts';
import { type PeakEwmaOptions, peakEwma } from './peak-ewma.ts';

/** Makes a call of that member, whoever else would be chosen. */
function call(balancer: Balancer, clock: TestClock, id: string, tookMs: number, outcome: PickOutcome = 'ok'): void {
  const others = balancer.members.filter((member) => member.id !== id).map((member) => member.id);
  const picked = balancer.pick('', { except: new Set(others) })!;
  clock.advance(tookMs);
  picked.done(outcome);
}

/** Who would be chosen now: of two members it is always the cheaper. */
function cheaper(balancer: Balancer): string {
  const picked = balancer.pick()!;
  picked.done('ignored');
  return picked.member.id;
}

function of(options: PeakEwmaOptions = {}) {
  const clock = new TestClock(1e6);
  const balancer = peakEwma<Member>(['A', 'B'], { random: seededRandom(1), clock, decay: '10s', ...options });
  return { clock, balancer };
}

describe('peakEwma', () => {
  // biome-ignore format: aligned rows
  const rows: [string, [string, number, PickOutcome?][], string][] = [
    //  what happened                                        calls: who, how long, how it ended                who is next
    [ 'who answers sooner',                                [ ['A', 20], ['B', 10], ],                        'B' ],
    [ 'one slow call outweighs many quick ones, at once',  [ ['A', 10], ['A', 10], ['A', 90], ['B', 40], ],  'B' ],
    [ 'and many quick ones do not make up for it soon',    [ ['A', 90], ['A', 1], ['A', 1], ['B', 40], ],    'B' ],
    [ 'who was not measured yet is tried',                 [['A', 1]],                                       'B' ],
    [ 'a failure counts as slow, however soon it came',    [ ['A', 1, 'failed'], ['B', 500], ],              'B' ],
    [ '... and as what it took where that is more',        [ ['A', 3000, 'failed'], ['B', 2000], ],          'B' ],
    [ 'what was given up took at least so long',           [ ['A', 5], ['B', 10], ['A', 900, 'ignored'], ],  'B' ],
    [ '... and makes nobody quick that is slow',           [ ['A', 20], ['B', 10], ['A', 1, 'ignored'], ],   'B' ],
    [ '... nor measured that was not',                     [ ['A', 1], ['B', 900, 'ignored'], ],             'B' ],
    [ '... unless it took as long as a failure counts',    [ ['A', 1], ['B', 1001, 'ignored'], ],            'A' ],
  ];
  it.each(rows)('%s', (_, calls, expected) => {
    const { clock, balancer } = of();
    for (const [id, tookMs, outcome] of calls) call(balancer, clock, id, tookMs, outcome);
    expect(cheaper(balancer)).toBe(expected);
  });

  it('forgives a peak by e in each decay', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'B', 1000);
    call(balancer, clock, 'A', 1);
    // B's 1000 ms weigh 1000/e after the decay, and A is measured anew each time at 367 or 368 ms.
    clock.advance(10_000 - 1 - 367);
    call(balancer, clock, 'A', 367);
    expect(cheaper(balancer)).toBe('A');
    call(balancer, clock, 'A', 368);
    expect(cheaper(balancer)).toBe('B');
  });

  it('multiplies by how many wait there already', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'A', 10);
    call(balancer, clock, 'B', 25);
    const seen = Array.from({ length: 7 }, () => balancer.pick()!.member.id);
    // 10, 20, 30 against 25: A, A, B; then 30, 40, 50 against 50.
    expect(seen.join(' ')).toBe('A A B A A A B');
  });

  it('sends one call to a member that was never measured, and waits for what comes of it', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'A', 100);
    const trial = balancer.pick()!;
    expect(trial.member.id).toBe('B');
    expect(Array.from({ length: 5 }, () => balancer.pick()!.member.id).join(' ')).toBe('A A A A A');
    clock.advance(10);
    trial.done();
    expect(balancer.pick()!.member.id).toBe('B');
  });

  it('does not take one that was measured as quick as the clock can see for one that never was', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'A', 0);
    call(balancer, clock, 'B', 5000);
    expect(Array.from({ length: 10 }, () => balancer.pick()!.member.id).join('')).toBe('AAAAAAAAAA');
  });

  it('spreads calls over those that are all as quick as the clock can see, and over those that time has forgiven all', () => {
    for (const [tookMs, laterMs] of [
      [0, 0],
      [5, 1e8],
    ] as const) {
      const { clock, balancer } = of();
      for (const id of 'AB') call(balancer, clock, id, tookMs);
      clock.advance(laterMs);
      for (let i = 0; i < 10; i += 1) balancer.pick();
      expect(balancer.stats().map(({ inFlight }) => inFlight)).toEqual([5, 5]);
    }
  });

  it('keeps what it has measured while a member is out, and forgets it with the member', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'A', 50);
    call(balancer, clock, 'B', 100);
    balancer.setShare('B', 0);
    balancer.setShare('B', 1);
    expect(cheaper(balancer)).toBe('A');
    balancer.remove('B');
    balancer.add('B');
    expect(cheaper(balancer)).toBe('B');
  });

  it('takes a clock that steps back for one that stands still, and goes on measuring', () => {
    const { clock, balancer } = of();
    call(balancer, clock, 'A', 50);
    call(balancer, clock, 'B', 60);
    const underWay = balancer.pick('', { except: new Set(['A']) })!;
    clock.set(0);
    underWay.done();
    expect(cheaper(balancer)).toBe('A');
    clock.advance(1);
    call(balancer, clock, 'A', 70);
    expect(cheaper(balancer)).toBe('B');
  });

  it.each([
    [{ A: 2, B: 1 }],
    [{ A: 10, B: 1 }],
    [{ A: 5, B: 5, C: 1 }],
    [{ A: 4, B: 2, C: 1 }],
    [{ A: 1, B: 1, C: 1, D: 0.1 }],
  ])('of members that answer alike gives each what its weight says, whatever the load: %o', (weights: object) => {
    const members = Object.entries(weights).map(([id, weight]) => ({ id, weight: weight as number }));
    const total = members.reduce((sum, { weight }) => sum + weight, 0);
    for (const load of everyLoad) {
      const clock = new TestClock();
      const seen = sharesUnderLoad(peakEwma<Member>(members, { random: seededRandom(3), clock }), clock, load);
      for (const { id, weight } of members) {
        expect(seen[id]! / (weight / total), `${id} at ${JSON.stringify(load)}`).toBeGreaterThan(0.8);
        expect(seen[id]! / (weight / total), `${id} at ${JSON.stringify(load)}`).toBeLessThan(1.2);
      }
    }
  });

  // biome-ignore format: aligned rows
  const unlike: [number, number, string, string][] = [
    //  A (weight 2) and B answer in   drawn first: A   B     a second one must be quicker by more than the weights differ
    [   20,                      11,                 'A', 'B' ],
    [   20,                       9,                 'B', 'B' ],
    [   11,                      20,                 'A', 'B' ],
    [    9,                      20,                 'A', 'A' ],
  ];
  it.each(unlike)('of weights 2 and 1 that answer in %d and %d ms', (aMs, bMs, ofAFirst, ofBFirst) => {
    let point = 0;
    const { clock, balancer } = of({ random: () => point });
    balancer.update('A', { weight: 2 });
    call(balancer, clock, 'A', aMs);
    call(balancer, clock, 'B', bMs);
    expect(cheaper(balancer)).toBe(ofAFirst);
    point = 0.99;
    expect(cheaper(balancer)).toBe(ofBFirst);
  });

  describe('a member that stalls', () => {
    /** 100 calls a second of 20 ms; A stops answering after ten seconds. How many more it gets, of so many. */
    function lost(ids: string[], how: PickOutcome | 'never ends', afterMs: number, seconds: number) {
      const clock = new TestClock();
      const balancer = peakEwma<Member>(ids, { random: seededRandom(7), clock });
      const out: { endMs: number; picked: Picked; outcome: PickOutcome | 'never ends' }[] = [];
      let stalled = 0;
      for (let nowMs = 0; nowMs < (10 + seconds) * 1000; nowMs += 10, clock.advance(10)) {
        for (let i = out.length - 1; i >= 0; i -= 1) {
          const { endMs, picked, outcome } = out[i]!;
          if (endMs > nowMs || outcome === 'never ends') continue;
          picked.done(outcome);
          out.splice(i, 1);
        }
        const picked = balancer.pick()!;
        const isStalled = nowMs >= 10_000 && picked.member.id === 'A';
        if (isStalled) stalled += 1;
        out.push({
          endMs: nowMs + (isStalled ? afterMs : 20),
          picked,
          outcome: isStalled ? how : 'ok',
        });
      }
      return { stalled, clock, balancer };
    }

    it.each<[string[], PickOutcome | 'never ends', number]>([
      [['A', 'B'], 'never ends', 0],
      [['A', 'B', 'C', 'D'], 'never ends', 0],
      [['A', 'B'], 'ignored', 2000],
      [['A', 'B', 'C', 'D'], 'ignored', 2000],
      [['A', 'B'], 'failed', 30_000],
      [['A', 'B'], 'failed', 120_000],
    ])('gets hardly any more calls: of %j, where a call of it %s (%d ms)', (ids, how, afterMs) => {
      // One in five hundred, with every time that it is tried again.
      expect(lost(ids, how, afterMs, 300).stalled).toBeLessThan(60);
    });

    it('is tried again after a while, though its calls have not ended, and stays when it answers', () => {
      const { clock, balancer } = lost(['A', 'B'], 'never ends', 0, 1);
      let ofA = 0;
      for (let i = 0; i < 20_000; i += 1) {
        const picked = balancer.pick()!;
        clock.advance(20);
        picked.done();
        if (i >= 10_000 && picked.member.id === 'A') ofA += 1;
      }
      expect(ofA).toBeGreaterThan(0);
    });

    it('is not one that has answered and goes on with a stream, nor when that is over', () => {
      const { clock, balancer: inner } = of();
      const balancer = healthChecked(inner);
      call(inner, clock, 'A', 10);
      call(inner, clock, 'B', 15);
      const stream = balancer.pick('', { except: new Set(['B']) })!;
      clock.advance(5);
      stream.answered('ok');
      call(inner, clock, 'B', 15);
      clock.advance(1000);
      call(inner, clock, 'A', 10);
      call(inner, clock, 'B', 35);
      // 20 for the two of A, against 35.
      expect(cheaper(inner)).toBe('A');
      clock.advance(3_600_000);
      stream.done('ignored');
      call(inner, clock, 'B', 15);
      expect(cheaper(inner)).toBe('A');
    });
  });

  it.each<[PeakEwmaOptions, string]>([
    [{ decay: 0 }, 'decay'],
    [{ failurePenalty: 'soon' as never }, 'failurePenalty'],
  ])('refuses %j', (options, field) => {
    expect(() => peakEwma<Member>(['A'], options)).toThrow(field);
  });

  it('of two members takes the one that the formula says, whatever happens', () => {
    const step = fc.record({
      isDone: fc.boolean(),
      gapMs: fc.integer({ min: 0, max: 20_000 }),
      which: fc.nat(),
      outcome: fc.constantFrom<PickOutcome>('ok', 'ok', 'failed', 'ignored'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), fc.nat(), (life, seed) => {
        const clock = new TestClock();
        const balancer = peakEwma<Member>(['A', 'B'], {
          random: seededRandom(seed),
          clock,
          decay: 5000,
          failurePenalty: 700,
        });
        const unmeasured = { ms: Number.NaN, atMs: 0, inFlight: 0, askedMs: Number.NaN };
        const model = { A: { ...unmeasured }, B: { ...unmeasured } };
        const out: { picked: Picked; atMs: number }[] = [];
        const fadedTo = (nowMs: number, ms: number, atMs: number) => ms * Math.exp((atMs - nowMs) / 5000);
        const latency = ({ ms, atMs, inFlight, askedMs }: (typeof model)['A'], nowMs: number) => {
          const waitedMs = nowMs - askedMs;
          if (Number.isNaN(ms) && !(waitedMs > 5000)) return inFlight > 0 ? 1e30 : 0;
          const measured = Number.isNaN(ms) ? 0 : fadedTo(nowMs, ms, atMs);
          const silent = waitedMs > 5000 ? fadedTo(nowMs, 5000, askedMs + 5000) : waitedMs || 0;
          return Math.max(0.001, measured, silent);
        };
        for (const { isDone, gapMs, which, outcome } of life) {
          clock.advance(gapMs);
          const nowMs = clock.now();
          if (!isDone) {
            const [a, b] = [model.A, model.B].map((member) => latency(member, nowMs) * (member.inFlight + 1));
            const picked = balancer.pick()!;
            if (a !== b) expect(picked.member.id).toBe(a! < b! ? 'A' : 'B');
            const member = model[picked.member.id as 'A'];
            // It was forgiven that it did not answer, and is tried again.
            if (nowMs - member.askedMs > 5000) Object.assign(member, { ms: latency(member, nowMs), atMs: nowMs });
            if (!(nowMs - member.askedMs <= 5000)) member.askedMs = nowMs;
            member.inFlight += 1;
            out.push({ picked, atMs: nowMs });
            continue;
          }
          const [ended] = out.splice(which % Math.max(1, out.length), 1);
          if (ended === undefined) continue;
          ended.picked.done(outcome);
          const member = model[ended.picked.member.id as 'A'];
          member.inFlight -= 1;
          const tookMs = nowMs - ended.atMs;
          if (outcome === 'ignored') {
            const knownMs = Number.isNaN(member.ms) ? 700 : fadedTo(nowMs, member.ms, member.atMs);
            if (tookMs > knownMs) Object.assign(member, { ms: tookMs, atMs: nowMs });
            if (member.inFlight === 0) member.askedMs = Number.NaN;
            continue;
          }
          member.askedMs = Number.NaN;
          const countedMs = Math.max(tookMs, outcome === 'failed' ? 700 : 0);
          const kept = Math.exp((member.atMs - nowMs) / 5000);
          member.ms = countedMs <= member.ms ? member.ms * kept + countedMs * (1 - kept) : countedMs;
          member.atMs = nowMs;
        }
      }),
      { numRuns: 300 },
    );
  });
});
