import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Pass } from '../protection.ts';
import { type AdaptiveConcurrency, adaptiveConcurrency } from './adaptive-concurrency.ts';
import type { AdaptiveConcurrencyOptions } from './settings.ts';

function begin(options: Partial<AdaptiveConcurrencyOptions> = {}) {
  const clock = new TestClock();
  const limiter = adaptiveConcurrency({ algorithm: 'aimd', clock, ...options } as AdaptiveConcurrencyOptions);
  const changes: string[] = [];
  limiter.on('change', ({ from, to }) => changes.push(`${from} > ${to}`));
  return { clock, limiter, changes };
}

/** So many calls at once, that take so long. */
function burst(
  limiter: AdaptiveConcurrency,
  clock: TestClock,
  calls: number,
  ms: number,
  end: keyof Pass = 'ok',
): void {
  const passes = Array.from({ length: calls }, () => limiter.tryPass()!);
  clock.advance(ms);
  for (const pass of passes) pass[end]();
}

describe('adaptiveConcurrency', () => {
  it('lets as many begin as its limit says, and refuses the rest at once', () => {
    const { limiter } = begin({ limitInitial: 3 });
    const passes = [1, 2, 3].map(() => limiter.tryPass());
    expect(passes).not.toContain(undefined);
    expect(limiter.tryPass()).toBeUndefined();
    expect(limiter.stats()).toEqual({
      limit: 3,
      inFlight: 3,
      waiting: 0,
      refused: 1,
      rttMs: undefined,
      baselineMs: undefined,
    });
    passes[0]!.ignored();
    expect(limiter.tryPass()).toBeDefined();
  });

  it('takes one step per window: of ten calls and a tenth of a second at least', () => {
    const { clock, limiter, changes } = begin();
    burst(limiter, clock, 20, 99);
    expect(changes).toEqual([]); // enough calls, not enough time
    burst(limiter, clock, 1, 1);
    expect(changes).toEqual(['20 > 21']);
    const passes = Array.from({ length: 20 }, () => limiter.tryPass()!);
    clock.advance(500);
    for (const pass of passes.splice(0, 9)) pass.ok();
    expect(changes).toHaveLength(1); // enough time, not enough calls
    passes.pop()!.ok();
    expect(changes).toEqual(['20 > 21', '21 > 22']);
  });

  it('makes a window two round trips long, and no longer than a second', () => {
    const { clock, limiter, changes } = begin({ minCalls: 20 });
    burst(limiter, clock, 20, 300);
    expect(changes).toHaveLength(1);
    burst(limiter, clock, 20, 599);
    expect(changes).toHaveLength(1);
    burst(limiter, clock, 20, 1);
    expect(changes).toHaveLength(2);
    // Of some 570 ms: two of them are too long.
    burst(limiter, clock, 20, 999);
    expect(changes).toHaveLength(2);
    burst(limiter, clock, 20, 1);
    expect(changes).toHaveLength(3);
  });

  it('does not grow for what was under way in an earlier window', () => {
    const { clock, limiter, changes } = begin();
    burst(limiter, clock, 20, 100);
    burst(limiter, clock, 20, 200);
    expect(changes).toEqual(['20 > 21', '21 > 22']);
    // One at a time. The first of these windows still has some of the last burst.
    for (let call = 0; call < 50; call += 1) burst(limiter, clock, 1, 100);
    expect(changes.slice(3)).toEqual([]);
  });

  it('takes one failure in a window for overload, however many there are', () => {
    const { clock, limiter, changes } = begin();
    const bad = limiter.tryPass()!;
    burst(limiter, clock, 19, 100);
    bad.failed();
    expect(changes).toEqual(['20 > 21']);
    burst(limiter, clock, 20, 200, 'failed');
    expect(changes).toEqual(['20 > 21', '21 > 18']);
  });

  it('may be told which share of failures is overload', () => {
    const { clock, limiter, changes } = begin({ failureRatio: 0.2, minCalls: 20 });
    const failing = (failures: number) => {
      burst(limiter, clock, failures, 0, 'failed');
      burst(limiter, clock, 20 - failures, 1000);
    };
    failing(3);
    expect(changes).toEqual(['20 > 21']);
    failing(4);
    expect(changes).toEqual(['20 > 21', '21 > 18']);
  });

  it('learns nothing from what is ignored', () => {
    const { clock, limiter, changes } = begin();
    for (let round = 0; round < 5; round += 1) burst(limiter, clock, 20, 500, 'ignored');
    expect(changes).toEqual([]);
    expect(limiter.stats()).toMatchObject({ inFlight: 0, rttMs: undefined });
  });

  it('measures the calls that did not fail, and tells what it knows', () => {
    const { clock, limiter } = begin({ algorithm: 'vegas', failureRatio: 0.5, minCalls: 19 });
    const slow = limiter.tryPass()!;
    burst(limiter, clock, 19, 100);
    expect(limiter.stats()).toMatchObject({ rttMs: 100, baselineMs: 100 });
    clock.advance(5000);
    slow.failed();
    burst(limiter, clock, 18, 130);
    expect(limiter.stats()).toMatchObject({ rttMs: 130, baselineMs: 100 });
  });

  it('counts what is faster than the clock can tell as a tenth of a millisecond', () => {
    const { clock, limiter } = begin({ algorithm: 'vegas' });
    clock.advance(100);
    burst(limiter, clock, 20, 0);
    expect(limiter.stats()).toMatchObject({ rttMs: 0.1, baselineMs: 0.1 });
  });

  it('does not measure a call during which the clock was set back', () => {
    const { clock, limiter, changes } = begin({ algorithm: 'vegas' });
    clock.set(1_000_000);
    burst(limiter, clock, 20, 100);
    expect(limiter.stats().baselineMs).toBe(100);
    const passes = Array.from({ length: 20 }, () => limiter.tryPass()!);
    clock.set(500_000);
    for (const pass of passes) pass.ok();
    expect(limiter.stats()).toMatchObject({ inFlight: 0, baselineMs: 100, rttMs: 100 });
    // And goes on measuring.
    for (let round = 0; round < 3; round += 1) burst(limiter, clock, 20, 100);
    expect(changes).toEqual(['20 > 26']);
  });

  it('throws nobody out where the limit falls below what is under way', () => {
    const { clock, limiter } = begin({ limitInitial: 20, backoffRatio: 0.5 } as Partial<AdaptiveConcurrencyOptions>);
    const passes = Array.from({ length: 20 }, () => limiter.tryPass()!);
    clock.advance(200);
    for (const pass of passes.splice(0, 10)) pass.failed();
    expect(limiter.stats()).toMatchObject({ limit: 10, inFlight: 10 });
    expect(limiter.tryPass()).toBeUndefined();
    passes.pop()!.ok();
    expect(limiter.tryPass()).toBeDefined();
    expect(limiter.tryPass()).toBeUndefined();
  });
});

describe('a line in front of it', () => {
  it('lets in whoever may when the limit rises, in the order in which they came', async () => {
    const { clock, limiter } = begin({ algorithm: 'vegas', queue: 100, minCalls: 20 });
    // Once to know what calls take, and twice for a window of two round trips.
    burst(limiter, clock, 20, 200);
    burst(limiter, clock, 20, 200);
    const [first] = Array.from({ length: 20 }, () => limiter.tryPass()!);
    const began: number[] = [];
    const line = Array.from({ length: 10 }, (_, i) => limiter.waitForPass().then(() => began.push(i)));
    clock.advance(200);
    const told: string[] = [];
    limiter.on('change', ({ to }) => told.push(`${to} may`));
    limiter.on('started', ({ inFlight }) => told.push(`${inFlight} do`));
    limiter.on('ended', () => told.push('ended'));
    first!.ok();
    expect(told).toEqual(['26 may', '20 do', '21 do', '22 do', '23 do', '24 do', '25 do', '26 do', 'ended']);
    expect(limiter.stats()).toMatchObject({ limit: 26, inFlight: 26, waiting: 3 });
    await Promise.all(line.slice(0, 7));
    expect(began).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('is not overtaken by a listener who is told that the limit has risen', () => {
    const { clock, limiter } = begin({ algorithm: 'vegas', queue: 100, minCalls: 20 });
    burst(limiter, clock, 20, 200);
    burst(limiter, clock, 20, 200);
    const [first] = Array.from({ length: 20 }, () => limiter.tryPass()!);
    limiter.waitForPass();
    clock.advance(200);
    const taken: unknown[] = [];
    limiter.on('change', () => taken.push(limiter.tryPass()));
    first!.ok();
    expect(taken).toEqual([undefined]);
    expect(limiter.stats()).toMatchObject({ limit: 26, inFlight: 20, waiting: 0 });
  });

  it('does not count the time in line as time of the service', async () => {
    const { clock, limiter } = begin({ algorithm: 'vegas', limitInitial: 10, queue: 10 });
    const passes = Array.from({ length: 10 }, () => limiter.tryPass()!);
    const line = Array.from({ length: 10 }, () => limiter.waitForPass());
    clock.advance(100);
    for (const pass of passes) pass.ok();
    const next = await Promise.all(line);
    clock.advance(200);
    for (const pass of next) pass.ok();
    expect(limiter.stats().rttMs).toBe(200);
  });

  it('is bounded, in length and in time', async () => {
    const { clock, limiter } = begin({ limitInitial: 1, queue: 1, queueTimeout: 50, name: 'billing' });
    limiter.tryPass();
    const waiting = limiter.run(() => 1).catch((error) => error);
    const full = await limiter.run(() => expect.fail('was called')).catch((error) => error);
    expect(full).toBeInstanceOf(SluiceError);
    expect(full).toMatchObject({
      code: 'bulkhead-full',
      message: 'The adaptive concurrency limit "billing" is full: 1 of 1 calls are under way, and 1 wait.',
    });
    clock.advance(50);
    expect(await waiting).toMatchObject({
      code: 'bulkhead-full',
      message: 'The adaptive concurrency limit "billing" had no place for the call within 50 ms.',
    });
  });
});

describe('run', () => {
  it('learns from how calls end', async () => {
    const { clock, limiter, changes } = begin({ minCalls: 2, windowMin: 10 });
    const call = (end: () => unknown) => {
      const answer = limiter.run(async () => {
        clock.advance(10);
        return end();
      });
      return answer.catch((error) => error);
    };
    const fail = () => {
      throw new Error('down');
    };
    expect(await call(() => 7)).toBe(7);
    expect(await call(fail)).toMatchObject({ message: 'down' });
    expect(changes).toEqual(['20 > 18']);
  });

  it('lets the caller say what is overload and what says nothing', async () => {
    const { clock, limiter, changes } = begin({
      minCalls: 1,
      windowMin: 10,
      isFailure: (ended) => 'value' in ended && ended.value === 503,
      isIgnored: (ended) => 'value' in ended && ended.value === 304,
    });
    for (const status of [304, 500, 503]) {
      clock.advance(10);
      await limiter.run(() => status);
    }
    expect(changes).toEqual(['20 > 18']);
    clock.advance(10);
    await limiter.run(() => Promise.reject(new Error('not found'))).catch(() => {});
    expect(changes).toHaveLength(1);
  });

  it('does not take it for overload that a protection further in let a call not through', async () => {
    const { clock, limiter, changes } = begin({ minCalls: 1, windowMin: 10 });
    for (const code of ['circuit-open', 'throttled', 'bulkhead-full', 'timed-out'] as const) {
      clock.advance(10);
      await limiter.run(() => Promise.reject(new SluiceError(code, code))).catch(() => {});
    }
    // The time-out is the service's.
    expect(changes).toEqual(['20 > 18']);
  });
});

describe('wrong options', () => {
  it.each([
    [undefined, 'algorithm must be one of "aimd", "vegas", "gradient", got undefined'],
    [{ algorithm: 'toString' }, 'algorithm must be one of "aimd", "vegas", "gradient", got "toString"'],
    [{ algorithm: 'aimd', tolerance: 2 }, 'adaptiveConcurrency options of aimd has no field "tolerance"'],
    [{ algorithm: 'vegas', timeout: '1s' }, 'adaptiveConcurrency options of vegas has no field "timeout"'],
    [{ algorithm: 'gradient', alpha: 3 }, 'adaptiveConcurrency options of gradient has no field "alpha"'],
    [{ algorithm: 'aimd', limitMin: 0 }, 'limitMin must be a whole number from 1 to 1000000'],
    [{ algorithm: 'aimd', limitMax: 1e9 }, 'limitMax must be a whole number from 1 to 1000000'],
    [{ algorithm: 'aimd', limitMin: 30, limitMax: 20 }, 'limitMax must be at least limitMin (30), got 20'],
    [{ algorithm: 'aimd', limitInitial: 300 }, 'limitInitial must be a whole number from 1 to 200, got 300'],
    [{ algorithm: 'aimd', limitInitial: 1.5 }, 'limitInitial must be a whole number from 1 to 200'],
    [{ algorithm: 'aimd', backoffRatio: 1 }, 'backoffRatio must be from 0.5 to below 1, got 1'],
    [{ algorithm: 'aimd', backoffRatio: 0.4 }, 'backoffRatio must be from 0.5 to below 1'],
    [{ algorithm: 'aimd', timeout: 0 }, 'timeout must be a time above 0'],
    [{ algorithm: 'vegas', smoothing: 0 }, 'smoothing must be above 0 and at most 1, got 0'],
    [{ algorithm: 'vegas', smoothing: '1' }, 'smoothing must be above 0 and at most 1'],
    [{ algorithm: 'vegas', probeEvery: 9 }, 'probeEvery must be a whole number from 10'],
    [{ algorithm: 'vegas', alpha: 3 }, 'alpha must be given together with beta, and at most as much, got 3'],
    [{ algorithm: 'vegas', alpha: 7, beta: 6 }, 'alpha must be given together with beta, and at most as much, got 7'],
    [{ algorithm: 'vegas', alpha: 0, beta: 6 }, 'alpha must be a whole number from 1'],
    [{ algorithm: 'vegas', random: 1 }, 'random must be a function'],
    [{ algorithm: 'gradient', tolerance: 0.9 }, 'tolerance must be a number from 1 to 1000'],
    [{ algorithm: 'gradient', queueSize: 0 }, 'queueSize must be a whole number from 1'],
    [{ algorithm: 'gradient', queueSize: 'log' }, 'queueSize must be a whole number from 1'],
    [{ algorithm: 'gradient', longWindow: 5 }, 'longWindow must be a whole number from 10'],
    [{ algorithm: 'aimd', windowMin: '1s', windowMax: '100ms' }, 'windowMax must be at least windowMin (1000 ms)'],
    [{ algorithm: 'aimd', minCalls: 0 }, 'minCalls must be a whole number from 1'],
    [{ algorithm: 'aimd', failureRatio: 0 }, 'failureRatio must be above 0 and at most 1, got 0'],
    [{ algorithm: 'aimd', queue: -1 }, 'queue must be a whole number from 0 to 1000000'],
    [{ algorithm: 'aimd', queueTimeout: 0 }, 'queueTimeout must be a time above 0'],
    [{ algorithm: 'aimd', isFailure: 5 }, 'isFailure must be a function'],
    [{ algorithm: 'aimd', isIgnored: 5 }, 'isIgnored must be a function'],
    [{ algorithm: 'aimd', clock: Date }, 'clock must be an object with now() and sleep()'],
    [{ algorithm: 'aimd', name: 5 }, 'name must be a string, got 5'],
  ])('%j are refused', (options, message) => {
    expect(() => adaptiveConcurrency(options as AdaptiveConcurrencyOptions)).toThrow(message);
  });

  it('the options of one algorithm are not those of another, to the compiler neither', () => {
    // @ts-expect-error: the time-out is AIMD's
    expect(() => adaptiveConcurrency({ algorithm: 'vegas', timeout: '1s' })).toThrow('has no field "timeout"');
    // @ts-expect-error: the tolerance is the gradient's
    expect(() => adaptiveConcurrency({ algorithm: 'aimd', tolerance: 2 })).toThrow('has no field "tolerance"');
    expect(adaptiveConcurrency({ algorithm: 'gradient', tolerance: 2, limitMin: 50 }).limit).toBe(50);
  });
});

describe('the end of it', () => {
  it('closed, it refuses newcomers and whoever waits, and is drained when what is under way has ended', async () => {
    const gate = adaptiveConcurrency({ algorithm: 'aimd', limitInitial: 1, queue: 1, clock: new TestClock() });
    const pass = gate.tryPass()!;
    const waiting = gate.waitForPass();
    waiting.catch(() => undefined);
    let isDrained = false;
    const drained = gate.drain().then(() => {
      isDrained = true;
    });
    gate.close();
    await expect(waiting).rejects.toMatchObject({ code: 'bulkhead-full' });
    await expect(gate.run(() => 'made')).rejects.toMatchObject({ code: 'bulkhead-full' });
    expect([gate.tryPass(), isDrained]).toEqual([undefined, false]);
    pass.ok();
    await drained;
    expect(gate.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
  });
});
