/**
 * One request through a gate, for everything whose answer is a `Response`: fetch-style handlers, and Hono.
 *
 *      passage ──► hold back ──► proceed ──► headers ──► body, watched to its end where somebody has to be told of it
 *                     │             │                      │
 *                     └── the client left, the handler threw, the body failed or was cancelled: told as well
 */
import type { Answer } from '../../vocabulary/answer.ts';
import type { Gate, Passage } from '../middleware/gate.ts';
import { leftStatus } from '../middleware/options.ts';
import { whenLeftInLine } from './client-left.ts';
import { withHeaders } from './response-headers.ts';

/** Nobody reads it: the client has left. */
const unread = () => new Response(null, { status: leftStatus });

/** Whether the handler is simply called, and nobody has to be told how it ended: as most requests are. */
export function isPlain({ delayMs, end }: Passage<Response>): boolean {
  return end === undefined && delayMs === 0;
}

/**
 * What was let in and is not plain. `undefined` for a response is passed on: Bun has none for a request that became a WebSocket.
 *
 * @param details what the server handed over beside the request
 */
export async function goThrough<Result extends Response | undefined>(
  { clock }: Pick<Gate<never, never>, 'clock'>,
  { headers, delayMs, end }: Passage<Response>,
  request: Request,
  proceed: () => Answer<Result>,
  details?: unknown,
): Promise<Result | Response> {
  const { signal } = request;
  const gone = new AbortController();
  let forget: (() => void) | undefined;
  let response: Response | undefined;
  let isBegun = false;
  const left = () => {
    gone.abort();
    over(false);
  };
  function over(isComplete: boolean, known: Response = response ?? unread()): void {
    signal.removeEventListener('abort', left);
    forget?.();
    const status = isComplete || isBegun ? known.status : leftStatus;
    end?.({ status, isComplete, response: known });
  }
  const begin = () => {
    isBegun = true;
  };
  signal.addEventListener('abort', left);
  forget = whenLeftInLine(details, left);
  // It may have left while the store was asked; nobody would say so again.
  if (signal.aborted) left();

  try {
    if (delayMs > 0 && !(await isStillThere(clock.sleep(delayMs, gone.signal), gone.signal))) return unread();
    const answered = withHeaders(await proceed(), headers);
    if (answered === undefined) {
      over(true, new Response());
      return answered as Result;
    }
    response = answered;
    // What is asked for by HEAD has a body that is never sent.
    return end === undefined || request.method === 'HEAD' ? ended(answered, over) : watched(answered, begin, over);
  } catch (error) {
    // Whoever called answers for it, as servers do.
    begin();
    over(false, new Response(null, { status: 500 }));
    throw error;
  }
}

/** Whether the client is still there when it has waited long enough. */
async function isStillThere(slept: Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await slept;
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

function ended(response: Response, over: (isComplete: boolean) => void): Response {
  over(true);
  return response;
}

/** The response, with its body watched: from the first piece that is asked for to its end, or until it fails or is cancelled. */
function watched(response: Response, begin: () => void, over: (isComplete: boolean) => void): Response {
  const { body, status } = response;
  if (body === null || status < 200) return ended(response, over);
  const reader = body.getReader();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      begin();
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
      } catch (error) {
        over(false);
        throw error;
      }
      over(true);
      controller.close();
    },
    cancel(reason) {
      over(false);
      return reader.cancel(reason);
    },
  };
  // Nothing is read ahead of what the client takes.
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), response);
}
