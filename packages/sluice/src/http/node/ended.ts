/** How a response of Node's server ended: that of HTTP/1, of HTTP/2, and the one that stands in for them where no socket is. */
import type { ServerResponse } from 'node:http';
import { leftStatus } from '../middleware/options.ts';

/** What tells when it is closed. */
interface Closing {
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

type AnyResponse = ServerResponse & {
  readonly stream?: Closing & { readonly aborted: boolean; readonly destroyed: boolean };
};

/** Whether nobody is there any more. Responses of HTTP/2 do not say it themselves, but their streams do. */
function hasLeft(response: AnyResponse): boolean {
  return response.closed === true || (response.stream ?? response.req?.socket)?.destroyed === true;
}

/** Tells once nobody is there any more, at once if that is so already; may tell again. Returns how to stop listening. */
export function whenLeft(response: AnyResponse, tell: () => void): () => void {
  if (hasLeft(response)) {
    tell();
    return () => undefined;
  }
  // A response of HTTP/2 to HEAD does not say that it was closed before it was ended; its stream does.
  const closing: Closing = response.stream ?? response;
  closing.once('close', tell);
  const forget = isInLine(response) ? whenClosed(response.req.socket, tell) : undefined;
  return () => {
    closing.off('close', tell);
    forget?.();
  };
}

/**
 * Of requests that a client sends without waiting for answers, one response at a time has the connection. Those behind it are never told that it
 * was closed.
 */
function isInLine({ socket, stream, req }: AnyResponse): boolean {
  return socket === null && stream === undefined && req?.socket !== undefined;
}

type Connection = ServerResponse['req']['socket'];

const watched = new WeakMap<Connection, Set<() => void>>();

/** One listener for all responses of a connection: a client may send more requests at once than a socket has listeners without warning of a leak. */
function whenClosed(socket: Connection, tell: () => void): () => void {
  const inLine = watched.get(socket) ?? new Set();
  if (!watched.has(socket)) {
    watched.set(socket, inLine);
    socket.once('close', () => {
      for (const each of inLine) each();
    });
  }
  inLine.add(tell);
  return () => inLine.delete(tell);
}

/** Tells what was sent, and whether all of it was, once that is known; may tell again, which is to be ignored. */
export function whenEnded(response: AnyResponse, tell: (status: number, isComplete: boolean) => void): void {
  // Until the head is written the status is only what the framework begins with: 200, or 404 in Koa.
  const left = () => tell(response.headersSent ? response.statusCode : leftStatus, false);
  const forget = whenLeft(response, left);
  // HTTP/2 has `finish`, and is `writableFinished`, also where the stream was reset. Without a socket only the event is right.
  response.once('finish', () => {
    forget();
    if (response.writableEnded && response.stream?.aborted !== true) tell(response.statusCode, true);
    else left();
  });
}
