/**
 * Each client's busiest moments: the most it called in any window `(t - window, t]`, which is what a limit over that window has to leave through.
 *
 *      window of 4      ┌───────┐
 *      calls       1    2   1   3        1      peak 6: two pointers walk through a client's calls, and what lies between them is counted
 *      ────────────┴────┴───┴───┴────────┴──► time
 *                      from     to
 */
import { mustBe } from '../invalid-option.ts';
import { byClient, type ClientHistory, type ClientIndex } from '../trace/by-client.ts';
import type { Trace } from '../trace/trace.ts';

export interface Peaks {
  readonly windowMs: number;
  /** By client: the most calls in any window. */
  readonly calls: Uint32Array;
  /** By client: the most cost in any window, which may be another one. */
  readonly costs: Float64Array;
}

/** How long a trace lasts, its last tick included. */
export function spanMsOf({ length, atTicks, tickMs }: Trace): number {
  return length === 0 ? 0 : (atTicks[length - 1]! + 1) * tickMs;
}

// Distribution, bursts and separation ask for the same windows.
const known = new WeakMap<ClientIndex, Map<number, Peaks>>();
const mostKnown = 8;

/** The peaks of every client, for each window. A window shorter than a tick is counted by the tick. */
export function peaksOf(trace: Trace, windowsMs: readonly number[], index: ClientIndex = byClient(trace)): Peaks[] {
  for (const [i, windowMs] of windowsMs.entries()) checkMs(`windowsMs[${i}]`, windowMs);
  const remembered = known.get(index) ?? new Map<number, Peaks>();
  known.set(index, remembered);
  const { count } = trace.clientList;
  const peaks = windowsMs.map(
    (windowMs) =>
      remembered.get(windowMs) ?? { windowMs, calls: new Uint32Array(count), costs: new Float64Array(count) },
  );
  const unknown = peaks.filter(({ windowMs }) => !remembered.has(windowMs));
  for (let client = 0; unknown.length > 0 && client < count; client += 1) {
    const history = index.historyOf(client);
    for (const each of unknown) notePeak(each, client, history, each.windowMs / trace.tickMs);
  }
  for (const each of unknown) if (remembered.size < mostKnown) remembered.set(each.windowMs, each);
  return peaks;
}

/** Refuses what is no length of time. */
export function checkMs(name: string, windowMs: number): void {
  if (windowMs > 0 && windowMs < Number.POSITIVE_INFINITY) return;
  throw mustBe(name, 'milliseconds above 0', windowMs);
}

function notePeak(peaks: Peaks, client: number, { length, atTicks, calls, costs }: ClientHistory, ticks: number): void {
  let from = 0;
  let callsWithin = 0;
  let costWithin = 0;
  let mostCalls = 0;
  let mostCost = 0;
  for (let to = 0; to < length; to += 1) {
    const afterTick = atTicks[to]! - ticks;
    while (from < to && atTicks[from]! <= afterTick) {
      callsWithin -= calls[from]!;
      costWithin -= costs[from]!;
      from += 1;
    }
    // Fractions that were added and taken away may leave a trace; an empty window has none.
    if (from === to) costWithin = 0;
    callsWithin += calls[to]!;
    costWithin += costs[to]!;
    if (callsWithin > mostCalls) mostCalls = callsWithin;
    if (costWithin > mostCost) mostCost = costWithin;
  }
  peaks.calls[client] = mostCalls;
  peaks.costs[client] = mostCost;
}
