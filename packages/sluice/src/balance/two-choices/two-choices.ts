/**
 * Two different members by chance, and of the two the one with less to do. Almost as even as looking at all of them, and far better
 * than one by chance; and when many callers choose at once by the same stale figures, they do not all choose the same.
 *
 *      A ███       drawn: B and D
 *      B ██        2 against 4: B
 *      C █
 *      D ████
 */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { WeightedSeats } from '../weighted-seats.ts';
import { betterOfTwo } from './better-of-two.ts';

export function twoChoices<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  const { random } = readBalancerOptions('twoChoices', options);
  const seats = new WeightedSeats();
  const strategy: Strategy = {
    came: (seat) => seats.add(seat),
    went: (seat) => seats.remove(seat),
    changed: (seat) => seats.weigh(seat),
    choose: (_key, _isLeftOut, leftOut) => betterOfTwo(seats, leftOut, random, hasLess),
  };
  return balancerOf(strategy, members);
}

function hasLess(second: Seat, first: Seat): boolean {
  return second.inFlight / second.weight < first.inFlight / first.weight;
}
