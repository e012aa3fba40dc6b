/**
 * Is there a limit that tells the abusers from the rest? Where clients are sorted by their peaks, it is in the widest gap, if there is one.
 *
 *      peak   ┤                    ● ●     above: few clients, much of the traffic
 *      (log)  ┤
 *             ┤ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─    limit: half-way, so that neither side is near it
 *             ┤              ● ●
 *             ┤      ● ● ● ●               below: the rest
 *             ┤ ● ●
 *             └─────────────────────────► clients
 *
 * Heavy users are no abusers. Their numbers fall off as a power, and then the top is far apart by itself: of n clients the k-th gap from the top,
 * times k, has on average the steepness of the rest (Rényi's spacings, Hill's estimator). A gap counts only if it is so many times that, that
 * chance alone would hardly ever make one anywhere in a log: `leastTimesExpected`.
 */
import { byClient, type ClientIndex } from '../trace/by-client.ts';
import type { Trace } from '../trace/trace.ts';
import { defaultWindowsMs } from './distribution.ts';
import { type Peaks, peaksOf } from './peaks.ts';
import { countedWords, percentWords, windowWords } from './words.ts';

export type Separation = ClearSeparation | NoSeparation;

export interface ClearSeparation {
  readonly isClear: true;
  readonly windowMs: number;
  /** A round number between the two sides, per window. */
  readonly limit: number;
  /** The client with the highest peak of those below. */
  readonly below: ClientPeak;
  /** The client with the lowest peak of those above. */
  readonly above: ClientPeak;
  /** How many times the one's peak is the other's. */
  readonly ratio: number;
  readonly clientsAbove: number;
  readonly clientsAboveRatio: number;
  readonly callsAbove: number;
  readonly callsAboveRatio: number;
  /** Those above with the highest peaks, the highest first. */
  readonly abusers: readonly (ClientPeak & { readonly calls: number })[];
}

export interface NoSeparation {
  readonly isClear: false;
  /** A sentence. */
  readonly reason: string;
}

export interface ClientPeak {
  readonly client: string;
  readonly peak: number;
}

// Above this share they are not a few abusers, but how the service is used.
const mostAboveRatio = 0.1;
// In a tiny log that would be nobody.
const fewAbove = 3;
const leastCallsRatio = 0.05;
const leastRatio = 2;
// Of so few the steepness cannot be told. Then the gap has to speak for itself, and may be chance.
const fewBelow = 10;
const leastRatioAmongFew = 10;
// In one of so many logs whose numbers fall off as a power there may be a gap by chance, wherever in it. (Of peaks in short windows it is a few
// times as often: small whole numbers lie closer together than the calls behind them.)
const logsPerChance = 100;
// Two clients of the same rate differ by chance, by less than so many roots of their calls.
const leastDeviations = 3;
const abusersShown = 20;

/** The widest gap between few clients that call much and the rest, over all windows. `index` is `byClient(trace)`, for those who have it already. */
export function separationOf(
  trace: Trace,
  windowsMs: readonly number[] = defaultWindowsMs,
  index: ClientIndex = byClient(trace),
): Separation {
  const { count } = trace.clientList;
  if (count < 2) return { isClear: false, reason: count === 0 ? 'There are no clients.' : 'There is only one client.' };
  const gaps = peaksOf(trace, windowsMs, index).flatMap((peaks) => gapsIn(peaks, trace, windowsMs.length));
  const widest = (standing: Gap['standing']) =>
    gaps.filter((gap) => gap.standing === standing).sort((a, b) => b.ratio - a.ratio)[0];
  const clear = widest('few');
  if (clear !== undefined) return described(clear, trace);
  return { isClear: false, reason: whyNone(widest('many'), widest('quiet')) };
}

function whyNone(many: Gap | undefined, quiet: Gap | undefined): string {
  if (many !== undefined) {
    const { ratio, peaks, clientsRatio } = many;
    return (
      `There is a gap, but ${percentWords(clientsRatio)} of the clients are above it (${ratio.toFixed(1)} times the rest in ${windowWords(peaks.windowMs)}): ` +
      'so many are no exception, it is how the service is used.'
    );
  }
  if (quiet !== undefined) {
    const { ratio, peaks, above, callsRatio } = quiet;
    return (
      `${countedWords(above, 'client')} ${above === 1 ? 'is' : 'are'} far above the rest (${ratio.toFixed(1)} times in ${windowWords(peaks.windowMs)}), ` +
      `but with ${percentWords(callsRatio)} of the calls that is not worth a limit.`
    );
  }
  return 'In no window is there a clear gap between few clients that call much and the rest: their peaks go over into each other.';
}

interface Cut {
  readonly peaks: Peaks;
  /** Clients by their peaks, the highest first. */
  readonly order: Uint32Array;
  /** So many of them are above. */
  readonly above: number;
}

interface Gap extends Cut {
  readonly ratio: number;
  readonly clientsRatio: number;
  readonly callsRatio: number;
  /** Of those above: few that call much; or too many for that; or few that make hardly any of the calls. */
  readonly standing: 'few' | 'many' | 'quiet';
}

/** The widest gap of each standing. */
function gapsIn(peaks: Peaks, trace: Trace, windows: number): Gap[] {
  const { clientList } = trace;
  const order = byPeak(peaks.calls);
  const total = totalOf(order, order.length, clientList);
  const mostAbove = Math.max(mostAboveRatio * total.clients, Math.min(fewAbove, total.clients / 2));
  const widest = new Map<Gap['standing'], Gap>();
  let [clients, calls] = [0, 0];
  for (let above = 1; above < order.length; above += 1) {
    const client = order[above - 1]!;
    const weight = clientList.weightOf(client);
    clients += weight;
    calls += clientList.callWeightOf(client) * clientList.callsOf(client);
    const [high, low] = [peaks.calls[client]!, peaks.calls[order[above]!]!];
    const ratio = high / low;
    if (ratio < leastRatio || high - low < leastDeviations * Math.sqrt(high)) continue;
    const [clientsRatio, callsRatio] = [clients / total.clients, calls / total.calls];
    const standing = clients > mostAbove ? 'many' : callsRatio < leastCallsRatio ? 'quiet' : 'few';
    if (ratio <= (widest.get(standing)?.ratio ?? 0)) continue;
    const tests = windows * (standing === 'many' ? order.length : Math.max(1, mostAboveRatio * order.length));
    if (!isWide(clients * Math.log(ratio), ratio, tests, { peaks, order, above }, trace)) continue;
    widest.set(standing, { peaks, order, above, ratio, clientsRatio, callsRatio, standing });
  }
  return [...widest.values()];
}

/** Clients, the highest peak first; equal ones in the order of their numbers. */
function byPeak(peaks: Uint32Array): Uint32Array {
  // Keys that sort as numbers do: a comparison function for a million clients takes seconds.
  const keys = new Float64Array(peaks.length);
  for (let client = 0; client < peaks.length; client += 1)
    keys[client] = peaks[client]! * peaks.length + (peaks.length - 1 - client);
  keys.sort().reverse();
  return Uint32Array.from(keys, (key) => peaks.length - 1 - (key % peaks.length));
}

/** Whether a gap is wider than chance makes them. */
function isWide(spacing: number, ratio: number, tests: number, { peaks, order, above }: Cut, trace: Trace): boolean {
  const below = order.length - above;
  if (below < fewBelow) return ratio >= leastRatioAmongFew;
  const tail = Math.max(fewBelow - 1, Math.floor(below / 10));
  return spacing >= leastTimesExpected(tail, tests) * steepnessOf(peaks, order, above, tail, trace);
}

/**
 * Gaps are exponential, and so are the `tail` others whose mean they are measured by: the quotient is above x with a chance of (1 + x / tail)^-tail.
 * As a log has many places where a gap may be, in each of the windows, the chance of one of them is as many times smaller.
 */
function leastTimesExpected(tail: number, tests: number): number {
  return tail * ((logsPerChance * tests) ** (1 / tail) - 1);
}

/** Hill's estimator: how far, on a logarithmic scale, the upper tenth of those below reaches beyond where it begins. */
function steepnessOf(peaks: Peaks, order: Uint32Array, above: number, tail: number, { clientList }: Trace): number {
  const base = peaks.calls[order[above + tail]!]!;
  let [sum, clients] = [0, 0];
  for (let i = above; i < above + tail; i += 1) {
    const weight = clientList.weightOf(order[i]!);
    sum += weight * Math.log(peaks.calls[order[i]!]! / base);
    clients += weight;
  }
  return sum / clients;
}

function totalOf(order: Uint32Array, length: number, clientList: Trace['clientList']) {
  const total = { clients: 0, calls: 0 };
  for (let i = 0; i < length; i += 1) {
    const weight = clientList.weightOf(order[i]!);
    total.clients += weight;
    total.calls += clientList.callWeightOf(order[i]!) * clientList.callsOf(order[i]!);
  }
  return total;
}

function described({ peaks, order, above, ratio }: Gap, { clientList }: Trace): ClearSeparation {
  const peakOf = (client: number) => ({ client: clientList.nameOf(client), peak: peaks.calls[client]! });
  const [lowest, highest] = [order[above - 1]!, order[above]!];
  const total = totalOf(order, order.length, clientList);
  const upper = totalOf(order, above, clientList);
  return {
    isClear: true,
    windowMs: peaks.windowMs,
    limit: roundBetween(peaks.calls[highest]!, peaks.calls[lowest]!),
    below: peakOf(highest),
    above: peakOf(lowest),
    ratio,
    clientsAbove: upper.clients,
    clientsAboveRatio: upper.clients / total.clients,
    callsAbove: upper.calls,
    callsAboveRatio: upper.calls / total.calls,
    abusers: Array.from(order.subarray(0, Math.min(above, abusersShown)), (client) => ({
      ...peakOf(client),
      calls: clientList.callsOf(client),
    })),
  };
}

const roundDigits = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The round number that is nearest to half-way on a logarithmic scale; at least `low` and below `high`. */
function roundBetween(low: number, high: number): number {
  const middle = Math.sqrt(low * high);
  const scale = 10 ** Math.floor(Math.log10(middle));
  const distance = (limit: number) => Math.abs(Math.log(limit / middle));
  const [nearest = Math.floor(middle)] = roundDigits
    .map((digit) => Math.round(digit * scale))
    .filter((limit) => limit >= low && limit < high)
    .sort((a, b) => distance(a) - distance(b));
  return nearest;
}
