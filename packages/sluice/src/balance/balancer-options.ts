/** The options that all balancers take, checked. */

import { clockOf, randomOf } from '../protect/option-checks.ts';
import type { Clock } from '../vocabulary/clock.ts';
import { knownFields } from '../vocabulary/policy.ts';
import type { BalancerOptions } from './balancer.ts';

export interface BalancerSettings {
  readonly random: () => number;
  readonly clock: Clock;
}

/** `others` are the fields that this balancer has beside them. */
export function readBalancerOptions(owner: string, options: BalancerOptions, others = ''): BalancerSettings {
  knownFields(`${owner} options`, options, `random clock ${others}`.trim());
  return { random: randomOf(options.random), clock: clockOf(options.clock) };
}
