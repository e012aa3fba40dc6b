/**
 * A key stays at its member: members have points on a circle, and a key belongs to the first point after it.
 *
 *               B   A
 *             ┌─●───●─┐         key ──► its place ──► the next point ──► B
 *           C ●       ● C                                │
 *      key ─► ×       │         B is left out, or full:  └─► on to the next member along the circle
 *           B ●       ● B
 *             └─●───●─┘
 *               C   A
 *
 * A member that leaves gives its arcs to those behind them, and nobody else's keys move; one that comes takes arcs from those. Karger
 * et al., Consistent Hashing and Random Trees (1997); the bound on load is of Mirrokni, Thorup and Zadimoghaddam, Consistent Hashing
 * with Bounded Loads (2018).
 */
import { wholeNumber, within } from '../../protect/option-checks.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { oneOf } from '../../vocabulary/policy.ts';
import type { Balancer, BalancerOptions, Member, MemberOrId } from '../balancer.ts';
import { readBalancerOptions } from '../balancer-options.ts';
import { balancerOf, type Seat, type Strategy } from '../pool.ts';
import { ketamaPlacement, nginxPlacement, ownPlacement, type Placement } from './placement.ts';
import { mostOwners, type Owner, type Points, Ring } from './ring.ts';

export interface HashRingOptions extends BalancerOptions {
  /** How many points a member of weight 1 has: 1 to 10,000. More spread the load more evenly. Default 150. */
  readonly points?: number;
  /** How many times its fair share of the calls under way a member may have: above 1. Default: no bound. */
  readonly loadFactor?: number;
  /** Keys go where another program would send them: `ketama` (libketama, libmemcached), `nginx` (`hash ... consistent`). Default: neither. */
  readonly compatibleWith?: 'ketama' | 'nginx';
}

const defaultPoints = 150;
const mostPoints = 10_000;
/** Of one member, whatever its weight: the ring has to fit into memory. */
const mostPointsOfMember = 2 ** 20;
/**
 * 1.1 * 50 / 5 comes to 11.000000000000002, and whoever has 11 would have room. So the bound is lowered by more than rounding can have added,
 * and by far less than it is above a whole number where it really is: factors and weights have a few decimals.
 */
const withoutRounding = 1 - 1e-12;

export function hashRing<M extends Member = Member>(
  members: readonly MemberOrId<M>[],
  options: HashRingOptions = {},
): Balancer<M> {
  const { random } = readBalancerOptions('hashRing', options, 'points loadFactor compatibleWith');
  const strategy = new HashRing(placementOf(options), loadFactorOf(options.loadFactor), random);
  const balancer = balancerOf<M>(strategy, members);
  // Here, and not at the first pick, which somebody waits for.
  strategy.settle();
  return balancer;
}

function placementOf({ points, compatibleWith }: HashRingOptions): Placement {
  oneOf('compatibleWith', compatibleWith, ['ketama', 'nginx']);
  if (compatibleWith === undefined) return ownPlacement(wholeNumber('points', points ?? defaultPoints, 1, mostPoints));
  if (points !== undefined) throw invalid('points', `left out: ${compatibleWith} has a number of its own`, points);
  return compatibleWith === 'ketama' ? ketamaPlacement : nginxPlacement;
}

function loadFactorOf(loadFactor: number | undefined): number {
  if (loadFactor === undefined) return Number.POSITIVE_INFINITY;
  return within('loadFactor', loadFactor, loadFactor > 1 && loadFactor < Number.POSITIVE_INFINITY, 'a number above 1');
}

/** A seat's points. */
interface Place extends Owner {
  readonly seat: Seat;
  isIn: boolean;
  /** How many of its points are on the ring. */
  points: number;
  /** The search that met it last. */
  metBy: number;
}

class HashRing implements Strategy {
  private readonly ring = new Ring<Place>();
  private readonly places = new Map<Seat, Place>();
  private readonly freeNumbers: number[] = [];
  private readonly placement: Placement;
  private readonly loadFactor: number;
  private readonly isBounded: boolean;
  private readonly random: () => number;
  /** Changes wait for the next pick, so that a thousand of them cost no more than one. */
  private isSettled = true;
  private weight = 0;
  private inFlight = 0;
  private searches = 0;

  constructor(placement: Placement, loadFactor: number, random: () => number) {
    this.placement = placement;
    this.loadFactor = loadFactor;
    this.isBounded = loadFactor < Number.POSITIVE_INFINITY;
    this.random = random;
  }

  accepts({ id, weight = 1 }: Member): void {
    if (weight < this.placement.leastWeight)
      throw invalid(
        `weight of ${id}`,
        'so that it has a point',
        weight,
        'Only the ratios of weights matter: make all of them larger.',
      );
    // Of a weight among equals: ketama's points do not grow with all weights.
    if (this.placement.count(weight, weight, 1) > mostPointsOfMember)
      throw invalid(
        `weight of ${id}`,
        `so that it has at most ${mostPointsOfMember} points`,
        weight,
        'Only the ratios of weights matter: make all of them smaller.',
      );
  }

  came(seat: Seat): void {
    this.isSettled = false;
    const place = this.places.get(seat);
    if (place !== undefined) {
      place.isIn = true;
      return;
    }
    const number = this.freeNumbers.pop() ?? this.places.size;
    if (number >= mostOwners) throw invalid('members', `at most ${mostOwners}`, number + 1);
    this.places.set(seat, { id: seat.id, number, seat, isIn: true, points: 0, metBy: 0 });
  }

  went(seat: Seat): void {
    this.isSettled = false;
    const place = this.places.get(seat);
    if (place !== undefined) place.isIn = false;
  }

  changed(): void {
    this.isSettled = false;
  }

  choose(key: string | undefined, isLeftOut: ((seat: Seat) => boolean) | undefined): Seat | undefined {
    if (!this.isSettled) this.settle();
    const { ring } = this;
    if (ring.size === 0) return undefined;
    const point = ring.find(this.placeOf(key));
    const { seat } = ring.ownerOf(point);
    if (isLeftOut === undefined && this.hasRoom(seat)) return seat;
    return this.search(point, isLeftOut);
  }

  taken(seat: Seat): void {
    if (this.isBounded && this.places.get(seat)?.isIn) this.inFlight += 1;
  }

  given(seat: Seat): void {
    if (this.isBounded && this.places.get(seat)?.isIn) this.inFlight -= 1;
  }

  settle(): void {
    this.isSettled = true;
    const all = [...this.places.values()];
    const staying = all.filter(({ isIn }) => isIn);
    this.weight = staying.reduce((sum, { seat }) => sum + seat.weight, 0);
    this.inFlight = staying.reduce((sum, { seat }) => sum + seat.inFlight, 0);
    const leaving: Points<Place>[] = [];
    const coming: Points<Place>[] = [];
    for (const place of all) {
      const points = place.isIn ? this.placement.count(place.seat.weight, this.weight, staying.length) : 0;
      if (points !== place.points) {
        const longer = this.placement.points(place.id, Math.max(points, place.points));
        const change = { owner: place, places: longer.subarray(Math.min(points, place.points)) };
        (points > place.points ? coming : leaving).push(change);
      }
      place.points = points;
    }
    if (leaving.length > 0 || coming.length > 0) this.ring.change(leaving, coming);
    for (const { seat, number, isIn } of all) {
      if (isIn) continue;
      this.places.delete(seat);
      this.freeNumbers.push(number);
    }
  }

  private placeOf(key: string | undefined): number {
    if (key === undefined) return Math.floor(this.random() * 2 ** 32);
    if (typeof key !== 'string') throw invalid('key', 'a string', key);
    return this.placement.placeOf(key);
  }

  /** The call that asks counts as well: else nobody would have room at the beginning. */
  private hasRoom({ weight, inFlight }: Seat): boolean {
    if (!this.isBounded) return true;
    // A whole number is below the bound rounded up where it is below the bound.
    return inFlight < ((this.loadFactor * (this.inFlight + 1) * weight) / this.weight) * withoutRounding;
  }

  /** Along the circle to the first that may be taken. Where all of those are full, the first of them all the same: others have room, but must not be used. */
  private search(start: number, isLeftOut: ((seat: Seat) => boolean) | undefined): Seat | undefined {
    const { ring } = this;
    this.searches += 1;
    let unmet = this.places.size;
    let firstFull: Seat | undefined;
    for (let point = start; unmet > 0; point = ring.next(point)) {
      const place = ring.ownerOf(point);
      if (place.metBy === this.searches) continue;
      place.metBy = this.searches;
      unmet -= 1;
      if (isLeftOut?.(place.seat)) continue;
      if (this.hasRoom(place.seat)) return place.seat;
      firstFull ??= place.seat;
    }
    return firstFull;
  }
}
