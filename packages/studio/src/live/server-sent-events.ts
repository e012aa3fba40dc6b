/**
 * Reads server-sent events (the `text/event-stream` of the HTML standard) from text that arrives in pieces, cut anywhere.
 *
 *      ": a comment\nevent: snap" "shot\r" "\ndata: {}\n\n"   ──►   { name: 'snapshot', data: '{}' }
 *
 * Not EventSource, which cannot send a token. `id` and `retry` are passed over: there is nothing to resume, and how long to wait is decided by
 * `reconnect-wait.ts`.
 */
export interface ServerSentEvent {
  /** `message` where none was given. */
  readonly name: string;
  readonly data: string;
}

export interface EventReader {
  /** The events that became whole with this piece. */
  read(piece: string): ServerSentEvent[];
}

/** A snapshot of a large cluster with thousands of rules is well below; a stream that never ends a line must not fill the memory. */
export const longestEventCharacters = 4_000_000;

export function eventReader(longest = longestEventCharacters): EventReader {
  let rest = '';
  let isAtStart = true;
  let name = '';
  let data: string[] = [];
  let dataCharacters = 0;

  function readLine(line: string): ServerSentEvent | undefined {
    if (line === '') return whole();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    if (field === 'data') {
      data.push(value);
      dataCharacters += value.length;
    }
    return undefined;
  }

  function whole(): ServerSentEvent | undefined {
    const event = data.length === 0 ? undefined : { name: name === '' ? 'message' : name, data: data.join('\n') };
    name = '';
    data = [];
    dataCharacters = 0;
    return event;
  }

  return {
    read(piece) {
      if (isAtStart && piece !== '') {
        isAtStart = false;
        rest = piece.replace(/^\uFEFF/, '');
      } else rest += piece;
      const events: ServerSentEvent[] = [];
      for (;;) {
        const end = lineEnd(rest);
        if (end === undefined) break;
        const event = readLine(rest.slice(0, end.at));
        if (event !== undefined) events.push(event);
        rest = rest.slice(end.next);
      }
      if (rest.length + dataCharacters > longest)
        throw new Error(`an event must be at most ${longest} characters long, and this one goes on`);
      return events;
    },
  };
}

/** Where the first line ends and the next one begins; undefined while that is not known. */
function lineEnd(text: string): { readonly at: number; readonly next: number } | undefined {
  const at = text.search(/[\r\n]/);
  if (at === -1) return undefined;
  if (text[at] === '\n') return { at, next: at + 1 };
  // A carriage return at the very end may be the first half of a pair.
  if (at + 1 === text.length) return undefined;
  return { at, next: text[at + 1] === '\n' ? at + 2 : at + 1 };
}
