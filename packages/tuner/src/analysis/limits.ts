/**
 * Which limits fit: for each algorithm the smallest limit that would have refused at most a given share of the calls, or of the clients.
 *
 *      refused
 *      share  │╲
 *             │  ╲___
 *      given ─┼──────╲─·····    found by halving: the library decides who is refused, and a try ends as soon as it has refused too much
 *             └───────┴─────► limit
 *                     the answer: a limit that keeps within the share, whose lower neighbour does not
 *
 * More limit does not refuse more clients: who was never refused under a limit is not under a higher one. Of calls that is only true on the
 * whole, so the neighbour above is tried too, and what the answer really refuses is said with it.
 */
import { type LeakyBucketPolicy, leakyBucket, type Policy } from 'sluice';
import { mustBe } from '../invalid-option.ts';
import type { Trace } from '../trace/trace.ts';
import { type ClientReplay, canDelay, clientReplay, isStrict, isWithin, safeWindowMs } from './client-replay.ts';
import { type ClientRuns, clientRuns } from './client-runs.ts';
import { clientSample } from './client-sample.ts';
import { type LimitCandidate, limitCandidates, notTried } from './limit-candidates.ts';
import { enoughFor, firstGuess } from './limit-guess.ts';
import { smallestLimit } from './limit-steps.ts';
import { ratio } from './what-if.ts';

export interface RefuseShare {
  /** At most this part, 0 to below 1. */
  readonly share: number;
  readonly of: 'calls' | 'clients';
}

export interface LimitsOptions {
  readonly windowsMs: readonly number[];
  readonly refuse: RefuseShare;
  /** Names. Default: all that limit a rate. */
  readonly algorithms?: readonly string[] | undefined;
  /** Above this, a sample of the clients is looked at. Default 300,000 entries. */
  readonly mostEntries?: number | undefined;
  /** What part is done, 0 to 1, and what comes next. */
  readonly onProgress?: ((done: number, next: string) => void) | undefined;
}

export interface Limits {
  readonly refuse: RefuseShare;
  readonly rows: readonly LimitRow[];
  /** What has no row: the largest limit that there is refuses too much. */
  readonly withoutLimit: readonly { readonly algorithm: string; readonly variant: string; readonly windowMs: number }[];
  readonly notTried: readonly { readonly algorithm: string; readonly reason: string }[];
  /** Of each window: the smallest limit under which a client would never have been refused by an exact log. */
  readonly neverRefused: readonly NeverRefused[];
  readonly sample: {
    readonly clients: number;
    readonly ofClients: number;
    /** 1: no sample, all clients were looked at. */
    readonly oneIn: number;
  };
}

export interface LimitRow {
  readonly algorithm: string;
  readonly variant: string;
  readonly windowMs: number;
  readonly limit: number;
  readonly policy: Policy;
  readonly refusedCallRatio: number;
  readonly refusedClientRatio: number;
  /** Of all calls, those that pass and are held back first. */
  readonly delayedCallRatio: number;
}

export interface NeverRefused {
  readonly windowMs: number;
  /** A limit that is enough for this part of the clients. */
  readonly quantiles: readonly { readonly ratio: number; readonly limit: number }[];
}

const shownRatios = [0.5, 0.9, 0.99, 0.999, 1];

/** Throws for what cannot work: for those who would rather know before they read a log. */
export function checkLimitsOptions(options: LimitsOptions): void {
  mustBeAShare(options.refuse);
  chosen(options.algorithms);
}

export function limitsFor(trace: Trace, options: LimitsOptions): Limits {
  checkLimitsOptions(options);
  const { refuse, windowsMs, mostEntries = 300_000, onProgress } = options;
  const candidates = chosen(options.algorithms);
  const { runs, oneIn } = clientSample(clientRuns(trace), mostEntries);
  const rows: LimitRow[] = [];
  const withoutLimit: { algorithm: string; variant: string; windowMs: number }[] = [];
  windowsMs.forEach((windowMs, i) => {
    const search = new Search(runs, windowMs, refuse);
    // What fits one algorithm is close to what fits the next.
    let guess = firstGuess(runs, windowMs, refuse);
    candidates.forEach((candidate, j) => {
      // The same rate again.
      if (candidate.isOfRate && i > 0) return;
      onProgress?.((i * candidates.length + j) / (windowsMs.length * candidates.length), candidate.algorithm);
      const row = search.rowOf(candidate, guess);
      if (row === undefined) {
        const { algorithm, variant } = candidate;
        withoutLimit.push({ algorithm, variant, windowMs });
        return;
      }
      guess = row.limit;
      rows.push(row);
    });
  });
  onProgress?.(1, '');
  return {
    refuse,
    rows,
    withoutLimit,
    notTried,
    neverRefused: windowsMs.map((windowMs) => {
      const limits = enoughFor(runs, windowMs, shownRatios);
      return { windowMs, quantiles: shownRatios.map((share, i) => ({ ratio: share, limit: limits[i]! })) };
    }),
    sample: { clients: runs.clientList.count, ofClients: trace.clientList.count, oneIn },
  };
}

function mustBeAShare({ share, of }: RefuseShare): void {
  if (!(share >= 0 && share < 1)) throw mustBe('refuse.share', 'a number from 0 to below 1', share);
  if (of !== 'calls' && of !== 'clients') throw mustBe('refuse.of', '"calls" or "clients"', of);
}

function chosen(algorithms: readonly string[] | undefined): readonly LimitCandidate[] {
  if (algorithms === undefined) return limitCandidates;
  const known = new Set(limitCandidates.map(({ algorithm }) => algorithm));
  for (const name of algorithms) {
    const why = notTried.find(({ algorithm }) => algorithm === name)?.reason;
    const wayOut = why === undefined ? '' : ` ${name} is not tried: ${why}.`;
    if (!known.has(name)) throw mustBe('algorithms', `some of ${[...known].join(', ')}`, name, wayOut);
  }
  return limitCandidates.filter(({ algorithm }) => algorithms.includes(algorithm));
}

/** So many times as many clients stand for. */
interface Refused {
  readonly calls: number;
  readonly clients: number;
  readonly delayedCalls: number;
}

class Search {
  private readonly runs: ClientRuns;
  private readonly windowMs: number;
  private readonly of: RefuseShare['of'];
  /** The clients of the sample, those who spend the most first: who refuses too much is found out early. */
  private readonly order: Uint32Array;
  private readonly calls: number;
  private readonly clients: number;
  private readonly most: number;

  constructor(runs: ClientRuns, windowMs: number, refuse: RefuseShare) {
    const { count, callsOf, weightOf, callWeightOf } = runs.clientList;
    this.runs = runs;
    this.windowMs = windowMs;
    this.of = refuse.of;
    this.order = largestFirst(runs.peaks(windowMs));
    let [calls, clients] = [0, 0];
    for (let client = 0; client < count; client += 1) {
      calls += callWeightOf(client) * callsOf(client);
      clients += weightOf(client);
    }
    this.calls = calls;
    this.clients = clients;
    // A grain of tolerance: a share of 0.001 of 3,000 calls is 3 of them.
    this.most = refuse.share * (refuse.of === 'calls' ? this.calls : this.clients) * (1 + 1e-9);
  }

  rowOf(candidate: LimitCandidate, guess: number): LimitRow | undefined {
    const tried = new Map<number, Refused>();
    const fits = (limit: number) => {
      const refused = this.refusedWithin(undelayed(candidate.policyFor(limit, this.windowMs)), this.most);
      if (refused !== undefined) tried.set(limit, refused);
      return refused !== undefined;
    };
    const limit = smallestLimit(fits, guess);
    if (limit === undefined) return undefined;
    const policy = candidate.policyFor(limit, this.windowMs);
    // Who looks for a share of clients has counted no calls, and who looks at refusals no delays.
    const isKnown = this.of === 'calls' && !canDelay(policy);
    const { calls, clients, delayedCalls } = (isKnown ? tried.get(limit) : undefined) ?? this.refused(policy);
    return {
      algorithm: candidate.algorithm,
      variant: candidate.variant,
      windowMs: this.windowMs,
      limit,
      policy,
      refusedCallRatio: ratio(calls, this.calls),
      refusedClientRatio: ratio(clients, this.clients),
      delayedCallRatio: ratio(delayedCalls, this.calls),
    };
  }

  /** Undefined as soon as more than `most` is refused. Of clients, it is enough to know that they are: their calls are not counted. */
  private refusedWithin(policy: Policy, most: number): Refused | undefined {
    const replay = clientReplay(policy, this.runs.startMs);
    const peaks = this.peaksFor(policy, replay.most);
    const isOfClients = this.of === 'clients';
    const refusedPeaks = isOfClients && isStrict(policy) ? this.runs.peaks(this.windowMs) : undefined;
    const refused = { calls: 0, clients: 0, delayedCalls: 0 };
    for (const client of this.order) {
      if (peaks !== undefined && isWithin(peaks[client]!, replay.most)) continue;
      const weight = this.runs.clientList.weightOf(client);
      const isSure = refusedPeaks !== undefined && isWithin(policy.limit, refusedPeaks[client]!);
      const callWeight = this.runs.clientList.callWeightOf(client);
      const enough = isOfClients ? 0 : (most - refused.calls) / callWeight;
      const calls = isSure ? 1 : this.refusedOf(client, replay, enough).calls;
      refused.calls += calls * callWeight;
      refused.clients += Math.sign(calls) * weight;
      if ((isOfClients ? refused.clients : refused.calls) > most) return undefined;
    }
    return refused;
  }

  /** All of it. */
  private refused(policy: Policy): Refused {
    const replay = clientReplay(policy, this.runs.startMs);
    const peaks = this.peaksFor(policy, replay.most);
    const refused = { calls: 0, clients: 0, delayedCalls: 0 };
    for (const client of this.order) {
      if (peaks !== undefined && isWithin(peaks[client]!, replay.most)) continue;
      const { weightOf, callWeightOf } = this.runs.clientList;
      const own = this.refusedOf(client, replay, Number.POSITIVE_INFINITY);
      refused.calls += own.calls * callWeightOf(client);
      refused.delayedCalls += own.delayedCalls * callWeightOf(client);
      refused.clients += Math.sign(own.calls) * weightOf(client);
    }
    return refused;
  }

  private peaksFor(policy: Policy, most: number): Float64Array | undefined {
    const safeMs = safeWindowMs(policy, most);
    return safeMs === undefined ? undefined : this.runs.peaks(this.rung(safeMs));
  }

  private refusedOf(client: number, replay: ClientReplay, most: number): { calls: number; delayedCalls: number } {
    const { starts, atMs, calls, costs } = this.runs;
    const refused = { calls: 0, delayedCalls: 0 };
    const onDelay = () => {
      refused.delayedCalls += 1;
    };
    replay.begin();
    for (let entry = starts[client]!; entry < starts[client + 1]! && refused.calls <= most; entry += 1) {
      refused.calls += calls[entry]! - replay.ask(atMs[entry]!, calls[entry]!, costs[entry]!, onDelay);
    }
    return refused;
  }

  /** A window that is no shorter and for which the peaks are known already, or soon will be: each takes a walk through the trace. */
  private rung(safeMs: number): number {
    const rungs = [1 / 60, 1 / 10, 1 / 2, 1, 62 / 60, 2, 4].map((factor) => factor * this.windowMs);
    return rungs.find((ms) => ms >= safeMs) ?? safeMs;
  }
}

/** The same refusals, without the delays: those who cannot be refused need not be asked for then. */
function undelayed(policy: Policy): Policy {
  if (policy.algorithm !== 'leaky-bucket') return policy;
  const { limit, window, burst } = policy as LeakyBucketPolicy;
  return leakyBucket({ limit, window, burst, delay: 'none' });
}

/** All clients, first those from half of the largest peak on, then from a quarter: sorting a million of them in full would take longer than the search. */
function largestFirst(peaks: Float64Array): Uint32Array {
  const classes = 1024;
  const classOf = (peak: number) => classes - 1 - Math.min(classes - 1, Math.ceil(Math.log2(peak + 1)));
  const starts = new Uint32Array(classes + 1);
  for (const peak of peaks) starts[classOf(peak) + 1]! += 1;
  for (let i = 0; i < classes; i += 1) starts[i + 1]! += starts[i]!;
  const order = new Uint32Array(peaks.length);
  for (const [client, peak] of peaks.entries()) {
    const place = classOf(peak);
    order[starts[place]!] = client;
    starts[place]! += 1;
  }
  return order;
}
