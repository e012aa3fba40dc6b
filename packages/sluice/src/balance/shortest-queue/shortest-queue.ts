/**
 * Whoever has the fewest calls under way; among equals, by chance. Levels of members with as many each, the lowest of them first:
 *
 *      0   ·                      nobody is idle
 *      1   B D E      ◄────────── one of these, by chance
 *      2   A
 *      5   C
 *
 * A member that warms up is on no level: where nobody else is idle it would be the first whenever it is, and be given as much as the
 * others. It goes when it is drawn by weight among all, and nobody has less; each of its calls counts as several, as its share says.
 */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { IndexedHeap, type InHeap, notInHeap } from '../indexed-heap.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { WeightedSeats } from '../weighted-seats.ts';

export function shortestQueue<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  const { random } = readBalancerOptions('shortestQueue', options);
  return balancerOf(new Levels(random), members);
}

interface Level extends InHeap {
  length: number;
  readonly seats: WeightedSeats;
}

class Levels implements Strategy {
  private readonly lowestFirst = new IndexedHeap<Level>((a, b) => a.length < b.length);
  private readonly byLength = new Map<number, Level>();
  private readonly levelOf = new Map<Seat, Level>();
  /** Levels that nobody is on, for the next that is needed: calls that come one by one would make and drop one each. */
  private readonly spare: Level[] = [];
  /** Those with less than all of their share, and everybody with them: what a draw by weight needs. */
  private readonly warming = new Set<Seat>();
  private readonly all = new WeightedSeats();
  private readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  came(seat: Seat): void {
    this.all.add(seat);
    if (seat.share < 1) this.warming.add(seat);
    else this.enter(seat);
  }

  went(seat: Seat): void {
    this.all.remove(seat);
    this.warming.delete(seat);
    this.leave(seat);
  }

  changed(seat: Seat): void {
    this.went(seat);
    this.came(seat);
  }

  choose(_key: string | undefined, _isLeftOut: unknown, leftOut: readonly Seat[]): Seat | undefined {
    for (const seat of leftOut) this.went(seat);
    const chosen = this.warming.size === 0 ? this.shortest() : this.drawnOrShortest();
    for (const seat of leftOut) this.came(seat);
    return chosen;
  }

  taken(seat: Seat): void {
    this.given(seat);
  }

  given(seat: Seat): void {
    // One that has gone still has calls to end.
    if (!this.levelOf.has(seat)) return;
    this.leave(seat);
    this.enter(seat);
  }

  private shortest(): Seat | undefined {
    return this.lowestFirst.first?.seats.draw(this.random());
  }

  private drawnOrShortest(): Seat {
    const drawn = this.all.draw(this.random())!;
    if (!this.warming.has(drawn)) return this.shortest()!;
    const other = this.shortest() ?? this.all.drawWithout([drawn], this.random());
    return other !== undefined && lengthOf(other) < lengthOf(drawn) ? other : drawn;
  }

  private enter(seat: Seat): void {
    const level = this.byLength.get(seat.inFlight) ?? this.open(seat.inFlight);
    level.seats.add(seat);
    this.levelOf.set(seat, level);
  }

  private leave(seat: Seat): void {
    const level = this.levelOf.get(seat);
    if (level === undefined) return;
    this.levelOf.delete(seat);
    level.seats.remove(seat);
    if (level.seats.size === 0) this.close(level);
  }

  private open(length: number): Level {
    const level = this.spare.pop() ?? { length, seats: new WeightedSeats(), heapIndex: notInHeap };
    level.length = length;
    this.byLength.set(length, level);
    this.lowestFirst.push(level);
    return level;
  }

  private close(level: Level): void {
    this.byLength.delete(level.length);
    this.lowestFirst.remove(level);
    this.spare.push(level);
  }
}

function lengthOf({ inFlight, share }: Seat): number {
  return inFlight / share;
}
