/**
 * Who calls much at once, and what burst a bucket must hold to let it through.
 *
 *      debt                 ╱│
 *       burst needed ┤   ╱│╱ │╲               each call adds its cost, time takes `limit` away per window;
 *                    │ ╱│     │  ╲  ╱│        the highest point is the smallest burst with which a gcra or a
 *                  0 ┼─┴──────┴────╲─┴──►     token bucket of that rate refuses this client nothing
 */
import { mustBe } from '../invalid-option.ts';
import { byClient, type ClientHistory, type ClientIndex } from '../trace/by-client.ts';
import type { Trace } from '../trace/trace.ts';
import { checkMs, peaksOf, spanMsOf } from './peaks.ts';
import { type Bin, binsOf, largest, type Quantiles, quantilesOf, spreadOf } from './spread.ts';

export interface BiggestBursts {
  readonly windowMs: number;
  /** One for each client, the biggest first. */
  readonly bursts: readonly Burst[];
}

export interface Burst {
  readonly client: string;
  /** When its first call was. */
  readonly startMs: number;
  /** Its calls within the window. */
  readonly calls: number;
  readonly costs: number;
  /** How long the client had not called before; undefined: it never had. */
  readonly silenceMs: number | undefined;
}

const burstWindowsMs = [1000, 10_000];
const burstsShown = 20;

/** For each window, the clients that called most within one, and when. */
export function burstsOf(
  trace: Trace,
  windowsMs: readonly number[] = burstWindowsMs,
  index: ClientIndex = byClient(trace),
): BiggestBursts[] {
  return peaksOf(trace, windowsMs, index).map(({ windowMs, calls }) => {
    const clients = largest(calls.length, (client) => calls[client]!, burstsShown);
    return { windowMs, bursts: clients.map((client) => biggestBurst(trace, index, client, windowMs)) };
  });
}

function biggestBurst(trace: Trace, index: ClientIndex, client: number, windowMs: number): Burst {
  const history = index.historyOf(client);
  const { atTicks } = history;
  const { from, calls, costs } = fullestWindow(history, windowMs / trace.tickMs);
  return {
    client: trace.clientList.nameOf(client),
    startMs: trace.startMs + atTicks[from]! * trace.tickMs,
    calls,
    costs,
    silenceMs: from === 0 ? undefined : (atTicks[from]! - atTicks[from - 1]!) * trace.tickMs,
  };
}

function fullestWindow({ length, atTicks, calls, costs }: ClientHistory, ticks: number) {
  let fullest = { from: 0, to: 0, calls: 0 };
  let within = 0;
  for (let from = 0, to = 0; to < length; to += 1) {
    within += calls[to]!;
    for (; atTicks[from]! <= atTicks[to]! - ticks && from < to; from += 1) within -= calls[from]!;
    if (within > fullest.calls) fullest = { from, to, calls: within };
  }
  const spent = costs.subarray(fullest.from, fullest.to + 1).reduce((sum, cost) => sum + cost, 0);
  return { ...fullest, costs: spent };
}

/** So much cost per window; `'mean'`: for each client what it spends on average over the whole trace. */
export type BurstRate = { readonly limit: number; readonly windowMs: number } | 'mean';

export interface NeededBursts {
  readonly rate: BurstRate;
  readonly bursts: Quantiles;
  readonly bins: readonly Bin[];
  /** Who needs most, the first most of all. */
  readonly neediest: readonly { readonly client: string; readonly burst: number }[];
}

/** The bursts that clients would have needed at this rate, over all clients. */
export function neededBursts(trace: Trace, rate: BurstRate, index: ClientIndex = byClient(trace)): NeededBursts {
  const bursts = neededBurstsByClient(trace, rate, index);
  const spread = spreadOf(bursts, trace.clientList);
  const neediest = largest(bursts.length, (client) => bursts[client]!, burstsShown);
  return {
    rate,
    bursts: quantilesOf(spread),
    bins: binsOf(spread),
    neediest: neediest.map((client) => ({ client: trace.clientList.nameOf(client), burst: bursts[client]! })),
  };
}

/** By client: the smallest whole burst with which a gcra of this rate refuses it nothing. */
export function neededBurstsByClient(
  trace: Trace,
  rate: BurstRate,
  index: ClientIndex = byClient(trace),
): Float64Array {
  if (rate !== 'mean') checkRate(rate);
  const spanMs = spanMsOf(trace);
  return Float64Array.from({ length: trace.clientList.count }, (_, client) => {
    const history = index.historyOf(client);
    if (rate !== 'mean') return neededBurst(history, trace.tickMs, rate.limit, rate.windowMs);
    const spent = history.costs.subarray(0, history.length).reduce((sum, cost) => sum + cost, 0);
    return neededBurst(history, trace.tickMs, spent, spanMs);
  });
}

function checkRate({ limit, windowMs }: Exclude<BurstRate, 'mean'>): void {
  checkMs('rate.windowMs', windowMs);
  if (limit > 0 && limit < Number.POSITIVE_INFINITY) return;
  throw mustBe('rate.limit', 'a number above 0', limit);
}

// In the same parts of a unit as the buckets of the library count in: with whole numbers nothing is rounded, and the answer is theirs.
function neededBurst(
  { length, atTicks, costs }: ClientHistory,
  tickMs: number,
  limit: number,
  windowMs: number,
): number {
  const divisor =
    Number.isSafeInteger(limit) && Number.isSafeInteger(windowMs) ? greatestCommonDivisor(limit, windowMs) : 1;
  const unit = windowMs / divisor;
  const drainPerTick = (limit / divisor) * tickMs;
  let debt = 0;
  let most = 0;
  for (let i = 0, seenTick = 0; i < length; i += 1) {
    const tick = atTicks[i]!;
    debt = Math.max(0, debt - (tick - seenTick) * drainPerTick) + costs[i]! * unit;
    seenTick = tick;
    if (debt > most) most = debt;
  }
  return Math.ceil(most / unit);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
