import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { type ErrorCode, errorCodes, SluiceError } from '../../vocabulary/errors.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import type { Ended, ProtectedCall } from '../protection.ts';
import { retryBudget } from './budget.ts';
import { type Retry, retry } from './retry.ts';
import type { RetryOptions } from './settings.ts';

/** A call that ends as the list says, one after the other, and knows when it was made. */
function callOf(clock: PassingClock, ends: readonly Ended[]) {
  const madeMs: number[] = [];
  const call: ProtectedCall<unknown> = async () => {
    const ended = ends[Math.min(madeMs.length, ends.length - 1)]!;
    madeMs.push(clock.now());
    if ('error' in ended) throw ended.error;
    return ended.value;
  };
  return { call, madeMs };
}

function eventsOf(retrying: Retry): string[] {
  const events: string[] = [];
  retrying.on('retry', ({ attempt, delayMs }) => events.push(`retry after ${attempt} in ${delayMs}`));
  retrying.on('gave-up', ({ attempt, reason }) => events.push(`gave up after ${attempt}: ${reason}`));
  return events;
}

/** Half of what could be waited, so that the rows are round. */
const half = () => 0.5;

const failed = (message = 'down'): Ended => ({ error: new Error(message) });
const answered = (value: unknown): Ended => ({ value });
const code = (of: ErrorCode): Ended => ({ error: new SluiceError(of, 'so it is') });

async function live(options: RetryOptions, ends: readonly Ended[]) {
  const clock = new PassingClock();
  const retrying = retry({ random: half, clock, ...options });
  const events = eventsOf(retrying);
  const { call, madeMs } = callOf(clock, ends);
  const answer = retrying.run(call).then(
    (value): Ended => ({ value }),
    (error): Ended => ({ error }),
  );
  await clock.pass(3_600_000);
  return { ended: await answer, madeMs, events, clock };
}

interface Case {
  readonly name: string;
  readonly options?: RetryOptions;
  readonly ends: Ended[];
  readonly madeMs: number[];
  readonly events: string[];
}

const is503 = (ended: Ended) => 'value' in ended && ended.value === 503;
const toldMs = (ms: number | undefined) => () => ms;

// biome-ignore format: what is told stays on one line
const cases: Case[] = [
  {
    name: 'a call that succeeds is made once',
    ends: [answered('yes')],
    madeMs: [0],
    events: [],
  },
  {
    name: 'a call that fails is made again, later each time, until it succeeds',
    ends: [failed(), failed(), answered('yes')],
    madeMs: [0, 50, 150],
    events: ['retry after 1 in 50', 'retry after 2 in 100'],
  },
  {
    name: 'three attempts are all, unless told otherwise',
    ends: [failed('first'), failed('second'), failed('third')],
    madeMs: [0, 50, 150],
    events: ['retry after 1 in 50', 'retry after 2 in 100', 'gave up after 3: attempts'],
  },
  {
    name: 'one attempt is no retry',
    options: { attempts: 1 },
    ends: [failed()],
    madeMs: [0],
    events: ['gave up after 1: attempts'],
  },
  {
    name: 'the longest wait grows as told, up to the cap',
    options: { attempts: 5, baseDelay: '1s', growth: 10, maxDelay: '20s' },
    ends: [failed()],
    madeMs: [0, 500, 5500, 15_500, 25_500],
    events: ['retry after 1 in 500', 'retry after 2 in 5000', 'retry after 3 in 10000', 'retry after 4 in 10000', 'gave up after 5: attempts'],
  },
  {
    name: 'a value may be worth another attempt too',
    options: { isRetryable: is503 },
    ends: [answered(503), answered(200)],
    madeMs: [0, 50],
    events: ['retry after 1 in 50'],
  },
  {
    name: 'and is the answer when it was the last',
    options: { isRetryable: is503, attempts: 2 },
    ends: [answered(503)],
    madeMs: [0, 50],
    events: ['retry after 1 in 50', 'gave up after 2: attempts'],
  },
  {
    name: 'what is not worth another attempt gets none, and nothing is given up',
    options: { isRetryable: (_, attempt) => attempt < 2, attempts: 9 },
    ends: [failed('first'), failed('second')],
    madeMs: [0, 50],
    events: ['retry after 1 in 50'],
  },
  {
    name: 'a service that says how long is not called earlier, and a tenth of that is left to chance on top',
    options: { waitFor: toldMs(30_000), attempts: 2 },
    ends: [failed()],
    madeMs: [0, 31_500],
    events: ['retry after 1 in 31500', 'gave up after 2: attempts'],
  },
  {
    name: 'a service that says nothing is waited for as ever',
    options: { waitFor: toldMs(undefined), attempts: 2 },
    ends: [failed()],
    madeMs: [0, 50],
    events: ['retry after 1 in 50', 'gave up after 2: attempts'],
  },
  {
    name: 'a minute that a service asks for is waited, unless told otherwise',
    options: { waitFor: toldMs(60_000), attempts: 2 },
    ends: [failed()],
    madeMs: [0, 63_000],
    events: ['retry after 1 in 63000', 'gave up after 2: attempts'],
  },
  {
    name: 'more than a minute is not',
    options: { waitFor: toldMs(60_001) },
    ends: [failed()],
    madeMs: [0],
    events: ['gave up after 1: wait-too-long'],
  },
  {
    name: 'and never is longer than anything',
    options: { waitFor: toldMs(Number.POSITIVE_INFINITY), maxWait: '1w' },
    ends: [failed()],
    madeMs: [0],
    events: ['gave up after 1: wait-too-long'],
  },
  {
    name: 'without a budget there is no retry',
    options: { budget: retryBudget({ ratio: 0, minPerSecond: 0 }) },
    ends: [failed()],
    madeMs: [0],
    events: ['gave up after 1: budget'],
  },
];

describe('retry', () => {
  it.each(cases)('$name', async ({ options = {}, ends, madeMs, events }) => {
    const seen = await live(options, ends);
    expect(seen.madeMs).toEqual(madeMs);
    expect(seen.events).toEqual(events);
    // The last outcome, and not another one like it.
    expect(seen.ended).toEqual(ends[Math.min(madeMs.length, ends.length) - 1]);
    expect(seen.clock.sleeping).toBe(0);
  });

  it('answers with the very error that the last attempt threw', async () => {
    const last = failed('last') as { error: unknown };
    const { ended } = await live({ attempts: 2 }, [failed('first'), last]);
    expect((ended as { error: unknown }).error).toBe(last.error);
  });

  const refused = code('circuit-open');
  const passing503 = (ended: Ended) => 'value' in ended && Number(ended.value) >= 500;
  const also = (ended: Ended) => passing503(ended) || 'error' in ended;

  // biome-ignore format: aligned rows
  it.each<[string, RetryOptions, Ended[], Ended, string[]]>([
    [ 'made again',                        {},                   [answered(503), answered(502), answered(200)], answered(200), ['dropped 1', 'dropped 2'] ],
    [ 'made again, then refused',          {},                   [answered(503), refused],                      answered(503), ['gave up after 1: refused'] ],
    [ 'made again twice, then refused',    {},                   [answered(503), answered(502), refused],       answered(502), ['dropped 1', 'gave up after 2: refused'] ],
    [ 'failed, then refused',              { isRetryable: also }, [failed('first'), refused, refused],          failed('first'), ['gave up after 1: attempts'] ],
    [ 'refused, then made',                { isRetryable: also }, [refused, answered(503), answered(200)],      answered(200), ['dropped 2'] ],
    [ 'refused at once',                   {},                   [refused],                                     refused,       [] ],
    [ 'refused each time',                 { isRetryable: also }, [refused],                                    refused,       ['gave up after 3: attempts'] ],
    [ 'the last',                          { attempts: 2 },      [answered(503), answered(502)],                answered(502), ['dropped 1', 'gave up after 2: attempts'] ],
  ])('answers as the last attempt that was made, and tells of what is nobody\'s: %s', async (_, options, ends, ended, events) => {
    const clock = new PassingClock();
    const retrying = retry({ isRetryable: passing503, clock, ...options });
    const told: string[] = [];
    retrying.on('dropped', ({ attempt }) => told.push(`dropped ${attempt}`));
    retrying.on('gave-up', ({ attempt, reason }) => told.push(`gave up after ${attempt}: ${reason}`));
    const answer = retrying.run(callOf(clock, ends).call).then(
      (value): Ended => ({ value }),
      (error): Ended => ({ error }),
    );
    await clock.pass(10_000);
    expect(await answer).toEqual(ended);
    expect(told).toEqual(events);
  });

  it("what an attempt came to is nobody's when the caller gives up in the wait, and not before", async () => {
    const clock = new PassingClock();
    const controller = new AbortController();
    const retrying = retry({ isRetryable: passing503, clock, random: half });
    const told: unknown[] = [];
    retrying.on('dropped', (event) => told.push(event));
    const answer = retrying.run(callOf(clock, [answered(503)]).call, { signal: controller.signal });
    await clock.pass(49);
    expect(told).toEqual([]);
    controller.abort('enough');
    await expect(answer).rejects.toBe('enough');
    expect(told).toEqual([{ attempt: 1, ended: { value: 503 } }]);
  });

  // Each code is one or the other; a new one has to be thought about.
  const isWorth: Record<ErrorCode, boolean> = {
    'timed-out': true,
    'store-unavailable': true,
    'circuit-open': false,
    throttled: false,
    'bulkhead-full': false,
    'queue-full': false,
    'task-expired': false,
    'task-removed': false,
    'scheduler-closed': false,
    'store-full': false,
    'store-unsafe': false,
    'invalid-option': false,
    'unsupported-operation': false,
    'invalid-snapshot': false,
  };

  it.each(Object.keys(errorCodes) as ErrorCode[])(
    'of the errors of Sluice, %s is judged by what it says',
    async (of) => {
      const { madeMs } = await live({ attempts: 2 }, [code(of)]);
      expect(madeMs.length).toBe(isWorth[of] ? 2 : 1);
    },
  );

  it('knows the errors of another copy of this package', async () => {
    const foreign = Object.assign(new Error('open'), { name: 'SluiceError', code: 'circuit-open' });
    expect((await live({}, [{ error: foreign }])).madeMs).toEqual([0]);
  });

  it.each([undefined, null, 'text', 0])('retries a call that threw %o, which is no error', async (error) => {
    expect(await live({ attempts: 2 }, [{ error }])).toMatchObject({ madeMs: [0, 50], ended: { error } });
  });

  it('waits anywhere from 0 to the longest wait', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 2, max: 10 }), async (seed, attempts) => {
        const budget = retryBudget({ ratio: 100 });
        const { madeMs } = await live({ attempts, random: seededRandom(seed), budget }, [failed()]);
        expect(madeMs.length).toBe(attempts);
        for (const [i, atMs] of madeMs.slice(1).entries())
          expect(atMs - madeMs[i]!).toBeLessThanOrEqual(Math.min(10_000, 100 * 2 ** i));
      }),
    );
  });

  it('makes calls that answer at once too', async () => {
    const clock = new PassingClock();
    let made = 0;
    const answer = retry({ clock }).run(() => {
      made += 1;
      if (made < 3) throw new Error('down');
      return made;
    });
    await clock.pass(1000);
    expect(await answer).toBe(3);
  });
});

describe('the signal of the caller', () => {
  function begin(options: RetryOptions = {}) {
    const clock = new PassingClock();
    const controller = new AbortController();
    const retrying = retry({ random: half, clock, ...options });
    return { clock, controller, retrying, events: eventsOf(retrying), signal: controller.signal };
  }

  it('is given to every attempt', async () => {
    const { clock, retrying, signal } = begin();
    const given: unknown[] = [];
    const answer = retrying.run(
      (signal) => {
        given.push(signal);
        throw new Error('down');
      },
      { signal },
    );
    const seen = expect(answer).rejects.toThrow('down');
    await clock.pass(1000);
    await seen;
    expect(given).toEqual([signal, signal, signal]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('aborted before: no call is made, and none is counted', async () => {
    const budget = retryBudget();
    const { clock, controller, retrying, signal } = begin({ budget });
    controller.abort('no need');
    const { call, madeMs } = callOf(clock, [failed()]);
    await expect(retrying.run(call, { signal })).rejects.toBe('no need');
    expect(madeMs).toEqual([]);
    expect(budget.stats().requests).toBe(0);
  });

  it('aborted in an attempt: what the attempt threw is the answer, and there is no other', async () => {
    const { controller, retrying, events, signal } = begin({ isRetryable: () => true });
    const answer = retrying.run(
      (signal) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped half-way')))),
      { signal },
    );
    controller.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('stopped half-way');
    expect(events).toEqual([]);
  });

  it('aborted in an attempt that has an answer all the same: that is the answer', async () => {
    const { controller, retrying, events, signal } = begin({ isRetryable: () => true });
    const answer = retrying.run(
      async () => {
        controller.abort(new Error('enough'));
        return 503;
      },
      { signal },
    );
    expect(await answer).toBe(503);
    expect(events).toEqual([]);
  });

  it('aborted in the wait: the wait ends at once with its reason', async () => {
    const { clock, controller, retrying, signal } = begin();
    const { call, madeMs } = callOf(clock, [failed()]);
    const answer = retrying.run(call, { signal });
    await clock.pass(49);
    expect(clock.sleeping).toBe(1);
    controller.abort('enough');
    await expect(answer).rejects.toBe('enough');
    expect(clock.sleeping).toBe(0);
    await clock.pass(1000);
    expect(madeMs).toEqual([0]);
  });

  it('aborted by who is told of the retry: there is none', async () => {
    const { clock, controller, retrying, signal } = begin();
    const { call, madeMs } = callOf(clock, [failed()]);
    retrying.on('retry', () => controller.abort('enough'));
    await expect(retrying.run(call, { signal })).rejects.toBe('enough');
    expect([madeMs, clock.sleeping]).toEqual([[0], 0]);
  });

  it('has one listener, however many wait, and none afterwards', async () => {
    const { clock, controller, retrying, signal } = begin({ budget: retryBudget({ ratio: 1 }) });
    const all = Array.from({ length: 100 }, () => retrying.run(callOf(clock, [failed()]).call, { signal }));
    const ended = Promise.allSettled(all);
    await turn();
    expect([clock.sleeping, getEventListeners(signal, 'abort').length]).toEqual([100, 1]);
    controller.abort('enough');
    expect(await ended).toEqual(all.map(() => ({ status: 'rejected', reason: 'enough' })));
    expect([clock.sleeping, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
  });

  it('aborted in the turn in which the wait is over: no further attempt', async () => {
    const { clock, controller, retrying, signal } = begin();
    const { call, madeMs } = callOf(clock, [failed()]);
    const answer = retrying.run(call, { signal });
    await turn();
    clock.advance(50);
    controller.abort('enough');
    await expect(answer).rejects.toBe('enough');
    expect(madeMs).toEqual([0]);
  });
});

describe('the budget of a retry', () => {
  it('is its own unless one is given: however much fails, there is one retry for ten calls, and one a second', async () => {
    const clock = new PassingClock();
    const retrying = retry({ clock, attempts: 10, random: seededRandom(inject('propertySeed')) });
    let made = 0;
    const calls = Array.from({ length: 1000 }, () =>
      retrying.run(async () => {
        made += 1;
        throw new Error('down');
      }),
    );
    const all = Promise.allSettled(calls);
    await clock.pass(60_000);
    expect((await all).every(({ status }) => status === 'rejected')).toBe(true);
    // All within one window but for the later ones of the few that were granted.
    expect(made - 1000).toBeGreaterThanOrEqual(110);
    expect(made - 1000).toBeLessThanOrEqual(110 + 60);
  });

  it('may be one for all that call the same service', async () => {
    const clock = new PassingClock();
    const budget = retryBudget({ ratio: 0, minPerSecond: 0.3, clock });
    const retrying = [retry({ budget, clock }), retry({ budget, clock })];
    const { call, madeMs } = callOf(clock, [failed()]);
    const all = Promise.allSettled([...retrying, ...retrying].map((one) => one.run(call)));
    await clock.pass(5000);
    await all;
    expect(madeMs.length).toBe(4 + 3);
    expect(budget.stats()).toMatchObject({ requests: 4, retries: 3 });
  });

  it('is asked last, and pays for no retry that something else forbids', async () => {
    const budget = retryBudget();
    await live({ budget, attempts: 1 }, [failed()]);
    await live({ budget, waitFor: () => 1e9 }, [failed()]);
    await live({ budget, isRetryable: () => false }, [failed()]);
    expect(budget.stats()).toMatchObject({ requests: 3, retries: 0 });
  });
});

describe('a mistake', () => {
  it.each([
    [{ attempts: 0 }, 'attempts must be a whole number from 1 to 100, got 0.'],
    [{ attempts: 2.5 }, 'attempts'],
    [{ attempts: Number.POSITIVE_INFINITY }, 'attempts'],
    [{ baseDelay: 0 }, 'baseDelay'],
    [{ baseDelay: '20s', maxDelay: '10s' }, 'maxDelay must be at least baseDelay (20000 ms), got "10s".'],
    [{ maxDelay: 'never' }, 'maxDelay'],
    [{ growth: 0.5 }, 'growth'],
    [{ growth: Number.NaN }, 'growth'],
    [{ maxWait: -1 }, 'maxWait'],
    [{ isRetryable: true }, 'isRetryable must be a function'],
    [{ waitFor: 100 }, 'waitFor must be a function'],
    [{ random: 0.5 }, 'random must be a function'],
    [{ budget: 10 }, 'budget must be a retryBudget()'],
    [{ budget: { ratio: 0.1 } }, 'budget must be a retryBudget()'],
    [{ clock: Date }, 'clock'],
    [{ retries: 3 }, 'retry options has no field "retries"'],
    [3, 'retry options'],
  ])('%o is refused at once', (options, message) => {
    expect(() => retry(options as RetryOptions)).toThrow(message);
  });

  it('a base above the usual cap is its own cap', () => {
    expect(() => retry({ baseDelay: '1m' })).not.toThrow();
  });

  it.each([Number.NaN, -1, '30', null])('a waitFor that returns %o is told so', async (toldMs) => {
    const { ended, madeMs } = await live({ waitFor: () => toldMs as number }, [failed()]);
    expect(ended).toMatchObject({ error: { code: 'invalid-option' } });
    expect(madeMs).toEqual([0]);
  });

  it('of isRetryable is the caller’s', async () => {
    const isRetryable = () => {
      throw new Error('a mistake');
    };
    expect((await live({ isRetryable }, [failed()])).ended).toMatchObject({ error: { message: 'a mistake' } });
  });
});
