/**
 * Some clients instead of all, where all would take too long: those with the most calls all, of the others one in so many. What holds for the
 * sample is then said of all: each of the thinned stands for as many as were left out.
 */
import { type ClientRuns, withPeaks } from './client-runs.ts';

export interface ClientSample {
  readonly runs: ClientRuns;
  /** Of the thinned, one in so many was taken; 1: all clients are here. */
  readonly oneIn: number;
}

/** So many at most are taken for their size alone, however large. */
const mostLarge = 64;

export function clientSample(runs: ClientRuns, mostEntries: number): ClientSample {
  const { starts, clientList } = runs;
  const entries = starts[clientList.count]!;
  if (entries <= mostEntries) return { runs, oneIn: 1 };
  const { allFrom, large } = largeClients(runs, mostEntries / 2);
  const oneIn = Math.max(1, Math.ceil((entries - large) / (mostEntries / 2)));
  const chosen: number[] = [];
  for (let client = 0; client < clientList.count; client += 1) {
    if (starts[client + 1]! - starts[client]! >= allFrom || isTaken(client, oneIn)) chosen.push(client);
  }
  const isThinned = (client: number) => starts[client + 1]! - starts[client]! < allFrom;
  return { runs: runsOf(runs, chosen, (client) => (isThinned(client) ? oneIn : 1)), oneIn };
}

/** From how many entries on a client is taken in any case, and how many entries those have. */
function largeClients({ starts, clientList: { count } }: ClientRuns, mostEntries: number) {
  for (let allFrom = 16; ; allFrom *= 2) {
    let clients = 0;
    let large = 0;
    for (let client = 0; client < count; client += 1) {
      const entries = starts[client + 1]! - starts[client]!;
      if (entries < allFrom) continue;
      clients += 1;
      large += entries;
    }
    if (large <= mostEntries || clients <= mostLarge) return { allFrom, large };
  }
}

/** By a hash of the place: neighbours in the log are often neighbours in the network. */
function isTaken(client: number, oneIn: number): boolean {
  return ((Math.imul(client + 1, 0x9e3779b1) >>> 0) >>> 8) % oneIn === 0;
}

function runsOf(runs: ClientRuns, clients: readonly number[], timesOf: (client: number) => number): ClientRuns {
  const { clientList } = runs;
  const starts = new Uint32Array(clients.length + 1);
  clients.forEach((client, i) => {
    starts[i + 1] = starts[i]! + runs.starts[client + 1]! - runs.starts[client]!;
  });
  const length = starts[clients.length]!;
  const atMs = new Float64Array(length);
  const calls = new Uint32Array(length);
  const costs = new Float64Array(length);
  clients.forEach((client, i) => {
    const [from, to] = [runs.starts[client]!, runs.starts[client + 1]!];
    atMs.set(runs.atMs.subarray(from, to), starts[i]);
    calls.set(runs.calls.subarray(from, to), starts[i]);
    costs.set(runs.costs.subarray(from, to), starts[i]);
  });
  return withPeaks({
    ...runs,
    starts,
    atMs,
    calls,
    costs,
    clientList: {
      count: clients.length,
      nameOf: (client) => clientList.nameOf(clients[client]!),
      callsOf: (client) => clientList.callsOf(clients[client]!),
      weightOf: (client) => clientList.weightOf(clients[client]!) * timesOf(clients[client]!),
      callWeightOf: (client) => clientList.callWeightOf(clients[client]!) * timesOf(clients[client]!),
    },
  });
}
