/**
 * One instance's share of a policy: whatever the instances do, together they keep the policy's promise, with one exception.
 *
 * Counts are divided in whole units, rounded down: the sum never exceeds the limit. A rate is divided by making its window as
 * many times longer, which rounds nothing.
 *
 * The exception is `smooth`. It lets a call of any size go first and has the next one pay; who goes first at one instance does not
 * know who did at the others. Its promise is about all that go but the last; that of the shares, about all but the last of each
 * instance: together one call more for every instance but one. (Nor can anybody keep an even pace with others that he does not see:
 * calls that `smooth` and `leaky-bucket` space out are spaced out at each instance.)
 */
import { remadePolicy } from '../algorithms/algorithm.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import type { Policy } from '../vocabulary/policy.ts';

/** Which of how many. */
export interface Share {
  readonly instances: number;
  /** From 0. With it the shares add up to the whole; without it every share is the smallest. */
  readonly index?: number | undefined;
}

/** The shares of policies, each worked out once. */
export function sharesOf(instances: number): (policy: Policy) => Policy | undefined {
  const shares = new WeakMap<Policy, { readonly share: Policy | undefined }>();
  return (policy) => {
    const known = shares.get(policy) ?? { share: shareOf(policy, { instances }) };
    shares.set(policy, known);
    return known.share;
  };
}

/** A policy that is never more than this instance's share; undefined when there is none: it would be less than one unit. */
export function shareOf(policy: Policy, share: Share): Policy | undefined {
  if (share.instances === 1) return policy;
  try {
    return divide(policy, share);
  } catch (error) {
    // Too small a part to be kept exactly, or an algorithm that is not one of ours: there is no share of it.
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}

function divide(policy: Policy, share: Share): Policy | undefined {
  const { instances } = share;
  const { algorithm, limit, window = 0, burst = limit } = policy;
  const slower = window * instances;
  const part = (total: number) => partOf(total, share);
  switch (algorithm) {
    case 'gcra':
      return part(burst) < 1 ? undefined : remadePolicy(policy, { ...policy, window: slower, burst: part(burst) });
    case 'token-bucket': {
      const initial = 'initial' in policy ? { initial: part(policy.initial as number) } : {};
      if (part(burst) < 1) return undefined;
      if (!('refill' in policy) || policy.refill !== 'interval')
        return remadePolicy(policy, { ...policy, window: slower, burst: part(burst), ...initial });
      return part(limit) < 1
        ? undefined
        : remadePolicy(policy, { ...policy, limit: part(limit), burst: part(burst), ...initial });
    }
    case 'leaky-bucket': {
      // One is being served beside those that wait.
      const room = part(burst + 1);
      const delay = 'delay' in policy && typeof policy.delay === 'number' ? { delay: part(policy.delay) } : {};
      return room < 1 ? undefined : remadePolicy(policy, { ...policy, window: slower, burst: room - 1, ...delay });
    }
    case 'smooth': {
      // Taking the calls that go first out of `maxBurst` would leave warm-ups and small bursts with no share at all.
      const maxBurst = 'maxBurst' in policy ? { maxBurst: (policy.maxBurst as number) / instances } : {};
      return remadePolicy(policy, { ...policy, window: slower, ...maxBurst });
    }
    case 'sliding-log':
      // Two instances do not know how close together their calls are.
      return 'minGap' in policy || part(limit) < 1
        ? undefined
        : remadePolicy(policy, { ...policy, limit: part(limit) });
    default:
      return part(limit) < 1 ? undefined : remadePolicy(policy, { ...policy, limit: part(limit) });
  }
}

/** The shares of a whole number add up to it: each is the difference of two neighbours on one line, rounded down. */
function partOf(total: number, { instances, index }: Share): number {
  if (index === undefined) return Math.floor(total / instances);
  return Math.floor((total * (index + 1)) / instances) - Math.floor((total * index) / instances);
}
