import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import type { ProtectedCall } from '../protection.ts';
import { type TimeoutOptions, timeout } from './timeout.ts';

function begin(after: number | '2s' = 1000) {
  const clock = new PassingClock();
  const limit = timeout(after, { clock });
  const events: string[] = [];
  limit.on('timed-out', ({ afterMs }) => events.push(`timed out after ${afterMs}`));
  limit.on('late', ({ ended, durationMs }) => events.push(`late after ${durationMs}: ${JSON.stringify(ended)}`));
  const controller = new AbortController();
  return { clock, limit, events, controller, signal: controller.signal };
}

/** A call that ends when it is told to, and does not listen to its signal. */
function deaf() {
  let resolve!: (value: unknown) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<unknown>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  let signal: AbortSignal | undefined;
  const call: ProtectedCall<unknown> = (given) => {
    signal = given;
    return promise;
  };
  return { call, resolve, reject, signalOf: () => signal! };
}

/** How a promise ended, without waiting for it to. */
function watch(promise: Promise<unknown>) {
  const seen: { value?: unknown; error?: unknown; isOver: boolean } = { isOver: false };
  promise.then(
    (value) => Object.assign(seen, { value, isOver: true }),
    (error) => Object.assign(seen, { error, isOver: true }),
  );
  return seen;
}

describe('timeout', () => {
  it('answers as the call does when it ends in time', async () => {
    const { clock, limit, events } = begin();
    const mistake = new Error('down');
    expect(await limit.run(() => 'at once')).toBe('at once');
    expect(await limit.run(async () => 'later')).toBe('later');
    await expect(limit.run(() => Promise.reject(mistake))).rejects.toBe(mistake);
    await expect(
      limit.run(() => {
        throw mistake;
      }),
    ).rejects.toBe(mistake);
    expect(clock.sleeping).toBe(0);
    await clock.pass(5000);
    expect(events).toEqual([]);
  });

  it('throws timed-out exactly when the time is up, also when the call does not listen', async () => {
    const { clock, limit, events } = begin('2s');
    const { call } = deaf();
    const seen = watch(limit.run(call));
    await clock.pass(1999);
    expect(seen.isOver).toBe(false);
    await clock.pass(1);
    expect(seen.error).toMatchObject({ code: 'timed-out', message: 'The call did not end within 2000 ms.' });
    expect(events).toEqual(['timed out after 2000']);
  });

  it('stops a call that listens, with the same error as the reason', async () => {
    const { clock, limit } = begin();
    const { call, signalOf } = deaf();
    const seen = watch(limit.run(call));
    await clock.pass(999);
    expect(signalOf().aborted).toBe(false);
    await clock.pass(1);
    expect(signalOf().aborted).toBe(true);
    expect(signalOf().reason).toBe(seen.error);
  });

  it('reads what comes late, tells it, and gives it to nobody', async () => {
    const { clock, limit, events } = begin();
    const [value, error] = [deaf(), deaf()];
    const seen = [watch(limit.run(value.call)), watch(limit.run(error.call))];
    await clock.pass(1500);
    value.resolve('too late');
    error.reject('broke too late');
    await turn();
    expect(seen.map(({ error }) => (error as { code: string }).code)).toEqual(['timed-out', 'timed-out']);
    expect(events.slice(2)).toEqual([
      'late after 1500: {"value":"too late"}',
      'late after 1500: {"error":"broke too late"}',
    ]);
  });

  it('does not stop what the call has made, once the call has ended', async () => {
    const { clock, limit } = begin();
    const signal = await limit.run((signal) => signal);
    await clock.pass(5000);
    expect(signal?.aborted).toBe(false);
  });

  it('gives each call its own time', async () => {
    const { clock, limit } = begin();
    const first = watch(limit.run(deaf().call));
    await clock.pass(600);
    const second = watch(limit.run(deaf().call));
    await clock.pass(400);
    expect([first.isOver, second.isOver]).toEqual([true, false]);
    await clock.pass(600);
    expect(second.isOver).toBe(true);
  });

  it('passes on that a clock is broken', async () => {
    const { signal } = new AbortController();
    const raise = () => {
      throw new Error('no such timer');
    };
    for (const sleep of [raise, async () => raise()]) {
      const answer = timeout(1000, { clock: { now: () => 0, sleep } }).run(deaf().call, { signal });
      await expect(answer).rejects.toThrow('no such timer');
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });

  it.each([
    [0, {}, 'after must be a time above 0'],
    ['soon', {}, 'after'],
    [undefined, {}, 'after'],
    [Number.POSITIVE_INFINITY, {}, 'after'],
    [1000, { clock: {} }, 'clock'],
    [1000, { signal: 1 }, 'timeout options has no field "signal"'],
    [1000, null, 'timeout options'],
  ])('refuses %o with %o', (after, options, message) => {
    expect(() => timeout(after as number, options as TimeoutOptions)).toThrow(message);
  });
});

describe('the signal of the caller', () => {
  it('aborted before: no call is made', async () => {
    const { clock, limit, controller, signal } = begin();
    controller.abort('no need');
    let made = 0;
    await expect(limit.run(() => (made += 1), { signal })).rejects.toBe('no need');
    expect([made, clock.sleeping]).toEqual([0, 0]);
  });

  it('aborted in time: its reason is the answer at once, and the reason that the call is given', async () => {
    const { clock, limit, events, controller, signal } = begin();
    const { call, reject, signalOf } = deaf();
    const seen = watch(limit.run(call, { signal }));
    await clock.pass(999);
    const reason = new Error('enough');
    controller.abort(reason);
    await turn();
    expect(seen.error).toBe(reason);
    expect(signalOf().reason).toBe(reason);
    expect(clock.sleeping).toBe(0);
    // What comes after that is no late answer: nobody has waited too long.
    await clock.pass(5000);
    reject(new Error('stopped'));
    await turn();
    expect(events).toEqual([]);
  });

  it('aborted by the call itself is aborted all the same', async () => {
    const { clock, limit, controller, signal } = begin();
    const answer = limit.run(
      () => {
        controller.abort('enough');
        return 'an answer';
      },
      { signal },
    );
    await expect(answer).rejects.toBe('enough');
    expect(clock.sleeping).toBe(0);
  });

  it('aborted in the very turn in which the time is up: its reason is the answer, and nothing has timed out', async () => {
    const { clock, limit, events, controller, signal } = begin();
    const seen = watch(limit.run(deaf().call, { signal }));
    clock.advance(1000);
    controller.abort('enough');
    await turn();
    expect(seen.error).toBe('enough');
    expect(events).toEqual([]);
  });

  it('aborted later changes nothing', async () => {
    const { clock, limit, controller, signal } = begin();
    const { call, signalOf } = deaf();
    const seen = watch(limit.run(call, { signal }));
    await clock.pass(1000);
    controller.abort('enough');
    await turn();
    expect(seen.error).toMatchObject({ code: 'timed-out' });
    expect(signalOf().reason).toBe(seen.error);
  });

  it('that lives for long is left by every call, however it ended', async () => {
    const { clock, limit, signal } = begin();
    const all: Promise<unknown>[] = [];
    for (let call = 0; call < 10_000; call += 1) {
      if (call % 4 === 0) all.push(limit.run(deaf().call, { signal }));
      else if (call % 4 === 1) all.push(limit.run(() => Promise.reject(new Error('down')), { signal }));
      else await limit.run(() => call, { signal });
    }
    const ended = Promise.allSettled(all);
    // However many are under way: more than ten listeners look like a leak to Node, and it says so.
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    expect(clock.sleeping).toBe(2500);
    await clock.pass(1000);
    await ended;
    expect(getEventListeners(signal, 'abort').length).toBe(0);
    expect(clock.sleeping).toBe(0);
  });
});

it('the first of call, time and caller decides, and nothing is left of the others', async () => {
  const moments = fc.integer({ min: 1, max: 30 });
  await fc.assert(
    fc.asyncProperty(moments, moments, moments, fc.boolean(), async (callMs, afterMs, abortMs, isFailure) => {
      // A moment of its own for each, so that there is a first: 3n, 3n + 1, 3n + 2.
      const [endsMs, upMs, goneMs] = [callMs * 3, afterMs * 3 + 1, abortMs * 3 + 2];
      const { clock, limit, controller, signal } = begin(upMs);
      const { call, resolve, reject } = deaf();
      const seen = watch(limit.run(call, { signal }));
      const at = [
        { ms: endsMs, act: () => (isFailure ? reject('down') : resolve('done')) },
        { ms: goneMs, act: () => controller.abort('enough') },
      ];
      for (const { ms, act } of at.sort((a, b) => a.ms - b.ms)) {
        await clock.pass(ms - clock.now());
        act();
        await turn();
      }
      await clock.pass(200 - clock.now());
      const first = Math.min(endsMs, upMs, goneMs);
      if (first === upMs) expect(seen.error).toMatchObject({ code: 'timed-out' });
      else if (first === goneMs) expect(seen.error).toBe('enough');
      else expect(isFailure ? seen.error : seen.value).toBe(isFailure ? 'down' : 'done');
      expect(clock.sleeping).toBe(0);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }),
  );
});
