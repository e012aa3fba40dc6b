/**
 * The body of a request that its caller produces while it is sent: a stream, or what is iterated. It may fail, and that says nothing about
 * the server, although to whoever sends it one error looks like another. So it is watched on its way.
 */
import { sluiceCodeOf } from '../passes.ts';
import { blameCaller } from './answers.ts';
import { isWhole } from './repeatable.ts';

export interface OwnBody {
  /** To be sent instead. */
  readonly body: unknown;
  /** The request failed so: where that was the body, the caller is blamed. */
  failedWith(error: unknown): void;
}

export function ownBody(given: unknown): OwnBody {
  const errors = new Set<unknown>();
  const note = (error: unknown) => void errors.add(error);
  return {
    body: isWhole(given) ? given : watched(given as object, note),
    failedWith(error) {
      const { cause } = (error ?? {}) as { readonly cause?: unknown };
      if (errors.has(error) || errors.has(cause)) blameCaller(error);
    },
  };
}

type Note = (error: unknown) => void;

interface NodeStream {
  pipe(): unknown;
  once(name: 'error', listener: Note): void;
}

function watched(body: object, note: Note): unknown {
  if (isNodeStream(body)) {
    // Whoever sends it destroys it with the error of the connection, which is not its own.
    body.once('error', (error) => {
      if (!isOfConnection(error)) note(error);
    });
    return body;
  }
  if ('getReader' in body) return watchedStream(body as ReadableStream<unknown>, note);
  // Not what is iterated at once: to `fetch` that is mostly a text in another shape.
  if (Symbol.asyncIterator in body) return iterated(body as AsyncIterable<unknown>, note);
  return body;
}

function isNodeStream(body: object): body is NodeStream {
  return 'pipe' in body && 'once' in body && typeof body.once === 'function';
}

function isOfConnection(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return sluiceCodeOf(error) !== undefined || /^(UND_ERR_|ECONN|EPIPE$|ETIMEDOUT$)/.test(String(code));
}

function watchedStream(source: ReadableStream<unknown>, note: Note): ReadableStream<unknown> {
  const reader = readerOf(source);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          note(error);
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read before it is asked for.
    { highWaterMark: 0 },
  );
}

function readerOf(source: ReadableStream<unknown>): ReadableStreamDefaultReader<unknown> {
  try {
    return source.getReader();
  } catch (error) {
    // Somebody reads it already.
    blameCaller(error);
    throw error;
  }
}

async function* iterated(source: AsyncIterable<unknown>, note: Note): AsyncGenerator<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await nextOf(iterator, note);
      if (done) return;
      yield value;
    }
  } finally {
    // Whoever stops before the end is owed to the source.
    await iterator.return?.();
  }
}

async function nextOf(iterator: AsyncIterator<unknown>, note: Note): Promise<IteratorResult<unknown>> {
  try {
    return await iterator.next();
  } catch (error) {
    note(error);
    throw error;
  }
}
