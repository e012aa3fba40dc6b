/**
 * Whoever has the least under way for its weight. Who has nothing counts as what is left until its turn, which is at most one call: each
 * pick moves a member back by 1/weight. So an idle pool is served by weight, and a small member is not the first whenever it is idle.
 *
 *                          A (weight 2)   B (weight 1)
 *      under way / weight  1/2            1/1              ► A
 *      both idle           due 1.25       due 1.5          ► A, then due at 1.75
 *      A has 1, turn 1     1/2            due 1.75: 3/4    ► A, although B is idle
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

function hasLess(a: Rank, b: Rank): boolean {
  return a.load !== b.load ? a.load < b.load : isDueBefore(a, b);
}

function isDueBefore(a: Rank, b: Rank): boolean {
  return a.due !== b.due ? a.due < b.due : a.arrival < b.arrival;
}

// From here on all of it is counted from 0 again: late enough to be rare, early enough that the smallest step is not lost.
const latestDue = 2 ** 30;

class LeastLoaded implements Strategy {
  /** Two heaps: as turns pass, the idle come closer to theirs all at once, and the busy do not. */
  private readonly idle = new IndexedHeap<Rank>(isDueBefore);
  private readonly busy = new IndexedHeap<Rank>(hasLess);
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
    this.enter(rank);
  }

  went(seat: Seat): void {
    this.leave(this.ranks.get(seat)!);
  }

  changed(seat: Seat): void {
    const rank = this.ranks.get(seat)!;
    // Who was small waits for long: as large as it is now, no longer than one of that size.
    rank.due = Math.min(rank.due, this.turn + 1 / seat.weight);
    this.move(rank);
  }

  choose(_key: string | undefined, _isLeftOut: unknown, leftOut: readonly Seat[]): Seat | undefined {
    for (const seat of leftOut) this.leave(this.ranks.get(seat)!);
    const chosen = this.next();
    for (const seat of leftOut) this.enter(this.ranks.get(seat)!);
    return chosen?.seat;
  }

  taken(seat: Seat): void {
    const rank = this.ranks.get(seat)!;
    this.turn = Math.max(this.turn, rank.due);
    rank.due = this.turn + 1 / seat.weight;
    this.move(rank);
    if (this.turn > latestDue) this.startOver();
  }

  given(seat: Seat): void {
    this.move(this.ranks.get(seat)!);
  }

  private next(): Rank | undefined {
    const idle = this.idle.first;
    const busy = this.busy.first;
    if (idle === undefined || busy === undefined) return idle ?? busy;
    // Never more than one call of its own, however sums are rounded: of equal weights an idle one goes before a busy one.
    const wait = Math.min(idle.due - this.turn, 1 / idle.seat.weight);
    return wait <= busy.load ? idle : busy;
  }

  private move(rank: Rank): void {
    // One that has gone still has calls to end.
    if (this.leave(rank)) this.enter(rank);
  }

  private enter(rank: Rank): void {
    const { inFlight, weight } = rank.seat;
    rank.load = inFlight / weight;
    (inFlight === 0 ? this.idle : this.busy).push(rank);
  }

  private leave(rank: Rank): boolean {
    return this.idle.remove(rank) || this.busy.remove(rank);
  }

  private startOver(): void {
    const ranks = [...this.idle.values(), ...this.busy.values()];
    this.idle.clear();
    this.busy.clear();
    for (const rank of ranks) {
      rank.due = Math.max(0, rank.due - this.turn);
      this.enter(rank);
    }
    this.turn = 0;
  }
}
