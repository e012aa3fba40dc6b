import { fixedWindow } from 'sluice';
import { expect, test } from 'vitest';
import { distributionOf } from '../analysis/distribution.ts';
import { whatIf } from '../analysis/what-if.ts';
import { byClient } from './by-client.ts';
import type { Trace } from './trace.ts';
import { type Call, takeAll } from './trace-of.test-support.ts';
import { type TraceRecorderOptions, traceRecorder } from './trace-recorder.ts';

/** Mulberry32: small, and good enough to draw traffic from. */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

const dayMs = 86_400_000;

/** A day of clients whose numbers of calls fall off as a power, as they do in real logs; each calls in bursts of up to five, a second apart. */
function day(seed: number, clients: number): Call[] {
  const draw = uniform(seed);
  const calls: Call[] = [];
  for (let client = 0; client < clients; client += 1) {
    const bursts = Math.ceil(draw() ** -0.7);
    for (let burst = 0; burst < bursts; burst += 1) {
      const atMs = draw() * (dayMs - 5000);
      const length = Math.ceil(5 * draw());
      for (let i = 0; i < length; i += 1) calls.push([atMs + 1000 * i * draw(), `client-${seed}-${client}`]);
    }
  }
  return calls.sort(([a], [b]) => a - b);
}

function recordOf(calls: Iterable<Call>, options?: TraceRecorderOptions) {
  const recorder = traceRecorder(options);
  takeAll(recorder, calls);
  return { trace: recorder.finish(), report: recorder.report() };
}

/** Over all clients, each as often as its weight: how many there are, what they call, how many reach so many calls in a minute. */
function totalsOf(trace: Trace, peak: number) {
  const index = byClient(trace);
  const { count, callsOf, weightOf, callWeightOf } = trace.clientList;
  const totals = { clients: 0, calls: 0, above: 0 };
  for (let client = 0; client < count; client += 1) {
    const weight = weightOf(client);
    totals.clients += weight;
    totals.calls += callWeightOf(client) * callsOf(client);
    if (peakOf(index.historyOf(client), 60_000 / trace.tickMs) >= peak) totals.above += weight;
  }
  return totals;
}

function peakOf(
  { length, atTicks, calls }: ReturnType<ReturnType<typeof byClient>['historyOf']>,
  ticks: number,
): number {
  let most = 0;
  for (let last = 0; last < length; last += 1) {
    let within = 0;
    for (let i = last; i >= 0 && atTicks[i]! > atTicks[last]! - ticks; i -= 1) within += calls[i]!;
    most = Math.max(most, within);
  }
  return most;
}

test.each([1, 2])('what is told from a thinned log is near the truth, seed %i', (seed) => {
  const calls = day(seed, 8000);
  const truth = totalsOf(recordOf(calls).trace, 5);
  const { trace, report } = recordOf(calls, { maxClients: 2500, maxEntries: 25_000 });
  const estimate = totalsOf(trace, 5);

  expect(truth.clients).toBe(8000);
  expect(report.thinnedTo).toBeGreaterThan(4);
  expect(trace.clientList.count).toBeLessThanOrEqual(2500);
  expect(trace.length).toBeLessThanOrEqual(25_000);
  expect(report.lines).toBe(calls.length);
  expect(report.calls).toBe(trace.calls.subarray(0, trace.length).reduce((sum, each) => sum + each, 0));

  // The seeds are fixed, so nothing here fails by chance; four standard errors hold for nearly every other seed too.
  const { clientsErrorRatio } = report;
  expect(clientsErrorRatio).toBeLessThan(0.08);
  expect(report.clients).toBe(estimate.clients);
  expect(Math.abs(estimate.clients / truth.clients - 1)).toBeLessThan(4 * clientsErrorRatio);
  expect(Math.abs(estimate.calls / truth.calls - 1)).toBeLessThan(4 * clientsErrorRatio);
  const shares = [estimate.above / estimate.clients, truth.above / truth.clients] as const;
  const standardError = Math.sqrt((shares[1] * (1 - shares[1])) / (trace.clientList.count / 2));
  expect(Math.abs(shares[0] - shares[1])).toBeLessThan(4 * standardError);
});

test('what is told of calls is right on average, though the first calls of those who became busy late are missing', () => {
  // Enough clients become busy late that their missing calls would be seen.
  const ratios = Array.from({ length: 12 }, (_, seed) => {
    const draw = uniform(1 + seed);
    const calls = Array.from(
      { length: 60_000 },
      (_each, i): Call => [i, `client-${seed}-${Math.floor(12_000 * draw() ** 3)}`],
    );
    const { trace, report } = recordOf(calls, { maxClients: 2500, maxEntries: 20_000 });
    expect(report.clientsKeptLate).toBeGreaterThan(50);
    expect(distributionOf(trace).calls).toBeCloseTo(totalsOf(trace, 1).calls, 6);
    expect(whatIf(trace, fixedWindow({ limit: 1, window: '1s' })).calls).toBeCloseTo(totalsOf(trace, 1).calls, 6);
    return totalsOf(trace, 1).calls / calls.length;
  });
  const mean = ratios.reduce((sum, each) => sum + each, 0) / ratios.length;
  const variance = ratios.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (ratios.length - 1);
  const standardError = Math.sqrt(variance / ratios.length);
  expect(standardError).toBeLessThan(0.01);
  expect(Math.abs(mean - 1)).toBeLessThan(2 * standardError);
});

test('of the clients that are kept all calls are, except of those that became busy late, who are few', () => {
  const calls = day(4, 10_000);
  const callsOf = new Map<string, number>();
  for (const [, client] of calls) callsOf.set(client, (callsOf.get(client) ?? 0) + 1);
  const { trace, report } = recordOf(calls, { maxClients: 2000, busiest: 100 });
  const { clientList } = trace;
  let partial = 0;
  for (let client = 0; client < clientList.count; client += 1) {
    const known = callsOf.get(clientList.nameOf(client))!;
    if (clientList.callsOf(client) !== known) partial += 1;
    expect(clientList.callWeightOf(client) * clientList.callsOf(client)).toBeCloseTo(
      clientList.weightOf(client) * known,
      6,
    );
    expect([1, report.thinnedTo]).toContain(clientList.weightOf(client));
  }
  expect(report.thinnedTo).toBeGreaterThan(1);
  expect(partial).toBe(report.clientsKeptLate);
  expect(partial).toBeLessThanOrEqual(2 * 100);
});

test('the busiest are all kept, each for itself, also those that come when the log is already thinned', () => {
  const draw = uniform(5);
  const quiet = Array.from({ length: 60_000 }, (_, i): Call => [i * 1000 + draw() * 900, `quiet-${i}`]);
  const early = Array.from({ length: 2000 }, (_, i): Call => [i * 500 + 1, `early-${i % 20}`]);
  const late = Array.from({ length: 4000 }, (_, i): Call => [50_000_000 + i * 500 + 1, `late-${i % 20}`]);
  const { trace, report } = recordOf(
    [...quiet, ...early, ...late].sort(([a], [b]) => a - b),
    { maxClients: 1000 },
  );
  const { clientList } = trace;
  const kept = new Map(Array.from({ length: clientList.count }, (_, client) => [clientList.nameOf(client), client]));
  for (let i = 0; i < 20; i += 1) {
    expect(clientList.callsOf(kept.get(`early-${i}`)!)).toBe(100);
    expect(clientList.weightOf(kept.get(`early-${i}`)!)).toBe(1);
    // What it called before it was noticed is missing.
    expect(clientList.callsOf(kept.get(`late-${i}`)!)).toBeGreaterThan(200 - report.keptFromCalls);
    expect(clientList.weightOf(kept.get(`late-${i}`)!)).toBe(1);
  }
  expect(report.thinnedTo).toBeGreaterThan(16);
  expect(report.clientsKeptLate).toBeGreaterThanOrEqual(1);
  expect(Math.abs(report.clients / 60_040 - 1)).toBeLessThan(4 * report.clientsErrorRatio);
});

test('what a client called before it was left out counts when it comes back', () => {
  const visits = (fromMs: number, calls: number) =>
    Array.from({ length: 20 * calls }, (_, i): Call => [fromMs + i, `visitor-${i % 20}`]);
  const quiet = Array.from({ length: 5000 }, (_, i): Call => [1000 + i, `quiet-${i}`]);
  const { trace, report } = recordOf([...visits(1, 12), ...quiet, ...visits(10_000, 12)], { maxClients: 1000 });
  const names = Array.from({ length: trace.clientList.count }, (_, client) => trace.clientList.nameOf(client));
  expect(report.keptFromCalls).toBeGreaterThan(12);
  expect(names.filter((name) => name.startsWith('visitor-')).length).toBe(20);
});

test('where a coarser tick makes much of a log one, nobody is left out', () => {
  const calls = Array.from({ length: 50_000 }, (_, i): Call => [i * 2 + 1, `client-${i % 4}`]);
  const { trace, report } = recordOf(calls, { maxEntries: 5000 });
  expect(report).toMatchObject({ thinnedTo: 1, clients: 4, calls: 50_000, isCoarse: true });
  expect(report.tickMs).toBeLessThanOrEqual(1000);
  expect(trace.length).toBeLessThanOrEqual(5000);
  expect(trace.tickMs).toBe(report.tickMs);
});

test('few clients over a long time become a tick coarser than a second, not fewer clients', () => {
  const calls = Array.from({ length: 200_000 }, (_, i): Call => [i * 1000, `client-${i % 4}`]);
  const { trace, report } = recordOf(calls, { maxEntries: 2000 });
  expect(report).toMatchObject({ thinnedTo: 1, clients: 4, calls: 200_000, isCoarse: true, tickMs: 600_000 });
  expect(trace.length).toBeLessThanOrEqual(2000);
});

test('names that fill the memory thin a log as clients do', () => {
  const calls = Array.from({ length: 2000 }, (_, i): Call => [i, `${i}${'x'.repeat(400)}`]);
  const { trace, report } = recordOf(calls, { maxClients: 1000 });
  expect(report.thinnedTo).toBeGreaterThanOrEqual(8);
  expect(trace.clientList.count).toBeLessThanOrEqual(160);
});

test('a log is thinned alike in any order of its lines', () => {
  const calls = Array.from({ length: 5000 }, (_, i): Call => [i * 7, `client-${i}`]);
  const namesOf = ({ trace: { clientList } }: ReturnType<typeof recordOf>) =>
    Array.from({ length: clientList.count }, (_, client) => clientList.nameOf(client)).sort();
  const options = { maxClients: 500 };
  expect(namesOf(recordOf(calls, options))).toEqual(namesOf(recordOf(calls.slice().reverse(), options)));
});
