/**
 * How often do clients call? For each window the peaks of all clients, as quantiles and as a histogram, and who the busiest are.
 * A limit over that window which is at a client's peak or above never refuses it.
 */
import { byClient, type ClientIndex } from '../trace/by-client.ts';
import type { Trace } from '../trace/trace.ts';
import { type Peaks, peaksOf, spanMsOf } from './peaks.ts';
import { type Bin, binsOf, largest, type Quantiles, quantilesOf, spreadOf } from './spread.ts';

export interface Distribution {
  /** Clients; where the log was thinned, how many they stand for. */
  readonly clients: number;
  /** Where the log was thinned, how many they stand for: about as many as it has. */
  readonly calls: number;
  readonly spanMs: number;
  readonly windows: readonly WindowDistribution[];
  /** Calls per second over the whole trace. */
  readonly meanPerSecond: Quantiles;
  /** By calls, the busiest first. */
  readonly busiest: readonly BusyClient[];
}

export interface WindowDistribution {
  readonly windowMs: number;
  /** The trace's tick is longer than the window, so that calls are counted by the tick: peaks are too high. */
  readonly isCoarse: boolean;
  /** The most calls of each client in any such window. */
  readonly calls: Quantiles;
  /** The most that each client spends in any such window. */
  readonly costs: Quantiles;
  /** Of `calls`. */
  readonly bins: readonly Bin[];
}

export interface BusyClient {
  readonly client: string;
  readonly calls: number;
  readonly costs: number;
  /** How many clients it stands for. */
  readonly weight: number;
  readonly meanPerSecond: number;
  readonly peaks: readonly { readonly windowMs: number; readonly calls: number; readonly costs: number }[];
}

export const defaultWindowsMs: readonly number[] = [1000, 10_000, 60_000, 600_000, 3_600_000];
const busiestShown = 20;

/** The distribution of clients' rates. `index` is `byClient(trace)`, for those who have it already. */
export function distributionOf(
  trace: Trace,
  windowsMs: readonly number[] = defaultWindowsMs,
  index: ClientIndex = byClient(trace),
): Distribution {
  const { clientList, tickMs } = trace;
  const peaks = peaksOf(trace, windowsMs, index);
  const spanMs = spanMsOf(trace);
  const means = new Float64Array(clientList.count);
  let calls = 0;
  for (let client = 0; client < clientList.count; client += 1) {
    const stoodFor = clientList.callsOf(client) * clientList.callWeightOf(client);
    means[client] = ((stoodFor / clientList.weightOf(client)) * 1000) / spanMs;
    calls += stoodFor;
  }
  const meansSpread = spreadOf(means, clientList);
  return {
    clients: meansSpread.clients,
    calls,
    spanMs,
    windows: peaks.map((each) => windowDistribution(each, trace, tickMs)),
    meanPerSecond: quantilesOf(meansSpread),
    busiest: busiestOf(trace).map((client) => busyClient(client, trace, index, peaks, means[client]!)),
  };
}

function windowDistribution(peaks: Peaks, { clientList }: Trace, tickMs: number): WindowDistribution {
  const calls = spreadOf(peaks.calls, clientList);
  return {
    windowMs: peaks.windowMs,
    isCoarse: tickMs > peaks.windowMs,
    calls: quantilesOf(calls),
    costs: quantilesOf(spreadOf(peaks.costs, clientList)),
    bins: binsOf(calls),
  };
}

/** The clients with the most calls, the busiest first. */
export function busiestOf({ clientList }: Trace, most: number = busiestShown): number[] {
  return largest(clientList.count, clientList.callsOf, most);
}

function busyClient(
  client: number,
  trace: Trace,
  index: ClientIndex,
  peaks: readonly Peaks[],
  meanPerSecond: number,
): BusyClient {
  const { length, costs } = index.historyOf(client);
  return {
    client: trace.clientList.nameOf(client),
    calls: trace.clientList.callsOf(client),
    costs: costs.subarray(0, length).reduce((sum, cost) => sum + cost, 0),
    weight: trace.clientList.weightOf(client),
    meanPerSecond,
    peaks: peaks.map((each) => ({ windowMs: each.windowMs, calls: each.calls[client]!, costs: each.costs[client]! })),
  };
}
