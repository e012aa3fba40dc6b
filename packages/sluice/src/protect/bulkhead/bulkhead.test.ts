import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { type BulkheadEvents, type BulkheadOptions, bulkhead } from './bulkhead.ts';

function begin(options: Partial<BulkheadOptions> = {}) {
  const clock = new TestClock();
  const hull = bulkhead({ limit: 1, clock, ...options });
  const log: string[] = [];
  /** Waits for a place, and writes down what becomes of it. */
  const wait = (who: string, signal?: AbortSignal) =>
    hull.waitForPass({ signal }).then(
      (pass) => {
        log.push(`${who} began`);
        return pass;
      },
      (error) => {
        log.push(`${who}: ${error.code ?? error.message}`);
        return undefined;
      },
    );
  return { clock, hull, log, wait };
}

/** Lets everybody who has been told act on it. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

describe('bulkhead', () => {
  it('lets as many begin as it has places, and refuses the rest at once', () => {
    const { hull } = begin({ limit: 2 });
    const [first, second] = [hull.tryPass(), hull.tryPass()];
    expect([first, second]).not.toContain(undefined);
    expect(hull.tryPass()).toBeUndefined();
    expect(hull.stats()).toEqual({ limit: 2, inFlight: 2, waiting: 0, refused: 1 });
    first!.ok();
    expect(hull.tryPass()).toBeDefined();
    expect(hull.tryPass()).toBeUndefined();
  });

  it.each(['ok', 'failed', 'ignored'] as const)('gives a place back that ended %s, once', (outcome) => {
    const { hull } = begin({ limit: 2 });
    const pass = hull.tryPass()!;
    hull.tryPass();
    pass[outcome]();
    pass[outcome]();
    pass.ok();
    expect(hull.stats().inFlight).toBe(1);
  });

  it('gives places to those who wait in the order in which they came', async () => {
    const { hull, log, wait } = begin({ queue: 3 });
    const first = hull.tryPass()!;
    const waiting = ['a', 'b', 'c'].map((who) => wait(who));
    await wait('d');
    expect(log).toEqual(['d: bulkhead-full']);
    first.ok();
    (await waiting[0])!.ok();
    (await waiting[1])!.failed();
    await waiting[2];
    expect(log.slice(1)).toEqual(['a began', 'b began', 'c began']);
    expect(hull.stats()).toEqual({ limit: 1, inFlight: 1, waiting: 0, refused: 1 });
  });

  it('lets no newcomer overtake who waits, not even in the turn in which a place is given back', async () => {
    const { hull, wait, log } = begin({ queue: 2 });
    const first = hull.tryPass()!;
    const waiting = wait('a');
    first.ok();
    // It has the place already, although it does not know of it yet.
    expect(hull.tryPass()).toBeUndefined();
    expect(hull.stats()).toMatchObject({ inFlight: 1, waiting: 0 });
    await waiting;
    expect(log).toEqual(['a began']);
  });

  it('lets whoever was aborted leave from the middle of the line', async () => {
    const { hull, log, wait } = begin({ queue: 3 });
    const first = hull.tryPass()!;
    const stop = new AbortController();
    const [a, b, c] = [wait('a'), wait('b', stop.signal), wait('c')];
    stop.abort(new Error('enough'));
    await b;
    expect(hull.stats()).toMatchObject({ waiting: 2, refused: 0 });
    first.ok();
    (await a)!.ok();
    await c;
    expect(log).toEqual(['b: enough', 'a began', 'c began']);
  });

  it('does not let in who is aborted before', async () => {
    const { hull, wait, log } = begin({ queue: 1 });
    await wait('a', AbortSignal.abort(new Error('enough')));
    expect(log).toEqual(['a: enough']);
    expect(hull.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('does not keep who is aborted while it gets in line, by a listener who is told of another', async () => {
    const { clock, hull, log, wait } = begin({ queue: 2, queueTimeout: 100 });
    hull.tryPass();
    const a = wait('a');
    clock.advance(100);
    const stop = new AbortController();
    hull.on('refused', () => stop.abort(new Error('enough')));
    const b = wait('b', stop.signal);
    await Promise.all([a, b]);
    expect(log.sort()).toEqual(['a: bulkhead-full', 'b: enough']);
    expect(hull.stats().waiting).toBe(0);
    expect(clock.sleeping).toBe(0);
  });

  it('listens to a signal only while somebody waits, and once however many do', async () => {
    const { hull, wait } = begin({ queue: 100 });
    const { signal } = new AbortController();
    const held = hull.tryPass()!;
    const waiting = Array.from({ length: 50 }, () => wait('x', signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    held.ok();
    for (const each of waiting) (await each)!.ok();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await hull.run(() => 1, { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('takes no longer for a long line than for a short one', async () => {
    const { hull } = begin({ queue: 200_000, queueTimeout: '1m' });
    const { signal } = new AbortController();
    let pass = hull.tryPass()!;
    const line = Array.from({ length: 200_000 }, () => hull.waitForPass({ signal }));
    for (const next of line) {
      pass.ok();
      pass = await next;
    }
    expect(hull.stats()).toMatchObject({ inFlight: 1, waiting: 0 });
  });
});

describe('who waits too long', () => {
  it('is refused when the time is up, not before', async () => {
    const { clock, hull, log, wait } = begin({ queue: 3, queueTimeout: 100, name: 'billing' });
    hull.tryPass();
    const a = hull.waitForPass().catch((error) => error);
    clock.advance(50);
    const b = wait('b');
    clock.advance(49);
    await settle();
    expect(hull.stats().waiting).toBe(2);
    clock.advance(1);
    const error = await a;
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({
      code: 'bulkhead-full',
      message: 'The bulkhead "billing" had no place for the call within 100 ms.',
    });
    expect(log).toEqual([]);
    clock.advance(50);
    await b;
    expect(log).toEqual(['b: bulkhead-full']);
    expect(hull.stats()).toMatchObject({ waiting: 0, refused: 2 });
  });

  it('is overdue also where a place is given back before the alarm was heard', async () => {
    const { clock, hull, log, wait } = begin({ queue: 3, queueTimeout: 100 });
    const first = hull.tryPass()!;
    const a = wait('a');
    clock.advance(60);
    const b = wait('b');
    clock.advance(40);
    first.ok();
    await Promise.all([a, b]);
    expect(log).toEqual(['a: bulkhead-full', 'b began']);
  });

  it('takes no room in the line from a newcomer who comes before the alarm was heard', async () => {
    const { clock, hull, log, wait } = begin({ queue: 1, queueTimeout: 100 });
    const first = hull.tryPass()!;
    const a = wait('a');
    clock.advance(100);
    const b = wait('b');
    first.ok();
    await Promise.all([a, b]);
    expect(log.sort()).toEqual(['a: bulkhead-full', 'b began']);
  });

  it('leaves its turn to the next in line, and to no listener who is told of it', async () => {
    const { clock, hull, log, wait } = begin({ queue: 2, queueTimeout: 100 });
    const first = hull.tryPass()!;
    const a = wait('a');
    clock.advance(60);
    const b = wait('b');
    clock.advance(40);
    let refusals = 0;
    hull.on('refused', () => {
      refusals += 1;
      if (refusals === 1) expect(hull.tryPass()).toBeUndefined();
    });
    first.ok();
    await Promise.all([a, b]);
    expect(refusals).toBe(2);
    expect(log).toEqual(['a: bulkhead-full', 'b began']);
  });

  it('keeps nothing awake once nobody waits', async () => {
    const { clock, hull, wait } = begin({ queue: 3, queueTimeout: 100 });
    const first = hull.tryPass()!;
    const stop = new AbortController();
    const [a, b] = [wait('a'), wait('b', stop.signal)];
    expect(clock.sleeping).toBe(1);
    first.ok();
    await a;
    expect(clock.sleeping).toBe(1);
    stop.abort(new Error('enough'));
    await b;
    expect(clock.sleeping).toBe(0);
  });

  it('is refused after that time also when the clock is set back meanwhile', async () => {
    const timer = new TestClock();
    let aheadMs = 1_000_000;
    // What is read is set back; what sleeps does not notice.
    const clock: Clock = { now: () => timer.now() + aheadMs, sleep: (ms, signal) => timer.sleep(ms, signal) };
    const { hull, log, wait } = begin({ queue: 3, queueTimeout: 100, clock });
    hull.tryPass();
    const a = wait('a');
    timer.advance(20);
    hull.stats();
    aheadMs = 0;
    const b = wait('b');
    timer.advance(80);
    await a;
    expect(log).toEqual(['a: bulkhead-full']);
    timer.advance(20);
    await settle();
    expect(log).toEqual(['a: bulkhead-full', 'b: bulkhead-full']);
    await b;
  });

  it('is refused when the sleep is over, whatever the clock says', async () => {
    // A clock for tests as people write them.
    const clock: Clock = { now: () => 0, sleep: async () => {} };
    const { hull, log, wait } = begin({ queue: 3, queueTimeout: 100, clock });
    hull.tryPass();
    await Promise.all([wait('a'), wait('b')]);
    expect(log).toEqual(['a: bulkhead-full', 'b: bulkhead-full']);
  });
});

describe('run', () => {
  it('makes the call in the same turn where a place is free, and answers as it does', async () => {
    const { hull } = begin();
    let called = false;
    const answer = hull.run(async () => {
      called = true;
      return 7;
    });
    expect(called).toBe(true);
    expect(await answer).toBe(7);
    await expect(hull.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    await expect(
      hull.run(() => {
        throw new Error('down at once');
      }),
    ).rejects.toThrow('down at once');
    expect(hull.stats().inFlight).toBe(0);
  });

  it('throws bulkhead-full without calling', async () => {
    const { hull } = begin({ limit: 2, queue: 1, name: 'billing' });
    hull.tryPass();
    hull.tryPass();
    const waiting = hull.run(() => 'late');
    const refused = await hull.run(() => expect.fail('was called')).catch((error) => error);
    expect(refused).toBeInstanceOf(SluiceError);
    expect(refused).toMatchObject({
      code: 'bulkhead-full',
      message: 'The bulkhead "billing" is full: 2 of 2 calls are under way, and 1 wait.',
    });
    hull.close();
    await expect(waiting).rejects.toThrow('The bulkhead "billing" is closed.');
  });

  it('hands the signal on', async () => {
    const { hull } = begin();
    const { signal } = new AbortController();
    expect(await hull.run((given) => given, { signal })).toBe(signal);
  });

  it('does not make a call that was aborted after it was given its place', async () => {
    const { hull } = begin({ queue: 1 });
    const first = hull.tryPass()!;
    const stop = new AbortController();
    const late = hull.run(() => expect.fail('was called'), { signal: stop.signal });
    first.ok();
    stop.abort(new Error('enough'));
    await expect(late).rejects.toThrow('enough');
    expect(hull.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('says how it ended: a call that threw because its caller gave up is ignored', async () => {
    const { hull } = begin();
    const outcomes: string[] = [];
    hull.on('ended', ({ outcome }) => outcomes.push(outcome));
    const stop = new AbortController();
    await hull.run(() => 1);
    await hull.run(() => Promise.reject(new Error('down'))).catch(() => {});
    const aborted = hull.run(
      (signal) => new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason))),
      { signal: stop.signal },
    );
    stop.abort();
    await aborted.catch(() => {});
    expect(outcomes).toEqual(['ok', 'failed', 'ignored']);
  });
});

describe('close and drain', () => {
  it('closed, it refuses newcomers and whoever waits, and lets calls under way go on', async () => {
    const { hull, log, wait } = begin({ limit: 2, queue: 2 });
    const [first] = [hull.tryPass()!, hull.tryPass()!];
    const [a, b] = [wait('a'), wait('b')];
    hull.close();
    hull.close();
    await Promise.all([a, b]);
    first.ok();
    expect(hull.tryPass()).toBeUndefined();
    await wait('c');
    expect(log).toEqual(['a: bulkhead-full', 'b: bulkhead-full', 'c: bulkhead-full']);
    expect(hull.stats()).toMatchObject({ inFlight: 1, waiting: 0, refused: 4 });
  });

  it('is drained when no call is under way and nobody waits', async () => {
    const { hull, log, wait } = begin({ queue: 2 });
    await hull.drain();
    const first = hull.tryPass()!;
    const stop = new AbortController();
    const [a, b] = [wait('a'), wait('b', stop.signal)];
    const drained = Promise.all([hull.drain(), hull.drain()]).then(() => log.push('drained'));
    first.ok();
    const pass = await a;
    await settle();
    stop.abort(new Error('enough'));
    await b;
    await settle();
    expect(log).toEqual(['a began', 'b: enough']);
    pass!.ok();
    await drained;
    expect(log.at(-1)).toBe('drained');
    // It is as open as before.
    const again = hull.tryPass()!;
    const second = hull.drain();
    again.ok();
    await second;
  });

  it('is not drained while a place goes from one to the next', async () => {
    const { hull, log, wait } = begin({ queue: 1 });
    const first = hull.tryPass()!;
    const waiting = wait('a');
    const drained = hull.drain().then(() => log.push('drained'));
    first.ok();
    const pass = await waiting;
    await settle();
    expect(log).toEqual(['a began']);
    pass!.ok();
    await drained;
  });

  it('is drained when the last call ends and whoever waited for its place has given up', async () => {
    const { clock, hull, wait } = begin({ queue: 2, queueTimeout: 100 });
    const pass = hull.tryPass()!;
    const overdue = wait('a');
    const drained = hull.drain();
    clock.advance(100);
    pass.ok();
    await drained;
    expect(await overdue).toBeUndefined();
  });
});

describe('events', () => {
  it('tell of refusals, waiting, begins and ends, in order', async () => {
    const { clock, hull, wait } = begin({ queue: 1, queueTimeout: 100 });
    const told: unknown[] = [];
    const names: (keyof BulkheadEvents)[] = ['refused', 'queued', 'started', 'ended'];
    for (const name of names) hull.on(name, (event) => told.push([name, event]));
    const first = hull.tryPass()!;
    const a = wait('a');
    hull.tryPass();
    clock.advance(70);
    first.failed();
    const b = wait('b');
    clock.advance(100);
    await b;
    (await a)!.ok();
    hull.close();
    hull.tryPass();
    expect(told).toEqual([
      ['started', { waitedMs: 0, inFlight: 1 }],
      ['queued', { waiting: 1 }],
      ['refused', { reason: 'full' }],
      ['started', { waitedMs: 70, inFlight: 1 }],
      ['ended', { outcome: 'failed', durationMs: 70 }],
      ['queued', { waiting: 1 }],
      ['refused', { reason: 'waited-too-long' }],
      ['ended', { outcome: 'ok', durationMs: 100 }],
      ['refused', { reason: 'closed' }],
    ]);
    expect(() => hull.on('released' as 'ended', () => {})).toThrow('event must be one of refused, queued');
  });

  it('a listener that acts takes no place from whoever waits', async () => {
    const { hull, wait } = begin({ limit: 2, queue: 5 });
    const passes = [hull.tryPass()!, hull.tryPass()!];
    const line = [wait('a'), wait('b'), wait('c')];
    const taken: unknown[] = [];
    for (const name of ['started', 'ended'] as const) hull.on(name, () => taken.push(hull.tryPass()));
    for (const pass of passes) pass.ok();
    expect(hull.stats()).toMatchObject({ inFlight: 2, waiting: 1 });
    (await line[0])!.ok();
    await Promise.all(line);
    expect(taken).toEqual([undefined, undefined, undefined, undefined, undefined, undefined]);
  });

  it('a listener may close it while places are given out', async () => {
    const { hull, log, wait } = begin({ queue: 2 });
    const first = hull.tryPass()!;
    const line = [wait('a'), wait('b')];
    hull.on('started', () => hull.close());
    first.ok();
    await Promise.all(line);
    expect(log.sort()).toEqual(['a began', 'b: bulkhead-full']);
  });

  it('a listener that looks at it while somebody is refused sees nobody twice', async () => {
    const { clock, hull, log, wait } = begin({ queue: 2, queueTimeout: 100 });
    hull.tryPass();
    const line = [wait('a'), wait('b')];
    let told = 0;
    hull.on('refused', ({ reason }) => {
      if (reason !== 'waited-too-long') return;
      told += 1;
      hull.stats();
      hull.tryPass();
    });
    clock.advance(100);
    await Promise.all(line);
    expect(log.sort()).toEqual(['a: bulkhead-full', 'b: bulkhead-full']);
    expect(told).toBe(2);
  });
});

describe('wrong options', () => {
  it.each([
    [undefined, 'what bulkhead options is given must be an object'],
    [{}, 'limit must be a whole number from 1 to'],
    [{ limit: 0 }, 'limit must be a whole number from 1 to'],
    [{ limit: 1.5 }, 'limit must be a whole number from 1 to'],
    [{ limit: '5' }, 'limit must be a whole number from 1 to'],
    [{ limit: Number.POSITIVE_INFINITY }, 'limit must be a whole number from 1 to'],
    [{ limit: 1, queue: -1 }, 'queue must be a whole number from 0 to 1000000'],
    [{ limit: 1, queue: 1_000_001 }, 'queue must be a whole number from 0 to 1000000'],
    [{ limit: 1, queueTimeout: 0 }, 'queueTimeout must be a time above 0'],
    [{ limit: 1, name: 5 }, 'name must be a string, got 5'],
    [{ limit: 1, clock: Date }, 'clock must be an object with now() and sleep()'],
    [{ limit: 1, size: 5 }, 'bulkhead options has no field "size"'],
  ])('%j are refused', (options, message) => {
    expect(() => bulkhead(options as BulkheadOptions)).toThrow(message);
  });
});
