/**
 * The trace once more, sorted by client: what a limit says to one does not depend on the others, and a client's calls that lie side by side are
 * read many times faster than calls that are strewn over the whole log.
 *
 *      starts   0         3    4              of client 0: entries 0 to 2, of client 1: entry 3
 *      atMs     0  17 900 40
 *      calls    1   1   2  1
 */
import { byClient } from '../trace/by-client.ts';
import type { ClientList, Trace } from '../trace/trace.ts';

export interface ClientRuns {
  readonly startMs: number;
  /** Exclusive: right after the last tick. */
  readonly endMs: number;
  readonly clientList: ClientList;
  /** One more than there are clients. */
  readonly starts: Uint32Array;
  readonly atMs: Float64Array;
  readonly calls: Uint32Array;
  readonly costs: Float64Array;
  /** The most that each client spends in any `(t - windowMs, t]`. Worked out once for each window. */
  peaks(windowMs: number): Float64Array;
}

// Who drags a limit asks of the same trace again and again.
const sorted = new WeakMap<Trace, ClientRuns>();

export function clientRuns(trace: Trace): ClientRuns {
  const runs = sorted.get(trace) ?? sortByClient(trace);
  sorted.set(trace, runs);
  return runs;
}

function sortByClient(trace: Trace): ClientRuns {
  const { length, startMs, tickMs, atTicks, clientList } = trace;
  const { starts, entries } = byClient(trace);
  const atMs = new Float64Array(length);
  const calls = new Uint32Array(length);
  const costs = new Float64Array(length);
  for (let place = 0; place < length; place += 1) {
    const entry = entries[place]!;
    atMs[place] = startMs + atTicks[entry]! * tickMs;
    calls[place] = trace.calls[entry]!;
    costs[place] = trace.costs[entry]!;
  }
  const lastTick = length === 0 ? -1 : atTicks[length - 1]!;
  return withPeaks({ startMs, endMs: startMs + (lastTick + 1) * tickMs, clientList, starts, atMs, calls, costs });
}

// A limit that is dragged brings a new window with each step, and nobody asks for the old ones again.
const mostRemembered = 16;

export function withPeaks(runs: Omit<ClientRuns, 'peaks'>): ClientRuns {
  const known = new Map<number, Float64Array>();
  return {
    ...runs,
    peaks(windowMs) {
      const peaks = known.get(windowMs) ?? peaksOf(runs, windowMs);
      if (known.size >= mostRemembered && !known.has(windowMs)) known.delete(known.keys().next().value!);
      known.set(windowMs, peaks);
      return peaks;
    },
  };
}

function peaksOf({ starts, atMs, costs }: Omit<ClientRuns, 'peaks'>, windowMs: number): Float64Array {
  const peaks = new Float64Array(starts.length - 1);
  for (let client = 0; client < peaks.length; client += 1) {
    const end = starts[client + 1]!;
    let oldest = starts[client]!;
    let inside = 0;
    let most = 0;
    for (let newest = oldest; newest < end; newest += 1) {
      inside += costs[newest]!;
      const leftMs = atMs[newest]! - windowMs;
      while (atMs[oldest]! <= leftMs) {
        inside -= costs[oldest]!;
        oldest += 1;
      }
      if (inside > most) most = inside;
    }
    peaks[client] = most;
  }
  return peaks;
}
