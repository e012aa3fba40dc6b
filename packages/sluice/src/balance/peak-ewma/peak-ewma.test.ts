import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Balancer, Member, Picked, PickOutcome } from '../balancer.ts';
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
    [ 'what is ignored says nothing',                      [ ['A', 5], ['B', 10], ['A', 900, 'ignored'], ],  'A' ],
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

  it('costs half as much with twice the weight', () => {
    const { clock, balancer } = of();
    balancer.update('A', { weight: 2 });
    call(balancer, clock, 'A', 39);
    call(balancer, clock, 'B', 20);
    expect(cheaper(balancer)).toBe('A');
    call(balancer, clock, 'A', 41);
    expect(cheaper(balancer)).toBe('B');
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
        const model = { A: { ms: Number.NaN, atMs: 0, inFlight: 0 }, B: { ms: Number.NaN, atMs: 0, inFlight: 0 } };
        const out: { picked: Picked; atMs: number }[] = [];
        for (const { isDone, gapMs, which, outcome } of life) {
          clock.advance(gapMs);
          const nowMs = clock.now();
          const cost = ({ ms, atMs, inFlight }: (typeof model)['A']) => {
            if (Number.isNaN(ms)) return inFlight > 0 ? 1e12 * (inFlight + 1) : 0;
            return Math.max(0.001, ms * Math.exp((atMs - nowMs) / 5000)) * (inFlight + 1);
          };
          if (!isDone) {
            const [a, b] = [cost(model.A), cost(model.B)];
            const picked = balancer.pick()!;
            if (a !== b) expect(picked.member.id).toBe(a < b ? 'A' : 'B');
            model[picked.member.id as 'A'].inFlight += 1;
            out.push({ picked, atMs: nowMs });
            continue;
          }
          const [ended] = out.splice(which % Math.max(1, out.length), 1);
          if (ended === undefined) continue;
          ended.picked.done(outcome);
          const member = model[ended.picked.member.id as 'A'];
          member.inFlight -= 1;
          if (outcome === 'ignored') continue;
          const tookMs = Math.max(nowMs - ended.atMs, outcome === 'failed' ? 700 : 0);
          const kept = Math.exp((member.atMs - nowMs) / 5000);
          member.ms = tookMs <= member.ms ? member.ms * kept + tookMs * (1 - kept) : tookMs;
          member.atMs = nowMs;
        }
      }),
      { numRuns: 300 },
    );
  });
});
