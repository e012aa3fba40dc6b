/** A real server on the loopback, and the clients that are tested with it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, fetch as undiciFetch, request as undiciRequest } from 'undici';
import { resilientFetch } from '../fetch/resilient-fetch.ts';
import type { PassingClock } from '../passing-clock.test-support.ts';
import { resilientInterceptor } from '../undici/resilient-interceptor.ts';
import type { OutboundEvents } from './events.ts';
import type { OutboundOptions } from './options.ts';
import type { OriginStats } from './origin.ts';

export interface RealServer {
  readonly url: string;
  /** Answers that have not ended, and whose connection is there. */
  readonly pending: () => number;
  /** How many connections there have been. */
  readonly connections: () => number;
  close(): Promise<void>;
}

export async function startServer(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<RealServer> {
  let connections = 0;
  let pending = 0;
  const server: Server = createServer((request, response) => {
    pending += 1;
    response.on('close', () => {
      pending -= 1;
    });
    handle(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pending: () => pending,
    connections: () => connections,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export interface Received {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface Send {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** One of the ways to make a call, with everything that is around it. */
export interface Client {
  send(url: string, init?: Send): Promise<Received>;
  on<Name extends keyof OutboundEvents>(name: Name, listener: (event: OutboundEvents[Name]) => void): () => void;
  origins(): OriginStats[];
  close(): Promise<void>;
}

/** Each with one connection at a time, where that can be said: a connection that is held is then noticed. */
export const clients: Readonly<Record<string, (options: OutboundOptions) => Client>> = {
  "resilientFetch over the platform's fetch"(options) {
    const fetch = resilientFetch(options);
    return { send: fetch, on: fetch.on, origins: fetch.origins, close: async () => undefined };
  },
  "resilientFetch over undici's fetch"(options) {
    const dispatcher = new Agent({ connections: 1 });
    const fetch = resilientFetch({
      ...options,
      fetch: (input, init) => undiciFetch(input as string, { ...init, dispatcher } as object) as never,
    });
    return { send: fetch, on: fetch.on, origins: fetch.origins, close: () => dispatcher.destroy() };
  },
  "resilientInterceptor under undici's request"(options) {
    const interceptor = resilientInterceptor(options);
    const dispatcher = new Agent({ connections: 1 }).compose(interceptor);
    return {
      async send(url, { method = 'GET', ...init } = {}) {
        const { statusCode, headers, body } = await undiciRequest(url, {
          ...init,
          method: method as 'GET',
          dispatcher,
        });
        const get = (name: string) => (headers[name.toLowerCase()] as string | undefined) ?? null;
        return { status: statusCode, headers: { get }, text: () => body.text() };
      },
      on: interceptor.on,
      origins: interceptor.origins,
      close: () => dispatcher.destroy(),
    };
  },
  "resilientInterceptor under undici's fetch"(options) {
    const interceptor = resilientInterceptor(options);
    const dispatcher = new Agent({ connections: 1 }).compose(interceptor);
    return {
      send: (url, init) => undiciFetch(url, { ...init, dispatcher }),
      on: interceptor.on,
      origins: interceptor.origins,
      close: () => dispatcher.destroy(),
    };
  },
};

/** Lets the time of the clock pass, in steps, while what is real takes its course. */
export async function inPassingTime<T>(clock: PassingClock, result: Promise<T>, stepMs = 50): Promise<T> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  result.then(done, done);
  while (!isDone) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (!isDone) await clock.pass(stepMs);
  }
  return result;
}
