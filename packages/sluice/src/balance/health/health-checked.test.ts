import { describe, expect, it } from 'vitest';
import { PassingClock, turn } from '../../protect/passing-clock.test-support.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Balancer, PickOutcome } from '../balancer.ts';
import { letters } from '../conformance.test-support.ts';
import { leastConnections } from '../least-connections/least-connections.ts';
import { roundRobin } from '../round-robin/round-robin.ts';
import { smoothWeighted } from '../smooth-weighted/smooth-weighted.ts';
import { type HealthChecked, healthChecked } from './health-checked.ts';
import type { HealthCheckedOptions, OutlierOptions } from './settings.ts';

function of(options: HealthCheckedOptions = {}, ids = ['A', 'B', 'C']) {
  const clock = new PassingClock(1_000_000);
  const balancer = healthChecked(roundRobin(ids), { clock, random: seededRandom(1), ...options });
  const changes: string[] = [];
  balancer.on('change', ({ id, reasons }) => changes.push(`${id}:${reasons.join('+') || 'healthy'}`));
  return { clock, balancer, changes };
}

/** Makes calls of that member, as long as it can be picked. */
function call(balancer: Balancer, id: string, outcome: PickOutcome, times = 1): void {
  const others = balancer.members.map((member) => member.id).filter((other) => other !== id);
  for (let i = 0; i < times; i += 1) balancer.pick('', { except: new Set(others) })?.done(outcome);
}

const share = (balancer: HealthChecked, id: string) => balancer.stats().find((stats) => stats.id === id)!.share;

describe('healthChecked by hand', () => {
  it('leaves a member out while any reason holds it', () => {
    const { balancer, changes } = of();
    expect(balancer.hold('B', 'deployment')).toBe(true);
    expect(balancer.hold('B', 'deployment')).toBe(false);
    expect(balancer.hold('B', 'too old')).toBe(true);
    expect(letters(balancer, 4)).toBe('A C A C');
    expect(balancer.release('B', 'deployment')).toBe(true);
    expect(letters(balancer, 2)).toBe('A C');
    expect(balancer.release('B', 'deployment')).toBe(false);
    expect(balancer.release('B', 'too old')).toBe(true);
    expect(letters(balancer, 3)).toBe('A B C');
    expect(changes).toEqual(['B:deployment', 'B:deployment+too old', 'B:too old', 'B:healthy']);
  });

  it('has nobody to pick when all are held', () => {
    const { balancer } = of();
    for (const id of ['A', 'B', 'C']) balancer.hold(id, 'night');
    expect(balancer.pick()).toBeUndefined();
  });

  it('forgets what held a member that is removed', () => {
    const { balancer } = of();
    balancer.hold('A', 'deployment');
    balancer.remove('A');
    expect(balancer.hold('A', 'deployment')).toBe(false);
    balancer.add('A');
    expect(letters(balancer, 3)).toBe('B C A');
  });

  it('keeps the share that was asked for beside its own', () => {
    const { balancer } = of();
    balancer.setShare('A', 0.5);
    balancer.hold('A', 'deployment');
    expect(share(balancer, 'A')).toBe(0);
    balancer.setShare('A', 0.25);
    expect(share(balancer, 'A')).toBe(0);
    balancer.release('A', 'deployment');
    expect(share(balancer, 'A')).toBe(0.25);
  });

  it('says who is healthy, and why not', () => {
    const { balancer } = of();
    balancer.hold('B', 'deployment');
    expect(balancer.stats().map(({ id, isHealthy, reasons }) => [id, isHealthy, reasons])).toEqual([
      ['A', true, []],
      ['B', false, ['deployment']],
      ['C', true, []],
    ]);
  });

  it.each([
    ['', 'a text of your own'],
    ['check', 'other than check, outlier, breaker'],
    [5, 'a text of your own'],
  ])('refuses %j as a reason', (reason, message) => {
    const { balancer } = of();
    expect(() => balancer.hold('A', reason as string)).toThrow(message);
    expect(() => balancer.release('A', reason as string)).toThrow(message);
  });

  it('takes a hundred reasons for a member, and no more', () => {
    const { balancer } = of();
    for (let i = 0; i < 100; i += 1) balancer.hold('A', `reason ${i}`);
    expect(() => balancer.hold('A', 'one more')).toThrow('at most 100');
    expect(balancer.hold('A', 'reason 5')).toBe(false);
  });
});

describe('healthChecked with active checks', () => {
  /** Members that answer as they are told to; each probe is written down with its time. */
  function probed(options: Partial<HealthCheckedOptions['checks']> & object = {}, ids = ['A', 'B', 'C']) {
    const ill = new Set<string>();
    const asked: string[] = [];
    const clock = new PassingClock();
    const balancer = healthChecked(roundRobin(ids), {
      clock,
      random: () => 0.5,
      checks: {
        interval: 1000,
        jitter: 0,
        timeout: 300,
        probe: (member) => {
          asked.push(`${member.id}@${clock.now()}`);
          return !ill.has(member.id);
        },
        ...options,
      },
    });
    const changes: string[] = [];
    balancer.on('change', ({ id, reasons }) => changes.push(`${id}:${reasons.join('+') || 'healthy'}@${clock.now()}`));
    return { ill, asked, clock, balancer, changes };
  }

  it('asks everybody once in each interval', async () => {
    const { asked, clock, balancer } = probed();
    await clock.pass(2600);
    expect(asked.filter((ask) => ask.startsWith('B'))).toEqual(['B@500', 'B@1500', 'B@2500']);
    balancer.close();
  });

  it('spreads first checks and later ones by chance', async () => {
    const chances = [0.1, 0.9, 0.5, 1];
    const { clock, balancer } = probed();
    balancer.close();
    const asked: number[] = [];
    const random = () => chances[asked.length % 4]!;
    const other = healthChecked(roundRobin(['A']), {
      clock,
      random,
      checks: { interval: 1000, jitter: 0.5, probe: () => asked.push(clock.now()) > 0 },
    });
    await clock.pass(3000);
    // 100, then 1000 less half of it times 0.9, 0.5, 1.
    expect(asked.slice(0, 4)).toEqual([100, 650, 1400, 1900]);
    other.close();
  });

  it('takes a member out after so many failed checks in a row, and back after so many passed', async () => {
    const { ill, clock, balancer, changes } = probed({ unhealthyAfter: 3, healthyAfter: 2 });
    ill.add('B');
    await clock.pass(2400);
    expect(letters(balancer, 3)).toBe('A B C');
    await clock.pass(100);
    expect(letters(balancer, 4)).toBe('A C A C');
    ill.clear();
    await clock.pass(1000);
    expect(letters(balancer, 2)).toBe('A C');
    ill.add('B');
    await clock.pass(1000);
    ill.clear();
    await clock.pass(2000);
    expect(letters(balancer, 3)).toBe('A B C');
    expect(changes).toEqual(['B:check@2500', 'B:healthy@6500']);
    balancer.close();
  });

  it.each<[string, (member: unknown, signal: AbortSignal) => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no route');
      },
      'no route',
    ],
    ['rejects', () => Promise.reject(new Error('refused')), 'refused'],
    ['rejects without a reason', () => Promise.reject(undefined), 'without a reason'],
    ['does not end', () => new Promise(() => undefined), 'did not end within 300 ms'],
    ['answers something else', () => 'fine', 'undefined'],
  ])('takes a probe that %s for a failed one, and says why', async (_, probe, why) => {
    const { clock, balancer } = probed({ probe: probe as () => boolean, unhealthyAfter: 1 }, ['A']);
    const errors: string[] = [];
    balancer.on('checked', ({ id, hasPassed, error }) => errors.push(`${id} ${hasPassed} ${error}`));
    await clock.pass(1000);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^A false /);
    expect(errors[0]).toContain(why);
    expect(balancer.pick()).toBeUndefined();
    balancer.close();
  });

  it('tells a probe whose time is up to end, and does not believe it afterwards', async () => {
    const reasons: unknown[] = [];
    let answer = (_: boolean) => {};
    const probe = (_: unknown, signal: AbortSignal) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason.code));
      return new Promise<boolean>((resolve) => {
        answer = resolve;
      });
    };
    const { clock, balancer } = probed({ probe, unhealthyAfter: 1, healthyAfter: 1 }, ['A']);
    await clock.pass(800);
    expect(reasons).toEqual(['timed-out']);
    answer(true);
    await turn();
    expect(balancer.stats()[0]?.isHealthy).toBe(false);
    balancer.close();
  });

  it('gives a newcomer nothing before its first check has passed, where asked to; then one pass is enough', async () => {
    const { ill, clock, balancer } = probed({ isFirstAwaited: true, healthyAfter: 3 });
    expect(balancer.pick()).toBeUndefined();
    await turn();
    expect(letters(balancer, 3)).toBe('A B C');
    ill.add('D');
    balancer.add('D');
    await turn();
    expect(letters(balancer, 3)).toBe('A B C');
    ill.clear();
    await clock.pass(1000);
    expect(letters(balancer, 4)).toBe('D A B C');
    balancer.close();
  });

  it('gives a newcomer its part at once, where not', () => {
    const { balancer } = probed();
    balancer.add('D');
    expect(letters(balancer, 4)).toBe('A B C D');
    balancer.close();
  });

  it('has no more checks under way than it may, and gets round to everybody', async () => {
    let underWay = 0;
    let most = 0;
    const ids = Array.from({ length: 50 }, (_, i) => `m${i}`);
    const seen = new Set<string>();
    const probe = async ({ id }: { id: string }) => {
      seen.add(id);
      underWay += 1;
      most = Math.max(most, underWay);
      await turn();
      underWay -= 1;
      return true;
    };
    const { clock, balancer } = probed({ probe, isFirstAwaited: true, atOnce: 4 }, ids);
    for (let i = 0; i < 40; i += 1) await turn();
    expect(most).toBe(4);
    expect(seen.size).toBe(50);
    expect(balancer.stats().every(({ isHealthy }) => isHealthy)).toBe(true);
    balancer.close();
    expect(clock.sleeping).toBe(0);
  });

  it('asks a member as it is now', async () => {
    const weights: unknown[] = [];
    const { clock, balancer } = probed({ probe: ({ weight }) => weights.push(weight) > 0 }, ['A']);
    balancer.update('A', { weight: 5 });
    await clock.pass(500);
    expect(weights).toEqual([5]);
    balancer.close();
  });

  it('ends the check of a member that is removed, and everything when closed', async () => {
    const ended: string[] = [];
    const probe = ({ id }: { id: string }, signal: AbortSignal) =>
      new Promise<boolean>(() => signal.addEventListener('abort', () => ended.push(id)));
    const { asked, clock, balancer } = probed({ probe, isFirstAwaited: true, atOnce: 2 });
    balancer.remove('A');
    expect(ended).toEqual(['A']);
    balancer.close();
    expect(ended.sort()).toEqual(['A', 'B', 'C']);
    expect(clock.sleeping).toBe(0);
    await clock.pass(5000);
    expect(asked).toEqual([]);
    // Nobody will check it any more, so nobody waits for that.
    balancer.add('D');
    expect(letters(balancer, 2)).toBe('D D');
  });

  it('does not go on asking a member that its own first probe has removed', async () => {
    const asked: string[] = [];
    const { clock, balancer } = of({
      checks: {
        probe({ id }) {
          asked.push(id);
          if (id === 'D') balancer.remove('D');
          return true;
        },
        interval: 100,
        isFirstAwaited: true,
      },
    });
    balancer.add('D');
    await clock.pass(500);
    expect(asked.filter((id) => id === 'D')).toEqual(['D']);
    expect(balancer.members.map(({ id }) => id)).toEqual(['A', 'B', 'C']);
  });

  it('keeps its books where ending the check of a member that is removed brings the same id back', async () => {
    const { clock, balancer } = of({
      checks: {
        probe: ({ id }, signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              if (id === 'A' && !balancer.members.some((member) => member.id === 'A')) balancer.add('A');
              resolve(false);
            });
          }),
        interval: 100,
        timeout: 5000,
      },
    });
    await clock.pass(100);
    expect(balancer.remove('A')).toBe(true);
    expect(balancer.members.map(({ id }) => id)).toEqual(['B', 'C', 'A']);
    expect(balancer.hold('A', 'deployment')).toBe(true);
    expect(letters(balancer, 2)).toBe('B C');
  });

  it('says so when its clock cannot sleep, and throws at nobody', async () => {
    const errors: unknown[] = [];
    const broken = { now: () => 0, sleep: () => Promise.reject(new Error('no timers here')) };
    const balancer = healthChecked(roundRobin(['A']), { clock: broken, checks: { probe: () => true } });
    balancer.on('error', ({ error }) => errors.push(String(error)));
    await turn();
    expect(errors).toEqual(['Error: no timers here']);
    expect(letters(balancer, 1)).toBe('A');
  });
});

describe('healthChecked with outlier detection', () => {
  const outliers = { consecutiveFailures: 3, ejectFor: '10s', ejectForMax: '25s' } as const;

  it('takes out who fails so often in a row, and no one who does so with a success between', async () => {
    const { clock, balancer, changes } = of({ outliers });
    call(balancer, 'A', 'failed', 2);
    call(balancer, 'A', 'ok');
    call(balancer, 'A', 'failed', 2);
    call(balancer, 'A', 'ignored');
    expect(changes).toEqual([]);
    call(balancer, 'A', 'failed');
    expect(changes).toEqual(['A:outlier']);
    expect(letters(balancer, 4)).toBe('B C B C');
    await clock.pass(9999);
    expect(letters(balancer, 2)).toBe('B C');
    await clock.pass(1);
    expect(letters(balancer, 3)).toBe('A B C');
  });

  it('brings a member back with the pick that comes first after its time, before any timer has run', () => {
    const { clock, balancer } = of({ outliers });
    call(balancer, 'A', 'failed', 3);
    clock.advance(10_000);
    expect(letters(balancer, 3)).toContain('A');
  });

  it('leaves it out longer each time, up to the longest, and heals with time', async () => {
    const { clock, balancer, changes } = of({ outliers });
    const outFor = async () => {
      call(balancer, 'A', 'failed', 3);
      const startedMs = clock.now();
      while (!balancer.stats()[0]!.isHealthy) await clock.pass(1000);
      return clock.now() - startedMs;
    };
    expect([await outFor(), await outFor(), await outFor(), await outFor()]).toEqual([10_000, 20_000, 25_000, 25_000]);
    await clock.pass(30_000);
    // Three of four are forgiven; with this one, two.
    expect(await outFor()).toBe(20_000);
    expect(balancer.stats()[0]?.ejections).toBe(2);
    expect(changes).toHaveLength(10);
  });

  it('never takes out more than the share that it may', () => {
    const { balancer } = of({ outliers: { ...outliers, ejectedShareMax: 0.5 } }, ['A', 'B', 'C', 'D', 'E']);
    for (const id of ['A', 'B', 'C', 'D', 'E']) call(balancer, id, 'failed', 5);
    expect(balancer.stats().map(({ isHealthy }) => isHealthy)).toEqual([false, false, true, true, true]);
    // One of those out leaves: of four, two may be out.
    balancer.remove('A');
    call(balancer, 'C', 'failed');
    expect(balancer.stats().map(({ isHealthy }) => isHealthy)).toEqual([false, false, true, true]);
  });

  it.each([undefined, 1])('never takes out the only member, with a share of %s', (ejectedShareMax) => {
    const { balancer } = of({ outliers: { ...outliers, ejectedShareMax } as OutlierOptions }, ['A']);
    call(balancer, 'A', 'failed', 50);
    expect(letters(balancer, 1)).toBe('A');
  });

  const otherwiseOut: [what: string, options: HealthCheckedOptions, takeOut: (balancer: HealthChecked) => void][] = [
    ['a hold', {}, (balancer) => void balancer.hold('B', 'deployment')],
    [
      'its circuit',
      { breaker: { consecutiveFailures: 2, openFor: '1h' } },
      (balancer) => call(balancer, 'B', 'failed', 2),
    ],
    ['its share', {}, (balancer) => balancer.setShare('B', 0)],
  ];
  it.each(otherwiseOut)('never takes out the last where %s holds the other', (_, options, takeOut) => {
    const { balancer } = of({ outliers, ...options }, ['A', 'B']);
    takeOut(balancer);
    // At once: its own circuit opens before it has failed often enough to be an outlier.
    const underWay = Array.from({ length: 5 }, () => balancer.pick()!);
    for (const picked of underWay) picked.done('failed');
    expect(underWay.map(({ member }) => member.id)).toEqual(Array(5).fill('A'));
    expect(balancer.stats().find(({ id }) => id === 'A')?.reasons).not.toContain('outlier');
  });

  it('never takes out the last where the other is down by its check, and takes it out when the other is back', async () => {
    let isUp = false;
    const probe = async ({ id }: { readonly id: string }) => id === 'A' || isUp;
    const checks = { probe, interval: '1s', unhealthyAfter: 1, healthyAfter: 1 } as const;
    const { clock, balancer, changes } = of({ outliers, checks }, ['A', 'B']);
    await clock.pass(2000);
    call(balancer, 'A', 'failed', 5);
    expect(changes).toEqual(['B:check']);
    expect(letters(balancer, 2)).toBe('A A');
    isUp = true;
    await clock.pass(2000);
    call(balancer, 'A', 'failed', 3);
    expect(changes).toEqual(['B:check', 'B:healthy', 'A:outlier']);
    expect(letters(balancer, 2)).toBe('B B');
  });

  const nobodyElse: [what: string, options: HealthCheckedOptions, act: (balancer: HealthChecked) => void][] = [
    ...otherwiseOut,
    ['its removal', {}, (balancer) => void balancer.remove('B')],
  ];
  it.each(nobodyElse)('brings the last back at once where %s takes the other', (_, options, act) => {
    const { clock, balancer, changes } = of({ ...options, outliers: { ...outliers, consecutiveFailures: 1 } }, [
      'A',
      'B',
    ]);
    call(balancer, 'A', 'failed');
    expect(letters(balancer, 2)).toBe('B B');
    act(balancer);
    expect(letters(balancer, 2)).toBe('A A');
    expect(changes).toContain('A:healthy');
    // It is out no longer, and so does not come back a second time.
    balancer.hold('A', 'deployment');
    clock.advance(3_600_000);
    expect(balancer.stats().find(({ id }) => id === 'A')?.reasons).toEqual(['deployment']);
  });

  it('brings the last back at once where the other fails its check', async () => {
    let isUp = true;
    const probe = async ({ id }: { readonly id: string }) => id === 'A' || isUp;
    const checks = { probe, interval: '1s', unhealthyAfter: 1, healthyAfter: 1 } as const;
    const { clock, balancer, changes } = of({ outliers, checks }, ['A', 'B']);
    call(balancer, 'A', 'failed', 5);
    isUp = false;
    await clock.pass(2000);
    expect(changes).toEqual(['A:outlier', 'B:check', 'A:healthy']);
    expect(letters(balancer, 2)).toBe('A A');
  });

  it('brings those back that would be first, of more than may be out since others have left', async () => {
    const { clock, balancer, changes } = of({ outliers }, ['A', 'B', 'C', 'D', 'E', 'F']);
    for (const id of ['B', 'A', 'C']) {
      call(balancer, id, 'failed', 5);
      await clock.pass(100);
    }
    changes.length = 0;
    // Two of five, and of four; one of three.
    balancer.remove('D');
    expect(changes).toEqual(['B:healthy']);
    balancer.hold('E', 'deployment');
    expect(changes).toEqual(['B:healthy', 'E:deployment']);
    balancer.remove('F');
    expect(changes).toEqual(['B:healthy', 'E:deployment', 'A:healthy']);
    expect(balancer.stats().map(({ id, reasons }) => id + reasons.join())).toEqual([
      'A',
      'B',
      'Coutlier',
      'Edeployment',
    ]);
  });

  it('takes out the share of those that nothing else holds', () => {
    const { balancer } = of({ outliers }, ['A', 'B', 'C', 'D', 'E', 'F']);
    for (const id of ['D', 'E']) balancer.hold(id, 'deployment');
    for (const id of ['A', 'B', 'C', 'F']) call(balancer, id, 'failed', 5);
    // Two of four, not three of six.
    expect(balancer.stats().filter(({ reasons }) => reasons.includes('outlier'))).toHaveLength(2);
  });

  it('does not count calls that end after it went out, or after it was removed', async () => {
    const { clock, balancer, changes } = of({ outliers: { ...outliers, ejectedShareMax: 1 } });
    const underWay = Array.from({ length: 30 }, () => balancer.pick()!).filter(({ member }) => member.id === 'A');
    call(balancer, 'A', 'failed', 3);
    for (const picked of underWay.slice(0, 5)) picked.done('failed');
    await clock.pass(10_000);
    expect(changes).toEqual(['A:outlier', 'A:healthy']);
    expect(balancer.stats()[0]?.ejections).toBe(1);
    balancer.remove('A');
    balancer.add('A');
    for (const picked of underWay.slice(5)) picked.done('failed');
    expect(changes).toHaveLength(2);
    // Nor did they count as members that are out: all but the last may be.
    for (const id of ['A', 'B', 'C']) call(balancer, id, 'failed', 3);
    expect(balancer.stats().map(({ id, isHealthy }) => [id, isHealthy])).toEqual([
      ['B', false],
      ['C', true],
      ['A', false],
    ]);
  });

  it('takes out who fails more of its calls than the others, and nobody where all fail alike', () => {
    const ratio = { failureRatio: 0.3, window: '10s', minCalls: 10 } as const;
    const alike = of({ outliers: ratio });
    for (let i = 0; i < 20; i += 1) {
      for (const id of ['A', 'B', 'C']) call(alike.balancer, id, i % 2 ? 'failed' : 'ok');
    }
    expect(alike.changes).toEqual([]);

    const one = of({ outliers: ratio });
    for (let i = 0; i < 20 && one.changes.length === 0; i += 1) {
      call(one.balancer, 'A', i % 2 ? 'failed' : 'ok');
      call(one.balancer, 'B', 'ok');
      call(one.balancer, 'C', i % 5 ? 'ok' : 'failed');
    }
    expect(one.changes).toEqual(['A:outlier']);
  });

  it('judges by the window only, and anew when a member is back', async () => {
    const { clock, balancer, changes } = of({
      outliers: { failureRatio: 0.8, window: '10s', minCalls: 4, ejectFor: '1s' },
    });
    call(balancer, 'A', 'failed', 3);
    call(balancer, 'B', 'ok', 10);
    await clock.pass(11_000);
    call(balancer, 'B', 'ok', 10);
    call(balancer, 'A', 'failed', 3);
    expect(changes).toEqual([]);
    call(balancer, 'A', 'failed');
    expect(changes).toEqual(['A:outlier']);
    await clock.pass(1000);
    call(balancer, 'A', 'failed', 3);
    expect(changes).toEqual(['A:outlier', 'A:healthy']);
    // What A did before is not the failure of the others either: all of theirs went well.
    call(balancer, 'A', 'failed');
    expect(changes).toEqual(['A:outlier', 'A:healthy', 'A:outlier']);
  });
});

describe('healthChecked with a breaker for each member', () => {
  const breaker = { consecutiveFailures: 2, openFor: '5s', probes: 2, probeTimeout: '3s' } as const;

  it('leaves a member out while its circuit is open, then lets the probes through, and no more', async () => {
    const { clock, balancer, changes } = of({ breaker }, ['A', 'B']);
    call(balancer, 'A', 'failed', 2);
    expect(letters(balancer, 3)).toBe('B B B');
    await clock.pass(5000);
    const picked = Array.from({ length: 6 }, () => balancer.pick()!);
    expect(picked.map(({ member }) => member.id).join(' ')).toBe('A B A B B B');
    expect(balancer.stats()[0]).toMatchObject({ isHealthy: false, reasons: ['breaker'] });
    for (const each of picked) each.done();
    expect(changes).toEqual(['A:breaker', 'A:healthy']);
    expect(letters(balancer, 4)).toBe('A B A B');
  });

  it('opens again when a probe fails, or does not end in time', async () => {
    const { clock, balancer } = of({ breaker }, ['A', 'B']);
    call(balancer, 'A', 'failed', 2);
    await clock.pass(5000);
    call(balancer, 'A', 'failed');
    expect(letters(balancer, 2)).toBe('B B');
    await clock.pass(5000);
    const hanging = [balancer.pick()!, balancer.pick()!, balancer.pick()!];
    expect(hanging.map(({ member }) => member.id).join(' ')).toBe('A B A');
    await clock.pass(3000);
    expect(letters(balancer, 2)).toBe('B B');
    hanging[0]!.done('ok');
    expect(letters(balancer, 2)).toBe('B B');
    await clock.pass(5000);
    expect(letters(balancer, 4)).toBe('A B A B');
  });

  it('gives the place of a probe back that says nothing', async () => {
    const { clock, balancer } = of({ breaker: { ...breaker, probes: 1 } }, ['A', 'B']);
    call(balancer, 'A', 'failed', 2);
    await clock.pass(5000);
    const probe = balancer.pick('', { except: new Set(['B']) })!;
    expect(letters(balancer, 2)).toBe('B B');
    probe.done('ignored');
    expect(letters(balancer, 2)).toBe('A B');
  });

  it('serves as nginx was seen to: one of two fails each third request, and is out after three failures', () => {
    const { balancer } = of({ breaker: { failureRatio: 0.3, windowCalls: 9, minCalls: 9, openFor: '10s' } }, [
      'A',
      'B',
    ]);
    const served: Record<string, number> = { A: 0, B: 0 };
    let requestsToA = 0;
    for (let request = 0; request < 30; request += 1) {
      let picked = balancer.pick()!;
      if (picked.member.id === 'A') requestsToA += 1;
      if (picked.member.id === 'A' && requestsToA % 3 === 0) {
        picked.done('failed');
        picked = balancer.pick('', { except: new Set(['A']) })!;
      }
      picked.done();
      served[picked.member.id]! += 1;
    }
    expect(served).toEqual({ A: 6, B: 24 });
  });

  it('refuses settings that no breaker takes before there is a member', () => {
    expect(() => of({ breaker: { probes: 0 } }, [])).toThrow('probes');
  });
});

describe('healthChecked with slow start', () => {
  const slowStart = { over: '20s', floor: 0.2 } as const;

  it('grows the share of who comes back from the floor to all of it, in a line', async () => {
    const { clock, balancer } = of({ slowStart });
    expect(share(balancer, 'A')).toBe(1);
    balancer.hold('A', 'deployment');
    balancer.release('A', 'deployment');
    const shares = [share(balancer, 'A')];
    for (let i = 0; i < 5; i += 1) {
      await clock.pass(5000);
      shares.push(share(balancer, 'A'));
    }
    expect(shares.map((each) => each.toFixed(2))).toEqual(['0.20', '0.40', '0.60', '0.80', '1.00', '1.00']);
    expect(clock.sleeping).toBe(0);
  });

  it('begins anew when it is held again meanwhile', async () => {
    const { clock, balancer } = of({ slowStart });
    balancer.hold('A', 'x');
    balancer.release('A', 'x');
    await clock.pass(15_000);
    balancer.hold('A', 'x');
    await clock.pass(1000);
    expect(share(balancer, 'A')).toBe(0);
    await clock.pass(500);
    balancer.release('A', 'x');
    // The steps of the first time would fall between those of the second.
    await clock.pass(700);
    expect(share(balancer, 'A')).toBeCloseTo(0.2);
    await clock.pass(9300);
    expect(share(balancer, 'A')).toBeCloseTo(0.6);
  });

  it('lets newcomers begin slowly too, where asked to; those of the first hour never', () => {
    const without = of({ slowStart });
    without.balancer.add('D');
    expect(share(without.balancer, 'D')).toBe(1);
    const { balancer } = of({ slowStart: { ...slowStart, forNewcomers: true } });
    balancer.add('D');
    expect(share(balancer, 'A')).toBe(1);
    expect(share(balancer, 'D')).toBeCloseTo(0.2);
  });

  it('sends a member that warms up its share of an even split', async () => {
    const clock = new PassingClock();
    const balancer = healthChecked(smoothWeighted(['A', 'B']), { clock, slowStart: { over: '10s', floor: 0.25 } });
    balancer.hold('A', 'x');
    balancer.release('A', 'x');
    expect(
      letters(balancer, 5)
        .split(' ')
        .filter((id) => id === 'A'),
    ).toHaveLength(1);
    await clock.pass(10_000);
    expect(
      letters(balancer, 10)
        .split(' ')
        .filter((id) => id === 'A'),
    ).toHaveLength(5);
  });
});

describe('healthChecked in a panic', () => {
  it('uses all when too few are healthy, except those held by hand, and says so', () => {
    const { balancer } = of({ panicBelow: 0.5, outliers: { consecutiveFailures: 1, ejectedShareMax: 1 } }, [
      'A',
      'B',
      'C',
      'D',
      'E',
    ]);
    const panics: boolean[] = [];
    balancer.on('panic', ({ isPanicking }) => panics.push(isPanicking));
    balancer.hold('E', 'deployment');
    call(balancer, 'A', 'failed');
    call(balancer, 'B', 'failed');
    expect(balancer.isPanicking).toBe(false);
    expect(letters(balancer, 4)).toBe('C D C D');
    call(balancer, 'C', 'failed');
    expect(balancer.isPanicking).toBe(true);
    expect(letters(balancer, 5)).toBe('D A B C D');
    balancer.remove('A');
    balancer.remove('B');
    // One of two is not fewer than half.
    expect(balancer.isPanicking).toBe(false);
    expect(letters(balancer, 3)).toBe('D D D');
    expect(panics).toEqual([true, false]);
  });

  it('shows nobody the member whose removal is why it panics', () => {
    const { balancer } = of({ panicBelow: 0.5, breaker: { consecutiveFailures: 1 } }, ['A', 'B', 'C', 'D']);
    for (const id of 'AB') call(balancer, id, 'failed');
    const seen: string[] = [];
    balancer.on('panic', () => seen.push(letters(balancer, 4)));
    balancer.remove('C');
    expect(seen).toEqual(['D A B D']);
  });

  it('no longer counts one that was held by hand when it is removed', () => {
    const { balancer } = of({ panicBelow: 0.6, outliers: { consecutiveFailures: 1 } });
    balancer.hold('A', 'deployment');
    balancer.remove('A');
    call(balancer, 'B', 'failed');
    expect(balancer.isPanicking).toBe(true);
  });

  it('is off unless asked for', () => {
    const { balancer } = of({ breaker: { consecutiveFailures: 1 } });
    for (const id of ['A', 'B', 'C']) call(balancer, id, 'failed');
    expect(balancer.pick()).toBeUndefined();
  });
});

describe('healthChecked', () => {
  it('lets go of one reason only, whatever the others say', async () => {
    const { clock, balancer, changes } = of({
      outliers: { consecutiveFailures: 2, ejectFor: '10s' },
      breaker: { consecutiveFailures: 2, openFor: '5s' },
    });
    call(balancer, 'A', 'failed', 2);
    balancer.hold('A', 'look at it');
    await clock.pass(10_000);
    expect(letters(balancer, 2)).toBe('B C');
    balancer.release('A', 'look at it');
    // Half-open: one probe, and healthy when that went well.
    expect(letters(balancer, 3)).toBe('A B C');
    expect(changes).toEqual([
      'A:breaker',
      'A:breaker+outlier',
      'A:breaker+outlier+look at it',
      'A:breaker+look at it',
      'A:breaker',
      'A:healthy',
    ]);
  });

  it('goes around any balancer, and keeps how it chooses', () => {
    const clock = new PassingClock();
    const balancer = healthChecked(leastConnections(['A', 'B', 'C']), { clock });
    const first = [balancer.pick()!, balancer.pick()!, balancer.pick()!];
    first[1]!.done();
    expect(balancer.pick()?.member.id).toBe('B');
  });

  it('passes a member on that was added behind its back', () => {
    const inner = roundRobin(['A']);
    const balancer = healthChecked(inner, { outliers: {} });
    inner.add('B');
    expect(letters(balancer, 2)).toBe('A B');
    expect(balancer.stats().map(({ id, isHealthy }) => [id, isHealthy])).toEqual([
      ['A', true],
      ['B', true],
    ]);
  });

  it('tells of a member that was removed behind its back, and goes on', async () => {
    const clock = new PassingClock();
    const inner = roundRobin(['A', 'B']);
    const balancer = healthChecked(inner, { clock, outliers: { consecutiveFailures: 1, ejectFor: '1s' } });
    const errors: string[] = [];
    balancer.on('error', ({ error }) => errors.push(String(error)));
    call(balancer, 'A', 'failed');
    inner.remove('A');
    await clock.pass(1000);
    expect(errors).toEqual([expect.stringContaining('id must be the id of a member')]);
    expect(letters(balancer, 2)).toBe('B B');
  });

  it('tells of a check of such a member too, instead of throwing at nobody', async () => {
    const clock = new PassingClock();
    const inner = roundRobin(['A', 'B']);
    const checks = { probe: () => false, interval: 1000, unhealthyAfter: 1 };
    const balancer = healthChecked(inner, { clock, random: () => 0.5, checks });
    const errors: string[] = [];
    balancer.on('error', ({ error }) => errors.push(String(error)));
    inner.remove('A');
    await clock.pass(500);
    expect(errors).toEqual([expect.stringContaining('id must be the id of a member')]);
    balancer.close();
  });

  it('takes over the shares that the balancer has', () => {
    const inner = roundRobin(['A', 'B']);
    inner.setShare('A', 0.5);
    const balancer = healthChecked(inner, {});
    balancer.hold('A', 'x');
    balancer.release('A', 'x');
    expect(share(balancer, 'A')).toBe(0.5);
  });

  it.each<[string, HealthCheckedOptions]>([
    ['of its calls', { outliers: { failureRatio: 0.5, minCalls: 2, ejectFor: '1s' } }],
    ['of its circuit', { breaker: { consecutiveFailures: 2 } }],
  ])('can be told to remove a member by whoever hears %s', async (_, options) => {
    const { clock, balancer } = of(options);
    balancer.on('change', ({ id }) => balancer.remove(id));
    call(balancer, 'B', 'ok', 4);
    call(balancer, 'A', 'failed', 2);
    expect(balancer.members.map(({ id }) => id)).toEqual(['B', 'C']);
    expect(clock.sleeping).toBe(0);
    await clock.pass(5000);
    expect(letters(balancer, 2)).toBe('B C');
  });

  it('goes on with what is known when closed, and has no timer left', () => {
    const { clock, balancer } = of({ outliers: { consecutiveFailures: 1, ejectFor: '1s' } });
    call(balancer, 'A', 'failed');
    balancer.close();
    balancer.close();
    expect(clock.sleeping).toBe(0);
    expect(letters(balancer, 2)).toBe('B C');
    clock.advance(1000);
    expect(letters(balancer, 3)).toBe('A B C');
  });

  it.each<[HealthCheckedOptions, string]>([
    [{ check: {} } as object, 'has no field "check"'],
    [{ checks: {} as never }, 'probe must be a function'],
    [{ checks: { probe: () => true, jitter: 2 } }, 'jitter must be a number from 0 to 1'],
    [{ checks: { probe: () => true, atOnce: 0 } }, 'atOnce must be a whole number'],
    [{ checks: { probe: () => true, isFirstAwaited: 1 as never } }, 'isFirstAwaited must be true or false'],
    [{ outliers: { failureRatio: 2 } }, 'failureRatio must be above 0 and at most 1'],
    [{ outliers: { minCalls: 5 } }, 'minCalls must be given together with failureRatio'],
    [{ outliers: { ejectFor: '1m', ejectForMax: '1s' } }, 'ejectForMax must be at least ejectFor (60000 ms)'],
    [{ outliers: { ejectedShareMax: -1 } }, 'ejectedShareMax must be a number from 0 to 1'],
    [{ slowStart: {} as never }, 'over'],
    [
      { slowStart: false as never },
      'what slowStart is given must be an object of over, floor, forNewcomers, got false.',
    ],
    [{ outliers: null as never }, 'what outliers is given must be an object of consecutiveFailures'],
    [{ checks: 0 as never }, 'what checks is given must be an object of probe'],
    [{ breaker: null as never }, 'breaker must be an object, got null.'],
    [{ breaker: '' as never }, 'breaker must be an object, got "".'],
    [{ breaker: 'x' as never }, 'breaker must be an object, got "x".'],
    [{ slowStart: { over: '1s', floor: 0 } }, 'floor must be above 0 and at most 1'],
    [{ panicBelow: 2 }, 'panicBelow must be a number from 0 to 1'],
  ])('refuses %j', (options, message) => {
    expect(() => healthChecked(roundRobin(['A']), options)).toThrow(message);
  });

  it('refuses what is no balancer', () => {
    expect(() => healthChecked(['A'] as never)).toThrow('balancer must be a balancer such as roundRobin(members)');
  });
});
