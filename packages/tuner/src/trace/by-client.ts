/**
 * The entries of a trace by client: most of what is asked of a trace is asked of each client's own calls, one after another.
 *
 *      trace, by time        c2  c0  c2  c1  c2
 *      entries                1   3   0   2   4      places in the trace, in the order of time within a client
 *      starts                 0   1   2          5   where each client's places begin, and the end
 */
import type { Trace } from './trace.ts';

export interface ClientIndex {
  /** One more than there are clients: the entries of client c are `entries[starts[c]]` until `entries[starts[c + 1]]`, exclusive. */
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
  /** A client's calls, in one object that is used again for every client: whoever keeps something copies it. */
  historyOf(client: number): ClientHistory;
}

/** What one client did, in the order of time. */
export interface ClientHistory {
  /** How many entries. The arrays may be longer. */
  length: number;
  atTicks: Float64Array;
  calls: Uint32Array;
  costs: Float64Array;
}

/** Sorts a trace's entries by client, once for all who ask. It takes 4 bytes per entry. */
export function byClient(trace: Trace): ClientIndex {
  const { length, clients } = trace;
  const { count } = trace.clientList;
  const starts = new Uint32Array(count + 1);
  for (let entry = 0; entry < length; entry += 1) starts[clients[entry]! + 1]! += 1;
  let most = 0;
  for (let client = 0; client < count; client += 1) {
    most = Math.max(most, starts[client + 1]!);
    starts[client + 1]! += starts[client]!;
  }
  const nextPlaces = starts.slice();
  const entries = new Uint32Array(length);
  for (let entry = 0; entry < length; entry += 1) {
    const client = clients[entry]!;
    entries[nextPlaces[client]!] = entry;
    nextPlaces[client]! += 1;
  }
  return { starts, entries, historyOf: historian(trace, starts, entries, most) };
}

// A client's entries lie far apart. Copied next to each other they are fetched from memory once, however often they are then walked through.
function historian(trace: Trace, starts: Uint32Array, entries: Uint32Array, most: number): ClientIndex['historyOf'] {
  const { atTicks, calls, costs } = trace;
  const history: ClientHistory = {
    length: 0,
    atTicks: new Float64Array(most),
    calls: new Uint32Array(most),
    costs: new Float64Array(most),
  };
  return (client) => {
    const start = starts[client]!;
    history.length = starts[client + 1]! - start;
    for (let i = 0; i < history.length; i += 1) {
      const entry = entries[start + i]!;
      history.atTicks[i] = atTicks[entry]!;
      history.calls[i] = calls[entry]!;
      history.costs[i] = costs[entry]!;
    }
    return history;
  };
}
