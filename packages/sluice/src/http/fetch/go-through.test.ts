import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Check, Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Answer } from '../../vocabulary/answer.ts';
import { type FetchRateLimitOptions, rateLimit } from './index.ts';

const get = (init: RequestInit = {}) => new Request('http://localhost/', init);

/** Every turn that is ready has been taken. */
const turns = () => new Promise((resolve) => setImmediate(resolve));

/** A limit that tells how responses ended, and whether its one place is free. */
function watching(given: object = {}) {
  const outcomes: [status: number, isComplete: boolean][] = [];
  const options: FetchRateLimitOptions = {
    policy: concurrency({ limit: 1 }),
    key: () => 'alice',
    costAfter(request, { status, isComplete }) {
      if (!request.url.endsWith('/probe')) outcomes.push([status, isComplete]);
      return 1;
    },
    ...given,
  };
  const limit = rateLimit(options);
  const isFree = async () => (await limit(() => new Response())(new Request('http://localhost/probe'))).status === 200;
  return { limit, outcomes, isFree };
}

/** A promise, and how to keep it. */
function promised() {
  let keep: () => void = () => {};
  const kept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return { keep, kept };
}

/** A store that takes a turn to answer. */
function laterStore(): Store<'async'> {
  const memory = memoryStore();
  return {
    mode: 'async',
    clock: memory.clock,
    async apply(checks: readonly Check[], atMs?: number) {
      await turns();
      return memory.apply(checks, atMs);
    },
  };
}

function failing(): ReadableStream {
  return new ReadableStream({
    pull() {
      throw new Error('the disk is gone');
    },
  });
}

function twoPieces(): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const piece of ['hello', ', world']) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
}

function locked(): Response {
  const response = new Response('hello');
  response.body?.getReader();
  return response;
}

describe('the end of a response', () => {
  type Row = [what: string, handler: () => Answer<Response | undefined>, method: string, outcome: [number, boolean]];
  const rows: Row[] = [
    ['a text', () => new Response('hello'), 'GET', [200, true]],
    ['no body', () => new Response(null, { status: 404 }), 'GET', [404, true]],
    ['a redirect', () => Response.redirect('http://localhost/x'), 'GET', [302, true]],
    ['a body that HEAD does not want', () => new Response('hello'), 'HEAD', [200, true]],
    ['a WebSocket', () => undefined, 'GET', [200, true]],
    ['what is no answer', () => Response.error(), 'GET', [0, true]],
    ['a body that fails', () => new Response(failing()), 'GET', [200, false]],
    ['a body that cannot be read', locked, 'GET', [500, false]],
    ['a handler that fails', () => Promise.reject(new Error('no database')), 'GET', [500, false]],
  ];
  it.each(rows)('of %s is told once, and gives the place back', async (_what, handler, method, outcome) => {
    const { limit, outcomes, isFree } = watching();
    const answered = await limit(handler)(get({ method })).catch(() => undefined);
    if (method === 'GET') await answered?.arrayBuffer().catch(() => undefined);
    await turns();
    expect(outcomes).toEqual([outcome]);
    expect(await isFree()).toBe(true);
  });

  it.each([
    ['throws', (error: Error) => () => raise(error)],
    ['rejects', (error: Error) => () => Promise.reject(error)],
  ])('of a handler that %s is told, and the error goes on', async (_how, failingWith) => {
    const { limit, outcomes } = watching();
    const error = new Error('no database');
    await expect(limit(failingWith(error))(get())).rejects.toBe(error);
    await turns();
    expect(outcomes).toEqual([[500, false]]);
  });

  it('comes with the last byte, and not before', async () => {
    const { limit, outcomes, isFree } = watching();
    let pulled = 0;
    const source: UnderlyingDefaultSource = {
      pull(controller) {
        pulled += 1;
        if (pulled > 2) controller.close();
        else controller.enqueue(new Uint8Array(pulled));
      },
    };
    const init = { status: 201, headers: { 'content-type': 'text/event-stream' } };
    const answered = await limit(() => new Response(new ReadableStream(source, { highWaterMark: 0 }), init))(get());
    const { status, headers } = answered;
    expect([status, headers.get('content-type'), headers.has('ratelimit')]).toEqual([201, 'text/event-stream', true]);
    const reader = answered.body!.getReader();
    await turns();
    expect(pulled).toBe(0); // nothing is read ahead
    expect((await reader.read()).value).toHaveLength(1);
    expect((await reader.read()).value).toHaveLength(2);
    await turns();
    expect([outcomes, await isFree()]).toEqual([[], false]);
    expect((await reader.read()).done).toBe(true);
    await turns();
    expect([outcomes, await isFree()]).toEqual([[[201, true]], true]);
  });

  it.each([
    ['before any of it is read', 0, 499],
    ['when some of it is read', 1, 200],
  ])('comes when the body is cancelled %s, and the handler’s body hears why', async (_when, pieces, status) => {
    const { limit, outcomes, isFree } = watching();
    const reasons: unknown[] = [];
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(1));
      },
      cancel(reason) {
        reasons.push(reason);
      },
    });
    const answered = await limit(() => new Response(stream))(get());
    const reader = answered.body?.getReader();
    for (let read = 0; read < pieces; read += 1) await reader?.read();
    await reader?.cancel('bored');
    await turns();
    expect([reasons, outcomes, await isFree()]).toEqual([['bored'], [[status, false]], true]);
  });

  it('of a body that fails says why to whoever reads it', async () => {
    const { limit } = watching();
    await expect((await limit(() => new Response(failing()))(get())).text()).rejects.toThrow('the disk is gone');
  });

  it.each([
    ['while the store is asked', { store: laterStore() }, 0, 499],
    ['while the handler works', {}, 1, 499],
    ['before the body is asked for, and so before the head', {}, 2, 499],
    ['while the body is sent', {}, 3, 201],
  ])('comes when the client leaves %s, and only once', async (_when, given, steps, status) => {
    const { limit, outcomes, isFree } = watching(given);
    const left = new AbortController();
    const { keep, kept } = promised();
    const answer = limit(async () => {
      await kept;
      return new Response(twoPieces(), { status: 201 });
    });
    const asked = answer(get({ signal: left.signal }));
    if (steps > 0) await turns();
    if (steps > 1) {
      keep();
      await asked;
    }
    const reader = steps > 2 ? (await asked).body?.getReader() : undefined;
    await reader?.read();
    left.abort();
    for (let i = 0; i < 10; i += 1) await turns();
    expect(outcomes).toEqual([[status, false]]);
    expect(await isFree()).toBe(true);
    // What comes later is told to nobody.
    keep();
    if (reader === undefined) await (await asked).text();
    else await reader.cancel();
    await turns();
    expect(outcomes).toHaveLength(1);
  });

  it('lets go of the request’s signal', async () => {
    const { signal } = new AbortController();
    const listening = new Set<unknown>();
    const request = get();
    Object.defineProperty(request, 'signal', {
      value: {
        aborted: signal.aborted,
        addEventListener: (_type: string, listener: unknown) => listening.add(listener),
        removeEventListener: (_type: string, listener: unknown) => listening.delete(listener),
      },
    });
    const answered = await watching().limit(() => new Response('hello'))(request);
    expect(listening.size).toBe(1);
    await answered.text();
    expect(listening.size).toBe(0);
  });

  it('is not looked for where nobody has to be told', async () => {
    const request = get();
    Object.defineProperty(request, 'signal', { get: () => expect.fail('nobody needs the signal') });
    const { limit } = watching({ policy: leakyBucket({ limit: 1, window: '1s' }), costAfter: undefined });
    const own = new Response('hello');
    expect(await limit(() => own)(request)).toBe(own);
  });

  it('takes nothing from the body and adds nothing, however it comes', async () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(chunks, async (given) => {
        const { limit, outcomes } = watching();
        const stream = new ReadableStream({
          start(controller) {
            for (const chunk of given) controller.enqueue(chunk.slice());
            controller.close();
          },
        });
        const answered = await limit(() => new Response(stream))(get());
        expect(Buffer.from(await answered.arrayBuffer())).toEqual(Buffer.concat(given));
        await turns();
        expect(outcomes).toEqual([[200, true]]);
      }),
    );
  });
});

describe('a request that is held back', () => {
  const startMs = 1_750_000_000_000;
  const shaped = (clock: TestClock) => watching({ policy: leakyBucket({ limit: 1, window: '10s', burst: 5 }), clock });

  it('does not reach the handler when the client leaves, and its end is told', async () => {
    const clock = new TestClock(startMs);
    const { limit, outcomes } = shaped(clock);
    let calls = 0;
    const answer = limit(() => {
      calls += 1;
      return new Response('hello');
    });
    await (await answer(get())).text();
    const left = new AbortController();
    const held = answer(get({ signal: left.signal }));
    await turns();
    expect(clock.sleeping).toBe(1);
    left.abort();
    expect((await held).status).toBe(499);
    await turns();
    expect([calls, outcomes]).toEqual([
      1,
      [
        [200, true],
        [499, false],
      ],
    ]);
  });

  it('goes on when its time has come', async () => {
    const clock = new TestClock(startMs);
    const { limit, outcomes } = shaped(clock);
    const answer = limit(() => new Response('hello'));
    await (await answer(get())).text();
    const held = answer(get());
    await turns();
    clock.advance(10_000);
    expect(await (await held).text()).toBe('hello');
    await turns();
    expect(outcomes).toEqual([
      [200, true],
      [200, true],
    ]);
  });

  it('fails where the clock does, and its end is told', async () => {
    const clock = new TestClock(startMs);
    const { limit, outcomes } = shaped(clock);
    const answer = limit(() => new Response('hello'));
    await (await answer(get())).text();
    clock.sleep = () => Promise.reject(new Error('the clock is broken'));
    await expect(answer(get())).rejects.toThrow('the clock is broken');
    await turns();
    expect(outcomes.at(-1)).toEqual([500, false]);
  });
});

function raise(error: unknown): never {
  throw error;
}
