/** Traces made by hand, for tests that are about what is said of a trace. */
import type { Trace } from '../trace/trace.ts';

export interface MadeEntry {
  readonly atMs: number;
  readonly client: string;
  readonly calls?: number;
  /** Of each call. Default 1. */
  readonly cost?: number;
}

export interface MadeTraceOptions {
  readonly startMs?: number;
  readonly tickMs?: number;
  readonly weights?: Readonly<Record<string, number>>;
}

/** The entries must be in the order of time, one per client and moment. */
export function madeTrace(entries: readonly MadeEntry[], options: MadeTraceOptions = {}): Trace {
  const { startMs = 1_700_000_000_000, tickMs = 1, weights = {} } = options;
  const names = [...new Set(entries.map(({ client }) => client))];
  const calls = Uint32Array.from(entries, (entry) => entry.calls ?? 1);
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const clients = Uint32Array.from(entries, ({ client }) => placeOf.get(client)!);
  const callsOf = new Float64Array(names.length);
  entries.forEach((_, i) => {
    callsOf[clients[i]!]! += calls[i]!;
  });
  return {
    startMs,
    tickMs,
    length: entries.length,
    atTicks: Float64Array.from(entries, ({ atMs }) => atMs / tickMs),
    clients,
    calls,
    costs: Float64Array.from(entries, ({ cost = 1 }, i) => cost * calls[i]!),
    clientList: {
      count: names.length,
      nameOf: (client) => names[client]!,
      callsOf: (client) => callsOf[client]!,
      weightOf: (client) => weights[names[client]!] ?? 1,
      callWeightOf: (client) => weights[names[client]!] ?? 1,
    },
  };
}
