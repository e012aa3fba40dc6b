/**
 * Many clients at a service that they overload, with Sluice's own retry, retry budget and adaptive throttle before each of them,
 * or without.
 *
 *      people ──► client 1 ──► retry ──► throttle ──┐
 *      people ──► client 2 ──► retry ──► throttle ──┼──► the service
 *                 ···                               │
 *      people ──► client n ──► retry ──► throttle ──┘
 *
 *      │ a healthy time │ overload begins ········ settles │ measured │
 *
 * Goodput is what is answered while somebody waits for it, as a share of what the service could do.
 */
import { adaptiveThrottle, type Protection, type RetryBudgetOptions, retry, retryBudget, wrap } from 'sluice/protect';
import { simulatedClock } from '../clock.ts';
import { type EventLoop, eventLoop } from '../events.ts';
import { type Backend, type BackendCounts, type BackendOptions, backend } from './backend.ts';

export interface ClientOptions {
  /** How often a call is made, the first time included. Default 3. */
  readonly attempts?: number;
  /** Of each client. `'endless'`: every call may be made so often. Default: `retryBudget()` as it comes. */
  readonly budget?: RetryBudgetOptions | 'endless';
  /** `k` of an adaptive throttle, which is otherwise as it comes. Default: no throttle. */
  readonly k?: number | undefined;
}

export interface OverloadOptions extends Partial<BackendOptions> {
  /** What all randomness comes from. Default 1. */
  readonly seed?: number;
  /** How many clients; each has a budget and a throttle of its own. Default 20. */
  readonly clients?: number;
  /** What all of them send together, as a multiple of the capacity, before any retry. Default 3. */
  readonly load?: number;
  /** The same before the overload. Default 0.7. */
  readonly healthyLoad?: number;
  /** How long all is well, then how long it may take to settle, then how long it is measured. Default 30, 150 and 120 seconds. */
  readonly healthyMs?: number;
  readonly settlingMs?: number;
  readonly measuredMs?: number;
  readonly client?: ClientOptions;
}

export interface OverloadResult {
  /** Of the measured time: what was answered in time, and what arrived at the service, as shares of its capacity. */
  readonly goodput: number;
  readonly arrived: number;
  /** The same share for each second from the beginning on. */
  readonly goodputBySecond: readonly number[];
  /** From the beginning of the overload until the goodput of ten seconds was 90% for the first time; `Infinity` if it never was. */
  readonly recoveredAfterMs: number;
  readonly counts: BackendCounts;
  /** Of all clients: what people asked for, and the attempts beyond the first. */
  readonly requests: number;
  readonly retries: number;
  /** Calls that were not made, because a throttle said so. */
  readonly throttled: number;
  /** What each client did when, for whoever wants to know it exactly. */
  readonly byClient: readonly ClientHistory[];
}

export interface ClientHistory {
  readonly requestsMs: readonly number[];
  readonly retriesMs: readonly number[];
}

/** One worker for 100 requests a second, with a queue that is worked off before the last in it gives up, but only just. */
export const standard = {
  capacityPerSecond: 100,
  queueLength: 93,
  rejectionCost: 0.1,
  timeoutMs: 1000,
} as const satisfies BackendOptions;

/** Ten seconds of it count as well. */
const wellGoodput = 0.9;
const wellSeconds = 10;

export async function overload(options: OverloadOptions = {}): Promise<OverloadResult> {
  const { seed = 1, clients = 20, load = 3, healthyLoad = 0.7 } = options;
  const { healthyMs = 30_000, settlingMs = 150_000, measuredMs = 120_000 } = options;
  const service: BackendOptions = { ...standard, ...options };
  const loop = eventLoop({ seed });
  const server = backend(loop, service);
  const all = Array.from({ length: clients }, () => client(loop, options.client ?? {}));
  const measuredFromMs = healthyMs + settlingMs;
  const untilMs = measuredFromMs + measuredMs;

  const goodputBySecond: number[] = [];
  let answeredSoFar = 0;
  everySecond(loop, untilMs, () => {
    goodputBySecond.push((server.counts.answered - answeredSoFar) / service.capacityPerSecond);
    answeredSoFar = server.counts.answered;
  });
  const perMs = service.capacityPerSecond / 1000;
  const phases = [
    { untilMs: healthyMs, ratePerMs: healthyLoad * perMs },
    { untilMs, ratePerMs: load * perMs },
  ];
  const { pick } = loop.random.fork();
  arrivals(loop, phases, () => pick(all).call(server));
  await loop.run(measuredFromMs);
  const { answered, arrived } = server.counts;
  await loop.run(untilMs);

  const capacity = (service.capacityPerSecond * measuredMs) / 1000;
  const sum = (each: (history: Client) => number) => all.reduce((total, one) => total + each(one), 0);
  return {
    goodput: (server.counts.answered - answered) / capacity,
    arrived: (server.counts.arrived - arrived) / capacity,
    goodputBySecond,
    recoveredAfterMs: recoveredAfterMs(goodputBySecond, healthyMs),
    counts: { ...server.counts },
    requests: sum(({ requestsMs }) => requestsMs.length),
    retries: sum(({ retriesMs }) => retriesMs.length),
    throttled: sum(({ throttled }) => throttled()),
    byClient: all.map(({ requestsMs, retriesMs }) => ({ requestsMs, retriesMs })),
  };
}

interface Client extends ClientHistory {
  call(server: Backend): Promise<void>;
  throttled(): number;
}

function client(loop: EventLoop, { attempts = 3, budget = {}, k }: ClientOptions): Client {
  const clock = simulatedClock(loop);
  const random = loop.random.fork().uniform;
  const requestsMs: number[] = [];
  const retriesMs: number[] = [];
  // A hundred for each request is more than any call can take.
  const budgetOptions = budget === 'endless' ? { ratio: 100 } : budget;
  const retrying = retry({ attempts, clock, random, budget: retryBudget({ clock, ...budgetOptions }) });
  retrying.on('retry', () => retriesMs.push(loop.nowMs));
  const throttle = k === undefined ? undefined : adaptiveThrottle({ k, clock, random });
  const protection: Protection = throttle ? wrap(retrying, throttle) : retrying;
  return {
    requestsMs,
    retriesMs,
    throttled: () => throttle?.stats().refused ?? 0,
    async call(server) {
      requestsMs.push(loop.nowMs);
      try {
        await protection.run(server.call);
      } catch {
        // Whoever asked has no answer. That is what the service's counts are about.
      }
    },
  };
}

interface Phase {
  readonly untilMs: number;
  readonly ratePerMs: number;
}

/** People who know nothing of each other: a Poisson process, in each phase at its own rate. */
function arrivals(loop: EventLoop, [phase, ...later]: readonly Phase[], arrive: () => unknown): void {
  if (phase === undefined) return;
  const { exponential } = loop.random.fork();
  const next = () => {
    const atMs = loop.nowMs + exponential(1 / phase.ratePerMs);
    // What has not happened by the end of a phase is drawn anew: how long it was waited for says nothing.
    if (atMs >= phase.untilMs) loop.at(phase.untilMs, () => arrivals(loop, later, arrive));
    else
      loop.at(atMs, () => {
        next();
        return arrive();
      });
  };
  next();
}

function everySecond(loop: EventLoop, untilMs: number, look: () => void): void {
  for (let atMs = 1000; atMs <= untilMs; atMs += 1000) loop.at(atMs, look);
}

function recoveredAfterMs(goodputBySecond: readonly number[], healthyMs: number): number {
  const beginning = healthyMs / 1000;
  for (let second = beginning + wellSeconds; second <= goodputBySecond.length; second += 1) {
    const latest = goodputBySecond.slice(second - wellSeconds, second);
    const share = latest.reduce((sum, each) => sum + each, 0) / wellSeconds;
    if (share >= wellGoodput) return (second - beginning) * 1000;
  }
  return Number.POSITIVE_INFINITY;
}
