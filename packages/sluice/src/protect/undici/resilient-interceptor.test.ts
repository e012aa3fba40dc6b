import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { Agent, Client, type Dispatcher, interceptors, request, upgrade } from 'undici';
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import type { DispatchController, DispatchHandler, DispatchOptions } from './dispatch.ts';
import {
  type ResilientInterceptor,
  type ResilientInterceptorOptions,
  resilientInterceptor,
} from './resilient-interceptor.ts';

const toClose: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

async function serve(handle: Parameters<typeof createServer>[1]) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  toClose.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function agent(options: ResilientInterceptorOptions = {}): Dispatcher {
  const composed = new Agent({ connections: 1 }).compose(resilientInterceptor(options));
  toClose.push(() => composed.destroy());
  return composed;
}

describe('an interceptor', () => {
  it('is one to undici', () => {
    expectTypeOf(resilientInterceptor()).toExtend<Dispatcher.DispatcherComposeInterceptor>();
  });

  it('refuses options that it does not know', () => {
    expect(() => resilientInterceptor({ fetch: globalThis.fetch } as ResilientInterceptorOptions)).toThrow(
      'resilientInterceptor options has no field "fetch".',
    );
  });

  it('tells undici what is wrong with a request in its own words, and does not try again', async () => {
    const retries: unknown[] = [];
    const interceptor = resilientInterceptor();
    interceptor.on('retry', (event) => retries.push(event));
    const composed = new Agent().compose(interceptor);
    toClose.push(() => composed.destroy());
    const { origin } = await serve((_, response) => response.end());
    await expect(composed.request({ origin, path: '/', method: 'GET', headers: { 'a b': 'c' } })).rejects.toMatchObject(
      {
        code: 'UND_ERR_INVALID_ARG',
      },
    );
    await expect(composed.request({ origin: 'no url', path: '/', method: 'GET' })).rejects.toThrow();
    await composed.destroy();
    await expect(composed.request({ origin, path: '/', method: 'GET' })).rejects.toMatchObject({
      code: 'UND_ERR_DESTROYED',
    });
    expect(retries).toEqual([]);
    expect(interceptor.origins().every(({ circuit, inFlight }) => circuit === 'closed' && inFlight === 0)).toBe(true);
  });

  it('keeps clients of one origin apart that do not say which', async () => {
    const interceptor = resilientInterceptor({ retry: false, circuitBreaker: { consecutiveFailures: 1 } });
    const bad = await serve((_, response) => response.writeHead(500).end());
    const good = await serve((_, response) => response.end('ok'));
    const [badClient, goodClient] = [bad, good].map(({ origin }) => {
      const client = new Client(origin);
      toClose.push(() => client.destroy());
      return client.compose(interceptor);
    });
    const ask = (dispatch: Dispatcher['dispatch']) =>
      new Promise((resolve) => {
        dispatch(
          { path: '/', method: 'GET' },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_, status) => resolve(status),
            onResponseError: (_, error) => resolve((error as Error & { code?: string }).code),
          },
        );
      });
    expect(await ask(badClient!.dispatch)).toBe(500);
    expect(await ask(badClient!.dispatch)).toBe('circuit-open');
    expect(await ask(goodClient!.dispatch)).toBe(200);
    expect(interceptor.origins()).toHaveLength(2);
  });

  it('lets through what becomes another protocol', async () => {
    const { server, origin } = await serve(() => undefined);
    server.on('upgrade', (_, socket: Duplex) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    });
    const { socket, headers } = await upgrade(origin, { protocol: 'echo', dispatcher: agent() });
    expect(headers.upgrade).toBe('echo');
    socket.destroy();
  });

  it('tells of informational answers', async () => {
    const { origin } = await serve((_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.end('ok');
    });
    const infos: number[] = [];
    const { body } = await request(origin, {
      dispatcher: agent(),
      onInfo: ({ statusCode }) => infos.push(statusCode),
    });
    expect(await body.text()).toBe('ok');
    expect(infos).toEqual([103]);
  });

  // biome-ignore format: aligned rows
  it.each<[Partial<DispatchOptions>, number]>([
    [ { method: 'GET' },                                              3 ],
    [ { method: 'GET', idempotent: false },                           1 ],
    [ { method: 'POST', body: 'text' },                               1 ],
    [ { method: 'POST', body: 'text', idempotent: true },             3 ],
    [ { method: 'POST', headers: { 'Idempotency-Key': '1' } },        3 ],
    [ { method: 'POST', headers: ['idempotency-key', '1'] },          3 ],
    [ { method: 'POST', headers: new Map([['idempotency-key', '1']]) }, 3 ],
    [ { method: 'PUT', body: new Uint8Array(3) },                     3 ],
    [ { method: 'PUT', body: new FormData() },                        3 ],
    [ { method: 'PUT', body: new ReadableStream() },                  1 ],
    [ { method: 'PUT', body: [new Uint8Array(1)][Symbol.iterator]() }, 1 ],
  ])('%j is tried %d times', async (options, attempts) => {
    const { ask, sent } = begin({ circuitBreaker: false });
    const asked = ask(options);
    for (let i = 0; i < attempts; i += 1) {
      await asked.pass();
      sent.at(-1)!.answer(503);
    }
    await asked.pass();
    expect(sent).toHaveLength(attempts);
    expect(asked.events).toEqual(['start', '503']);
  });
});

describe('beside other interceptors', () => {
  const quick = { retry: { baseDelay: 1 }, circuitBreaker: { consecutiveFailures: 1 } } as const;

  function composed(interceptor: ResilientInterceptor, inner: Dispatcher.DispatcherComposeInterceptor): Dispatcher {
    const dispatcher = new Agent().compose(inner, interceptor);
    toClose.push(() => dispatcher.destroy());
    return dispatcher;
  }

  it('an error that was made of an answer is judged as that answer', async () => {
    const statuses = [404, 429, 503];
    const retried: number[] = [];
    for (const status of statuses) {
      let requests = 0;
      const { origin } = await serve((_, response) => {
        requests += 1;
        response.writeHead(status, { 'retry-after': '0' }).end('no');
      });
      const interceptor = resilientInterceptor({ ...quick, circuitBreaker: { consecutiveFailures: 3 } });
      const dispatcher = composed(interceptor, interceptors.responseError());
      await expect(request(origin, { dispatcher })).rejects.toMatchObject({ statusCode: status });
      retried.push(requests);
      expect(interceptor.origins()[0]!.circuit).toBe(status === 503 ? 'open' : 'closed');
    }
    expect(retried).toEqual([1, 3, 3]);
  });

  it('the pacer hears what an error says that was made of an answer', async () => {
    const { origin } = await serve((_, response) => response.writeHead(429, { 'retry-after': '20' }).end());
    const clock = new PassingClock(1_750_000_000_000);
    const interceptor = resilientInterceptor({ retry: false, clock, random: () => 0 });
    const dispatcher = composed(interceptor, interceptors.responseError());
    await expect(request(origin, { dispatcher })).rejects.toMatchObject({ statusCode: 429 });
    expect(interceptor.origins()[0]!.delayMs).toBe(20_000);
  });

  it('the history of redirects reaches the caller', async () => {
    const { origin } = await serve((request, response) => {
      if (request.url === '/a') response.writeHead(302, { location: '/b' }).end();
      else response.end('there');
    });
    const dispatcher = composed(resilientInterceptor(), interceptors.redirect({ maxRedirections: 3 }));
    const { body, context } = await request(`${origin}/a`, { dispatcher });
    expect(await body.text()).toBe('there');
    expect((context as { history: URL[] }).history.map(String)).toEqual([`${origin}/a`, `${origin}/b`]);
  });

  it('headers that can be read once reach every attempt', async () => {
    const seen: unknown[] = [];
    const { origin } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(seen.length < 3 ? 503 : 200).end();
    });
    const headers = new Map([
      ['authorization', 'secret'],
      ['idempotency-key', '1'],
    ]).entries();
    const { statusCode } = await request(origin, {
      dispatcher: agent({ retry: { baseDelay: 1 } }),
      method: 'POST',
      body: '{}',
      headers,
    });
    expect([statusCode, ...seen]).toEqual([200, 'secret', 'secret', 'secret']);
  });

  async function* failing() {
    yield 'a';
    throw new Error('my own file');
  }

  it.each<[string, () => object]>([
    ['a length that is not that of the body', () => ({ body: 'abc', headers: { 'content-length': '5' } })],
    ['a stream that fails', () => ({ body: Readable.from(failing()) })],
    ['what is generated, and fails', () => ({ body: failing() })],
  ])('a mistake of the caller is not tried again, and opens no circuit: %s', async (_, options) => {
    const { origin } = await serve((request, response) => {
      request.resume().on('end', () => response.end('fine'));
    });
    const interceptor = resilientInterceptor(quick);
    const retries: unknown[] = [];
    interceptor.on('retry', (event) => retries.push(event));
    const dispatcher = new Agent().compose(interceptor);
    toClose.push(() => dispatcher.destroy());
    await expect(request(origin, { dispatcher, method: 'PUT', ...options() })).rejects.toThrow();
    expect([retries, interceptor.origins()[0]!.circuit]).toEqual([[], 'closed']);
  });

  it.each<[string, () => object]>([
    ['a stream', () => ({ body: Readable.from(['a', 'b']) })],
    ['what is generated', () => ({ body: ['a', 'b'].values() })],
  ])('a server that breaks off while it is sent %s has failed', async (_, options) => {
    const { origin } = await serve((request) => request.socket.destroy());
    const interceptor = resilientInterceptor(quick);
    const dispatcher = new Agent().compose(interceptor);
    toClose.push(() => dispatcher.destroy());
    await expect(request(origin, { dispatcher, method: 'PUT', ...options() })).rejects.toThrow();
    expect(interceptor.origins()[0]!.circuit).toBe('open');
  });

  it("a server that hangs until the time of the caller's signal is up has failed", async () => {
    const { origin } = await serve(() => undefined);
    const interceptor = resilientInterceptor(quick);
    const dispatcher = new Agent().compose(interceptor);
    toClose.push(() => dispatcher.destroy());
    await expect(request(origin, { dispatcher, signal: AbortSignal.timeout(30) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    await turn();
    expect(interceptor.origins()[0]).toMatchObject({ circuit: 'open', inFlight: 0 });
  });

  it('a further attempt that was not made leaves the answer there is, whole', async () => {
    const { origin } = await serve((_, response) => response.writeHead(503).end('so it is'));
    const { statusCode, body } = await request(origin, { dispatcher: agent(quick) });
    expect([statusCode, await body.text()]).toEqual([503, 'so it is']);
  });
});

/** A dispatcher that does as it is told, and a handler that keeps what it is told. */
function begin(options: ResilientInterceptorOptions = {}) {
  const clock = new PassingClock(1_750_000_000_000);
  const sent: ReturnType<typeof attemptOf>[] = [];
  const interceptor = resilientInterceptor({ clock, ...options });
  const dispatch = interceptor((given: DispatchOptions, handler: DispatchHandler) => {
    sent.push(attemptOf(given, handler));
    return true;
  });

  function ask(given: Partial<DispatchOptions> = {}, on: Partial<Record<string, (event: string) => void>> = {}) {
    const events: string[] = [];
    let controller!: DispatchController;
    const note = (event: string) => {
      events.push(event);
      on[event]?.(event);
    };
    dispatch({ origin: 'http://api.example.com', path: '/', method: 'GET', ...given }, {
      onRequestStart(started: DispatchController) {
        controller = started;
        note('start');
      },
      onResponseStart: (_: unknown, status: number) => note(String(status)),
      onResponseData: (_: unknown, chunk: string) => note(chunk),
      onResponseEnd: () => note('end'),
      onResponseError: (_: unknown, error: Error) => note(`error: ${error.message}`),
    } satisfies DispatchHandler);
    return { events, controller, pass: () => clock.pass(1000) };
  }
  return { clock, ask, sent, interceptor };
}

function attemptOf(given: DispatchOptions, handler: DispatchHandler) {
  const log: string[] = [];
  const controller: DispatchController & { aborted: boolean; paused: boolean } = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: ['raw'],
    abort(reason) {
      if (controller.aborted) return;
      controller.aborted = true;
      log.push(`abort: ${reason.message}`);
      handler.onResponseError?.(controller, reason);
    },
    pause() {
      controller.paused = true;
      log.push('pause');
    },
    resume() {
      if (controller.paused) log.push('resume');
      controller.paused = false;
    },
  };
  return {
    given,
    log,
    controller,
    start: () => handler.onRequestStart?.(controller, undefined),
    answer(status: number, headers = {}) {
      handler.onRequestStart?.(controller, undefined);
      handler.onResponseStart?.(controller, status, headers, '');
    },
    data: (chunk: string) => handler.onResponseData?.(controller, chunk),
    end: () => handler.onResponseEnd?.(controller, {}),
    fail: (message: string) => handler.onResponseError?.(controller, new Error(message)),
  };
}

describe('an answer', () => {
  it('is handed on in order, whatever had come before it was decided that it is one', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    sent[0]!.data('a');
    sent[0]!.data('b');
    expect(asked.events).toEqual(['start']);
    await turn();
    sent[0]!.data('c');
    sent[0]!.end();
    expect(asked.events).toEqual(['start', '200', 'a', 'b', 'c', 'end']);
    expect(asked.controller.rawHeaders).toEqual(['raw']);
  });

  it('that was short and is over is handed on whole', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    sent[0]!.data('a');
    sent[0]!.end();
    await turn();
    expect(asked.events).toEqual(['start', '200', 'a', 'end']);
    expect(sent[0]!.log).toEqual([]);
  });

  it('that is too long to be held is not read meanwhile', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    sent[0]!.data('x'.repeat(65_536));
    expect(sent[0]!.log).toEqual([]);
    sent[0]!.data('y');
    expect(sent[0]!.log).toEqual(['pause']);
    await turn();
    expect(sent[0]!.log).toEqual(['pause', 'resume']);
    expect(asked.events.at(-1)).toBe('y');
  });

  it('that fails before it was decided upon fails for the caller', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    sent[0]!.fail('broke off');
    await turn();
    expect(asked.events).toEqual(['start', '200', 'error: broke off']);
  });

  it('that nobody gets is aborted, and says nothing more to anybody', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(503);
    sent[0]!.data('it goes on');
    await asked.pass();
    expect(sent[0]!.log).toEqual(['abort: Nobody reads this answer.']);
    sent[1]!.answer(200);
    await turn();
    sent[0]!.data('and on');
    sent[1]!.end();
    expect(asked.events).toEqual(['start', '200', 'end']);
  });

  it('that nobody gets and that is over is left alone: its connection is free', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(503);
    sent[0]!.end();
    await asked.pass();
    expect([sent.length, sent[0]!.log]).toEqual([2, []]);
  });

  it.each([false, true])('whose handler throws is over, as undici has it (all of it was there: %s)', async (isOver) => {
    const { ask, sent } = begin();
    const asked = ask(
      {},
      {
        '200': () => {
          throw new Error('a mistake');
        },
      },
    );
    await turn();
    sent[0]!.answer(200);
    if (isOver) sent[0]!.end();
    await turn();
    expect(asked.events).toEqual(['start', '200', 'error: a mistake']);
    expect(sent[0]!.log).toEqual(isOver ? [] : ['abort: a mistake']);
  });
});

describe('the controller of the caller', () => {
  it('pauses and resumes whatever the attempt is', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    asked.controller.pause();
    sent[0]!.answer(200);
    await turn();
    expect([asked.controller.paused, sent[0]!.log]).toEqual([true, ['pause']]);
    asked.controller.resume();
    expect([asked.controller.paused, sent[0]!.log]).toEqual([false, ['pause', 'resume']]);
  });

  it('aborts an attempt that is under way', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.start();
    asked.controller.abort(new Error('enough'));
    asked.controller.abort(new Error('again'));
    await turn();
    expect(asked.events).toEqual(['start', 'error: enough']);
    expect(sent[0]!.log).toEqual(['abort: enough']);
    expect(asked.controller).toMatchObject({ aborted: true, reason: { message: 'enough' } });
  });

  it('aborts an attempt that has no connection yet, as soon as it has one', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    asked.controller.abort(new Error('enough'));
    await turn();
    expect(asked.events).toEqual(['start', 'error: enough']);
    sent[0]!.start();
    expect(sent[0]!.log).toEqual(['abort: enough']);
    sent[0]!.answer(200);
    expect(asked.events).toEqual(['start', 'error: enough']);
  });

  it('aborts a request that waits for its next attempt', async () => {
    const { ask, sent, clock } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(503, { 'retry-after': '10' });
    sent[0]!.end();
    await turn();
    asked.controller.abort(new Error('enough'));
    await turn();
    expect(asked.events).toEqual(['start', 'error: enough']);
    expect([sent.length, clock.sleeping]).toEqual([1, 0]);
  });

  it('aborts a request before it was sent', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    asked.controller.abort(new Error('enough'));
    await turn();
    expect(asked.events).toEqual(['start', 'error: enough']);
    expect(sent).toEqual([]);
  });

  it('aborts in the very turn in which the answer came', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    asked.controller.abort(new Error('enough'));
    await turn();
    expect(asked.events).toEqual(['start', 'error: enough']);
    expect(sent[0]!.controller.aborted).toBe(true);
  });

  it.each([1, 2, 3, 4, 5, 6, 8, 10, 15])('aborts an answer that is %d promises on its way', async (turns) => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    asked.controller.abort(new Error('enough'));
    await turn();
    expect(asked.events.at(-1)).toBe('error: enough');
    expect(asked.events.filter((event) => event.startsWith('error'))).toHaveLength(1);
    expect(sent[0]!.controller.aborted).toBe(true);
  });

  // biome-ignore format: aligned rows
  it.each<[what: string, at: string, isOver: boolean, events: string[]]>([
    [ 'at the head',                   '200', false, ['start', '200', 'error: enough'] ],
    [ 'at the head of one that is over', '200', true, ['start', '200', 'error: enough'] ],
    [ 'in the middle',                 'a',   false, ['start', '200', 'a', 'error: enough'] ],
    [ 'in the middle of one that is over', 'a', true, ['start', '200', 'a', 'error: enough'] ],
    [ 'when all was handed on',        'end', true,  ['start', '200', 'a', 'b', 'end'] ],
  ])('aborts an answer that was held, %s', async (_, at, isOver, events) => {
    const { ask, sent } = begin();
    const asked = ask({}, { [at]: () => asked.controller.abort(new Error('enough')) });
    await turn();
    sent[0]!.answer(200);
    sent[0]!.data('a');
    sent[0]!.data('b');
    if (isOver) sent[0]!.end();
    await turn();
    expect(asked.events).toEqual(events);
    expect(sent[0]!.log).toEqual(isOver ? [] : ['abort: enough']);
    expect(asked.controller).toMatchObject({ aborted: true, reason: { message: 'enough' } });
  });

  it('tells a handler once that aborts an answer and throws', async () => {
    for (const isOver of [false, true]) {
      const { ask, sent } = begin();
      const asked = ask(
        {},
        {
          '200': () => {
            asked.controller.abort(new Error('enough'));
            throw new Error('a mistake');
          },
        },
      );
      await turn();
      sent[0]!.answer(200);
      if (isOver) sent[0]!.end();
      await turn();
      expect(asked.events).toEqual(['start', '200', 'error: enough']);
    }
  });

  it('pauses an answer that was held, wherever it is, and whether or not it is over', async () => {
    for (const isOver of [false, true]) {
      const { ask, sent } = begin();
      const pause = () => asked.controller.pause();
      const asked = ask({}, { '200': pause, a: pause });
      await turn();
      sent[0]!.answer(200);
      sent[0]!.data('a');
      sent[0]!.data('b');
      if (isOver) sent[0]!.end();
      await turn();
      expect(asked.events).toEqual(['start', '200']);
      asked.controller.resume();
      expect(asked.events).toEqual(['start', '200', 'a']);
      // What comes meanwhile comes after what is held.
      if (!isOver) sent[0]!.end();
      expect(asked.events).toEqual(['start', '200', 'a']);
      asked.controller.resume();
      expect(asked.events).toEqual(['start', '200', 'a', 'b', 'end']);
      // The connection of one that is over may be another's by now.
      expect(sent[0]!.log).toEqual(isOver ? [] : ['pause', 'pause']);
    }
  });

  it('resumes in the middle of what is handed on, which stays in order', async () => {
    const { ask, sent } = begin();
    const asked = ask(
      {},
      {
        a: () => {
          asked.controller.pause();
          asked.controller.resume();
          asked.events.push('after a');
        },
      },
    );
    await turn();
    sent[0]!.answer(200);
    sent[0]!.data('a');
    sent[0]!.data('b');
    await turn();
    expect(asked.events).toEqual(['start', '200', 'a', 'after a', 'b']);
    expect(sent[0]!.log).toEqual(['pause', 'resume']);
  });

  it('aborts an answer that is paused, and what was held reaches nobody', async () => {
    for (const isOver of [false, true]) {
      const { ask, sent } = begin();
      const asked = ask({}, { '200': () => asked.controller.pause() });
      await turn();
      sent[0]!.answer(200);
      sent[0]!.data('a');
      if (isOver) sent[0]!.end();
      await turn();
      asked.controller.abort(new Error('enough'));
      asked.controller.resume();
      expect(asked.events).toEqual(['start', '200', 'error: enough']);
    }
  });

  it('fails an answer whose handler throws when it is resumed', async () => {
    for (const isOver of [false, true]) {
      const { ask, sent } = begin();
      const asked = ask(
        {},
        {
          '200': () => asked.controller.pause(),
          a: () => {
            throw new Error('a mistake');
          },
        },
      );
      await turn();
      sent[0]!.answer(200);
      sent[0]!.data('a');
      sent[0]!.data('b');
      if (isOver) sent[0]!.end();
      await turn();
      asked.controller.resume();
      expect(asked.events).toEqual(['start', '200', 'a', 'error: a mistake']);
    }
  });

  it('is that of undici to a real answer: paused and aborted at its head', async () => {
    const { origin } = await serve((_, response) => response.end('hello'));
    const dispatch = (dispatcher: Dispatcher, onHead: (controller: Dispatcher.DispatchController) => void) =>
      new Promise<string[]>((resolve) => {
        const events: string[] = [];
        dispatcher.dispatch(
          { origin, path: '/', method: 'GET' },
          {
            onRequestStart: () => undefined,
            onResponseStart(controller) {
              events.push('head');
              onHead(controller);
            },
            onResponseData: () => void events.push('data'),
            onResponseEnd: () => resolve([...events, 'end']),
            onResponseError: (_, error) => resolve([...events, error.message]),
          },
        );
      });
    const plain = new Agent();
    toClose.push(() => plain.destroy());
    for (const dispatcher of [plain, agent()]) {
      expect(await dispatch(dispatcher, (controller) => controller.abort(new Error('enough')))).toEqual([
        'head',
        'enough',
      ]);
      let isPaused = true;
      const paused = dispatch(dispatcher, (controller) => {
        controller.pause();
        setImmediate(() => {
          isPaused = false;
          controller.resume();
        });
      });
      expect([await paused, isPaused]).toEqual([['head', 'data', 'end'], false]);
    }
  });

  it('aborts the body', async () => {
    const { ask, sent } = begin();
    const asked = ask();
    await turn();
    sent[0]!.answer(200);
    await turn();
    asked.controller.abort(new Error('enough'));
    expect(asked.events).toEqual(['start', '200', 'error: enough']);
  });
});

describe('an attempt that is late', () => {
  it('is aborted, and its answer goes to nobody', async () => {
    const { ask, sent, clock } = begin({ timeout: '2s', retry: false });
    const asked = ask();
    await turn();
    await clock.pass(2000);
    expect(asked.events).toEqual(['start', 'error: The call did not end within 2000 ms.']);
    sent[0]!.answer(200);
    sent[0]!.data('too late');
    await turn();
    expect(asked.events).toHaveLength(2);
    expect(sent[0]!.controller.aborted).toBe(true);
  });
});
