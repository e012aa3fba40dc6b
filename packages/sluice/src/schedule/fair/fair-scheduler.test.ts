import { describe, expect, it } from 'vitest';
import { PassingClock, turn } from '../../protect/passing-clock.test-support.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type FairScheduler, type FairSchedulerOptions, fairScheduler } from './fair-scheduler.ts';

const begin = (options: FairSchedulerOptions = {}) => fairScheduler({ clock: new TestClock(), ...options });

/** The next so many turns, each charged as much. */
function turns(scheduler: FairScheduler, count: number, elapsedMs: number): string {
  const served: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const tenant = scheduler.next()!;
    served.push(tenant);
    scheduler.charge(tenant, elapsedMs);
  }
  return served.join(' ');
}

const virtualMs = (scheduler: FairScheduler, tenant: string) => scheduler.view(tenant)?.virtualMs;

describe('the weight of a nice level', () => {
  // The table of the Linux kernel (sched_prio_to_weight), from -20 to 19: the formula, rounded, with a slip at -18.
  const linux = [
    [88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916],
    [9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277],
    [1024, 820, 655, 526, 423, 335, 272, 215, 172, 137],
    [110, 87, 70, 56, 45, 36, 29, 23, 18, 15],
  ].flat();

  it.each(linux.map((weight, index) => [index - 20, weight]))('nice %i is about %i', (nice, weight) => {
    const scheduler = begin();
    scheduler.add('a', { nice });
    expect(Math.abs(scheduler.view('a')!.weight / weight - 1)).toBeLessThan(0.03);
  });

  it('is 1024 at nice 0, and a quarter more with each level down', () => {
    const scheduler = begin();
    for (const nice of [0, -1, 1]) scheduler.add(`${nice}`, { nice });
    scheduler.add('none');
    expect(['0', 'none', '-1', '1'].map((tenant) => scheduler.view(tenant)?.weight)).toEqual([1024, 1024, 1280, 819.2]);
  });

  it.each([
    [{ nice: 20 }, 'nice must be a whole number from -20 to 19, got 20.'],
    [{ nice: 0.5 }, 'nice must be'],
    [{ weight: 0 }, 'weight must be a number from 0.01 to 1000000, got 0.'],
    [{ weight: Number.NaN }, 'weight must be'],
    [{ nice: 1, weight: 1 }, 'nice must be left out where there is a weight'],
    [{ share: 1 }, 'has no field "share"'],
  ])('refuses %j', (share, message) => {
    expect(() => begin().add('a', share as never)).toThrow(message);
  });
});

describe('fairScheduler', () => {
  it.each([
    // tenants with their weights   elapsed   turns
    ['a1024 b1024', 10, 'a b a b a b a b'],
    ['a2048 b1024', 10, 'a b a b a a b a'], //        among equals, who was served longest ago
    ['a3072 b1024', 10, 'a b a a b a a a'],
    ['a1024 b1024 c1024', 5, 'a b c a b c a b'],
    ['a1024 b1024', 0, 'a b a b a b a b'], // what takes no time at all goes round, too
  ])('%s, %i ms each: whoever has had least for its weight goes next', (tenants, elapsedMs, expected) => {
    const scheduler = begin();
    for (const text of tenants.split(' ')) scheduler.add(text[0]!, { weight: Number(text.slice(1)) });
    expect(turns(scheduler, 8, elapsedMs)).toBe(expected);
  });

  it('charges elapsed * 1024 / weight', () => {
    const scheduler = begin();
    scheduler.add('a', { nice: -1 });
    scheduler.add('b', { weight: 512 });
    scheduler.charge('a', 10);
    scheduler.charge('b', 10);
    expect([virtualMs(scheduler, 'a'), virtualMs(scheduler, 'b')]).toEqual([8, 20]);
  });

  it('asks nothing of the others when it is asked who is next', () => {
    const scheduler = begin();
    expect(scheduler.next()).toBeUndefined();
    for (const tenant of 'ab') scheduler.add(tenant);
    expect([scheduler.next(), scheduler.next()]).toEqual(['a', 'a']);
  });

  it('lets newcomers begin at the current minimum: with neither credit nor debt', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 100);
    scheduler.charge('b', 70);
    scheduler.add('c');
    expect(virtualMs(scheduler, 'c')).toBe(70);
    expect(scheduler.stats().minimumVirtualMs).toBe(70);
  });

  it('lets wakers begin at max(own, minimum): sleeping earns no credit', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    expect(scheduler.block('a')).toBe(true);
    expect(turns(scheduler, 3, 100)).toBe('b b b');
    expect(scheduler.wake('a')).toBe(true);
    expect(virtualMs(scheduler, 'a')).toBe(300);
    expect(turns(scheduler, 4, 100)).toBe('b a b a');
  });

  it('and erases no debt', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 250);
    scheduler.block('a');
    scheduler.wake('a');
    expect(turns(scheduler, 4, 100)).toBe('b b b a');
  });

  it('lets nobody go who sleeps, and changes nothing by being told twice', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.block('a');
    scheduler.block('a');
    expect(turns(scheduler, 2, 10)).toBe('b b');
    scheduler.wake('a');
    scheduler.wake('a');
    scheduler.block('b');
    expect(turns(scheduler, 2, 10)).toBe('a a');
    expect([scheduler.block('x'), scheduler.wake('x'), scheduler.remove('x')]).toEqual([false, false, false]);
  });

  it('does not let a tenant leave and come back to be rid of what it owes', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 500);
    expect(scheduler.remove('a')).toBe(true);
    expect(scheduler.view('a')).toBeUndefined();
    expect(scheduler.stats()).toMatchObject({ tenants: 1, remembered: 1 });
    scheduler.add('a', { nice: 5 });
    expect(scheduler.view('a')).toMatchObject({ virtualMs: 500, isAwake: true });
  });

  it('forgets who has left as soon as it owes nothing', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 500);
    scheduler.remove('a');
    scheduler.charge('b', 499);
    expect(scheduler.stats().remembered).toBe(1);
    scheduler.charge('b', 1);
    expect(scheduler.stats()).toMatchObject({ tenants: 1, remembered: 0 });
    expect(() => scheduler.charge('a', 1)).toThrow('tenant must be one that was added, got "a".');
  });

  it('holds no more than it must while thousands come and go', () => {
    const scheduler = begin();
    const random = seededRandom(7);
    let most = 0;
    for (let n = 0; n < 20_000; n += 1) {
      scheduler.add(`${n}`);
      const tenant = scheduler.next()!;
      scheduler.begin(tenant);
      scheduler.end(tenant, random() * 20);
      scheduler.remove(tenant);
      const { tenants, remembered } = scheduler.stats();
      most = Math.max(most, tenants + remembered);
    }
    expect(most).toBeLessThanOrEqual(2);
  });

  it('has no more tenants than it may, and lets newcomers pay where it had to forget too early', () => {
    const scheduler = begin({ maxTenants: 3 });
    for (const tenant of 'abc') scheduler.add(tenant);
    expect(() => scheduler.add('d')).toThrow(expect.objectContaining({ code: 'queue-full' }));
    scheduler.charge('a', 50);
    scheduler.charge('b', 80);
    scheduler.remove('a');
    scheduler.remove('b');
    scheduler.add('d');
    // It could be a under another name, as far as anybody can tell.
    expect(virtualMs(scheduler, 'd')).toBe(50);
    scheduler.add('b');
    expect(virtualMs(scheduler, 'b')).toBe(80);
  });

  it('gives a tenant another share, and leaves it where it stands', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 10);
    scheduler.add('a', { weight: 2048 });
    expect(scheduler.view('a')).toMatchObject({ virtualMs: 10, weight: 2048 });
    scheduler.charge('a', 10);
    expect(virtualMs(scheduler, 'a')).toBe(15);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5'])('refuses to charge %s', (elapsedMs) => {
    const scheduler = begin();
    scheduler.add('a');
    expect(() => scheduler.charge('a', elapsedMs as number)).toThrow('elapsedMs must be a number from 0');
    expect(virtualMs(scheduler, 'a')).toBe(0);
  });

  it.each([
    [{ maxTenants: 0 }, 'maxTenants must be a whole number from 1'],
    [{ ageingMs: 5 }, 'has no field "ageingMs"'],
  ])('refuses %j', (options, message) => {
    expect(() => fairScheduler(options as never)).toThrow(message);
  });
});

describe('tick', () => {
  it('charges the time since the last to whom that named, and names who goes next', () => {
    const scheduler = begin();
    scheduler.add('a');
    scheduler.add('b', { weight: 2048 });
    const rows: [atMs: number, next: string, a: number, b: number][] = [
      [0, 'a', 0, 0],
      [10, 'b', 10, 0],
      [20, 'b', 10, 5],
      [30, 'a', 10, 10], //  equals: a was served longer ago
      [25, 'b', 10, 10], //  the clock stepped back: nothing is charged
      [44, 'a', 10, 17],
    ];
    for (const [atMs, next, a, b] of rows)
      expect([atMs, scheduler.tick(atMs), virtualMs(scheduler, 'a'), virtualMs(scheduler, 'b')]).toEqual([
        atMs,
        next,
        a,
        b,
      ]);
  });

  it('names nobody where nobody is awake, and charges also who has left in between', () => {
    const scheduler = begin();
    expect(scheduler.tick(0)).toBeUndefined();
    for (const tenant of 'ab') scheduler.add(tenant);
    expect(scheduler.tick(10)).toBe('a');
    scheduler.remove('a');
    expect(scheduler.tick(40)).toBe('b');
    scheduler.add('a');
    expect(virtualMs(scheduler, 'a')).toBe(30);
  });
});

describe('several at once', () => {
  it('nobody gets all the places before it is charged for the first', () => {
    const scheduler = begin();
    for (const tenant of 'abc') scheduler.add(tenant);
    const begun = Array.from({ length: 6 }, () => {
      const tenant = scheduler.next(0)!;
      scheduler.begin(tenant, 0);
      return tenant;
    });
    expect(begun.join(' ')).toBe('a b c a b c');
  });

  it('by weight', () => {
    const scheduler = begin();
    scheduler.add('a', { weight: 3 });
    scheduler.add('b', { weight: 1 });
    const begun = Array.from({ length: 8 }, () => {
      const tenant = scheduler.next(0)!;
      scheduler.begin(tenant, 0);
      return tenant;
    });
    expect(begun.filter((tenant) => tenant === 'a')).toHaveLength(6);
  });

  it('an estimate is replaced by what it really took', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.begin('a', 0);
    scheduler.begin('a', 0);
    expect(scheduler.view('a')).toMatchObject({ running: 2, virtualMs: 0 });
    scheduler.end('a', 30, 30);
    scheduler.end('a', 50, 50);
    expect(scheduler.view('a')).toMatchObject({ running: 0, virtualMs: 80 });
    expect(() => scheduler.end('a', 1)).toThrow('tenant must be one with something under way');
  });

  it('what is under way counts by what it has taken, when that is more than was thought', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.begin('a', 0);
    scheduler.charge('b', 60);
    expect(scheduler.next(59)).toBe('a'); // 59 of it by now
    expect(scheduler.next(61)).toBe('b');
  });

  it('estimates do not move the minimum: a newcomer does not pay for them', () => {
    const scheduler = begin();
    scheduler.add('a');
    scheduler.charge('a', 100);
    for (let n = 0; n < 10; n += 1) scheduler.begin('a', 0);
    scheduler.add('b');
    expect(virtualMs(scheduler, 'b')).toBe(100);
  });

  it.each([
    // tasks of a begin at   weight   b comes at   and begins at
    [[0], 1024, 100, 100],
    [[0], 2048, 100, 50],
    [[0, 60], 1024, 100, 140], // each counts from when it began
    [[80], 1024, 20, 0], //       an earlier time than was seen: nothing is minted
  ])('tasks under way since %j, of weight %i: who comes at %i begins at %i', (begins, weight, atMs, expectedMs) => {
    const scheduler = begin();
    scheduler.add('a', { weight });
    for (const beginMs of begins) scheduler.begin('a', beginMs);
    scheduler.add('b', {}, atMs);
    expect(virtualMs(scheduler, 'b')).toBe(expectedMs);
    expect(virtualMs(scheduler, 'a')).toBe(0); // charged when it ends
  });

  it('reads the clock for those who come and wake, unless the times are the caller’s', () => {
    const clock = new TestClock();
    const [read, given] = [fairScheduler({ clock }), fairScheduler({ clock })];
    for (const scheduler of [read, given]) for (const tenant of 'ab') scheduler.add(tenant);
    for (const scheduler of [read, given]) scheduler.block('b');
    read.begin('a');
    given.begin('a', 0);
    given.next(40);
    clock.advance(1000);
    for (const scheduler of [read, given]) {
      scheduler.wake('b');
      scheduler.add('c');
    }
    expect([virtualMs(read, 'b'), virtualMs(read, 'c')]).toEqual([1000, 1000]);
    expect([virtualMs(given, 'b'), virtualMs(given, 'c')]).toEqual([40, 40]);
  });

  it.each(['awake', 'asleep'])('a task that lasts holds nobody’s clock back: its tenant is %s', (stream) => {
    const scheduler = begin();
    for (const tenant of ['stream', 'a', 'b']) scheduler.add(tenant);
    scheduler.begin('stream', 0);
    scheduler.block('b');
    if (stream === 'asleep') scheduler.block('stream');
    let nowMs = 0;
    const serve = (tenant: string) => {
      scheduler.begin(tenant, nowMs);
      nowMs += 10;
      scheduler.end(tenant, 10, nowMs);
      return tenant;
    };
    for (let n = 0; n < 1000; n += 1) serve('a');
    scheduler.wake('b', nowMs);
    scheduler.add('newcomer', {}, nowMs);
    const served = Array.from({ length: 300 }, () => serve(scheduler.next(nowMs)!));
    for (const tenant of ['a', 'b', 'newcomer'])
      expect(Math.abs(served.filter((one) => one === tenant).length - 100)).toBeLessThanOrEqual(1);
  });

  it('nor does it where others have more places than it has', () => {
    const scheduler = begin();
    for (const tenant of ['stream', 'a']) scheduler.add(tenant);
    scheduler.begin('stream', 0);
    scheduler.block('stream');
    for (let atMs = 0; atMs < 10_000; atMs += 10) {
      for (let place = 0; place < 3; place += 1) scheduler.begin('a', atMs);
      for (let place = 0; place < 3; place += 1) scheduler.end('a', 10, atMs + 10);
    }
    scheduler.add('b', {}, 10_000);
    expect(virtualMs(scheduler, 'a')).toBe(30_000);
    expect(virtualMs(scheduler, 'b')).toBe(30_000);
    // It has had 10,000, and wanted no more: that is no credit either.
    scheduler.wake('stream', 10_000);
    scheduler.end('stream', 10_000, 10_000);
    expect(virtualMs(scheduler, 'stream')).toBe(30_000);
  });

  it('who falls asleep with something under way and wakes again pays for it once', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.begin('a', 0);
    scheduler.block('a');
    scheduler.begin('b', 0);
    scheduler.end('b', 100, 100);
    scheduler.wake('a', 60);
    scheduler.end('a', 130, 130);
    expect(virtualMs(scheduler, 'a')).toBe(130);
  });

  it.each([15, 1024])(
    'what was taken by the weight of then is no credit where that was %i and is 256 now',
    (weight) => {
      const scheduler = begin();
      scheduler.add('a', { weight }, 0);
      scheduler.begin('a', 0);
      scheduler.add('b', {}, 1000);
      const hadMs = virtualMs(scheduler, 'b');
      expect(hadMs).toBeCloseTo((1000 * 1024) / weight);
      scheduler.add('a', { weight: 256 }, 1000);
      scheduler.end('a', 1500, 1500);
      expect(virtualMs(scheduler, 'a')).toBeCloseTo(hadMs! + 500 * 4);
    },
  );

  it('forgets who has left also while a task lasts', () => {
    const scheduler = begin();
    scheduler.add('stream');
    scheduler.begin('stream', 0);
    scheduler.block('stream');
    for (let n = 0; n < 1000; n += 1) {
      scheduler.add(`${n}`, {}, n);
      scheduler.begin(`${n}`, n);
      scheduler.end(`${n}`, 50, n);
      scheduler.remove(`${n}`);
    }
    expect(scheduler.stats()).toMatchObject({ tenants: 1, remembered: 0 });
  });

  it('the minimum never falls, not even where something begins for one who slept behind it', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.block('a');
    scheduler.charge('b', 100);
    scheduler.begin('a', 0);
    scheduler.charge('b', 0);
    expect(scheduler.stats().minimumVirtualMs).toBe(100);
    scheduler.end('a', 10, 10);
    scheduler.wake('a');
    expect(virtualMs(scheduler, 'a')).toBe(100);
  });

  it('who has something under way is remembered until it is charged', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.begin('a', 0);
    scheduler.remove('a');
    scheduler.end('a', 500, 500);
    scheduler.add('a');
    expect(virtualMs(scheduler, 'a')).toBe(500);
  });

  it('nothing begins for one that has left, though it is remembered', () => {
    const scheduler = begin();
    for (const tenant of 'ab') scheduler.add(tenant);
    scheduler.charge('a', 100);
    scheduler.remove('a');
    expect(() => scheduler.begin('a', 0)).toThrow('tenant must be one that was added, got "a"');
    scheduler.charge('b', 1000);
    expect(scheduler.stats()).toMatchObject({ tenants: 1, remembered: 0 });
  });
});

describe('running tasks', () => {
  function start(options: FairSchedulerOptions = {}) {
    const clock = new PassingClock();
    const scheduler = fairScheduler({ clock, ...options });
    const log: string[] = [];
    const run = (tenant: string, tookMs: number) =>
      scheduler
        .run(
          async () => {
            log.push(tenant);
            await clock.sleep(tookMs);
          },
          { tenant },
        )
        .catch((error) => log.push(`${tenant}:${error.code}`));
    return { clock, scheduler, log, run };
  }

  it('one at a time: by what each really took', async () => {
    const { clock, log, run, scheduler } = start();
    for (let n = 0; n < 3; n += 1) run('long', 30);
    for (let n = 0; n < 6; n += 1) run('short', 10);
    await clock.pass(1000);
    expect(log.join(' ')).toBe('long short short short long short short short long');
    expect(scheduler.stats()).toMatchObject({ waiting: 0, running: 0, tenants: 0 });
  });

  it('with the shares that tenants were given', async () => {
    const { clock, log, run, scheduler } = start();
    scheduler.add('a', { weight: 3 });
    scheduler.add('b', { weight: 1 });
    for (let n = 0; n < 8; n += 1) for (const tenant of 'ab') run(tenant, 10);
    await clock.pass(79);
    expect(log.slice(0, 8).filter((tenant) => tenant === 'a')).toHaveLength(6);
    expect(scheduler.view('b')).toMatchObject({ waiting: 6 });
  });

  it('several at once: places go round from the start', async () => {
    const { clock, log, run } = start({ concurrency: 4 });
    for (let n = 0; n < 4; n += 1) run('x', 10);
    for (const tenant of 'ab') for (let n = 0; n < 8; n += 1) run(tenant, 10);
    await clock.pass(10);
    expect(log.join(' ')).toBe('x x x x a b a b');
  });

  it('several at once: one whose tasks never seem to end does not get every place', async () => {
    const { clock, scheduler, run } = start({ concurrency: 4 });
    for (let n = 0; n < 20; n += 1) run('endless', 100_000);
    for (let n = 0; n < 500; n += 1) run('short', 1);
    await clock.pass(0);
    // It was alone when the first places were given out; one by one they would be given to the other.
    expect(scheduler.view('endless')!.running).toBe(4);
    const other = start({ concurrency: 4 });
    for (let n = 0; n < 4; n += 1) other.run('x', 1);
    for (let n = 0; n < 20; n += 1) other.run('endless', 100_000);
    for (let n = 0; n < 500; n += 1) other.run('short', 1);
    await other.clock.pass(300);
    expect(other.scheduler.view('endless')!.running).toBeLessThanOrEqual(3);
    expect(other.log.filter((tenant) => tenant === 'short').length).toBeGreaterThan(250);
  });

  it('several at once, ten times too much of it: service is 3 to 1 where weights are', async () => {
    const clock = new PassingClock();
    const scheduler = fairScheduler({ clock, concurrency: 4, capacity: 100 });
    scheduler.add('a', { weight: 3 });
    scheduler.add('b', { weight: 1 });
    const random = seededRandom(11);
    const servedMs: Record<string, number> = { a: 0, b: 0 };
    const busy = (tenant: string): void => {
      const tookMs = 1 + Math.floor(random() * 20);
      const task = async () => {
        await clock.sleep(tookMs);
        servedMs[tenant]! += tookMs;
      };
      scheduler.run(task, { tenant }).then(
        () => busy(tenant),
        () => undefined,
      );
    };
    for (let n = 0; n < 20; n += 1) for (const tenant of 'ab') busy(tenant);
    await clock.pass(5000);
    scheduler.close();
    expect(servedMs.a! / servedMs.b!).toBeGreaterThan(2.9);
    expect(servedMs.a! / servedMs.b!).toBeLessThan(3.1);
  });

  it.each([2, 5])('one of %i places hangs: no newcomer starves the others for it', async (concurrency) => {
    const { clock, scheduler, log, run } = start({ concurrency });
    const hanging = new AbortController();
    const hangs = () => new Promise<void>((resolve) => hanging.signal.addEventListener('abort', () => resolve()));
    const stream = scheduler.run(hangs, { tenant: 'stream' });
    for (let n = 0; n < 200 * (concurrency - 1); n += 1) run('a', 10);
    await clock.pass(1000);
    log.length = 0;
    for (let n = 0; n < 100 * (concurrency - 1); n += 1) run('b', 10);
    await clock.pass(500);
    const turns = log.filter((tenant) => tenant === 'a').length / log.length;
    expect(turns).toBeGreaterThan(0.45);
    expect(turns).toBeLessThan(0.55);
    hanging.abort();
    await stream;
  });

  it('lets a tenant that is told to sleep wait, and nobody else', async () => {
    const { clock, scheduler, log, run } = start();
    scheduler.add('a');
    scheduler.block('a');
    for (const tenant of 'aab') run(tenant, 10);
    await clock.pass(100);
    expect(log).toEqual(['b']);
    expect(scheduler.size).toBe(2);
    scheduler.wake('a');
    await clock.pass(100);
    expect(log).toEqual(['b', 'a', 'a']);
  });

  it('takes the waiting tasks of a tenant that is removed out, and no others', async () => {
    const { clock, scheduler, log, run } = start();
    for (const tenant of 'abab') run(tenant, 10);
    expect(scheduler.remove('b')).toBe(true);
    await clock.pass(100);
    expect(log.sort()).toEqual(['a', 'a', 'b:task-removed', 'b:task-removed']);
    expect(scheduler.stats()).toMatchObject({ tenants: 0, remembered: 0 });
  });

  it('a flood pushes out itself: who has most for its weight gives up its newest', async () => {
    const { clock, scheduler, log, run } = start({ capacity: 4, shed: 'lowest-priority' });
    const shed: string[] = [];
    scheduler.on('shed', ({ task }) => shed.push(task.tenant));
    run('flood', 10);
    for (let n = 0; n < 6; n += 1) run('flood', 10);
    expect(shed.join(' ')).toBe('flood flood');
    for (let n = 0; n < 3; n += 1) run('quiet', 10);
    // Two of each wait now: the third of the quiet one is one too many of its own.
    expect(shed.join(' ')).toBe('flood flood flood flood quiet');
    await clock.pass(1000);
    expect(log.filter((entry) => !entry.includes(':')).join(' ')).toBe('flood quiet flood quiet flood');
  });

  it('and nobody pushes out another who has as much', () => {
    const { scheduler, run } = start({ capacity: 3, shed: 'lowest-priority' });
    const shed: string[] = [];
    scheduler.on('shed', ({ task }) => shed.push(task.tenant));
    for (const tenant of ['x', 'a', 'a', 'b', 'b']) run(tenant, 10);
    expect(shed).toEqual(['b']);
  });

  it('refuses a task without a tenant', async () => {
    const scheduler = begin();
    await expect(scheduler.run(() => 1, {} as never)).rejects.toThrow('tenant must be text');
    await expect(scheduler.run(() => 1, undefined as never)).rejects.toThrow('what a task is given must be an object');
    await turn();
  });
});
