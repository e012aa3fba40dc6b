/** Calls that last: what is said when they are answered, and what when they are over. */
import { describe, expect, it } from 'vitest';
import { PassingClock } from '../../protect/passing-clock.test-support.ts';
import { roundRobin } from '../round-robin/round-robin.ts';
import { healthChecked } from './health-checked.ts';
import type { HealthCheckedOptions } from './settings.ts';

function of(options: HealthCheckedOptions) {
  const clock = new PassingClock(1_000_000);
  const balancer = healthChecked(roundRobin(['A', 'B']), { clock, ...options });
  const take = () => balancer.pick('', { except: new Set(['B']) })!;
  const ofA = () => balancer.stats()[0]!;
  return { clock, balancer, take, ofA };
}

const outliers = { consecutiveFailures: 3, ejectFor: '10s' } as const;

describe('a call that is answered', () => {
  it('counts then, and is under way until it is done', () => {
    const { take, ofA } = of({ outliers });
    const long = take();
    take().done('failed');
    take().done('failed');
    long.answered('ok');
    take().done('failed');
    expect([ofA().inFlight, ofA().isHealthy]).toEqual([1, true]);
    long.done('ok');
    expect(ofA().inFlight).toBe(0);
  });

  it('counts once', () => {
    const { take, ofA } = of({ outliers });
    for (let i = 0; i < 2; i += 1) {
      const one = take();
      one.answered('failed');
      one.answered('failed');
      one.done('failed');
    }
    expect(ofA().isHealthy).toBe(true);
    take().done('failed');
    expect(ofA().reasons).toEqual(['outlier']);
  });

  it('and fails after all has failed in its place: one after another, or side by side', () => {
    for (const atOnce of [1, 3]) {
      const { take, ofA } = of({ outliers });
      for (let i = 0; i < 3; i += atOnce) {
        const all = Array.from({ length: atOnce }, take);
        for (const one of all) one.answered('ok');
        for (const one of all) one.done('failed');
      }
      expect(ofA().reasons).toEqual(['outlier']);
    }
  });

  it('and fails after others were answered well is no failure in a row', () => {
    const { take, ofA } = of({ outliers });
    const streams = Array.from({ length: 10 }, take);
    for (const stream of streams) stream.answered('ok');
    for (const stream of streams.slice(0, 9)) stream.done('failed');
    expect(ofA().isHealthy).toBe(true);
    streams[9]!.done('ignored');
    take().done('failed');
    expect(ofA().isHealthy).toBe(true);
  });

  it('closes a circuit as its probe, and opens it where it fails after all', async () => {
    const breaker = { consecutiveFailures: 1, openFor: '1s' } as const;
    const { clock, take, ofA, balancer } = of({ breaker });
    take().done('failed');
    expect(ofA().reasons).toEqual(['breaker']);
    await clock.pass(1_000);
    const probe = take();
    probe.answered('ok');
    expect(ofA().isHealthy).toBe(true);
    await clock.pass(60_000);
    expect(ofA().isHealthy).toBe(true);
    probe.done('failed');
    expect(ofA().reasons).toEqual(['breaker']);
    balancer.close();
  });
});

describe('what one knows of health, another goes on from', () => {
  it('checks, circuits, and what was held by hand', async () => {
    const probe = async ({ id }: { readonly id: string }) => id !== 'A';
    const checks = { probe, interval: '1s', jitter: 0, unhealthyAfter: 2, healthyAfter: 2 } as const;
    const breaker = { consecutiveFailures: 1, openFor: '1h' } as const;
    const clock = new PassingClock(1_000_000);
    const ids = ['A', 'B', 'C', 'D'];
    const old = healthChecked(roundRobin(ids), { clock, checks, breaker });
    await clock.pass(3_000);
    old.hold('B', 'deployment');
    old.pick('', { except: new Set(['A', 'B', 'D']) })!.done('failed');
    const next = healthChecked(roundRobin([...ids, 'E']), { clock, checks: { ...checks, interval: '10s' }, breaker });
    next.restore(old.snapshot());
    old.close();
    expect(next.stats().map(({ id, reasons, share }) => [id, reasons.join(), share])).toEqual([
      ['A', 'check', 0],
      ['B', 'deployment', 0],
      ['C', 'breaker', 0],
      ['D', '', 1],
      ['E', '', 1],
    ]);
    expect(next.release('B', 'deployment')).toBe(true);
    next.close();
  });

  it('and nothing that its settings do not ask about', async () => {
    const { balancer: old, take } = of({ outliers });
    for (let i = 0; i < 3; i += 1) take().done('failed');
    const next = healthChecked(roundRobin(['A', 'B']));
    next.restore(old.snapshot());
    expect(next.stats().map(({ isHealthy, share }) => [isHealthy, share])).toEqual([
      [true, 1],
      [true, 1],
    ]);
    old.close();
    next.close();
  });

  it('failures in a row go on being counted', () => {
    const { clock, balancer: old, take } = of({ outliers });
    for (let i = 0; i < 2; i += 1) take().done('failed');
    const next = healthChecked(roundRobin(['A', 'B']), { clock, outliers });
    next.restore(old.snapshot());
    next.pick('', { except: new Set(['B']) })!.done('failed');
    expect(next.stats()[0]!.reasons).toEqual(['outlier']);
  });
});
