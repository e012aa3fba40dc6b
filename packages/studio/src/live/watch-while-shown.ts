/**
 * Watches a service only while the page can be seen. Browsers open six connections to a host under HTTP/1.1, and a stream holds one for as long as it
 * lasts: six tabs in the background would leave none to anybody.
 *
 *      shown ──► watching ──► hidden ──► shown ──► watching ...        quietly: nobody looks at what a hidden page says
 *                   └──► ended by itself: a person has to do something, and what they are shown stays
 */
import { type WatchOptions, watchService } from './watch-service.ts';

/** What `document` has of it. */
export type Visibility = Pick<Document, 'hidden'> & EventTarget;

export async function watchWhileShown(page: Visibility, options: Omit<WatchOptions, 'wasLive'>): Promise<void> {
  const { signal, onConnection } = options;
  let wasLive = false;
  while (!signal.aborted) {
    await untilHidden(page, false, signal);
    const hidden = new AbortController();
    const either = AbortSignal.any([signal, hidden.signal]);
    void untilHidden(page, true, either).then(() => hidden.abort());
    await watchService({
      ...options,
      signal: either,
      wasLive,
      onConnection(connection) {
        wasLive ||= connection.state === 'live';
        onConnection(connection);
      },
    });
    if (!hidden.signal.aborted) return hidden.abort();
  }
}

/** Until it is hidden, or is not; or nobody waits for it any more. */
function untilHidden(page: Visibility, isHidden: boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = new AbortController();
    const look = () => {
      if (page.hidden !== isHidden && !signal.aborted) return;
      end.abort();
      resolve();
    };
    page.addEventListener('visibilitychange', look, { signal: end.signal });
    signal.addEventListener('abort', look, { signal: end.signal });
    look();
  });
}
