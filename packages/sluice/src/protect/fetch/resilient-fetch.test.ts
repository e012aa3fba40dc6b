import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { SluiceError } from '../../vocabulary/errors.ts';
import { adaptiveConcurrency } from '../adaptive-concurrency/adaptive-concurrency.ts';
import { bulkhead } from '../bulkhead/bulkhead.ts';
import { type CircuitBreaker, circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import type { OutboundEvents } from '../outbound/events.ts';
import { pacer } from '../pacer/pacer.ts';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import { type SharedCircuit, sharedCircuit } from '../shared-circuit/shared-circuit.ts';
import { type Fetch, type ResilientFetchOptions, resilientFetch } from './resilient-fetch.ts';

/** What the server answers with: a status, a response, an error, or nothing at all. */
type Reply = number | Response | Error | 'hangs' | ((signal: AbortSignal) => Response | Promise<Response>);

const api = 'https://api.example.com/items';

/** A server that answers as it is told, the last for ever. */
function begin(replies: readonly Reply[], options: ResilientFetchOptions = {}) {
  const clock = new PassingClock(1_750_000_000_000);
  const startMs = clock.now();
  const requests: { input: unknown; init: RequestInit; atMs: number }[] = [];
  const cancelled: number[] = [];
  const fake: Fetch = async (input, init = {}) => {
    const number = requests.length;
    requests.push({ input, init, atMs: clock.now() - startMs });
    const reply = replies[Math.min(number, replies.length - 1)]!;
    const signal = init.signal!;
    signal.throwIfAborted();
    if (reply instanceof Error) throw reply;
    if (reply === 'hangs')
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (typeof reply === 'function') return reply(signal);
    if (typeof reply === 'number')
      return new Response(
        bodyOf(() => cancelled.push(number)),
        { status: reply },
      );
    return reply;
  };
  const fetch = resilientFetch({ clock, random: () => 0.5, fetch: fake, ...options });
  const told: [keyof OutboundEvents, object][] = [];
  const names = ['retry', 'gave-up', 'refused', 'circuit', 'delayed', 'blocked', 'timed-out'] as const;
  for (const name of names) fetch.on(name, (event) => told.push([name, event]));
  /** Lets time pass until there is an answer. */
  async function get(input: string | URL | Request = api, init?: RequestInit, forMs = 600_000): Promise<Response> {
    let isDone = false;
    const response = fetch(input, init).finally(() => {
      isDone = true;
    });
    response.catch(() => undefined);
    await turn();
    for (let passedMs = 0; !isDone && passedMs < forMs; passedMs += 100) await clock.pass(100);
    return response;
  }
  const codeOf = (input = api, init?: RequestInit) =>
    get(input, init).then(
      ({ status }) => status,
      (error: SluiceError) => error.code ?? error.message,
    );
  return { clock, fetch, get, codeOf, requests, cancelled, told };
}

/** A body that nobody has read yet, and never ends by itself. */
function bodyOf(onCancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('some text')),
    cancel: onCancel,
  });
}

const headed = (status: number, headers: HeadersInit) => new Response(null, { status, headers });
const alone = {
  retry: false,
  pacer: false,
  bulkhead: false,
  adaptiveThrottle: false,
  circuitBreaker: false,
  timeout: false,
} as const;

describe('a drop-in fetch', () => {
  it('has the type of fetch', () => {
    expectTypeOf(resilientFetch()).toExtend<typeof globalThis.fetch>();
  });

  it('hands on what it is given, and back what it gets', async () => {
    const response = new Response('ok');
    const { get, requests } = begin([response]);
    const init = { method: 'PUT', headers: { a: 'b' }, body: 'text', redirect: 'manual', keepalive: true } as const;
    expect(await get(new URL(api), init)).toBe(response);
    expect(requests[0]!.input).toEqual(new URL(api));
    expect(requests[0]!.init).toEqual({ ...init, signal: expect.any(AbortSignal) });
  });

  it('takes a Request, and one as init', async () => {
    const { get, requests } = begin([200]);
    const request = new Request(api, { method: 'DELETE', headers: { a: 'b' } });
    await get(request);
    expect(requests[0]!.input).toBe(request);
    await get('https://other.example.com/', request);
    expect(requests[1]!.init).toMatchObject({ method: 'DELETE', redirect: 'follow' });
    expect(new Headers(requests[1]!.init.headers).get('a')).toBe('b');
  });

  it('keeps what an init has that only some runtimes know', async () => {
    const { get, requests } = begin([200]);
    const dispatcher = {};
    await get(api, { dispatcher } as RequestInit);
    expect((requests[0]!.init as { dispatcher?: object }).dispatcher).toBe(dispatcher);
  });

  it('leaves alone what has no server', async () => {
    const data = await resilientFetch()('data:text/plain,hello');
    expect(await data.text()).toBe('hello');
    const { fetch } = begin([200]);
    const init = {};
    await fetch('data:text/plain,hello', init).catch(() => undefined);
    expect(fetch.origins()).toEqual([]);
  });

  it('fails as fetch does for what is no request', async () => {
    await expect(resilientFetch()('no url')).rejects.toThrow(TypeError);
    await expect(resilientFetch()('https://x.example', { method: 'A B' })).rejects.toThrow(TypeError);
  });

  it('works with everything switched off', async () => {
    const { get, requests } = begin([503], alone);
    expect((await get()).status).toBe(503);
    expect(requests).toHaveLength(1);
  });

  it("asks for the platform's fetch when it is called", async () => {
    const original = globalThis.fetch;
    const fetch = resilientFetch();
    globalThis.fetch = async () => new Response('replaced');
    try {
      expect(await (await fetch(api)).text()).toBe('replaced');
    } finally {
      globalThis.fetch = original;
    }
  });
});

describe('what is made again', () => {
  const stream = () => new ReadableStream({ start: (controller) => controller.close() });
  async function* generated() {
    yield new Uint8Array(1);
  }
  const form = new FormData();
  const key = { 'Idempotency-Key': '42' };

  // biome-ignore format: aligned rows
  it.each<[string, string | Request, RequestInit | undefined, ResilientFetchOptions, number]>([
    [ 'GET',                      api, undefined,                                       {},                    3 ],
    [ 'a GET in small letters',   api, { method: 'get' },                               {},                    3 ],
    [ 'HEAD',                     api, { method: 'HEAD' },                              {},                    3 ],
    [ 'OPTIONS',                  api, { method: 'OPTIONS' },                           {},                    3 ],
    [ 'TRACE',                    api, { method: 'TRACE' },                             {},                    3 ],
    [ 'PUT',                      api, { method: 'PUT', body: 'text' },                 {},                    3 ],
    [ 'DELETE',                   api, { method: 'DELETE' },                            {},                    3 ],
    [ 'POST',                     api, { method: 'POST', body: 'text' },                {},                    1 ],
    [ 'PATCH',                    api, { method: 'PATCH', body: 'text' },               {},                    1 ],
    [ 'POST with a key',          api, { method: 'POST', body: 'text', headers: key },  {},                    3 ],
    [ 'POST with a key in pairs', api, { method: 'POST', headers: [['idempotency-key', '1']] }, {},            3 ],
    [ 'POST with a key in Headers', api, { method: 'POST', headers: new Headers(key) }, {},                    3 ],
    [ 'POST, when told',          api, { method: 'POST', body: 'text' },                { retryUnsafe: true }, 3 ],
    [ 'PUT of bytes',             api, { method: 'PUT', body: new Uint8Array(2) },      {},                    3 ],
    [ 'PUT of a buffer',          api, { method: 'PUT', body: new ArrayBuffer(2) },     {},                    3 ],
    [ 'PUT of a blob',            api, { method: 'PUT', body: new Blob(['x']) },        {},                    3 ],
    [ 'PUT of a form',            api, { method: 'PUT', body: form },                   {},                    3 ],
    [ 'PUT of parameters',        api, { method: 'PUT', body: new URLSearchParams('a=b') }, {},                3 ],
    [ 'PUT of a stream',          api, { method: 'PUT', body: stream(), duplex: 'half' } as RequestInit, {},   1 ],
    [ 'PUT of what is generated', api, { method: 'PUT', body: generated() as never },   {},                    1 ],
    [ 'a stream, even when told', api, { method: 'POST', body: stream(), duplex: 'half' } as RequestInit, { retryUnsafe: true }, 1 ],
    [ 'a Request without a body', new Request(api), undefined,                          {},                    3 ],
    [ 'a Request with a body',    new Request(api, { method: 'PUT', body: 'text' }), undefined, {},            1 ],
    [ 'a Request with a key',     new Request(api, { method: 'POST', headers: key }), undefined, {},           3 ],
    [ 'a Request, its body replaced', new Request(api, { method: 'PUT', body: 'text' }), { body: 'other' }, {}, 3 ],
    [ 'a GET without retry',      api, undefined,                                       { retry: false },      1 ],
    [ 'a GET with 5 attempts',    api, undefined,                                       { retry: { attempts: 5 } }, 5 ],
  ])('%s', async (_, input, init, options, attempts) => {
    const { get, requests } = begin([502], { circuitBreaker: false, ...options });
    expect((await get(input, init)).status).toBe(502);
    expect(requests).toHaveLength(attempts);
  });

  it.each<[Reply, number]>([
    [200, 1],
    [204, 1],
    [301, 1],
    [304, 1],
    [400, 1],
    [404, 1],
    [408, 3],
    [425, 3],
    [429, 3],
    [500, 3],
    [501, 1],
    [502, 3],
    [503, 3],
    [504, 3],
    [new TypeError('fetch failed'), 3],
    [Object.assign(new TypeError('fetch failed'), { cause: { code: 'UND_ERR_INVALID_ARG' } }), 1],
  ])('%s is tried %d times', async (reply, attempts) => {
    const empty = typeof reply === 'number' ? new Response(null, { status: reply }) : reply;
    const { codeOf, requests } = begin([empty]);
    expect(await codeOf()).toBe(typeof reply === 'number' ? reply : 'fetch failed');
    expect(requests).toHaveLength(attempts);
  });

  it('is tried again for statuses of your own', async () => {
    const { get, requests } = begin([404, 503, 200], { retry: { statuses: [404] } });
    expect((await get()).status).toBe(503);
    expect(requests).toHaveLength(2);
  });

  it('answers with the last response, and lets go of the bodies of the others', async () => {
    const { get, cancelled, told } = begin([503, 502, 200]);
    const response = await get();
    expect(response.status).toBe(200);
    expect(cancelled).toEqual([0, 1]);
    expect(response.bodyUsed).toBe(false);
    expect(told).toEqual([
      ['retry', { origin: 'https://api.example.com', attempt: 1, delayMs: expect.any(Number), ended: { status: 503 } }],
      ['retry', { origin: 'https://api.example.com', attempt: 2, delayMs: expect.any(Number), ended: { status: 502 } }],
    ]);
  });

  it('a last 503 is an answer, with its body', async () => {
    const { get, cancelled, told } = begin([503]);
    const response = await get();
    expect(response.status).toBe(503);
    expect(cancelled).toEqual([0, 1]);
    const { value } = await response.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toBe('some text');
    expect(told.at(-1)).toEqual([
      'gave-up',
      { origin: 'https://api.example.com', attempt: 3, reason: 'attempts', ended: { status: 503 } },
    ]);
  });

  it('a body that cannot be cancelled is no trouble', async () => {
    const broken = new ReadableStream({ cancel: () => Promise.reject(new Error('broken')) });
    const { get } = begin([() => new Response(broken, { status: 503 }), 200]);
    expect((await get()).status).toBe(200);
  });

  it("a body of Node's streams is let go as well", async () => {
    const body = new Readable({ read: () => undefined });
    const { get } = begin([() => ({ status: 503, headers: new Headers(), body }) as never, 200]);
    expect((await get()).status).toBe(200);
    expect(body.destroyed).toBe(true);
  });

  it('has a budget, of each origin its own', async () => {
    const { codeOf, requests, told } = begin([503], {
      ...alone,
      retry: { attempts: 2, budget: { ratio: 0, minPerSecond: 0.2 } },
    });
    for (let i = 0; i < 5; i += 1) await codeOf();
    expect(requests).toHaveLength(7);
    expect(told.filter(([, event]) => (event as { reason?: string }).reason === 'budget')).toHaveLength(3);
    await codeOf('https://other.example.com/');
    expect(requests).toHaveLength(9);
  });
});

describe('waits that the server asks for', () => {
  const nowSeconds = 1_750_000_000;
  // biome-ignore format: aligned rows
  it.each<[string, number, HeadersInit, number]>([
    [ 'seconds',                        503, { 'Retry-After': '7' },                                           7000 ],
    [ 'a date',                         503, { 'Retry-After': new Date((nowSeconds + 9) * 1000).toUTCString() }, 9000 ],
    [ 'a date, by a clock that is late', 503, { Date: new Date((nowSeconds - 60) * 1000).toUTCString(), 'Retry-After': new Date((nowSeconds - 51) * 1000).toUTCString() }, 9000 ],
    [ 'on a 502 as well',               502, { 'Retry-After': '7' },                                           7000 ],
    [ 'RateLimit, when refused',        429, { RateLimit: '"p";r=0;t=5' },                                     5000 ],
    [ 'X-RateLimit, when refused',      429, { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(nowSeconds + 5) }, 5000 ],
    [ 'Retry-After before RateLimit',   429, { 'Retry-After': '3', RateLimit: '"p";r=0;t=5' },                 3000 ],
  ])('%s', async (_, status, headers, leastMs) => {
    const { get, requests } = begin([headed(status, headers), 200], { pacer: false, random: () => 0 });
    expect((await get()).status).toBe(200);
    expect(requests[1]!.atMs).toBe(leastMs);
  });

  it('are read as the pacer is told to', async () => {
    const limited = headed(429, { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '5000' });
    const { get, requests } = begin([limited, 200], { pacer: { reset: 'milliseconds' }, random: () => 0 });
    expect((await get()).status).toBe(200);
    expect(requests[1]!.atMs).toBe(5000);
  });

  it('are obeyed by every call to that origin, and by no other', async () => {
    const { get, fetch, clock, requests } = begin([headed(503, { 'Retry-After': '20' }), 200], {
      retry: false,
      random: () => 0,
    });
    await get();
    const other = fetch('https://other.example.com/');
    await turn();
    expect((await other).status).toBe(200);
    const same = fetch(api);
    await clock.pass(19_999);
    expect(requests).toHaveLength(2);
    await clock.pass(1);
    expect((await same).status).toBe(200);
    expect(requests[2]!.atMs).toBe(20_000);
  });

  it('that are too long end the attempts: the refusal is the answer, and the next call is not made', async () => {
    const { get, codeOf, requests, told } = begin([headed(429, { 'Retry-After': '3600' })]);
    expect((await get()).status).toBe(429);
    expect(told.map(([name]) => name)).toEqual(['blocked', 'gave-up']);
    expect(await codeOf()).toBe('throttled');
    expect(requests).toHaveLength(1);
    expect(told.at(-1)).toEqual(['refused', { origin: 'https://api.example.com', by: 'pacer' }]);
  });

  it('spread what is left before there is a refusal', async () => {
    const left = (remaining: number, seconds: number) =>
      headed(200, { 'RateLimit-Policy': '"p";q=10;w=10', RateLimit: `"p";r=${remaining};t=${seconds}` });
    const { get, requests, told } = begin([left(4, 10), left(3, 8), 200]);
    for (let i = 0; i < 3; i += 1) await get();
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 2000, 4000]);
    expect(told).toEqual([
      ['delayed', { origin: 'https://api.example.com', delayMs: 2000 }],
      ['delayed', { origin: 'https://api.example.com', delayMs: 2000 }],
    ]);
  });

  it('may be kept by a pacer that others use too', async () => {
    const { clock } = begin([200]);
    const shared = pacer({ clock });
    const { codeOf } = begin([200], { pacer: shared, clock });
    shared.learn('https://api.example.com', { 'Retry-After': '3600' }, 429);
    expect(await codeOf()).toBe('throttled');
  });
});

describe('what stops calls', () => {
  it('the circuit breaker, after 5xx and errors in a row', async () => {
    const { codeOf, requests, told, clock } = begin([500, new TypeError('fetch failed'), 501, 502, 504, 200], {
      ...alone,
      circuitBreaker: {},
    });
    for (let i = 0; i < 5; i += 1) await codeOf();
    expect(await codeOf()).toBe('circuit-open');
    expect(requests).toHaveLength(5);
    expect(told).toEqual([
      ['circuit', { origin: 'https://api.example.com', from: 'closed', to: 'open', reason: 'consecutive-failures' }],
      ['refused', { origin: 'https://api.example.com', by: 'circuitBreaker' }],
    ]);
    expect(await codeOf('https://other.example.com/')).toBe(200);
    await clock.pass(30_000);
    expect(await codeOf()).toBe(200);
  });

  it.each([200, 404, 429])('not the circuit breaker, after %d', async (status) => {
    const { codeOf } = begin([new Response(null, { status })], {
      ...alone,
      circuitBreaker: { consecutiveFailures: 1 },
    });
    for (let i = 0; i < 3; i += 1) expect(await codeOf()).toBe(status);
  });

  it('the throttle, where most are rejected', async () => {
    const { codeOf, told } = begin([429], { ...alone, adaptiveThrottle: {} });
    const codes: unknown[] = [];
    for (let i = 0; i < 30; i += 1) codes.push(await codeOf());
    expect(codes.filter((code) => code === 'throttled').length).toBeGreaterThan(10);
    expect(told).toContainEqual(['refused', { origin: 'https://api.example.com', by: 'adaptiveThrottle' }]);
  });

  it.each([500, 404])('not the throttle, where the server only fails with %d', async (status) => {
    const { codeOf } = begin([status], { ...alone, adaptiveThrottle: {} });
    for (let i = 0; i < 30; i += 1) expect(await codeOf()).toBe(status);
  });

  it('the bulkhead, until the head of an answer has come', async () => {
    const { fetch, codeOf, told } = begin(['hangs', 200], { ...alone, bulkhead: { limit: 1, queue: 0 } });
    const given = new AbortController();
    const first = fetch(api, { signal: given.signal });
    await turn();
    expect(await codeOf()).toBe('bulkhead-full');
    expect(told).toEqual([['refused', { origin: 'https://api.example.com', by: 'bulkhead' }]]);
    given.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    expect(await codeOf()).toBe(200);
    // Its body is unread; the place is free all the same.
    expect(await codeOf()).toBe(200);
  });

  it.each<[string, ResilientFetchOptions, Reply]>([
    ['the circuit breaker', { circuitBreaker: { consecutiveFailures: 1 } }, 503],
    ['the throttle', { adaptiveThrottle: { minRequests: 1, k: 1 }, random: () => 0 }, 503],
    ['the pacer', { pacer: { maxDelay: 1 } }, headed(503, { RateLimit: '"p";r=0;t=20' })],
  ])('a further attempt that %s refused was not made: the answer is the one there is, unread', async (_, on, reply) => {
    const { get, requests, cancelled, told } = begin([reply], { ...alone, retry: { attempts: 5 }, ...on });
    const response = await get(api, { method: 'PUT', body: 'x' });
    expect(response.status).toBe(503);
    expect([requests.length, cancelled]).toEqual([1, []]);
    const { reason } = told.find(([name]) => name === 'gave-up')![1] as { reason: string };
    expect(reason).toBe('refused');
  });

  it('the bulkhead refuses a further attempt: the answer is the one there is', async () => {
    const { fetch, clock, requests } = begin([503, 'hangs'], { ...alone, retry: {}, bulkhead: { limit: 1, queue: 0 } });
    const first = fetch(api);
    await turn();
    void fetch(api).catch(() => undefined);
    await clock.pass(1000);
    expect((await first).status).toBe(503);
    expect(requests).toHaveLength(2);
  });

  it('a call that was never made is refused, and not tried again', async () => {
    const { codeOf, requests, told } = begin([500], { retry: false, circuitBreaker: { consecutiveFailures: 1 } });
    await codeOf();
    expect(await codeOf()).toBe('circuit-open');
    expect([requests.length, told.filter(([name]) => name === 'refused').length]).toEqual([1, 1]);
  });

  it('an open circuit refuses at once, and nobody waits for it in the line of the pacer', async () => {
    const { fetch, get, clock, requests } = begin([headed(503, { 'Retry-After': '20' })], {
      retry: false,
      circuitBreaker: { consecutiveFailures: 1, openFor: '30s' },
    });
    await get();
    const startMs = clock.now();
    await expect(fetch(api)).rejects.toMatchObject({ code: 'circuit-open' });
    expect([clock.now() - startMs, clock.sleeping, requests.length]).toEqual([0, 0, 1]);
    expect(fetch.origins()[0]).toMatchObject({ circuit: 'open', inFlight: 0 });
  });

  it('asked before the line, a half-open circuit keeps its probe for the call that is made', async () => {
    const { codeOf, clock } = begin([500, 200], { retry: false, circuitBreaker: { consecutiveFailures: 1 } });
    await codeOf();
    await clock.pass(30_000);
    expect([await codeOf(), await codeOf()]).toEqual([200, 200]);
  });
});

describe('what is given for each origin', () => {
  it('a circuit breaker, which learns from answers, and is told of', async () => {
    const clock = new PassingClock(1_750_000_000_000);
    const given = new Map<string, CircuitBreaker>();
    const { codeOf, told, fetch } = begin([500, 404, new TypeError('fetch failed'), 503, 200], {
      ...alone,
      clock,
      maxOrigins: 1,
      circuitBreaker: (origin) => {
        const breaker = given.get(origin) ?? circuitBreaker({ consecutiveFailures: 2, clock });
        given.set(origin, breaker);
        return breaker;
      },
    });
    expect(given.size).toBe(0);
    for (let i = 0; i < 5; i += 1) await codeOf();
    expect(await codeOf()).toBe('circuit-open');
    expect(given.get('https://api.example.com')!.stats()).toMatchObject({ state: 'open', refused: 2 });
    expect(fetch.origins()[0]!.circuit).toBe('open');
    // There is room for one origin: it leaves, comes back, and is not told of twice.
    await codeOf('https://other.example.com/');
    expect(await codeOf()).toBe('circuit-open');
    expect(told.filter(([name]) => name === 'circuit')).toEqual([
      ['circuit', { origin: 'https://api.example.com', from: 'closed', to: 'open', reason: 'consecutive-failures' }],
    ]);
    given.get('https://api.example.com')!.close();
    expect(told.filter(([name]) => name === 'circuit')).toHaveLength(2);
  });

  it('a circuit that several instances share', async () => {
    const store = memoryStore();
    const shared: SharedCircuit[] = [];
    const { codeOf } = begin([500], {
      ...alone,
      circuitBreaker: (name) => {
        shared.push(sharedCircuit(circuitBreaker({ consecutiveFailures: 1 }), { store, name }));
        return shared.at(-1)!;
      },
    });
    await codeOf();
    expect(await codeOf()).toBe('circuit-open');
    expect(shared).toHaveLength(1);
    await shared[0]!.leave();
  });

  it('adaptive concurrency, to which a 429, a 503 and no answer are overload, and nothing else is', async () => {
    const outcomes: string[] = [];
    const { codeOf, fetch, told } = begin([200, 404, 500, 429, 503, new TypeError('fetch failed'), 'hangs'], {
      ...alone,
      bulkhead: () => {
        const gate = adaptiveConcurrency({ algorithm: 'aimd', limitInitial: 1 });
        gate.on('ended', ({ outcome }) => outcomes.push(outcome));
        return gate;
      },
    });
    for (let i = 0; i < 6; i += 1) await codeOf();
    expect(outcomes).toEqual(['ok', 'ok', 'ok', 'failed', 'failed', 'failed']);
    const given = new AbortController();
    const hanging = fetch(api, { signal: given.signal });
    await turn();
    expect(await codeOf()).toBe('bulkhead-full');
    expect(told).toEqual([['refused', { origin: 'https://api.example.com', by: 'bulkhead' }]]);
    given.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    expect(outcomes.at(-1)).toBe('ignored');
  });

  it('or none: then that origin has none', async () => {
    const { codeOf, fetch } = begin([500], { ...alone, circuitBreaker: () => undefined, bulkhead: () => undefined });
    for (let i = 0; i < 10; i += 1) expect(await codeOf()).toBe(500);
    expect(fetch.origins()).toEqual([{ origin: 'https://api.example.com', inFlight: 0 }]);
  });

  it('a place that comes in the turn in which the caller gives up is given back', async () => {
    const gate = bulkhead({ limit: 1, queue: 1 });
    const { fetch, requests } = begin([200], { ...alone, bulkhead: () => gate });
    const held = gate.tryPass()!;
    const given = new AbortController();
    const waiting = fetch(api, { signal: given.signal });
    await turn();
    held.ok();
    given.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect([requests.length, gate.stats().inFlight]).toEqual([0, 0]);
  });

  it.each([
    [{ circuitBreaker: () => ({}) }, 'what circuitBreaker returns must be a circuit breaker such as circuitBreaker()'],
    [{ bulkhead: () => null }, 'what bulkhead returns must be a bulkhead such as bulkhead()'],
  ])('what is none of it is refused with the call', async (options, message) => {
    await expect(begin([200], options as never).fetch(api)).rejects.toThrow(message);
  });
});

describe("a mistake of the caller's own", () => {
  const down = () => Object.assign(new TypeError('fetch failed'), { cause: new Error('connection refused') });
  const once = { consecutiveFailures: 1 } as const;
  async function* failing() {
    yield new Uint8Array(1);
    throw new Error('my own file');
  }
  const failingStream = () =>
    new ReadableStream({
      pull: () => Promise.reject(new Error('my own file')),
    });
  const nodeStream = () => Readable.from(failing());
  const locked = () => {
    const body = new ReadableStream();
    body.getReader();
    return body;
  };

  // biome-ignore format: aligned rows
  it.each<[string, string, RequestInit]>([
    [ 'a header with a line break',       '',                { headers: { 'x-user': 'a\nb' } } ],
    [ 'a header that is no name',         '',                { headers: { 'a b': 'c' } } ],
    [ 'a method that is no word',         '',                { method: 'A B' } ],
    [ 'a GET with a body',                '',                { body: 'text' } ],
    [ 'a stream without duplex',          '',                { method: 'PUT', body: failingStream() } ],
    [ 'a stream that somebody reads',     '',                { method: 'PUT', body: locked(), duplex: 'half' } as RequestInit ],
    [ 'a stream that fails',              '',                { method: 'PUT', body: failingStream(), duplex: 'half' } as RequestInit ],
    [ 'a stream of Node that fails',      '',                { method: 'PUT', body: nodeStream(), duplex: 'half' } as never ],
    [ 'what is generated, and fails',     '',                { method: 'PUT', body: failing(), duplex: 'half' } as never ],
    [ 'a password in the address',        'user:password@',  {} ],
  ])('%s is not tried again, and opens no circuit', async (_, user, init) => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.end('fine'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const fetch = resilientFetch({ retry: { baseDelay: 1 }, circuitBreaker: once });
    const retries: unknown[] = [];
    fetch.on('retry', (event) => retries.push(event));
    try {
      await expect(fetch(`http://${user}127.0.0.1:${port}/`, init)).rejects.toThrow(TypeError);
      expect([retries, fetch.origins()[0]!.circuit, fetch.origins()[0]!.inFlight]).toEqual([[], 'closed', 0]);
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('fine');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('is not confused with a server that fails', async () => {
    const bodies = [undefined, 'text', new ReadableStream(), Readable.from(['text'])];
    for (const body of bodies) {
      const init = { method: 'PUT', body, duplex: 'half' } as RequestInit;
      const { codeOf, fetch } = begin([down()], { ...alone, circuitBreaker: once });
      expect(await codeOf(api, init)).toBe('fetch failed');
      expect(fetch.origins()[0]!.circuit).toBe('open');
    }
  });

  it('a stream of Node that the connection took with it is no mistake', async () => {
    const body = new Readable({ read: () => undefined });
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const failed = Object.assign(new TypeError('fetch failed'), { cause: reset });
    const broken = async () => {
      body.destroy(reset);
      await turn();
      throw failed;
    };
    const { codeOf, fetch } = begin([broken], { ...alone, circuitBreaker: once });
    expect(await codeOf(api, { method: 'PUT', body, duplex: 'half' } as never)).toBe('fetch failed');
    expect(fetch.origins()[0]!.circuit).toBe('open');
  });

  it('a Request that was sent already goes to fetch as it is', async () => {
    const request = new Request(api, { method: 'PUT', body: 'text' });
    await request.text();
    const fetch = resilientFetch();
    await expect(fetch(request)).rejects.toThrow(TypeError);
    expect(fetch.origins()).toEqual([]);
  });

  it('a body that is watched is sent whole, no more is read than is asked for, and who stops is told', async () => {
    let pulled = 0;
    let cancelled: unknown;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(new TextEncoder().encode(String(pulled)));
          if (pulled === 3) controller.close();
        },
        cancel(reason) {
          cancelled = reason;
        },
      },
      { highWaterMark: 0 },
    );
    const { requests, get } = begin([200], alone);
    await get(api, { method: 'PUT', body, duplex: 'half' } as RequestInit);
    expect(pulled).toBe(0);
    expect(await new Response(requests[0]!.init.body).text()).toBe('123');
    expect([pulled, cancelled]).toEqual([3, undefined]);
    const left = new ReadableStream({
      cancel(reason) {
        cancelled = reason;
      },
    });
    await get(api, { method: 'PUT', body: left, duplex: 'half' } as RequestInit);
    await (requests[1]!.init.body as ReadableStream).cancel('enough');
    expect(cancelled).toBe('enough');
    let isReturned = false;
    async function* endless() {
      try {
        for (;;) yield 1;
      } finally {
        isReturned = true;
      }
    }
    await get(api, { method: 'PUT', body: endless(), duplex: 'half' } as never);
    for await (const _ of requests[2]!.init.body as unknown as AsyncIterable<unknown>) break;
    expect(isReturned).toBe(true);
    // What fetch takes for a text stays one.
    const text = new String('text');
    await get(api, { method: 'PUT', body: text as string });
    expect(requests[3]!.init.body).toBe(text);
  });
});

describe('headers that can be read once', () => {
  const pairs = () =>
    new Map([
      ['authorization', 'secret'],
      ['idempotency-key', '1'],
    ]).entries();
  function* generated() {
    yield* pairs();
  }

  // biome-ignore format: aligned rows
  it.each<[string, () => unknown]>([
    [ 'an iterator',   pairs ],
    [ 'a generator',   generated ],
    [ 'a Map',         () => new Map(pairs()) ],
    [ 'Headers',       () => new Headers([...pairs()]) ],
    [ 'pairs',         () => [...pairs()] ],
    [ 'an object',     () => Object.fromEntries(pairs()) ],
  ])('reach every attempt: %s', async (_, headers) => {
    const { get, requests } = begin([503, 503, 200]);
    await get(api, { method: 'POST', body: '{}', headers: headers() as HeadersInit });
    const sent = requests.map(({ init }) => new Headers(init.headers).get('authorization'));
    expect(sent).toEqual(['secret', 'secret', 'secret']);
  });
});

describe('redirects', () => {
  const redirected = (status: number, url: string, headers?: HeadersInit) => {
    const response = new Response(null, { status, headers: headers ?? {} });
    return Object.defineProperties(response, { redirected: { value: true }, url: { value: url } });
  };

  it('what another origin answered is held against that one', async () => {
    const { codeOf, fetch } = begin([redirected(503, 'https://b.example.com/x', { 'Retry-After': '20' })], {
      retry: false,
      random: () => 0,
      circuitBreaker: { consecutiveFailures: 1 },
    });
    expect(await codeOf()).toBe(503);
    expect(fetch.origins()).toMatchObject([
      { origin: 'https://api.example.com', circuit: 'closed', delayMs: 0, inFlight: 0 },
      { origin: 'https://b.example.com', circuit: 'open', delayMs: 20_000, inFlight: 0 },
    ]);
    // Open, it hears nothing more, and does not count as refused what it was not asked for.
    expect(await codeOf()).toBe(503);
  });

  it('within an origin they are its own', async () => {
    const { codeOf, fetch } = begin([redirected(503, 'https://api.example.com/other', { 'Retry-After': '20' })], {
      retry: false,
      random: () => 0,
      circuitBreaker: { consecutiveFailures: 1 },
    });
    await codeOf();
    expect(fetch.origins()).toMatchObject([{ origin: 'https://api.example.com', circuit: 'open', delayMs: 20_000 }]);
  });
});

describe('a server that hangs', () => {
  it.each<[string, ResilientFetchOptions]>([
    ['when the time for all attempts is shorter than for each', { totalTimeout: '2s' }],
    ['when the time for each is up', { timeout: '2s' }],
  ])('opens the circuit %s', async (_, options) => {
    const { codeOf, fetch } = begin(['hangs'], { ...alone, circuitBreaker: { consecutiveFailures: 2 }, ...options });
    expect([await codeOf(), await codeOf(), await codeOf()]).toEqual(['timed-out', 'timed-out', 'circuit-open']);
    expect(fetch.origins()[0]).toMatchObject({ circuit: 'open', inFlight: 0 });
  });

  it("opens the circuit when the time of the caller's own signal is up", async () => {
    const { fetch } = begin(['hangs'], { circuitBreaker: { consecutiveFailures: 2 } });
    for (let i = 0; i < 2; i += 1)
      await expect(fetch(api, { signal: AbortSignal.timeout(1) })).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(fetch.origins()[0]).toMatchObject({ circuit: 'open', inFlight: 0 });
  });
});

describe('an answer that nobody gets', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20])('is let go, given up %d promises after its head', async (turns) => {
    let isCancelled = false;
    let arrive: () => void = () => undefined;
    const deaf = () =>
      new Promise<Response>((resolve) => {
        const body = bodyOf(() => {
          isCancelled = true;
        });
        arrive = () => resolve(new Response(body));
      });
    const { fetch } = begin([deaf], { totalTimeout: '1m' });
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal }).then(
      () => 'answered',
      () => 'gave up',
    );
    await turn();
    arrive();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    given.abort(new Error('enough'));
    const end = await response;
    await turn();
    expect(isCancelled).toBe(end === 'gave up');
  });

  it('is let go when its caller gives up while the next attempt is waited for', async () => {
    const { fetch, clock, cancelled } = begin([503], { pacer: false, retry: { baseDelay: '10s' } });
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal });
    response.catch(() => undefined);
    await clock.pass(10);
    expect(cancelled).toEqual([]);
    given.abort(new Error('enough'));
    await expect(response).rejects.toThrow('enough');
    expect(cancelled).toEqual([0]);
  });
});

describe('time', () => {
  it('each attempt has its own', async () => {
    const { codeOf, requests, told } = begin(['hangs'], { timeout: '2s', random: () => 0 });
    expect(await codeOf()).toBe('timed-out');
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 2000, 4000]);
    expect(told[0]).toEqual(['timed-out', { origin: 'https://api.example.com', afterMs: 2000, isTotal: false }]);
  });

  it('all of them may have one together', async () => {
    const { codeOf, requests, told } = begin(['hangs'], { timeout: '2s', totalTimeout: '3s', random: () => 0 });
    expect(await codeOf()).toBe('timed-out');
    expect(requests).toHaveLength(2);
    expect(requests[1]!.init.signal!.aborted).toBe(true);
    expect(told.at(-1)).toEqual(['timed-out', { origin: 'https://api.example.com', afterMs: 3000, isTotal: true }]);
  });

  it('the body has as long as it takes', async () => {
    const { fetch, clock, requests } = begin([200], { timeout: '2s', totalTimeout: '3s' });
    const response = await fetch(api);
    await clock.pass(60_000);
    expect(requests[0]!.init.signal!.aborted).toBe(false);
    expect((await response.body!.getReader().read()).done).toBe(false);
    expect(clock.sleeping).toBe(0);
  });

  it('an answer that comes too late is let go', async () => {
    let answer: (response: Response) => void = () => undefined;
    let isCancelled = false;
    const late = () =>
      new Promise<Response>((resolve) => {
        answer = resolve;
      });
    const { codeOf } = begin([late], { ...alone, timeout: '2s' });
    expect(await codeOf()).toBe('timed-out');
    answer(
      new Response(
        bodyOf(() => {
          isCancelled = true;
        }),
      ),
    );
    await turn();
    expect(isCancelled).toBe(true);
  });

  it('is not counted while nobody uses it: no timer is left', async () => {
    const { get, clock } = begin([503, 200]);
    await get();
    expect(clock.sleeping).toBe(0);
  });
});

describe('the signal of the caller', () => {
  const reason = new Error('enough');

  it.each<[string, Reply[], number]>([
    ['in an attempt', ['hangs'], 1],
    ['between attempts', [headed(503, { 'Retry-After': '50' })], 1],
  ])('ends it %s', async (_, replies, attempts) => {
    const { fetch, clock, requests } = begin(replies, { timeout: '10m' });
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal });
    response.catch(() => undefined);
    await clock.pass(1000);
    given.abort(reason);
    await expect(response).rejects.toBe(reason);
    await turn();
    expect(requests).toHaveLength(attempts);
    expect(clock.sleeping).toBe(0);
    expect(getEventListeners(given.signal, 'abort')).toEqual([]);
  });

  it('ends it before it begins', async () => {
    const { fetch, requests } = begin([200]);
    await expect(fetch(api, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(fetch(new Request(api, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(requests).toHaveLength(0);
  });

  it('ends it while the pacer holds it back', async () => {
    const { get, fetch, clock, requests } = begin([headed(200, { RateLimit: '"p";r=0;t=20' })]);
    await get();
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal });
    response.catch(() => undefined);
    await clock.pass(1000);
    given.abort(reason);
    await expect(response).rejects.toBe(reason);
    expect([requests.length, clock.sleeping]).toEqual([1, 0]);
  });

  it.each([{}, { timeout: false, retry: false } as const])('ends the reading of the body too: %j', async (options) => {
    const { fetch, requests } = begin([200], options);
    const given = new AbortController();
    const response = await fetch(api, { signal: given.signal });
    expect(requests[0]!.init.signal!.aborted).toBe(false);
    given.abort(reason);
    expect(requests[0]!.init.signal!.reason).toBe(reason);
    expect(response.status).toBe(200);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 8, 10, 15])('ends an answer that is %d promises on its way', async (turns) => {
    let arrive: () => void = () => undefined;
    const answered = () =>
      new Promise<Response>((resolve) => {
        arrive = () => resolve(new Response('text'));
      });
    const { fetch, requests } = begin([answered]);
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal });
    response.catch(() => undefined);
    await turn();
    arrive();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    given.abort(reason);
    await Promise.allSettled([response]);
    expect(requests[0]!.init.signal!.reason).toBe(reason);
  });

  it('says nothing about the server', async () => {
    const { fetch, clock } = begin(['hangs'], { circuitBreaker: { consecutiveFailures: 1 } });
    const given = new AbortController();
    const response = fetch(api, { signal: given.signal });
    response.catch(() => undefined);
    await clock.pass(10);
    given.abort(reason);
    await expect(response).rejects.toBe(reason);
    expect(fetch.origins()[0]).toMatchObject({ circuit: 'closed', inFlight: 0 });
  });

  it('keeps nothing of requests that are over, however long it lives', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { fetch } = begin([() => new Response('text')]);
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i += 1) await (await fetch(api, { signal })).text();
    for (let i = 0; i < 50 && getEventListeners(signal, 'abort').length > 0; i += 1) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('keeps nothing of a body that is dropped, although who stops it has to know it', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // As every real fetch does: its signal holds what it has to stop.
    const fetch = resilientFetch({
      async fetch(_, init) {
        const response = new Response('text');
        init?.signal?.addEventListener('abort', () => void response.body?.cancel());
        return response;
      },
    });
    const { signal } = new AbortController();
    for (let i = 0; i < 10; i += 1) await (await fetch(api, { signal })).text();
    for (let i = 0; i < 50 && getEventListeners(signal, 'abort').length > 0; i += 1) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('origins', () => {
  it('each has a state of its own', async () => {
    const { codeOf, fetch } = begin([500, 500, 200], {
      ...alone,
      circuitBreaker: { consecutiveFailures: 2 },
      pacer: {},
    });
    await codeOf('https://a.example.com/1');
    await codeOf('https://a.example.com/2');
    await codeOf('https://b.example.com/');
    expect(fetch.origins()).toEqual([
      { origin: 'https://a.example.com', inFlight: 0, circuit: 'open', delayMs: 0 },
      { origin: 'https://b.example.com', inFlight: 0, circuit: 'closed', delayMs: 0 },
    ]);
  });

  it('may be told apart in another way', async () => {
    const { codeOf, fetch } = begin([200], { originOf: ({ host, pathname }) => `${host}${pathname}` });
    await codeOf('https://a.example.com/1');
    await codeOf('https://a.example.com/2');
    expect(fetch.origins().map(({ origin }) => origin)).toEqual(['a.example.com/1', 'a.example.com/2']);
  });

  it('are bounded, and those that are open or busy stay', async () => {
    const { codeOf, fetch } = begin([500, 'hangs', 200], {
      maxOrigins: 3,
      retry: false,
      circuitBreaker: { consecutiveFailures: 1 },
    });
    await codeOf('https://open.example.com/');
    void fetch('https://busy.example.com/').catch(() => undefined);
    await turn();
    for (let i = 0; i < 10; i += 1) await codeOf(`https://host-${i}.example.com/`);
    const hosts = fetch.origins().map(({ origin }) => new URL(origin).hostname);
    expect(hosts).toEqual(['open.example.com', 'busy.example.com', 'host-9.example.com']);
  });
});

describe('options', () => {
  // biome-ignore format: aligned rows
  it.each<[object, string]>([
    [ { retries: 3 },                         'resilientFetch options has no field "retries".' ],
    [ { retry: 3 },                           'retry must be false, or an object of options, got 3.' ],
    [ { retry: [] },                          'retry must be false, or an object of options, got [].' ],
    [ { retry: { isRetryable: () => true } }, 'retry.isRetryable cannot be given: it is decided here.' ],
    [ { circuitBreaker: { isFailure: () => true } }, 'circuitBreaker.isFailure cannot be given' ],
    [ { circuitBreaker: { clock: {} } },      'circuitBreaker.clock cannot be given' ],
    [ { adaptiveThrottle: { isIgnored: () => true } }, 'adaptiveThrottle.isIgnored cannot be given' ],
    [ { circuitBreaker: circuitBreaker() },   'circuitBreaker is made for each origin. Give a function: (origin) => ...' ],
    [ { bulkhead: bulkhead({ limit: 1 }) },   'bulkhead is made for each origin. Give a function' ],
    [ { bulkhead: { name: 'x' } },            'bulkhead.name cannot be given' ],
    [ { pacer: { maxKeys: 3 } },              'pacer.maxKeys cannot be given' ],
    [ { retry: { attempts: 0 } },             'attempts must be a whole number' ],
    [ { retry: { statuses: '503' } },         'statuses must be a list of HTTP statuses, got "503".' ],
    [ { retry: { budget: { ratio: -1 } } },   'ratio must be a number from 0' ],
    [ { retryUnsafe: 'yes' },                 'retryUnsafe must be true or false, got "yes".' ],
    [ { pacer: { startBelow: 7 } },           'startBelow must be a number from 0 to 1, got 7.' ],
    [ { bulkhead: { limit: 0 } },             'limit must be a whole number' ],
    [ { adaptiveThrottle: { k: 0 } },         'k must be a number of 1 or more, got 0.' ],
    [ { circuitBreaker: { probes: 0 } },      'probes must be a whole number' ],
    [ { circuitBreaker: true },               'circuitBreaker must be false, or an object of options, got true.' ],
    [ { timeout: '3 seconds' },               'timeout must be a time above 0, got "3 seconds".' ],
    [ { totalTimeout: -1 },                   'totalTimeout must be a time above 0, got -1.' ],
    [ { originOf: 'host' },                   'originOf must be a function, got "host".' ],
    [ { maxOrigins: 0 },                      'maxOrigins must be a whole number from 1 to 1000000, got 0.' ],
    [ { clock: {} },                          'clock must be an object with now() and sleep()' ],
    [ { random: 1 },                          'random must be a function' ],
    [ { fetch: 'fetch' },                     'fetch must be a function, got "fetch".' ],
  ])('%j is refused when it is made', (options, message) => {
    expect(() => resilientFetch(options as ResilientFetchOptions)).toThrow(message);
  });

  it('a listener is for events that there are', () => {
    expect(() => resilientFetch().on('retried' as never, () => undefined)).toThrow(
      'event must be one of retry, gave-up',
    );
  });
});
