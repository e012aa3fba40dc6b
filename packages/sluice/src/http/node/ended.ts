/** How a response of Node's server ended: that of HTTP/1, of HTTP/2, and the one that stands in for them where no socket is. */
import type { ServerResponse } from 'node:http';
import { leftStatus } from '../middleware/options.ts';

type AnyResponse = ServerResponse & { readonly stream?: { readonly aborted: boolean; readonly destroyed: boolean } };

/** Whether nobody is there any more. Responses of HTTP/2 do not say it themselves, but their streams do. */
export function hasLeft(response: AnyResponse): boolean {
  return response.closed ?? response.stream?.destroyed ?? false;
}

/** Tells what was sent, and whether all of it was, once that is known; may tell again, which is to be ignored. */
export function whenEnded(response: AnyResponse, tell: (status: number, isComplete: boolean) => void): void {
  // Until the head is written the status is only what the framework begins with: 200, or 404 in Koa.
  const left = () => tell(response.headersSent ? response.statusCode : leftStatus, false);
  // The client may have left already; nobody would say so again.
  if (hasLeft(response)) {
    left();
    return;
  }
  // HTTP/2 has `finish`, and is `writableFinished`, also where the stream was reset. Without a socket only the event is right.
  response.once('finish', () => {
    if (response.writableEnded && response.stream?.aborted !== true) tell(response.statusCode, true);
    else left();
  });
  response.once('close', left);
}
