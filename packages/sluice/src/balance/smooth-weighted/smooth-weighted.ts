/**
 * In turn, each as often as its weight says and spread as evenly as can be: nginx's smooth weighted round robin. At each pick everybody
 * gains their weight, whoever has most goes (the first of equals), and pays what all have gained.
 *
 *      weights        5  1  1
 *      gained         5  1  1   A   pays 7:  -2  1  1
 *                     3  2  2   A            -4  2  2
 *                     1  3  3   B             1 -4  3
 *                     6 -3  4   A  ···  C  A  A, and all have 0 again
 *
 * Over sum(weights) picks each goes exactly weight times. Walking over all members at each pick is what others do; here the same
 * sequence comes out of a tournament (`tournament.ts`) that asks only those whose place can have changed.
 */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { type Player, Tournament } from './tournament.ts';

export function smoothWeighted<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  readBalancerOptions('smoothWeighted', options);
  return balancerOf(new SmoothTurns(), members);
}

/** A member in the tournament. */
interface Turns extends Player {
  readonly seat: Seat;
  weight: number;
  place: number;
  /** What it had when it last took part: who comes back goes on from there, as in nginx. */
  had: number;
}

const nowhere: readonly number[] = [];

class SmoothTurns implements Strategy {
  private readonly tournament = new Tournament<Turns>();
  private readonly turns = new WeakMap<Seat, Turns>();
  private arrivals = 0;

  came(seat: Seat): void {
    const turns = this.turns.get(seat) ?? { seat, weight: 0, order: this.arrivals++, place: -1, had: 0 };
    this.turns.set(seat, turns);
    turns.weight = seat.weight;
    turns.place = this.tournament.add(turns, turns.had);
  }

  went(seat: Seat): void {
    const turns = this.turns.get(seat)!;
    turns.had = this.tournament.remove(turns.place);
  }

  changed(seat: Seat): void {
    const turns = this.turns.get(seat)!;
    turns.weight = seat.weight;
    this.tournament.reweigh(turns.place);
  }

  choose(_key: string | undefined, _isLeftOut: unknown, leftOut: readonly Seat[]): Seat | undefined {
    const places = leftOut.length === 0 ? nowhere : leftOut.map((seat) => this.turns.get(seat)!.place);
    return this.tournament.next(places)?.seat;
  }
}
