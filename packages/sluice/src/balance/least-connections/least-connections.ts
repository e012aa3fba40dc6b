/**
 * Whoever has the least under way for its weight. Among equals, whoever is due: each pick moves a member back by 1/weight, so that an
 * idle pool is served by weight too, and not always its first member.
 *
 *                          A (weight 2)   B (weight 1)
 *      under way / weight  1/2            1/1              ► A
 *      equal               0/2  due 1.25  0/1  due 1.5     ► A, then due at 1.75
 */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { IndexedHeap, type InHeap, notInHeap } from '../indexed-heap.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';

export function leastConnections<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  readBalancerOptions('leastConnections', options);
  return balancerOf(new LeastLoaded(), members);
}

interface Rank extends InHeap {
  readonly seat: Seat;
  load: number;
  /** When its turn among equals is, in a time that passes with picks. */
  due: number;
  readonly arrival: number;
}

function isBefore(a: Rank, b: Rank): boolean {
  if (a.load !== b.load) return a.load < b.load;
  if (a.due !== b.due) return a.due < b.due;
  return a.arrival < b.arrival;
}

// From here on all of it is counted from 0 again: late enough to be rare, early enough that the smallest step is not lost.
const latestDue = 2 ** 30;

class LeastLoaded implements Strategy {
  private readonly heap = new IndexedHeap<Rank>(isBefore);
  private readonly ranks = new WeakMap<Seat, Rank>();
  /** The latest turn that was taken. Who did not take part for a while has not saved up turns. */
  private turn = 0;
  private arrivals = 0;

  came(seat: Seat): void {
    // Half a step, so that the turns of one weight lie between those of another, and not all at the same time.
    const due = this.turn + 0.5 / seat.weight;
    const rank = this.ranks.get(seat) ?? { seat, load: 0, due, arrival: this.arrivals++, heapIndex: notInHeap };
    rank.due = due;
    this.ranks.set(seat, rank);
    this.measure(rank);
    this.heap.push(rank);
  }

  went(seat: Seat): void {
    this.heap.remove(this.ranks.get(seat)!);
  }

  changed(seat: Seat): void {
    this.move(seat);
  }

  choose(_key: string | undefined, _isLeftOut: unknown, leftOut: readonly Seat[]): Seat | undefined {
    for (const seat of leftOut) this.heap.remove(this.ranks.get(seat)!);
    const chosen = this.heap.first;
    for (const seat of leftOut) this.heap.push(this.ranks.get(seat)!);
    return chosen?.seat;
  }

  taken(seat: Seat): void {
    const rank = this.ranks.get(seat)!;
    this.turn = Math.max(this.turn, rank.due);
    rank.due = this.turn + 1 / seat.weight;
    this.move(seat);
    if (this.turn > latestDue) this.startOver();
  }

  given(seat: Seat): void {
    this.move(seat);
  }

  private move(seat: Seat): void {
    const rank = this.ranks.get(seat)!;
    this.measure(rank);
    // One that has gone still has calls to end.
    if (this.heap.has(rank)) this.heap.moved(rank);
  }

  private measure(rank: Rank): void {
    rank.load = rank.seat.inFlight / rank.seat.weight;
  }

  private startOver(): void {
    const ranks = [...this.heap.values()];
    this.heap.clear();
    for (const rank of ranks) {
      rank.due = Math.max(0, rank.due - this.turn);
      this.heap.push(rank);
    }
    this.turn = 0;
  }
}
