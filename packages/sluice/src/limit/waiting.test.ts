import { describe, expect, it } from 'vitest';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { limiter } from './limiter.ts';

/** Lets everything that is ready go on, without any time passing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

function begin(options: { maxWaiters?: number } = {}) {
  const clock = new TestClock();
  const limit = limiter(gcra({ limit: 1, window: '1s' }), { clock, ...options });
  const done: string[] = [];
  const wait = (name: string, call?: Parameters<typeof limit.wait>[1], key = 'key'): Promise<Decision> =>
    limit.wait(key, call).then(
      (decision) => {
        done.push(`${name} ${decision.allowed ? 'goes' : decision.reason} at ${clock.now()}`);
        return decision;
      },
      (error: Error) => {
        done.push(`${name} ${error.message} at ${clock.now()}`);
        return undefined as never;
      },
    );
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { clock, limit, done, wait, advance };
}

describe('waiting', () => {
  it('lets callers go in the order they came, each as soon as it may', async () => {
    const { clock, done, wait, advance } = begin();
    for (const name of ['a', 'b', 'c']) void wait(name);
    await settle();
    await advance(999);
    expect(done).toEqual(['a goes at 0']);
    await advance(1);
    await advance(1000);
    expect(done).toEqual(['a goes at 0', 'b goes at 1000', 'c goes at 2000']);
    expect(clock.sleeping).toBe(0);
  });

  it('has a line for each key', async () => {
    const { done, wait } = begin();
    void wait('a');
    void wait('b', {}, 'other');
    await settle();
    expect(done).toEqual(['a goes at 0', 'b goes at 0']);
  });

  it('keeps the order when a large cost is ahead of small ones', async () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 10, window: '10s' }), { clock });
    limit.check('key', 10);
    const order: number[] = [];
    for (const cost of [5, 1, 1]) void limit.wait('key', { cost }).then(() => order.push(cost));
    for (let second = 0; second < 8; second += 1) {
      clock.advance(1000);
      await settle();
    }
    expect(order).toEqual([5, 1, 1]);
  });

  it('refuses at once what would take too long, and what never can pass', async () => {
    const { done, limit, wait } = begin();
    limit.check('key');
    void wait('hurried', { maxWaitMs: 999 });
    void wait('greedy', { cost: 2 });
    await settle();
    expect(done).toEqual(['hurried max-wait at 0', 'greedy limit at 0']);
  });

  it('lets go exactly at the longest wait', async () => {
    const { done, limit, wait, advance } = begin();
    limit.check('key');
    void wait('patient', { maxWaitMs: 1000 });
    await settle();
    await advance(1000);
    expect(done).toEqual(['patient goes at 1000']);
  });

  it('gives up in line when its time is over, without letting others past those ahead', async () => {
    const { clock, done, limit, wait, advance } = begin();
    limit.check('key');
    void wait('first');
    void wait('hurried', { maxWaitMs: 400 });
    void wait('last');
    await settle();
    await advance(400);
    expect(done).toEqual(['hurried max-wait at 400']);
    await advance(600);
    await advance(1000);
    expect(done.slice(1)).toEqual(['first goes at 1000', 'last goes at 2000']);
    expect(clock.sleeping).toBe(0);
  });

  it('gives up as the last in line without cutting the others off: they are still woken, and nobody comes in ahead of them', async () => {
    const { limit, done, wait, advance } = begin();
    for (const name of ['a', 'b']) void wait(name);
    void wait('hurried', { maxWaitMs: 400 });
    await settle();
    await advance(400);
    expect(done).toEqual(['a goes at 0', 'hurried max-wait at 400']);
    void wait('late');
    await settle();
    limit.reset('key');
    await settle();
    expect(done.slice(2)).toEqual(['b goes at 400']);
    await advance(1000);
    expect(done.slice(3)).toEqual(['late goes at 1400']);
  });

  it('gives up in line without letting a small cost behind it past a large one ahead', async () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 10, window: '10s' }), { clock });
    limit.check('key', 10);
    const order: string[] = [];
    void limit.wait('key', { cost: 5 }).then(() => order.push('large'));
    void limit.wait('key', { maxWaitMs: 400 }).then(() => order.push('hurried'));
    void limit.wait('key').then(() => order.push('small'));
    await settle();
    for (let step = 0; step < 20; step += 1) {
      clock.advance(400);
      await settle();
    }
    expect(order).toEqual(['hurried', 'large', 'small']);
  });

  it('holds thousands in line and leaves nothing behind', async () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 1000, window: '1s', burst: 1 }), { clock });
    const waiters = Array.from({ length: 3000 }, () => limit.wait('key'));
    for (let step = 0; step < 3000; step += 1) {
      await settle();
      clock.advance(1);
    }
    expect((await Promise.all(waiters)).every(({ allowed }) => allowed)).toBe(true);
    expect(clock.sleeping).toBe(0);
  });

  it('is left by an abort, at the head and in line, and takes nothing', async () => {
    const { clock, done, limit, wait, advance } = begin();
    limit.check('key');
    const head = new AbortController();
    const middle = new AbortController();
    void wait('head', { signal: head.signal });
    void wait('middle', { signal: middle.signal });
    void wait('last');
    await settle();
    middle.abort(new Error('left'));
    await settle();
    await advance(100);
    head.abort(new Error('left'));
    await settle();
    expect(done).toEqual(['middle left at 0', 'head left at 100']);
    await advance(900);
    expect(done.at(-1)).toBe('last goes at 1000');
    expect(clock.sleeping).toBe(0);
  });

  it('asks again at once when there may be more room than it was told', async () => {
    const clock = new TestClock();
    const limit = limiter(slidingLog({ limit: 1, window: '1h' }), { clock });
    const done: string[] = [];
    for (const name of ['reset', 'reward', 'cancel', 'update']) {
      const reservation = limit.reserve(name, 1);
      const waiter = limit.wait(name).then(() => done.push(name));
      await settle();
      if (name === 'reset') limit.reset(name);
      if (name === 'reward') limit.reward(name);
      if (name === 'cancel') reservation.cancel();
      if (name === 'update') limit.update(slidingLog({ limit: 5, window: '1h' }));
      await waiter;
    }
    expect(done).toEqual(['reset', 'reward', 'cancel', 'update']);
    expect(clock.sleeping).toBe(0);
  });

  it('asks again where room was made while it was being answered', async () => {
    const clock = new TestClock();
    const limit = limiter(slidingLog({ limit: 1, window: '1h' }), { clock });
    const done: string[] = [];
    for (const name of ['reset', 'reward', 'cancel', 'update']) {
      const reservation = limit.reserve(name, 1);
      const waiter = limit.wait(name).then(() => done.push(name));
      // In the same turn: the waiter has been refused, and does not know it yet.
      if (name === 'reset') limit.reset(name);
      if (name === 'reward') limit.reward(name);
      if (name === 'cancel') reservation.cancel();
      if (name === 'update') limit.update(slidingLog({ limit: 5, window: '1h' }));
      await settle();
      expect(done).toContain(name);
      await waiter;
    }
    expect(clock.sleeping).toBe(0);
  });

  it('listens once to a signal that many share', async () => {
    const clock = new TestClock();
    const limit = limiter(gcra({ limit: 1, window: '1s' }), { clock });
    const stop = new AbortController();
    let listeners = 0;
    const add = stop.signal.addEventListener.bind(stop.signal);
    stop.signal.addEventListener = ((...listen: Parameters<typeof add>) => {
      listeners += 1;
      add(...listen);
    }) as typeof add;
    const waiters = Array.from({ length: 50 }, () => limit.wait('key', { signal: stop.signal }));
    await settle();
    stop.abort(new Error('all left'));
    const outcomes = await Promise.allSettled(waiters);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(49);
    expect(listeners).toBe(1);
    expect(clock.sleeping).toBe(0);
  });

  it('does not begin for a caller that was aborted before', async () => {
    const { limit, wait, done } = begin();
    await wait('late', { signal: AbortSignal.abort(new Error('gone')) });
    expect(done).toEqual(['late gone at 0']);
    expect(limit.peek('key', 0).remaining).toBe(1);
  });

  it('holds no more than it may', async () => {
    const { done, limit, wait, advance } = begin({ maxWaiters: 2 });
    limit.check('key');
    for (const name of ['a', 'b', 'c']) void wait(name);
    await settle();
    expect(done).toEqual(['c too-many-waiters at 0']);
    await advance(1000);
    void wait('d');
    await settle();
    expect(done.at(-1)).toBe('a goes at 1000');
    await advance(2000);
    await advance(1000);
    expect(done.slice(2)).toEqual(['b goes at 3000', 'd goes at 4000']);
  });

  it('waits out the delay of a shaping algorithm, letting the next in meanwhile', async () => {
    const clock = new TestClock();
    const limit = limiter(leakyBucket({ limit: 1, window: '1s', burst: 5 }), { clock });
    const done: string[] = [];
    for (const name of ['a', 'b', 'c']) void limit.wait('key').then(() => done.push(`${name} at ${clock.now()}`));
    for (let step = 0; step < 4; step += 1) {
      await settle();
      clock.advance(500);
    }
    await settle();
    expect(done).toEqual(['a at 0', 'b at 1000', 'c at 2000']);
  });

  it('tells who may not wait so at once, and not after the delay of one who may', async () => {
    const clock = new TestClock();
    const limit = limiter(leakyBucket({ limit: 1, window: '1s', burst: 9 }), { clock, maxWaiters: 2 });
    limit.check('key', 5);
    const refused: (Decision & { readonly atMs: number })[] = [];
    const wait = async (options?: Parameters<typeof limit.wait>[1]) => {
      const decision = await limit.wait('key', options);
      if (!decision.allowed) refused.push({ ...decision, atMs: clock.now() });
    };
    const large = wait({ cost: 9 });
    void wait({ maxWaitMs: 400 });
    void wait();
    await settle();
    clock.advance(400);
    await settle();
    expect(refused.map(({ reason, atMs, delayMs }) => [reason, atMs, delayMs])).toEqual([
      ['too-many-waiters', 0, 0],
      ['max-wait', 400, 0],
    ]);
    clock.advance(3600);
    await settle();
    clock.advance(60_000);
    await large;
  });

  it('gives back what a shaped caller took when it is aborted during its delay', async () => {
    const clock = new TestClock();
    const limit = limiter(leakyBucket({ limit: 1, window: '1s', burst: 2 }), { clock });
    await limit.wait('key');
    const stop = new AbortController();
    const delayed = limit.wait('key', { signal: stop.signal });
    await settle();
    expect(limit.peek('key', 0).remaining).toBe(1);
    stop.abort(new Error('left'));
    await expect(delayed).rejects.toThrow('left');
    expect(limit.peek('key', 0).remaining).toBe(2);
    expect(clock.sleeping).toBe(0);
  });

  it('takes a shaping delay for a wait: one that is too long is refused', async () => {
    const clock = new TestClock();
    // Delays are bounded by the caller, who would not wait so long.
    const limit = limiter(leakyBucket({ limit: 1, window: '1s', burst: 5 }), { clock });
    limit.check('key', 3);
    const started = limit.wait('key', { maxWaitMs: 1000 });
    await settle();
    clock.advance(10_000);
    expect((await started).allowed).toBe(false);
    expect((await started).reason).toBe('max-wait');
  });

  it('goes on after a store that failed', async () => {
    const clock = new TestClock();
    let failing = true;
    const strict = slidingLog({ limit: 1, window: '1s' });
    const limit = limiter(strict, {
      clock,
      name: 'api',
      store: {
        mode: 'async',
        clock,
        apply: async ([check]) => {
          if (failing) throw new Error('store down');
          return [
            {
              allowed: true,
              limit: 1,
              remaining: 0,
              retryAfterMs: 0,
              resetAfterMs: 0,
              delayMs: 0,
              rule: check!.name,
              policy: strict,
            },
          ];
        },
      },
    });
    await expect(limit.wait('key')).rejects.toThrow('store down');
    failing = false;
    expect((await limit.wait('key')).allowed).toBe(true);
  });

  it.each([Number.NaN, -1, '5'])('refuses a longest wait of %s', async (maxWaitMs) => {
    await expect(begin().limit.wait('key', { maxWaitMs: maxWaitMs as number })).rejects.toThrow(
      'maxWaitMs must be a number from 0',
    );
  });

  it('refuses an option it does not have, and takes nothing', async () => {
    const { limit } = begin();
    await expect(limit.wait('key', { maxWait: 5 } as never)).rejects.toThrow(
      'wait options has no field "maxWait". It takes cost, maxWaitMs, signal.',
    );
    await expect(limit.wait('key', 5 as never)).rejects.toThrow('what wait options is given must be an object of');
    expect((await limit.wait('key', { maxWaitMs: 0 })).allowed).toBe(true);
  });
});
