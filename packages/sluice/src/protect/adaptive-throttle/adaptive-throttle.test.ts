import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { bulkhead } from '../bulkhead/bulkhead.ts';
import { type AdaptiveThrottle, adaptiveThrottle } from './adaptive-throttle.ts';
import type { AdaptiveThrottleOptions } from './settings.ts';

/** Chance never rejects, unless it is told to. */
function begin(options: AdaptiveThrottleOptions = {}) {
  const clock = new TestClock();
  const chance = { draw: 0.999 };
  const throttle = adaptiveThrottle({ minRequests: 1, clock, random: () => chance.draw, ...options });
  return { clock, chance, throttle };
}

function make(throttle: AdaptiveThrottle, outcome: 'ok' | 'failed' | 'ignored', calls = 1): void {
  for (let call = 0; call < calls; call += 1) throttle.tryPass()![outcome]();
}

describe('the share rejected here', () => {
  // biome-ignore format: aligned rows
  const rows: readonly (readonly [requests: number, accepts: number, k: number, rejectRatio: number])[] = [
    [    1,    0, 2,   1 / 2 ],
    [    1,    1, 2,   0 ],
    [    9,    0, 2,   9 / 10 ],
    [   10,    4, 2,   2 / 11 ],
    [   10,    5, 2,   0 ],         // exactly one of two is accepted
    [   10,    6, 2,   0 ],
    [   99,   33, 2,   33 / 100 ],
    [   99,   33, 1.5, 49.5 / 100 ],
    [   99,   33, 3,   0 ],
    [   99,   98, 1,   1 / 100 ],   // k 1: whatever is not accepted is held back
    [ 2999,    0, 2,   0.99 ],      // 2999 / 3000, but no more than the most
  ];

  it.each(rows)('of %d requests with %d accepted and k %d is %d', (requests, accepts, k, rejectRatio) => {
    const { throttle } = begin({ k, rejectRatioMax: 0.99 });
    make(throttle, 'failed', requests - accepts);
    make(throttle, 'ok', accepts);
    expect(throttle.stats()).toEqual({ requests, accepts, undecided: 0, rejectRatio, refused: 0 });
  });

  it('is the chance of a refusal, and a refused call is a request too', () => {
    const { chance, throttle } = begin();
    make(throttle, 'failed', 3);
    chance.draw = 0.75; // 3 of 4: not below
    expect(throttle.tryPass()).toBeDefined();
    chance.draw = 0.749;
    expect(throttle.tryPass()).toBeUndefined();
    expect(throttle.stats()).toMatchObject({ requests: 5, undecided: 1, rejectRatio: 4 / 5, refused: 1 });
  });

  it('is never more than the most: a share of the calls finds out whether the service is back', () => {
    const { chance, throttle } = begin();
    make(throttle, 'failed', 100);
    expect(throttle.stats().rejectRatio).toBe(0.9);
    chance.draw = 0.9;
    expect(throttle.tryPass()).toBeDefined();
    chance.draw = 0.899;
    expect(throttle.tryPass()).toBeUndefined();
  });

  it('is nothing with fewer than ten requests, unless told otherwise', () => {
    const throttle = adaptiveThrottle({ clock: new TestClock(), random: () => 0 });
    make(throttle, 'failed', 10);
    expect(throttle.tryPass()).toBeUndefined();
    expect(throttle.stats()).toMatchObject({ requests: 11, rejectRatio: 0.9 });
  });
});

describe('the window', () => {
  it('slides: what was counted leaves in the order in which it came, a sixtieth at a time', () => {
    const { clock, throttle } = begin({ window: '1m' });
    const seen: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      make(throttle, 'failed');
      clock.advance(1000);
    }
    for (let second = 0; second < 63; second += 1) {
      seen.push(throttle.stats().requests);
      clock.advance(1000);
    }
    // The first is a minute old, and stays until all of its second has left.
    expect(seen).toEqual([...Array.from({ length: 61 }, (_, second) => 60 - second), 0, 0]);
  });

  it('forgets after two minutes unless told otherwise, and never before', () => {
    const { clock, throttle } = begin();
    clock.set(500);
    make(throttle, 'failed', 5);
    clock.set(120_499);
    expect(throttle.stats().requests).toBe(5);
    clock.set(121_999);
    expect(throttle.stats().requests).toBe(5);
    clock.set(122_000);
    expect(throttle.stats().requests).toBe(0);
  });

  it('goes on after a clock that was set back by an hour, and counts nothing twice', () => {
    const { clock, throttle } = begin();
    clock.set(3_600_000);
    make(throttle, 'failed', 5);
    clock.set(0);
    make(throttle, 'ok', 2);
    expect(throttle.stats()).toMatchObject({ requests: 7, accepts: 2 });
    clock.advance(122_000);
    expect(throttle.stats()).toMatchObject({ requests: 0, accepts: 0 });
  });

  it('is empty after any silence', () => {
    const { clock, throttle } = begin();
    for (const silenceMs of [130_000, 1e6, 1e9, 1e12]) {
      make(throttle, 'failed', 5);
      clock.advance(silenceMs);
      expect(throttle.stats()).toMatchObject({ requests: 0, rejectRatio: 0 });
    }
  });
});

describe('a call under way', () => {
  it('is undecided at first: a hundred at once do not hold each other against the service', () => {
    const { chance, clock, throttle } = begin();
    chance.draw = 0;
    const passes = Array.from({ length: 100 }, () => throttle.tryPass());
    expect(passes).not.toContain(undefined);
    expect(throttle.stats()).toEqual({ requests: 100, accepts: 0, undecided: 100, rejectRatio: 0, refused: 0 });
    clock.advance(999);
    expect(throttle.stats().rejectRatio).toBe(0);
    for (const pass of passes) pass!.ok();
    expect(throttle.stats()).toMatchObject({ requests: 100, accepts: 100, undecided: 0, rejectRatio: 0 });
  });

  it('counts as not accepted after a second: a service that hangs is noticed before its calls time out', () => {
    const { clock, throttle } = begin();
    const passes = Array.from({ length: 9 }, () => throttle.tryPass()!);
    clock.advance(1000);
    expect(throttle.stats()).toMatchObject({ requests: 9, undecided: 0, rejectRatio: 0.9 });
    // And as accepted, once it was: still as one request.
    for (const pass of passes) pass.ok();
    expect(throttle.stats()).toMatchObject({ requests: 9, accepts: 9, rejectRatio: 0 });
  });

  it('counts from the start where it is given no time', () => {
    const { throttle } = begin({ answerWithin: 0, rejectRatioMax: 0.99 });
    const ratios = [0, 1, 2, 3].map(() => {
      const { rejectRatio } = throttle.stats();
      throttle.tryPass();
      return rejectRatio;
    });
    expect(ratios).toEqual([0, 1 / 2, 2 / 3, 3 / 4]);
  });

  it('that took longer than the window counts when it ends, as a request that was accepted', () => {
    const { clock, throttle } = begin();
    const slow = throttle.tryPass()!;
    clock.advance(300_000);
    expect(throttle.stats()).toMatchObject({ requests: 0, undecided: 0 });
    slow.ok();
    expect(throttle.stats()).toMatchObject({ requests: 1, accepts: 1 });
  });

  it('that took as long as the window does not leave its accept behind when its request leaves', () => {
    const { clock, throttle } = begin({ answerWithin: 0 });
    const passes = Array.from({ length: 10 }, () => throttle.tryPass()!);
    clock.set(121_000);
    for (const pass of passes) pass.ok();
    clock.set(125_000);
    // The attempts were more than a window ago.
    expect(throttle.stats()).toMatchObject({ requests: 10, accepts: 10 });
  });

  it('of long calls, all accepted, none is rejected: at k 2 those that have ended make up for those that have not', () => {
    const { chance, clock, throttle } = begin({ minRequests: 400 });
    chance.draw = 0;
    const out: NonNullable<ReturnType<AdaptiveThrottle['tryPass']>>[] = [];
    // One a second, each for three minutes.
    for (let second = 0; second < 1200; second += 1) {
      out.push(throttle.tryPass()!);
      if (second >= 180) out.shift()!.ok();
      clock.advance(1000);
      const { requests, accepts, rejectRatio } = throttle.stats();
      if (second >= 420) expect([requests - 2 * accepts <= 2, rejectRatio]).toEqual([true, 0]);
    }
  });

  it('that is ignored never was', () => {
    const { clock, throttle } = begin();
    const [young, old, ancient] = [throttle.tryPass()!, throttle.tryPass()!, throttle.tryPass()!];
    young.ignored();
    expect(throttle.stats().requests).toBe(2);
    clock.advance(5000);
    old.ignored();
    expect(throttle.stats().requests).toBe(1);
    clock.advance(500_000);
    ancient.ignored();
    make(throttle, 'ignored', 5);
    expect(throttle.stats()).toEqual({ requests: 0, accepts: 0, undecided: 0, rejectRatio: 0, refused: 0 });
  });

  it('ends once, by the first that is said of it', () => {
    const { throttle } = begin();
    const pass = throttle.tryPass()!;
    pass.failed();
    pass.ok();
    pass.ignored();
    expect(throttle.stats()).toMatchObject({ requests: 1, accepts: 0 });
  });
});

describe('run', () => {
  const fail = () => Promise.reject(new Error('down'));

  it('returns what the function returns, and rethrows what it throws', async () => {
    const { throttle } = begin();
    expect(await throttle.run(() => 7)).toBe(7);
    await expect(throttle.run(fail)).rejects.toThrow('down');
    expect(throttle.stats()).toMatchObject({ requests: 2, accepts: 1 });
  });

  it('throws throttled without calling', async () => {
    const { chance, throttle } = begin({ name: 'billing' });
    make(throttle, 'failed', 3);
    chance.draw = 0;
    const refused = await throttle.run(() => expect.fail('was called')).catch((error) => error);
    expect(refused).toBeInstanceOf(SluiceError);
    expect(refused).toMatchObject({
      code: 'throttled',
      message: 'The adaptive throttle "billing" did not make the call: of 4 calls the service accepted 0.',
    });
  });

  it('lets the caller say what the service rejected and what says nothing', async () => {
    const { throttle } = begin({
      isRejection: (ended) => 'value' in ended && ended.value === 429,
      isIgnored: (ended) => 'value' in ended && ended.value === 304,
    });
    for (const status of [200, 429, 304]) await throttle.run(() => status);
    await throttle.run(fail).catch(() => {});
    // A bug of the caller's own, or an answer such as "not found": the service did accept the call.
    expect(throttle.stats()).toMatchObject({ requests: 3, accepts: 2 });
  });

  it('does not count what says nothing about the service: aborted, or not let through further in', async () => {
    const { throttle } = begin();
    const stop = new AbortController();
    const aborted = throttle.run(
      (signal) => new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason))),
      { signal: stop.signal },
    );
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await expect(throttle.run(() => 1, { signal: stop.signal })).rejects.toThrow('enough');
    const full = bulkhead({ limit: 1 });
    full.tryPass();
    await expect(throttle.run(() => full.run(() => 1))).rejects.toMatchObject({ code: 'bulkhead-full' });
    expect(throttle.stats().requests).toBe(0);
    // A time-out further in is what the service is answerable for.
    await expect(throttle.run(() => Promise.reject(new SluiceError('timed-out', 'too slow')))).rejects.toMatchObject({
      code: 'timed-out',
    });
    expect(throttle.stats().requests).toBe(1);
  });

  it('a classifier that throws leaves no call behind', async () => {
    const { throttle } = begin({
      isRejection: () => {
        throw new Error('mistaken classifier');
      },
    });
    await expect(throttle.run(() => 1)).rejects.toThrow('mistaken classifier');
    expect(throttle.stats()).toMatchObject({ requests: 0, undecided: 0 });
  });
});

describe('events', () => {
  it('tell of refusals and ends', () => {
    const { chance, clock, throttle } = begin();
    const told: unknown[] = [];
    throttle.on('refused', (event) => told.push(['refused', event]));
    const leave = throttle.on('ended', (event) => told.push(['ended', event]));
    const pass = throttle.tryPass()!;
    clock.advance(30);
    pass.failed();
    chance.draw = 0.4;
    throttle.tryPass();
    leave();
    chance.draw = 0.999;
    make(throttle, 'ok');
    expect(told).toEqual([
      ['ended', { outcome: 'failed', durationMs: 30 }],
      ['refused', { rejectRatio: 0.5 }],
    ]);
    expect(() => throttle.on('rejected' as 'refused', () => {})).toThrow('event must be one of refused, ended');
  });

  it('a listener may act on it', () => {
    const { throttle } = begin();
    let again = true;
    throttle.on('ended', () => {
      if (again) {
        again = false;
        make(throttle, 'ok');
      }
    });
    make(throttle, 'failed');
    expect(throttle.stats()).toMatchObject({ requests: 2, accepts: 1 });
  });
});

describe('wrong options', () => {
  it.each([
    [{ K: 2 }, 'adaptiveThrottle options has no field "K"'],
    [{ k: 0.9 }, 'k must be a number of 1 or more, got 0.9'],
    [{ k: Number.NaN }, 'k must be a number of 1 or more'],
    [{ k: Number.POSITIVE_INFINITY }, 'k must be a number of 1 or more'],
    [{ k: '2' }, 'k must be a number of 1 or more'],
    [{ window: 0 }, 'window must be a time above 0'],
    [{ window: 0.5 }, 'window must be at least 1 ms, got 0.5'],
    [{ rejectRatioMax: 1 }, 'rejectRatioMax must be above 0 and below 1, got 1'],
    [{ rejectRatioMax: 0 }, 'rejectRatioMax must be above 0 and below 1, got 0'],
    [{ minRequests: 0 }, 'minRequests must be a whole number from 1'],
    [{ answerWithin: -1 }, 'answerWithin must be a time above 0'],
    [{ isRejection: true }, 'isRejection must be a function'],
    [{ isIgnored: 'no' }, 'isIgnored must be a function'],
    [{ random: 0.5 }, 'random must be a function'],
    [{ name: 5 }, 'name must be a string, got 5'],
    [{ clock: Date }, 'clock must be an object with now() and sleep()'],
  ])('%j are refused', (options, message) => {
    expect(() => adaptiveThrottle(options as AdaptiveThrottleOptions)).toThrow(message);
  });
});
