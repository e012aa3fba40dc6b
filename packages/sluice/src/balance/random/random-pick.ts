/** Anybody, by chance, each as often as its weight says. It remembers nothing, so any number of callers may do it side by side. */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Strategy } from '../pool.ts';
import { WeightedSeats } from '../weighted-seats.ts';

export function randomPick<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  const { random } = readBalancerOptions('randomPick', options);
  const seats = new WeightedSeats();
  const strategy: Strategy = {
    came: (seat) => seats.add(seat),
    went: (seat) => seats.remove(seat),
    changed: (seat) => seats.weigh(seat),
    choose: (_key, _isLeftOut, leftOut) => seats.drawWithout(leftOut, random()),
  };
  return balancerOf(strategy, members);
}
