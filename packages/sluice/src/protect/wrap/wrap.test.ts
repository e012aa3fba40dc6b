import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { fallback } from '../fallback/fallback.ts';
import { PassingClock } from '../passing-clock.test-support.ts';
import type { ProtectedCall, Protection, RunOptions } from '../protection.ts';
import { retryBudget } from '../retry/budget.ts';
import { retry } from '../retry/retry.ts';
import type { RetryOptions } from '../retry/settings.ts';
import { timeout } from '../timeout/timeout.ts';
import { wrap } from './wrap.ts';

/** Says when it is entered and left. */
function witness(name: string, path: string[]): Protection {
  return {
    async run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}): Promise<T> {
      path.push(`> ${name}`);
      const value = await call(signal);
      path.push(`< ${name}`);
      return value;
    },
  };
}

describe('wrap', () => {
  it('has its first argument outermost', async () => {
    const path: string[] = [];
    const wrapped = wrap(witness('a', path), witness('b', path), witness('c', path));
    expect(await wrapped.run(() => path.push('call'))).toBe(4);
    expect(path).toEqual(['> a', '> b', '> c', 'call', '< c', '< b', '< a']);
  });

  it('of one is that one', async () => {
    const path: string[] = [];
    expect(await wrap(witness('a', path)).run(async () => 'called')).toBe('called');
    expect(path).toEqual(['> a', '< a']);
  });

  it('goes into another wrap', async () => {
    const path: string[] = [];
    const inner = wrap(witness('b', path), witness('c', path));
    await wrap(witness('a', path), inner, witness('d', path)).run(() => path.push('call'));
    expect(path.slice(0, 5)).toEqual(['> a', '> b', '> c', '> d', 'call']);
  });

  it('makes as many calls at once as it is asked for', async () => {
    const path: string[] = [];
    const wrapped = wrap(witness('a', path), witness('b', path));
    expect(await Promise.all([1, 2, 3].map((n) => wrapped.run(async () => n)))).toEqual([1, 2, 3]);
  });

  it('passes the signal on, each the one that the one before it gives', async () => {
    const own = new AbortController().signal;
    const given: unknown[] = [];
    const swaps: Protection = {
      run: async (call, options) => {
        given.push(options?.signal);
        return call(own);
      },
    };
    const { signal } = new AbortController();
    const wrapped = wrap(swaps, witness('b', []));
    expect(await wrapped.run((signal) => signal, { signal })).toBe(own);
    expect(await wrapped.run((signal) => signal)).toBe(own);
    expect(given).toEqual([signal, undefined]);
  });

  it('calls run as a method, for protections that are classes', async () => {
    class Counts implements Protection {
      calls = 0;
      async run<T>(call: ProtectedCall<T>): Promise<T> {
        this.calls += 1;
        return call();
      }
    }
    const counts = new Counts();
    await wrap(counts, counts).run(() => 1);
    expect(counts.calls).toBe(2);
  });

  it('throws what a call throws that throws at once, as a rejection', async () => {
    const thrown = wrap(witness('a', [])).run(() => {
      throw new Error('down');
    });
    await expect(thrown).rejects.toThrow('down');
  });

  const ok = witness('a', []);
  it.each([
    [[], 'wrap() needs at least one protection, such as wrap(retry()).'],
    [[ok, undefined], 'argument 2 of wrap() must be a protection, which has run(), got undefined.'],
    [[ok, ok, {}], 'argument 3 of wrap() must be a protection, which has run(), got {}.'],
    [[null], 'argument 1 of wrap()'],
    [[[ok]], 'argument 1 of wrap()'],
    [[ok, { run: 1 }], 'argument 2 of wrap()'],
    [[retry], 'Call it: retry(), and not retry.'],
  ])('refuses %o', (protections, message) => {
    expect(() => wrap(...(protections as Protection[]))).toThrow(message);
  });
});

describe('the order of protections', () => {
  function begin(options: RetryOptions = {}) {
    const clock = new PassingClock();
    const madeMs: number[] = [];
    const controller = new AbortController();
    return {
      clock,
      madeMs,
      controller,
      retrying: retry({ clock, random: () => 0.5, budget: retryBudget({ ratio: 100, clock }), ...options }),
      fails: async () => {
        madeMs.push(clock.now());
        throw new Error('down');
      },
      /** Never ends, and does not listen. */
      hangs: () => {
        madeMs.push(clock.now());
        return new Promise<never>(() => undefined);
      },
    };
  }

  const settled = (promise: Promise<unknown>) =>
    promise.then(
      (value) => ({ value }),
      (error) => ({ error }),
    );

  it('wrap(retry, breaker): attempts go through the breaker, and end when it is open', async () => {
    const { clock, madeMs, retrying, fails } = begin({ attempts: 10 });
    const breaker = circuitBreaker({ consecutiveFailures: 3, openFor: '1m', clock });
    const ended = settled(wrap(retrying, breaker).run(fails));
    await clock.pass(60_000);
    expect(madeMs).toEqual([0, 50, 150]);
    expect(breaker.stats()).toMatchObject({ refused: 1 });
    // The fourth was not made, so the third was the last.
    expect(await ended).toMatchObject({ error: { message: 'down' } });
  });

  it('wrap(breaker, retry): all attempts are one failure to the breaker', async () => {
    const { clock, madeMs, retrying, fails } = begin({ attempts: 5 });
    const breaker = circuitBreaker({ consecutiveFailures: 3, clock });
    const ended = settled(wrap(breaker, retrying).run(fails));
    await clock.pass(60_000);
    expect(madeMs.length).toBe(5);
    expect(breaker.stats()).toMatchObject({ state: 'closed', consecutiveFailures: 1 });
    expect(await ended).toMatchObject({ error: { message: 'down' } });
  });

  it('wrap(timeout, retry): the time is for all attempts and waits together', async () => {
    const { clock, madeMs, retrying, fails } = begin({ attempts: 10 });
    const ended = settled(wrap(timeout(1000, { clock }), retrying).run(fails));
    await clock.pass(999);
    expect(madeMs).toEqual([0, 50, 150, 350, 750]);
    await clock.pass(1);
    expect(await ended).toMatchObject({ error: { code: 'timed-out' } });
    await clock.pass(60_000);
    expect(madeMs.length).toBe(5);
    expect(clock.sleeping).toBe(0);
  });

  it('wrap(timeout, retry): a call that hangs is not made again', async () => {
    const { clock, madeMs, retrying, hangs } = begin();
    const ended = settled(wrap(timeout(1000, { clock }), retrying).run(hangs));
    await clock.pass(60_000);
    expect(await ended).toMatchObject({ error: { code: 'timed-out' } });
    expect(madeMs).toEqual([0]);
  });

  it('wrap(retry, timeout): the time is for each attempt', async () => {
    const { clock, madeMs, retrying, hangs } = begin();
    const ended = settled(wrap(retrying, timeout(1000, { clock })).run(hangs));
    await clock.pass(60_000);
    expect(madeMs).toEqual([0, 1050, 2150]);
    expect(await ended).toMatchObject({ error: { code: 'timed-out' } });
    expect(clock.sleeping).toBe(0);
  });

  it('wrap(timeout, retry, timeout): both, and nothing is left of either', async () => {
    const { clock, madeMs, controller, retrying, hangs } = begin({ attempts: 10 });
    const { signal } = controller;
    const wrapped = wrap(timeout(2500, { clock }), retrying, timeout(1000, { clock }));
    const ended = settled(wrapped.run(hangs, { signal }));
    await clock.pass(60_000);
    expect(madeMs).toEqual([0, 1050, 2150]);
    expect(await ended).toMatchObject({ error: { message: 'The call did not end within 2500 ms.' } });
    expect(clock.sleeping).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('wrap(breaker, timeout): a call that takes too long has failed', async () => {
    const { clock, hangs } = begin();
    const breaker = circuitBreaker({ consecutiveFailures: 1, openFor: '1m', clock });
    const ended = settled(wrap(breaker, timeout(1000, { clock })).run(hangs));
    await clock.pass(1000);
    expect(await ended).toMatchObject({ error: { code: 'timed-out' } });
    expect(breaker.state).toBe('open');
  });

  it('wrap(timeout, breaker): a call that takes too long has failed, whoever has set the time', async () => {
    const { clock } = begin();
    const breaker = circuitBreaker({ consecutiveFailures: 1, openFor: '1m', clock });
    const listens: ProtectedCall<never> = (signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const ended = settled(wrap(timeout(1000, { clock }), breaker).run(listens));
    await clock.pass(1000);
    expect(await ended).toMatchObject({ error: { code: 'timed-out' } });
    expect(breaker.state).toBe('open');
  });

  it('wrap(fallback, retry, breaker, timeout): whatever happens, there is an answer', async () => {
    const { clock, madeMs, retrying, hangs } = begin();
    const breaker = circuitBreaker({ consecutiveFailures: 2, openFor: '1m', clock });
    const wrapped = wrap(fallback('cached'), retrying, breaker, timeout(1000, { clock }));
    const first = wrapped.run(hangs);
    await clock.pass(10_000);
    expect(await first).toBe('cached');
    // Two attempts hung, and the third found the breaker open.
    expect(madeMs).toEqual([0, 1050]);
    expect(await wrapped.run(hangs)).toBe('cached');
    expect(madeMs.length).toBe(2);
  });

  it('the caller’s abort goes through all of them, at once and with its reason', async () => {
    const { clock, madeMs, controller, retrying, hangs } = begin();
    const breaker = circuitBreaker({ consecutiveFailures: 1, clock });
    const wrapped = wrap(fallback('cached'), timeout(5000, { clock }), retrying, breaker, timeout(1000, { clock }));
    const { signal } = controller;
    const ended = settled(wrapped.run(hangs, { signal }));
    await clock.pass(500);
    controller.abort('enough');
    expect(await ended).toEqual({ error: 'enough' });
    expect(breaker.stats()).toMatchObject({ state: 'closed', consecutiveFailures: 0 });
    expect(madeMs).toEqual([0]);
    expect(clock.sleeping).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
