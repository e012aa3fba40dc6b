/**
 * Of two by chance, the one that should answer sooner: how long it took of late, times how many are waiting there already. As in Finagle.
 *
 *      latency   ▲     ●·
 *                │       · ·            a slow call raises the average to itself, at once
 *                │         ·  · ·       then it falls, by e in each `decay`, towards what calls take now
 *                │ ●  ●        ●  ·● ·
 *                └──────────────────────► time
 *
 * The alarm is quick and the forgiving is slow, because the two mistakes do not cost the same: calls sent to a member that stalls are
 * all lost time, and one that is left alone for a while is only missed. So a call under way counts for as long as it has lasted already.
 */
import { ForwardTime } from '../../protect/forward-time.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { betterOfTwo } from '../two-choices/better-of-two.ts';
import { WeightedSeats } from '../weighted-seats.ts';

export interface PeakEwmaOptions extends BalancerOptions {
  /** How long a peak is remembered: after this it weighs 1/e as much. Default 10 seconds. */
  readonly decay?: Duration;
  /** A call that failed counts as one that took at least this long: a member that refuses at once must not seem fast. Default 1 second. */
  readonly failurePenalty?: Duration;
}

interface Latency {
  /** Undefined until a call was measured. */
  ms: number | undefined;
  atMs: number;
  /** When it was given the first call since it last answered one. Infinity where none is out that it owes an answer to. */
  askedMs: number;
}

// Of a member that was never measured, and has a call out already: worse than any that was, whatever their weights.
const unknownMs = 1e30;
// What a clock cannot see took this long, and time forgives down to this: else ten calls under way would cost no more than one.
const shortestMs = 0.001;

export function peakEwma<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: PeakEwmaOptions = {},
): Balancer<M> {
  const { random, clock } = readBalancerOptions('peakEwma', options, 'decay failurePenalty');
  const decayMs = parseDuration(options.decay ?? '10s', 'decay');
  const penaltyMs = parseDuration(options.failurePenalty ?? '1s', 'failurePenalty');
  const time = new ForwardTime(clock);
  const seats = new WeightedSeats();
  // Kept while a member is out: it comes back as slow as it went, less what time has forgiven.
  const latencies = new WeakMap<Seat, Latency>();
  let nowMs = 0;

  function faded(ms: number, sinceMs: number): number {
    return ms * Math.exp((sinceMs - nowMs) / decayMs);
  }

  /**
   * How long it has owed an answer: calls that do not end are never measured, so a member that stalls would be forgiven while they pile up.
   * From `decay` on it is forgiven as a peak of that length, else a call that never ends would keep a member out for good.
   */
  function silentMs({ askedMs }: Latency): number {
    const waitedMs = nowMs - askedMs;
    return waitedMs <= decayMs ? waitedMs : faded(decayMs, askedMs + decayMs);
  }

  function isForgiven({ askedMs }: Latency): boolean {
    return nowMs - askedMs > decayMs;
  }

  function latencyMs(seat: Seat): number {
    const latency = latencies.get(seat);
    if (latency === undefined) return 0;
    const { ms, atMs } = latency;
    if (ms === undefined && !isForgiven(latency)) return seat.inFlight > 0 ? unknownMs : 0;
    return Math.max(shortestMs, faded(ms ?? 0, atMs), silentMs(latency));
  }

  function observe(latency: Latency, tookMs: number): void {
    const { ms, atMs } = latency;
    const kept = Math.exp((atMs - nowMs) / decayMs);
    latency.ms = ms === undefined || tookMs > ms ? tookMs : ms * kept + tookMs * (1 - kept);
    latency.atMs = nowMs;
  }

  /** It took at least so long. */
  function raise(latency: Latency, tookMs: number): void {
    const { ms, atMs } = latency;
    // Where nothing is known, a call that was given up soon would make it look quick.
    if (tookMs <= (ms === undefined ? penaltyMs : faded(ms, atMs))) return;
    latency.ms = tookMs;
    latency.atMs = nowMs;
  }

  function cost(seat: Seat, smaller: number): number {
    return latencyMs(seat) * (1 + seat.inFlight * (smaller / seat.weight));
  }

  /**
   * The draw has seen to the weights. With the weights in the cost as well, a smaller one would hardly ever win; without them, of only two
   * members each would win half. So the second must be better by more than their weights differ; then it is not by chance.
   */
  function isBetter(second: Seat, first: Seat): boolean {
    const smaller = Math.min(first.weight, second.weight);
    const larger = Math.max(first.weight, second.weight);
    return cost(second, smaller) * larger < cost(first, smaller) * smaller;
  }

  const strategy: Strategy = {
    came: (seat) => seats.add(seat),
    went: (seat) => seats.remove(seat),
    changed: (seat) => seats.weigh(seat),
    choose(_key, _isLeftOut, leftOut) {
      nowMs = time.now();
      return betterOfTwo(seats, leftOut, random, isBetter);
    },
    taken(seat) {
      const latency = latencies.get(seat);
      if (latency === undefined) latencies.set(seat, { ms: undefined, atMs: nowMs, askedMs: nowMs });
      else if (latency.askedMs > nowMs) latency.askedMs = nowMs;
      else if (isForgiven(latency)) {
        // It is tried again, and owes a new answer.
        latency.ms = latencyMs(seat);
        latency.atMs = nowMs;
        latency.askedMs = nowMs;
      }
    },
    answered(seat) {
      latencies.get(seat)!.askedMs = Number.POSITIVE_INFINITY;
    },
    given(seat, outcome, takenMs, isAnswered) {
      nowMs = time.now();
      const tookMs = nowMs - takenMs;
      const latency = latencies.get(seat)!;
      // Who gave up has heard nothing of the others that are out.
      if (outcome !== 'ignored' || seat.inFlight === 0) latency.askedMs = Number.POSITIVE_INFINITY;
      if (outcome !== 'ignored') observe(latency, outcome === 'failed' ? Math.max(tookMs, penaltyMs) : tookMs);
      else if (!isAnswered) raise(latency, tookMs);
    },
    now: () => nowMs,
  };
  return balancerOf(strategy, members);
}
