/**
 * Calls between two threads. What is called in one turn of the event loop travels in one message, and so do the answers.
 *
 *      const channel = openChannel(port, { add: (a, b) => a + b });        each side has functions the other may call
 *      await channel.call('add', 1, 2)
 */
import type { MessagePort, Worker } from 'node:worker_threads';
import { SluiceError } from 'sluice';
import { ThrottleError } from '../service/throttle.ts';

// biome-ignore lint/suspicious/noExplicitAny: what travels is known to the two sides only
type Handlers = Readonly<Record<string, (...args: any[]) => unknown>>;

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

type Settled = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: SentError };

/** An error as it travels: of an error object only the text would arrive. */
interface SentError {
  readonly kind: 'sluice' | 'throttle' | 'other';
  readonly code?: string | undefined;
  /** Of a socket that could not be opened. */
  readonly port?: number | undefined;
  readonly message: string;
}

interface Message {
  readonly calls?: readonly Call[];
  readonly settled?: readonly Settled[];
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface Channel {
  call<T>(name: string, ...args: readonly unknown[]): Promise<T>;
}

export function openChannel(port: MessagePort | Worker, handlers: Handlers): Channel {
  const waiting = new Map<number, Waiting>();
  let calls: Call[] = [];
  let settled: Settled[] = [];
  let lastId = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(send);
  }

  function send(): void {
    isScheduled = false;
    const message: Message = { ...(calls.length > 0 && { calls }), ...(settled.length > 0 && { settled }) };
    calls = [];
    settled = [];
    port.postMessage(message);
  }

  function settle(id: number, answer: unknown): void {
    settled.push({ id, value: answer });
    schedule();
  }

  function fail(id: number, error: unknown): void {
    settled.push({ id, error: sentError(error) });
    schedule();
  }

  function answer({ id, name, args }: Call): void {
    try {
      const handler = handlers[name];
      if (handler === undefined) throw new Error(`the other thread has no function ${name}`);
      const value = handler(...args);
      if (value instanceof Promise) {
        value.then(
          (known) => settle(id, known),
          (error) => fail(id, error),
        );
      } else settle(id, value);
    } catch (error) {
      fail(id, error);
    }
  }

  port.on('message', (message: Message) => {
    for (const one of message.settled ?? []) {
      const known = waiting.get(one.id);
      waiting.delete(one.id);
      if ('error' in one) known?.reject(receivedError(one.error));
      else known?.resolve(one.value);
    }
    for (const call of message.calls ?? []) answer(call);
  });

  return {
    call<T>(name: string, ...args: readonly unknown[]): Promise<T> {
      lastId += 1;
      calls.push({ id: lastId, name, args });
      schedule();
      const id = lastId;
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      });
    },
  };
}

function sentError(error: unknown): SentError {
  const { message } = error instanceof Error ? error : new Error(String(error));
  if (error instanceof SluiceError) return { kind: 'sluice', code: error.code, message };
  if (error instanceof ThrottleError) return { kind: 'throttle', message };
  const { code, port } = error as { code?: string; port?: number };
  return { kind: 'other', code, port, message };
}

function receivedError({ kind, code, port, message }: SentError): Error {
  if (kind === 'sluice') return new SluiceError(code as SluiceError['code'], message);
  if (kind === 'throttle') return new ThrottleError(message.replace(/^Cell error: /, ''));
  return Object.assign(new Error(message), { code, port });
}
