// Somebody who watches: reads `GET /v1/live` event by event, as the page does, by fetch.
import type { LiveSnapshot } from '../operations/live-snapshot.ts';

export interface ServerSentEvent {
  readonly id: string;
  readonly event: string;
  readonly retry: string;
  readonly data: string;
}

export interface Watcher {
  readonly response: Response;
  /** Throws when the stream ends before it is whole. */
  next(): Promise<ServerSentEvent>;
  nextSnapshot(): Promise<LiveSnapshot>;
  /** Resolves when the other side has ended the stream. */
  ended(): Promise<void>;
  leave(): void;
}

export async function watch(at: number | string, headers: Record<string, string> = {}): Promise<Watcher> {
  const leaving = new AbortController();
  const url = typeof at === 'number' ? `http://127.0.0.1:${at}` : at;
  const response = await fetch(`${url}/v1/live`, { headers, signal: leaving.signal });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let read = '';

  async function next(): Promise<ServerSentEvent> {
    for (;;) {
      const end = read.indexOf('\n\n');
      if (end >= 0) {
        const lines = read.slice(0, end).split('\n');
        read = read.slice(end + 2);
        return Object.fromEntries(
          lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        ) as unknown as ServerSentEvent;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended after ${JSON.stringify(read)}.`);
      read += value;
    }
  }

  return {
    response,
    next,
    nextSnapshot: async () => JSON.parse((await next()).data),
    async ended() {
      for (;;) if ((await reader.read()).done) return;
    },
    leave: () => leaving.abort(),
  };
}
