import { Headers as UndiciHeaders } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { bulkhead } from '../bulkhead/bulkhead.ts';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import type { HeaderSource } from '../rate-limit-headers/header-lines.ts';
import { wrap } from '../wrap/wrap.ts';
import { type PacedCall, type PacerOptions, pacer } from './pacer.ts';

/** The headers of drafts 8 to 11. */
const left = (remaining: number, seconds: number, limit = 10, window = 10) => ({
  'RateLimit-Policy': `"p";q=${limit};w=${window}`,
  RateLimit: `"p";r=${remaining};t=${seconds}`,
});

function begin(options: PacerOptions = {}) {
  const clock = new PassingClock(1_750_000_000_000);
  const pace = pacer({ clock, random: () => 0, ...options });
  const startMs = clock.now();
  /** When it was let go, or the code or the reason of why it was not; `undefined` while it waits. */
  function wait(key = 'k', signal?: AbortSignal) {
    const state: { atMs?: number; error?: unknown; call?: PacedCall } = {};
    pace.ready(key, { signal }).then(
      (call) => {
        state.atMs = clock.now() - startMs;
        state.call = call;
      },
      (error) => {
        state.error = error instanceof SluiceError ? error.code : error;
      },
    );
    return state;
  }
  async function send(headers: object = {}, status = 200, key = 'k') {
    const call = await pace.ready(key);
    call.answered(headers as Record<string, string>, status);
    return call;
  }
  return { clock, pace, wait, send };
}

describe('what the headers say decides how long the next call waits', () => {
  // biome-ignore format: aligned rows
  it.each<[string, object, number, number]>([
    // what it says                           headers                            status  delay
    [ 'nothing',                              {},                                   200,     0 ],
    [ 'plenty is left',                       left(9, 10),                          200,     0 ],
    [ 'half is left, which is still plenty',  left(5, 10),                          200,     0 ],
    [ 'less than half is left',               left(4, 10),                          200,  2000 ],  // 4 in 10 s: one in every fifth
    [ 'one is left',                          left(1, 10),                          200,  5000 ],
    [ 'nothing is left',                      left(0, 10),                          200, 10_000 ],
    [ 'nothing is left, in another dialect',  { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1750000007' }, 200, 7000 ],
    [ 'nothing is left, and no end',          { RateLimit: '"p";r=0' },             200,     0 ],
    [ 'nothing is left, in a known window',   { 'ratelimit-limit': '10;w=6', 'ratelimit-remaining': '0;w=6' }, 200, 6000 ],
    [ 'two limits: the slower one counts',    { RateLimit: '"a";r=4;t=10;q=10, "b";r=1;t=20;q=10' }, 200, 10_000 ],
    [ 'no places in flight are left',         { 'RateLimit-Policy': '"p";q=9;qu="concurrent-requests"', RateLimit: '"p";r=0;t=5' }, 200, 0 ],
    [ 'few tokens are left, of many a call',  { 'x-ratelimit-remaining-tokens': '3', 'x-ratelimit-limit-tokens': '90', 'x-ratelimit-reset-tokens': '6s' }, 200, 0 ],
    [ 'no tokens are left',                   { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-limit-tokens': '90', 'x-ratelimit-reset-tokens': '6s' }, 200, 6000 ],
    [ 'each call costs 4 of what is left',    { 'RateLimit-Policy': '"p";q=100;w=10', RateLimit: '"p";a=4;w=10;c=4' }, 200, 5000 ],
    [ 'refused, come back later',             { 'Retry-After': '7' },               429,  7000 ],
    [ 'overloaded, come back later',          { 'Retry-After': '7' },               503,  7000 ],
    [ 'accepted, look again later',           { 'Retry-After': '7' },               202,     0 ],  // of that resource, not of the server
    [ 'Retry-After is later than the limit',  { ...left(0, 5), 'Retry-After': '7' }, 429, 7000 ],
    [ 'from a cache',                         { ...left(0, 5), Age: '3' },          200,     0 ],
    [ 'nonsense',                             { RateLimit: '"p";r=x', 'Retry-After': 'soon' }, 429, 0 ],
  ])('%s', async (_, headers, status, delayMs) => {
    const { pace, send, wait, clock } = begin();
    await send(headers, status);
    expect(pace.delayMs('k')).toBe(delayMs);
    expect(pace.delayMs('other')).toBe(0);
    const next = wait();
    await clock.pass(delayMs - 1);
    expect(next.atMs).toBe(delayMs === 0 ? 0 : undefined);
    await clock.pass(1);
    expect(next.atMs).toBe(delayMs);
    expect(next.call?.delayedMs).toBe(delayMs);
  });

  it('spreads what is left over the time it has to do for', async () => {
    const { clock, wait, send } = begin();
    await send(left(4, 10));
    const waiters = Array.from({ length: 4 }, () => wait());
    await clock.pass(10_000);
    expect(waiters.map(({ atMs }) => Math.round(atMs!))).toEqual([2000, 4000, 6000, 8000]);
  });

  it('counts calls under way as made', async () => {
    const { pace } = begin();
    const [first] = await Promise.all([pace.ready('k'), pace.ready('k'), pace.ready('k')]);
    first.answered(left(2, 10), 200);
    expect(pace.delayMs('k')).toBe(10_000);
  });

  it('a call without an answer may have been counted, one that was not made was not', async () => {
    const { pace } = begin({ startBelow: 0 });
    const calls = await Promise.all(Array.from({ length: 3 }, () => pace.ready('k')));
    calls[0]!.answered(left(2, 10), 200);
    calls[1]!.unanswered();
    expect(pace.delayMs('k')).toBe(10_000);
    calls[2]!.notMade();
    expect(pace.delayMs('k')).toBe(0);
  });

  it('an answer that says nothing does not undo what an earlier one said', async () => {
    const { pace, send } = begin({ startBelow: 0 });
    await send(left(3, 10));
    await send();
    await send();
    expect(pace.delayMs('k')).toBe(0);
    await send();
    expect(pace.delayMs('k')).toBe(10_000);
  });

  it('of calls that were under way at once, the worst news counts, whichever comes last', async () => {
    const { pace } = begin({ startBelow: 0 });
    const [first, second] = await Promise.all([pace.ready('k'), pace.ready('k')]);
    // The server counted the second before the first.
    first.answered(left(0, 10), 200);
    second.answered(left(1, 10), 200);
    expect(pace.delayMs('k')).toBe(10_000);
  });

  it('learns from responses that were not waited for', () => {
    const { pace } = begin();
    pace.learn('k', new Response(null, { status: 429, headers: { 'Retry-After': '3' } }));
    expect(pace.delayMs('k')).toBe(3000);
    pace.learn('other', left(1, 10));
    expect(pace.delayMs('other')).toBe(0); // the first call may go, whoever it is
  });

  it('what is said twice about the end of a call counts once', async () => {
    const { pace } = begin({ startBelow: 0 });
    const call = await pace.ready('k');
    call.answered(left(1, 10), 200);
    call.unanswered();
    call.answered(left(0, 10), 200);
    expect(pace.delayMs('k')).toBe(0);
  });
});

describe('a call that was not made after all', () => {
  it('gives its turn to the next one', async () => {
    const { clock, pace, send, wait } = begin();
    await send(left(4, 60, 10, 60));
    const [refused, next] = [wait(), wait()];
    await clock.pass(12_000);
    expect([refused.atMs, next.atMs]).toEqual([12_000, undefined]);
    refused.call!.notMade();
    expect(pace.delayMs('k')).toBe(12_000); // behind the one that is about to go
    await turn();
    expect(next.atMs).toBe(12_000);
  });

  it('leaves no trace, in whichever order several are given back', async () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      const { clock, pace, send, wait } = begin({ maxDelay: '1m' });
      await send(left(4, 60, 10, 60));
      const calls = [wait(), wait(), wait()];
      await clock.pass(36_000);
      expect(pace.delayMs('k')).toBe(12_000);
      for (const i of order) calls[i]!.call!.notMade();
      expect(pace.delayMs('k')).toBe(0);
      pace.learn('k', left(4, 24, 10, 60));
      // The last that was made was at 0: one every fifth of a minute.
      expect(pace.delayMs('k')).toBe(0);
    }
  });

  it('counts in the spacing as long as it is under way, and then only if it was made', async () => {
    const { clock, pace, send } = begin();
    await send(left(4, 60, 10, 60));
    await clock.pass(20_000);
    const [early] = [await pace.ready('k')];
    await clock.pass(10_000);
    const late = await pace.ready('k');
    expect(pace.delayMs('k')).toBe(10_000); // two are left of half a minute
    early.unanswered();
    late.notMade();
    expect(pace.delayMs('k')).toBe(0); // three of what was left at 20 s: the next was due at 30 s
  });
});

describe('a header that is wrong, or meant otherwise', () => {
  const dayMs = 86_400_000;

  // biome-ignore format: aligned rows
  it.each<[string, object, number]>([
    // what it says                          headers                                                                  status
    [ 'nothing is left for 31 million years', { RateLimit: '"x";r=0;t=999999999999999' },                               200 ],
    [ 'little is left for as long',           { RateLimit: '"x";r=1;t=999999999999999', 'RateLimit-Policy': '"x";q=9' }, 200 ],
    [ 'milliseconds, read as seconds',        { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '60000' },           200 ],
    [ 'come back in 31 years',                { 'Retry-After': '1000000000' },                                          429 ],
    [ 'come back in the year 9999',           { 'Retry-After': 'Fri, 31 Dec 9999 23:59:59 GMT' },                       503 ],
  ])('keeps nobody waiting for longer than maxBlock: %s', async (_, headers, status) => {
    const { clock, pace, send, wait } = begin();
    await send(headers, status);
    expect(pace.delayMs('k')).toBe(3_600_000);
    await clock.pass(3_599_000);
    const waiters = [wait(), wait(), wait()];
    await clock.pass(1000);
    // One finds out.
    expect(waiters.map(({ atMs }) => atMs)).toEqual([3_600_000, undefined, undefined]);
    waiters[0]!.call!.answered({}, 200);
    await turn();
    expect(waiters.map(({ atMs }) => atMs)).toEqual([3_600_000, 3_600_000, 3_600_000]);
    expect(pace.delayMs('k')).toBe(0);
  });

  it('is believed again where the server says it again', async () => {
    const { clock, pace, send } = begin({ maxBlock: '1m' });
    await send(left(0, 86_400));
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.pass(59_999);
      expect(pace.delayMs('k')).toBe(1);
      await clock.pass(1);
      await send(left(0, 86_400));
      expect(pace.delayMs('k')).toBe(60_000);
    }
  });

  it('does not make all come back at once', async () => {
    const { pace, send } = begin({ random: () => 0.5 });
    await send({ 'Retry-After': '1000000000' }, 429);
    expect(pace.delayMs('k')).toBe(3_600_000 * 1.125);
  });

  it('does not change how what is left is spread, as long as it is believed', async () => {
    const { pace, send } = begin({ maxBlock: '1h' });
    await send(left(99, 86_400, 1000, 86_400));
    expect(pace.delayMs('k')).toBe(dayMs / 100);
  });

  it('and counts that are, do not make a limit seem shared for ever', async () => {
    const { clock, pace, send } = begin({ startBelow: 0, random: () => 0.5 });
    await send({ RateLimit: '"p";r=999999999999999;t=10;q=100' });
    await send({ RateLimit: '"p";r=90;t=10;q=100' });
    for (let i = 0; i < 40; i += 1) {
      await clock.pass(10_000);
      await send({ RateLimit: '"p";r=90;t=10;q=100' });
      await send({ RateLimit: '"p";r=89;t=10;q=100' });
    }
    expect(pace.delayMs('k')).toBe(0);
  });

  it('can be read as it was meant', async () => {
    const { pace, send } = begin({ reset: 'milliseconds' });
    await send({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '60000' });
    expect(pace.delayMs('k')).toBe(60_000);
  });

  it('can be forgotten, and those who wait go', async () => {
    const { pace, send, wait, clock } = begin();
    await send({ ...left(0, 20), 'Retry-After': '20' }, 429);
    const waiters = [wait(), wait()];
    await turn();
    pace.forget('other');
    await turn();
    expect(waiters.map(({ atMs }) => atMs)).toEqual([undefined, undefined]);
    pace.forget('k');
    expect(pace.delayMs('k')).toBe(0);
    await turn();
    expect(waiters.map(({ atMs }) => atMs)).toEqual([0, 0]);
    expect([pace.stats().waiting, clock.sleeping]).toEqual([0, 0]);
    // What is said from now on counts again, also in answer to a call from before.
    waiters[0]!.call!.answered(left(0, 7), 200);
    expect(pace.delayMs('k')).toBe(7000);
  });
});

describe('when the time is over', () => {
  it('one call finds out, and the others wait for its answer', async () => {
    const { clock, wait, send } = begin();
    await send(left(0, 10));
    const waiters = Array.from({ length: 4 }, () => wait());
    await clock.pass(10_000);
    expect(waiters.map(({ atMs }) => atMs)).toEqual([10_000, undefined, undefined, undefined]);
    waiters[0]!.call!.answered(left(9, 10), 200);
    await turn();
    expect(waiters.map(({ atMs }) => atMs)).toEqual([10_000, 10_000, 10_000, 10_000]);
  });

  it('who finds out is not waited for longer than a second', async () => {
    const { clock, wait, send } = begin();
    await send(left(0, 10));
    const waiters = Array.from({ length: 3 }, () => wait());
    await clock.pass(12_000);
    expect(waiters.map(({ atMs }) => atMs)).toEqual([10_000, 11_000, 12_000]);
  });

  it('who has no answer has found out nothing: the next one goes', async () => {
    const { clock, wait, send } = begin();
    await send(left(0, 10));
    const waiters = Array.from({ length: 3 }, () => wait());
    await clock.pass(10_000);
    waiters[0]!.call!.unanswered();
    await turn();
    expect(waiters.map(({ atMs }) => atMs)).toEqual([10_000, 10_000, undefined]);
  });

  it('nobody has to find out where plenty was left', async () => {
    const { clock, wait, send } = begin();
    await send(left(9, 1));
    await clock.pass(1000);
    const waiters = Array.from({ length: 5 }, () => wait());
    await turn();
    expect(waiters.every(({ atMs }) => atMs === 1000)).toBe(true);
  });

  it('not more than the limit is under way before there is an answer', async () => {
    const { clock, wait, send } = begin();
    await send(left(9, 1));
    await clock.pass(1000);
    const waiters = Array.from({ length: 15 }, () => wait());
    await turn();
    expect(waiters.filter(({ atMs }) => atMs === 1000)).toHaveLength(10);
  });

  it('after Retry-After not all come back at once', async () => {
    const random = [0, 0.5, 0.999];
    const delays: number[] = [];
    for (const chance of random) {
      const { pace, send } = begin({ random: () => chance });
      await send({ 'Retry-After': '8' }, 429);
      delays.push(pace.delayMs('k'));
    }
    expect(delays).toEqual([8000, 9000, 9998]);
  });

  it('news wakes those who wait', async () => {
    const { clock, pace, wait, send } = begin();
    await send(left(4, 10));
    const [early, late] = [wait(), wait()];
    await clock.pass(1000);
    pace.learn('k', { 'Retry-After': '20' }, 503);
    await clock.pass(19_999);
    expect([early.atMs, late.atMs]).toEqual([undefined, undefined]);
    await clock.pass(1);
    expect([early.atMs, late.atMs]).toEqual([21_000, undefined]);
    early.call!.answered(left(9, 10), 200);
    await turn();
    expect(late.atMs).toBe(21_000);
  });
});

describe('a wait', () => {
  it('is first come, first served, and each key has its own', async () => {
    const { clock, wait, send } = begin();
    await send(left(2, 9));
    const order: string[] = [];
    const names = ['a', 'b', 'c'];
    const waiters = names.map(() => wait());
    const other = wait('other');
    await turn();
    expect(other.atMs).toBe(0);
    for (let second = 0; second < 20; second += 1) {
      await clock.pass(1000);
      for (const [i, { atMs }] of waiters.entries())
        if (atMs !== undefined && !order.includes(names[i]!)) order.push(names[i]!);
    }
    expect(order).toEqual(names);
  });

  it('that would be too long is not begun', async () => {
    const { wait, send, pace } = begin({ maxDelay: '5s' });
    const refused: unknown[] = [];
    pace.on('refused', (event) => refused.push(event));
    await send({ 'Retry-After': '3600' }, 429);
    const waiter = wait();
    await turn();
    expect(waiter.error).toBe('throttled');
    expect(refused).toEqual([{ key: 'k', delayMs: 3_600_000, reason: 'max-delay' }]);
    await expect(pace.ready('k')).rejects.toThrow(
      "The call was not made: the server's limits allow one in 3600000 ms, and no call waits for more than 5000 ms.",
    );
  });

  it('that would be too long because of others in line is not begun either', async () => {
    const { clock, pace, send, wait } = begin();
    const refused: unknown[] = [];
    pace.on('refused', (event) => refused.push(event));
    await send(left(4, 60, 10, 60));
    const waiters = Array.from({ length: 6 }, () => wait());
    await turn();
    // One every twelve seconds, and nobody waits for longer than thirty.
    expect(waiters.map(({ error }) => error)).toEqual([undefined, undefined, ...Array(4).fill('throttled')]);
    expect(refused).toEqual(Array(4).fill({ key: 'k', delayMs: 36_000, reason: 'max-delay' }));
    expect(pace.delayMs('k')).toBe(36_000);
    await clock.pass(24_000);
    expect(waiters.map(({ atMs }) => atMs)).toEqual([12_000, 24_000, ...Array(4).fill(undefined)]);
  });

  // biome-ignore format: aligned rows
  it.each<[string, object, number, number[]]>([
    // what the server says                                  headers                    in line  waits in seconds, each behind all before
    [ 'little left: spread',                                 left(4, 60, 10, 60),             6, [12, 24, 36, 48, 60, 60] ],
    [ 'plenty left: the first go at once',                   left(7, 60, 10, 60),             3, [12, 24, 36] ],
    [ 'one left: the rest at the end, as many as there are', left(1, 60, 4, 60),              7, [30, 60, 60, 60, 60, 119, 119] ],
    [ 'no window told: nobody knows what comes after the end', { RateLimit: '"p";r=1;t=60;q=3' }, 4, [30, 60, 60, 60] ],
    [ 'a bucket that fills up meanwhile: at least its rate', left(2, 48, 10, 60),             6, [16, 16, 16, 16, 16, 18] ],
    [ 'come back later: all at that time',                   { 'Retry-After': '60' },         3, [60, 60, 60] ],
  ])('is foretold by the place in line: %s', async (_, headers, length, waits) => {
    const { pace, send, wait } = begin({ maxDelay: '1d' });
    await send(headers, 429);
    const foretold: number[] = [];
    // Those who go at once are not in line.
    while (pace.delayMs('k') === 0) await pace.ready('k');
    for (let i = 0; i < length; i += 1) {
      foretold.push(Math.round(pace.delayMs('k') / 1000));
      wait();
    }
    expect(foretold).toEqual(waits);
  });

  it('that becomes too long is ended', async () => {
    const { clock, wait, send, pace } = begin({ maxDelay: '15s' });
    await send(left(0, 10));
    const [first, second] = [wait(), wait()];
    await clock.pass(4000);
    pace.learn('k', { 'Retry-After': '12' }, 429);
    await turn();
    expect([first.error, second.error]).toEqual(['throttled', 'throttled']);
    expect(pace.stats().waiting).toBe(0);
    expect(clock.sleeping).toBe(0);
  });

  it('that would be too long may be passed over instead', async () => {
    const { wait, send } = begin({ maxDelay: '5s', whenTooLong: 'pass' });
    await send({ 'Retry-After': '3600' }, 429);
    const waiter = wait();
    await turn();
    expect(waiter.atMs).toBe(0);
  });

  it('is for so many only', async () => {
    const { wait, send, pace } = begin({ maxWaiters: 2 });
    await send(left(0, 10));
    const waiters = [wait(), wait(), wait(), wait()];
    await turn();
    expect(waiters.map(({ error }) => error)).toEqual([undefined, undefined, 'bulkhead-full', 'bulkhead-full']);
    expect(pace.stats()).toEqual({ keys: 1, waiting: 2 });
  });

  it('ends with the reason of the signal, and leaves nothing behind', async () => {
    const { clock, wait, send, pace } = begin();
    await send(left(0, 10));
    const [gone, stays] = [new AbortController(), new AbortController()];
    const waiters = [wait('k', gone.signal), wait('k', stays.signal)];
    await clock.pass(1000);
    gone.abort('enough');
    await turn();
    expect(waiters[0]!.error).toBe('enough');
    expect([pace.stats().waiting, clock.sleeping]).toEqual([1, 1]);
    stays.abort('enough too');
    await turn();
    expect([pace.stats().waiting, clock.sleeping]).toEqual([0, 0]);
    await expect(pace.ready('k', { signal: gone.signal })).rejects.toBe('enough');
  });

  it('goes on for as long as it was to, when the clock steps back', async () => {
    const { clock, pace, send } = begin();
    await send(left(0, 10));
    clock.set(clock.now() - 3_600_000);
    expect(pace.delayMs('k')).toBe(10_000);
  });

  it('ends with the failure of a clock that cannot be read, and the next one waits again', async () => {
    const inner = new PassingClock(1_750_000_000_000);
    let isBroken = false;
    const clock: Clock = {
      now() {
        if (isBroken) throw new Error('no time');
        return inner.now();
      },
      sleep: (ms, signal) => inner.sleep(ms, signal),
    };
    const pace = pacer({ clock, random: () => 0 });
    pace.learn('k', { 'Retry-After': '7' }, 429);
    const waiters = Promise.allSettled([pace.ready('k'), pace.ready('k')]);
    await inner.pass(6999);
    isBroken = true;
    await inner.pass(1);
    await expect(waiters).resolves.toMatchObject([
      { reason: { message: 'no time' } },
      { reason: { message: 'no time' } },
    ]);
    expect(pace.stats().waiting).toBe(0);
    isBroken = false;
    pace.learn('k', { 'Retry-After': '7' }, 429);
    const next = pace.ready('k');
    await inner.pass(7000);
    await expect(next).resolves.toMatchObject({ delayedMs: 7000 });
  });

  it('ends with the failure of a clock that cannot sleep', async () => {
    const inner = new TestClock(1_750_000_000_000);
    const clock: Clock = { now: () => inner.now(), sleep: () => Promise.reject(new Error('no timers')) };
    const pace = pacer({ clock });
    pace.learn('k', { 'Retry-After': '7' }, 429);
    await expect(Promise.allSettled([pace.ready('k'), pace.ready('k')])).resolves.toMatchObject([
      { reason: { message: 'no timers' } },
      { reason: { message: 'no timers' } },
    ]);
    expect(pace.stats().waiting).toBe(0);
  });
});

describe('run', () => {
  it('waits, calls, and learns from what comes back', async () => {
    const { clock, pace } = begin();
    const response = new Response(null, { headers: left(0, 10) });
    expect(await pace.run('k', () => response)).toBe(response);
    const second = pace.run('k', () => clock.now());
    await clock.pass(10_000);
    expect(await second).toBe(1_750_000_010_000);
  });

  it("reads headers, and leaves alone what is the caller's own", async () => {
    function* items(): Generator<string> {
      yield 'Retry-After';
      yield '60';
    }
    const { pace } = begin();
    const generator = await pace.run('k', () => items());
    expect([...generator]).toEqual(['Retry-After', '60']);
    const headers = items();
    await pace.run('k', () => ({ headers }));
    expect([...headers]).toEqual(['Retry-After', '60']);
    // Data that looks like headers, and lists that look like raw ones.
    await pace.run('k', () => ({ 'Retry-After': '60' }));
    await pace.run('k', () => ['Retry-After', '60']);
    for (const value of [undefined, null, 7, 'Retry-After: 60', () => 60, { headers: null }, { headers: 'x' }])
      expect(await pace.run('k', () => value)).toBe(value);
    expect(pace.delayMs('k')).toBe(0);
  });

  it.each<[string, () => unknown]>([
    ['a Response', () => new Response(null, { status: 429, headers: { 'Retry-After': '60' } })],
    ['Headers', () => new Headers({ 'Retry-After': '60' })],
    ["undici's own Headers", () => new UndiciHeaders({ 'Retry-After': '60' })],
    ['a message of Node', () => ({ statusCode: 429, headers: { 'retry-after': '60' } })],
    ['a response whose headers are raw', () => ({ status: 503, headers: ['Retry-After', '60'] })],
  ])('reads %s', async (_, answer) => {
    const { pace } = begin();
    await pace.run('k', answer);
    expect(pace.delayMs('k')).toBe(60_000);
  });

  it('does not fail a call because of what it answered with', async () => {
    const fail = () => {
      throw new Error('do not look');
    };
    const values = [
      Object.defineProperty({}, 'headers', { get: fail }),
      { headers: Object.defineProperty({}, 'retry-after', { get: fail, enumerable: true }) },
      Object.defineProperty({ headers: {} }, 'status', { get: fail }),
      { headers: { [Symbol.iterator]: fail } },
      new Proxy({}, { get: fail, has: fail, ownKeys: fail }),
    ];
    const { pace } = begin({ startBelow: 0 });
    await pace.run('k', () => new Response(null, { headers: left(5, 10) }));
    // A proxy that throws at everything cannot be the answer of an async function: that looks for `then`.
    for (const value of values.slice(0, 4)) expect(await pace.run('k', () => value)).toBe(value);
    const call = await pace.ready('k');
    expect(() => call.answered(values[4] as HeaderSource)).not.toThrow();
    // Five were made, and none of them is under way any more.
    expect(pace.delayMs('k')).toBe(10_000);
    pace.learn('k', left(1, 10));
    expect(pace.delayMs('k')).toBe(0);
  });

  it('a call that throws has no answer, and one that was not let through was not made', async () => {
    const { pace, clock } = begin({ startBelow: 0 });
    const full = bulkhead({ limit: 1 });
    const place = full.tryPass();
    await pace.run('k', () => new Response(null, { headers: left(1, 10) }));
    await expect(wrap(pace.of('k'), full).run(() => 'never made')).rejects.toMatchObject({ code: 'bulkhead-full' });
    expect(pace.delayMs('k')).toBe(0);
    place?.ok();
    await expect(pace.run('k', () => Promise.reject(new Error('reset')))).rejects.toThrow('reset');
    expect(pace.delayMs('k')).toBe(10_000);
    expect(clock.sleeping).toBe(0);
  });

  it('is not made when the signal was aborted in the turn in which the wait was over', async () => {
    const { clock, pace, send } = begin();
    await send(left(0, 10));
    const given = new AbortController();
    let isMade = false;
    const ended = pace.run(
      'k',
      () => {
        isMade = true;
      },
      { signal: given.signal },
    );
    ended.catch(() => undefined);
    await turn();
    clock.advance(10_000);
    queueMicrotask(() => given.abort('too late'));
    await expect(ended).rejects.toBe('too late');
    expect(isMade).toBe(false);
  });
});

describe('the default clock', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('stands still while a laptop sleeps: dates are compared with the wall clock', () => {
    const wallMs = Date.now() + 3 * 86_400_000;
    vi.spyOn(Date, 'now').mockReturnValue(wallMs);
    const pace = pacer({ random: () => 0 });
    pace.learn('k', { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(Math.floor(wallMs / 1000) + 60) });
    expect(pace.delayMs('k')).toBeGreaterThan(58_000);
    expect(pace.delayMs('k')).toBeLessThanOrEqual(60_000);
  });
});

describe('keys', () => {
  it('are bounded: those that nothing is known of leave first', async () => {
    const { pace, send } = begin({ maxKeys: 3 });
    await send(left(0, 10), 200, 'limited');
    for (let i = 0; i < 50; i += 1) await send({}, 200, `key-${i}`);
    expect(pace.stats().keys).toBe(3);
    expect(pace.delayMs('limited')).toBe(10_000);
  });

  it('have so many limits only, and old ones make room', async () => {
    const { clock, pace, send } = begin({ startBelow: 0 });
    for (let i = 0; i < 16; i += 1) await send({ RateLimit: `"p${i}";r=99;t=5` });
    await send({ RateLimit: '"one-too-many";r=0;t=50' });
    expect(pace.delayMs('k')).toBe(0);
    await clock.pass(5000);
    await send({ RateLimit: '"one-too-many";r=0;t=50' });
    expect(pace.delayMs('k')).toBe(50_000);
  });
});

describe('events and options', () => {
  it('tells who was delayed, and who asked for it', async () => {
    const { clock, pace, send, wait } = begin();
    const told: unknown[] = [];
    pace.on('blocked', (event) => told.push(event));
    const stop = pace.on('delayed', (event) => told.push(event));
    await send({ 'Retry-After': '2' }, 429);
    wait();
    await clock.pass(2000);
    expect(told).toEqual([
      { key: 'k', retryAfterMs: 2000 },
      { key: 'k', delayMs: 2000 },
    ]);
    stop();
    expect(() => pace.on('nothing' as never, () => undefined)).toThrow(
      'event must be one of delayed, blocked, refused',
    );
  });

  // biome-ignore format: aligned rows
  it.each<[object, string]>([
    [ { startBelow: 2 },           'startBelow must be a number from 0 to 1, got 2.' ],
    [ { startBelow: Number.NaN },  'startBelow must be a number from 0 to 1' ],
    [ { maxDelay: 0 },             'maxDelay must be a time above 0, got 0.' ],
    [ { maxBlock: 0 },             'maxBlock must be a time above 0, got 0.' ],
    [ { reset: 'days' },           'reset must be one of "seconds", "milliseconds", "epoch-seconds", "epoch-milliseconds"' ],
    [ { whenTooLong: 'wait' },     'whenTooLong must be one of "throw", "pass", got "wait".' ],
    [ { jitter: -1 },              'jitter must be a number from 0 to 1, got -1.' ],
    [ { maxWaiters: 1.5 },         'maxWaiters must be a whole number from 0 to 1000000, got 1.5.' ],
    [ { maxKeys: 0 },              'maxKeys must be a whole number from 1 to 1000000, got 0.' ],
    [ { clock: {} },               'clock must be an object with now() and sleep()' ],
    [ { random: 4 },               'random must be a function' ],
    [ { speed: 4 },                'pacer options has no field "speed".' ],
  ])('%j is refused', (options, message) => {
    expect(() => pacer(options as PacerOptions)).toThrow(message);
  });

  it('a key is text', async () => {
    await expect(pacer().ready(7 as never)).rejects.toThrow('key must be a string, got 7.');
  });
});
