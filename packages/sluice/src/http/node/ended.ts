/** How a response of Node's server ended: that of HTTP/1, of HTTP/2, and the one that stands in for them where no socket is. */
import type { ServerResponse } from 'node:http';

type AnyResponse = ServerResponse & { readonly stream?: { readonly aborted: boolean; readonly destroyed: boolean } };

/** Whether nobody is there any more. Responses of HTTP/2 do not say it themselves, but their streams do. */
export function hasLeft(response: AnyResponse): boolean {
  return response.closed ?? response.stream?.destroyed ?? false;
}

/** Tells whether all of it was sent, once that is known; may tell again, which is to be ignored. */
export function whenEnded(response: AnyResponse, tell: (isComplete: boolean) => void): void {
  // The client may have left already; nobody would say so again.
  if (hasLeft(response)) {
    tell(false);
    return;
  }
  // HTTP/2 has `finish`, and is `writableFinished`, also where the stream was reset. Without a socket only the event is right.
  response.once('finish', () => tell(response.writableEnded && response.stream?.aborted !== true));
  response.once('close', () => tell(false));
}
