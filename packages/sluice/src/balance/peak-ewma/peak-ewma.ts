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
 * all lost time, and one that is left alone for a while is only missed.
 */
import { ForwardTime } from '../../protect/forward-time.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { lesserOfTwo } from '../two-choices/lesser-of-two.ts';
import { WeightedSeats } from '../weighted-seats.ts';

export interface PeakEwmaOptions extends BalancerOptions {
  /** How long a peak is remembered: after this it weighs 1/e as much. Default 10 seconds. */
  readonly decay?: Duration;
  /** A call that failed counts as one that took at least this long: a member that refuses at once must not seem fast. Default 1 second. */
  readonly failurePenalty?: Duration;
}

interface Latency {
  ms: number;
  atMs: number;
}

// Of a member that was never measured, and has a call out already: worse than any that was.
const unknownMs = 1e12;
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

  function latencyMs(seat: Seat, nowMs: number): number {
    const latency = latencies.get(seat);
    if (latency === undefined) return seat.inFlight > 0 ? unknownMs : 0;
    return Math.max(shortestMs, latency.ms * Math.exp((latency.atMs - nowMs) / decayMs));
  }

  function observe(seat: Seat, tookMs: number, nowMs: number): void {
    const latency = latencies.get(seat);
    if (latency === undefined || tookMs > latency.ms) {
      latencies.set(seat, { ms: tookMs, atMs: nowMs });
      return;
    }
    const kept = Math.exp((latency.atMs - nowMs) / decayMs);
    latency.ms = latency.ms * kept + tookMs * (1 - kept);
    latency.atMs = nowMs;
  }

  function costAt(nowMs: number): (seat: Seat) => number {
    return (seat) => (latencyMs(seat, nowMs) * (seat.inFlight + 1)) / seat.weight;
  }

  const strategy: Strategy = {
    came: (seat) => seats.add(seat),
    went: (seat) => seats.remove(seat),
    changed: (seat) => seats.weigh(seat),
    choose: (_key, _isLeftOut, leftOut) => lesserOfTwo(seats, leftOut, random, costAt(time.now())),
    given(seat, outcome, takenMs) {
      if (outcome === 'ignored') return;
      const nowMs = time.now();
      const tookMs = nowMs - takenMs;
      observe(seat, outcome === 'failed' ? Math.max(tookMs, penaltyMs) : tookMs, nowMs);
    },
    now: () => time.now(),
  };
  return balancerOf(strategy, members);
}
