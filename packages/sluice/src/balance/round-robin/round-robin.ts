/**
 * Everybody in turn. Weights mean nothing to it: that is `smoothWeighted`.
 *
 *      A ─► B ─► C ─┐        a circle in the order in which they came, and whose turn is next. Who leaves hands the turn on; who was only
 *      ▲   next     │        out for a while comes back to its place.
 *      └────────────┘
 *
 * A member that warms up has a turn like the others, and lets some of them pass: with a share of a quarter, three of four.
 */
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';

export function roundRobin<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: BalancerOptions = {},
): Balancer<M> {
  readBalancerOptions('roundRobin', options);
  return balancerOf(new Circle(), members);
}

interface Link {
  readonly seat: Seat;
  readonly arrival: number;
  before: Link;
  after: Link;
  /** What a member that warms up has saved towards its next turn: below 1. */
  saved: number;
}

// Ten tenths are a whole turn, also where they add up to a little less.
const wholeTurn = 1 - 1e-9;

class Circle implements Strategy {
  private readonly links = new WeakMap<Seat, Link>();
  /** Whoever came first of those that are in. */
  private head: Link | undefined;
  private next: Link | undefined;
  /** The place of whoever went last, in the circle or not any more. */
  private lastArrival = -1;
  private arrivals = 0;

  came(seat: Seat): void {
    const link = this.links.get(seat) ?? this.linkOf(seat);
    link.saved = 0;
    if (this.head === undefined) {
      link.before = link;
      link.after = link;
    } else this.insert(link, this.head);
    if (this.head === undefined || link.arrival < this.head.arrival) this.head = link;
    if (this.next === undefined || this.isSooner(link, this.next)) this.next = link;
  }

  went(seat: Seat): void {
    const link = this.links.get(seat)!;
    const after = link.after === link ? undefined : link.after;
    link.before.after = link.after;
    link.after.before = link.before;
    if (this.head === link) this.head = after;
    if (this.next === link) this.next = after;
  }

  changed(): void {
    // Only the share matters, and that is read at each turn.
  }

  choose(_key: string | undefined, isLeftOut: ((seat: Seat) => boolean) | undefined): Seat | undefined {
    let link = this.next;
    if (link === undefined) return undefined;
    let nearest: Link | undefined;
    do {
      if (!isLeftOut?.(link.seat)) {
        if (link.seat.share === 1) return this.take(link, 0);
        link.saved += link.seat.share;
        if (link.saved >= wholeTurn) return this.take(link, Math.max(0, link.saved - 1));
        if (nearest === undefined || link.saved > nearest.saved) nearest = link;
      }
      link = link.after;
    } while (link !== this.next);
    // A whole round of members that warm up: the one that has waited most, though its time has not quite come.
    return nearest && this.take(nearest, 0);
  }

  private linkOf(seat: Seat): Link {
    const link = { seat, arrival: this.arrivals++, saved: 0 } as Link;
    this.links.set(seat, link);
    return link;
  }

  private insert(link: Link, head: Link): void {
    let { before } = head;
    // From the end, because most are new. Who comes back may have to go past everybody: that is seldom enough.
    while (before !== head && before.arrival > link.arrival) before = before.before;
    if (before.arrival > link.arrival) before = before.before;
    link.before = before;
    link.after = before.after;
    link.before.after = link;
    link.after.before = link;
  }

  /** Whether `a` has its turn before `b`, seen from whoever went last. */
  private isSooner(a: Link, b: Link): boolean {
    const isThisRound = a.arrival > this.lastArrival;
    if (isThisRound !== b.arrival > this.lastArrival) return isThisRound;
    return a.arrival < b.arrival;
  }

  private take(link: Link, saved: number): Seat {
    link.saved = saved;
    this.lastArrival = link.arrival;
    this.next = link.after;
    return link.seat;
  }
}
