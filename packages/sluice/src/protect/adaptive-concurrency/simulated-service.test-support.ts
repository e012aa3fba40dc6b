/**
 * A service of so many workers with a queue before them, called by more callers than it can serve, all of it seeded.
 *
 *      callers ──► limit ──► queue ──► workers          with more calls under way than workers, the rest waits:
 *                                                       a call takes service time * under way / workers
 *
 * Up to as many calls as workers, each one more is served at once. From there on, one more only waits. That is the right limit.
 */
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import type { Pass } from '../protection.ts';
import { adaptiveConcurrency } from './adaptive-concurrency.ts';
import type { AdaptiveConcurrencyOptions } from './settings.ts';

export interface Simulation {
  readonly options: AdaptiveConcurrencyOptions;
  /** How many workers there are at a time. */
  readonly workers: (atMs: number) => number;
  readonly serviceMs: number;
  /** The share of its time by which a call may be shorter or longer. */
  readonly variation: number;
  /** More waiting than this are rejected, at once. */
  readonly queueMax: number;
  /** How many calls per second are attempted. */
  readonly callsPerSecond: number;
  readonly endMs: number;
  readonly seed: number;
}

export interface Seen {
  readonly atMs: number;
  readonly limit: number;
  /** Calls that were served until then. */
  readonly served: number;
}

interface Event {
  readonly atMs: number;
  readonly act: () => void;
}

const rejectionMs = 1;

/** The limit, ten times a second. */
export function simulate(simulation: Simulation): Seen[] {
  const { options, workers, serviceMs, variation, queueMax, callsPerSecond, endMs, seed } = simulation;
  const random = seededRandom(seed);
  const clock = new TestClock();
  const limiter = adaptiveConcurrency({ ...options, clock, ...(options.algorithm === 'aimd' ? {} : { random }) });
  const seen: Seen[] = [];
  const waiting: Pass[] = [];
  const events: Event[] = [];
  let busy = 0;
  let served = 0;

  const later = (afterMs: number, act: () => void) => events.push({ atMs: clock.now() + afterMs, act });

  function serve(): void {
    while (busy < workers(clock.now()) && waiting.length > 0) {
      const pass = waiting.shift()!;
      busy += 1;
      later(serviceMs * (1 + variation * (2 * random() - 1)), () => {
        busy -= 1;
        served += 1;
        pass.ok();
        serve();
      });
    }
  }

  function attempt(): void {
    later((-Math.log(1 - random()) * 1000) / callsPerSecond, attempt);
    const pass = limiter.tryPass();
    if (!pass) return;
    if (waiting.length >= queueMax) later(rejectionMs, () => pass.failed());
    else waiting.push(pass);
    serve();
  }

  function look(): void {
    seen.push({ atMs: clock.now(), limit: limiter.limit, served });
    later(100, look);
  }

  attempt();
  look();
  while (clock.now() < endMs) {
    // There are no more of them than calls under way: looking for the earliest is cheap enough.
    const next = events.reduce((earliest, event, i) => (event.atMs < events[earliest]!.atMs ? i : earliest), 0);
    const [event] = events.splice(next, 1);
    clock.set(event!.atMs);
    event!.act();
  }
  return seen;
}

/** The limit between two times: how low, how high, and in the middle. */
export function limitsBetween(seen: readonly Seen[], fromMs: number, toMs: number) {
  const limits = seen.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map(({ limit }) => limit);
  const sorted = limits.sort((a, b) => a - b);
  return { lowest: sorted[0]!, median: sorted[sorted.length >> 1]!, highest: sorted.at(-1)! };
}
