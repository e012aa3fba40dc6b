/**
 * A limiter of the library on simulated time, and how much of it is in use.
 *
 * `used` is in units of cost, from 0 to `capacity`, for every algorithm alike: a call passes when it fits in between. It is read from what
 * the library says, of a call in its decision and between calls by `peek`, never counted beside it:
 *
 *      buckets, smooth   how long until the key is as good as new, at so much per time: falls evenly between calls
 *      counters          the limit less what remains
 *      sliding-window    the same, of the same policy in small change: its estimate falls by fractions, and `remaining` is whole
 *
 * All of them round what is used up: milliseconds and what remains are whole.
 */
import {
  type Clock,
  type ConcurrencyPolicy,
  type Decision,
  type Lease,
  limiter,
  type Policy,
  slidingWindow,
} from 'sluice';
import { type AlgorithmName, policyOf } from './algorithms.ts';
import type { Settings } from './settings.ts';

export interface LaneLimiter {
  readonly policy: Policy;
  readonly capacity: number;
  /** And what is in use after it. */
  decide(atMs: number, cost: number): { readonly decision: Decision; readonly used: number };
  used(atMs: number): number;
  /** Only where calls are under way for a while: how long until the next of them ends. */
  nextEndInMs?(atMs: number): number | undefined;
}

/** One caller: limits are per key, and a second one would only be a second picture. */
const key = 'caller';

// Every call brings its own time; the clock only says when the limiter began.
const clock: Clock = {
  now: () => 0,
  sleep: () => Promise.reject(new Error('Nothing sleeps in the playground.')),
};

export function laneLimiter(name: AlgorithmName, settings: Settings): LaneLimiter {
  const policy = policyOf(name, settings);
  if (isConcurrency(policy)) return holding(policy, settings.holdMs);
  if (name === 'sliding-window') return estimating(policy, settings);
  const limit = limiter(policy, { clock });
  // Of nothing: `peek` says what would be left after the call.
  const peek = (atMs: number) => limit.peek(key, { atMs, cost: 0 });
  const whole = peek(0).limit;
  const intervalMs = settings.windowMs / settings.limit;
  const isBucket = name === 'token-bucket' || name === 'gcra' || name === 'leaky-bucket' || name === 'smooth';
  const usedOf = ({ resetAfterMs, remaining }: Decision) => (isBucket ? resetAfterMs / intervalMs : whole - remaining);
  return {
    policy,
    // Of smooth: what idle time stored, what may be borrowed, and the call that the next one pays for.
    capacity: name === 'smooth' ? whole + settings.maxDelayMs / intervalMs : whole,
    decide(atMs, cost) {
      const decision = limit.check(key, { atMs, cost });
      return { decision, used: usedOf(decision) };
    },
    used: (atMs) => usedOf(peek(atMs)),
  };
}

const change = 128;

/** Beside it the same policy with a limit and costs that are all so many times as large: it decides the same, and what remains of it is in fractions. */
function estimating(policy: Policy, { limit: capacity, windowMs }: Settings): LaneLimiter {
  const limit = limiter(policy, { clock });
  const inChange = limiter(slidingWindow({ limit: change * capacity, window: windowMs }), { clock });
  const usedOf = ({ remaining }: Decision) => capacity - remaining / change;
  return {
    policy,
    capacity,
    decide(atMs, cost) {
      const used = usedOf(inChange.check(key, { atMs, cost: change * cost }));
      return { decision: limit.check(key, { atMs, cost }), used };
    },
    used: (atMs) => usedOf(inChange.peek(key, { atMs, cost: 0 })),
  };
}

/** Calls that are under way for a while; all for as long, so that they end in the order in which they came. */
function holding(policy: ConcurrencyPolicy, holdMs: number): LaneLimiter {
  const limit = limiter(policy, { clock });
  const underWay: { readonly lease: Lease; readonly endMs: number }[] = [];
  function endThose(atMs: number): void {
    while (underWay.length > 0 && underWay[0]!.endMs <= atMs) {
      const { lease, endMs } = underWay.shift()!;
      lease.release({ atMs: endMs });
    }
  }
  return {
    policy,
    capacity: policy.limit,
    decide(atMs, cost) {
      endThose(atMs);
      const lease = limit.acquire(key, { atMs, cost });
      if (lease.allowed) underWay.push({ lease, endMs: atMs + holdMs });
      return { decision: lease.decision, used: policy.limit - lease.decision.remaining };
    },
    used(atMs) {
      endThose(atMs);
      return policy.limit - limit.peek(key, { atMs, cost: 0 }).remaining;
    },
    nextEndInMs: (atMs) => (underWay.length === 0 ? undefined : underWay[0]!.endMs - atMs),
  };
}

function isConcurrency(policy: Policy): policy is ConcurrencyPolicy {
  return policy.algorithm === 'concurrency';
}
