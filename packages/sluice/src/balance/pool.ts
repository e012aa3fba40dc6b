/**
 * What every balancer has in common: its members, who has taken which, and who is out. How to choose is a `Strategy`.
 *
 *      pick ──► strategy.choose ──► seat ──► inFlight + 1 ──► strategy.taken
 *      done ─────────────────────── seat ──► inFlight - 1 ──► strategy.given
 *      add, remove, update, setShare ──────────────────────► strategy.came, went, changed
 *
 * A strategy sees seats with a weight above 0 only: a member whose share is 0 has gone as far as it is concerned, and comes back.
 */
import { invalid } from '../vocabulary/errors.ts';
import { withGetters } from '../vocabulary/getters.ts';
import type { Balancer, Member, MemberOrId, MemberStats, Picked, PickOptions, PickOutcome } from './balancer.ts';

/** A member as a strategy sees it. */
export interface Seat<M extends Member = Member> {
  readonly id: string;
  member: M;
  /** What it counts for now: the member's weight times its share. Always above 0. */
  weight: number;
  /** The share alone, for strategies that weights mean nothing to. */
  share: number;
  /** Picked and not done. */
  inFlight: number;
}

export interface Strategy {
  /** Throws where it cannot have such a member. Asked before anything changes. */
  accepts?(member: Member): void;
  /** A member that may be chosen from now on. */
  came(seat: Seat): void;
  /** One that may not any more. Calls under way still end: `given` is told of them. */
  went(seat: Seat): void;
  /** Its weight is another now. */
  changed(seat: Seat): void;
  /**
   * Whom to take. `isLeftOut` is only there where somebody is to be left out this once; `leftOut` then lists them, for strategies that
   * set them aside rather than ask about each.
   */
  choose(
    key: string | undefined,
    isLeftOut: ((seat: Seat) => boolean) | undefined,
    leftOut: readonly Seat[],
  ): Seat | undefined;
  /** `seat.inFlight` has grown by one. */
  taken?(seat: Seat): void;
  /** A call goes on, and the member has answered it. */
  answered?(seat: Seat): void;
  /** `seat.inFlight` has fallen by one: a call that was taken at `takenMs` by `now` has ended. */
  given?(seat: Seat, outcome: PickOutcome, takenMs: number, isAnswered: boolean): void;
  /** Where the strategy needs to know how long calls take. */
  now?(): number;
}

interface OwnSeat<M extends Member> extends Seat<M> {
  picks: number;
  isIn: boolean;
}

// So far apart that nobody needs more, and near enough that sums of weights lose nothing that matters.
const largestWeight = 1e6;
const smallestWeight = 1e-6;

const nobody: readonly Seat[] = [];

export function balancerOf<M extends Member>(strategy: Strategy, members: readonly MemberOrId<M>[]): Balancer<M> {
  const seats = new Map<string, OwnSeat<M>>();
  if (!Array.isArray(members)) throw invalid('members', 'a list of members', members);
  for (const member of members) add(member);

  function add(given: MemberOrId<M>): void {
    const member = memberOf<M>(given);
    if (seats.has(member.id)) throw invalid('members', 'members with an id each', `${member.id} twice`);
    strategy.accepts?.(member);
    const seat: OwnSeat<M> = {
      id: member.id,
      member,
      weight: weightOf(member),
      inFlight: 0,
      share: 1,
      picks: 0,
      isIn: true,
    };
    seats.set(member.id, seat);
    strategy.came(seat);
  }

  function remove(id: string): boolean {
    const seat = seats.get(id);
    if (seat === undefined) return false;
    seats.delete(id);
    if (seat.isIn) strategy.went(seat);
    seat.isIn = false;
    return true;
  }

  /** Weight or share is another now. */
  function weigh(seat: OwnSeat<M>): void {
    const weight = Math.max(smallestWeight, weightOf(seat.member) * seat.share);
    const wasIn = seat.isIn;
    seat.isIn = seat.share > 0;
    if (wasIn && !seat.isIn) {
      strategy.went(seat);
      return;
    }
    if (!seat.isIn || (wasIn && weight === seat.weight)) return;
    seat.weight = weight;
    if (wasIn) strategy.changed(seat);
    else strategy.came(seat);
  }

  function seatOf(id: string): OwnSeat<M> {
    const seat = seats.get(id);
    if (seat === undefined) throw invalid('id', `the id of a member (${seats.size} are there)`, id);
    return seat;
  }

  /** Those of them that would be chosen from otherwise. */
  function seatsOf(ids: ReadonlySet<string>): readonly Seat[] {
    if (typeof ids.has !== 'function' || typeof ids[Symbol.iterator] !== 'function')
      throw invalid('except', 'a Set of ids', ids);
    const found: Seat[] = [];
    for (const id of ids) {
      const seat = seats.get(id);
      if (seat?.isIn) found.push(seat);
    }
    return found;
  }

  const methods: Omit<Balancer<M>, 'members'> = {
    pick(key?: string, options?: PickOptions): Picked<M> | undefined {
      const except = options?.except;
      const leftOut = except === undefined ? nobody : seatsOf(except);
      const isLeftOut = leftOut.length > 0 ? (seat: Seat) => except!.has(seat.id) : undefined;
      const seat = strategy.choose(key, isLeftOut, leftOut) as OwnSeat<M> | undefined;
      if (seat === undefined) return undefined;
      seat.inFlight += 1;
      seat.picks += 1;
      strategy.taken?.(seat);
      return new Taken(seat, strategy);
    },
    add,
    remove,
    update(id, changes) {
      const seat = seatOf(id);
      if (typeof changes !== 'object' || changes === null)
        throw invalid('changes', 'an object of fields of the member', changes);
      if ('id' in changes && changes.id !== id) throw invalid('id', 'left out: a member keeps its id', changes.id);
      const member = { ...seat.member, ...changes };
      weightOf(member);
      strategy.accepts?.(member);
      seat.member = member;
      weigh(seat);
    },
    setShare(id, share) {
      const seat = seatOf(id);
      if (!(typeof share === 'number' && share >= 0 && share <= 1))
        throw invalid('share', 'a number from 0 to 1', share);
      seat.share = share;
      weigh(seat);
    },
    stats(): readonly MemberStats[] {
      return [...seats.values()].map(({ id, member, share, inFlight, picks }) => ({
        id,
        weight: weightOf(member),
        share,
        inFlight,
        picks,
      }));
    },
  };
  return withGetters<Balancer<M>, 'members'>(methods, {
    members: () => [...seats.values()].map(({ member }) => member),
  });
}

class Taken<M extends Member> implements Picked<M> {
  readonly member: M;
  private seat: OwnSeat<M> | undefined;
  private readonly strategy: Strategy;
  private readonly takenMs: number;
  private isAnswered = false;

  constructor(seat: OwnSeat<M>, strategy: Strategy) {
    this.member = seat.member;
    this.seat = seat;
    this.strategy = strategy;
    this.takenMs = strategy.now?.() ?? 0;
  }

  answered(): void {
    if (this.seat === undefined) return;
    this.isAnswered = true;
    this.strategy.answered?.(this.seat);
  }

  done(outcome: PickOutcome = 'ok'): void {
    const { seat } = this;
    if (seat === undefined) return;
    if (outcome !== 'ok' && outcome !== 'failed' && outcome !== 'ignored')
      throw invalid('outcome', 'one of ok, failed, ignored', outcome);
    this.seat = undefined;
    seat.inFlight -= 1;
    this.strategy.given?.(seat, outcome, this.takenMs, this.isAnswered);
  }
}

function memberOf<M extends Member>(given: MemberOrId<M>): M {
  const member = (typeof given === 'string' ? { id: given } : given) as M;
  if (typeof member?.id !== 'string' || member.id === '')
    throw invalid('member.id', 'a string that is not empty', member?.id);
  weightOf(member);
  return member;
}

function weightOf({ id, weight = 1 }: Member): number {
  if (typeof weight === 'number' && weight >= smallestWeight && weight <= largestWeight) return weight;
  throw invalid(
    `weight of ${id}`,
    `a number from ${smallestWeight.toFixed(6)} to ${largestWeight}`,
    weight,
    'To take a member out use setShare(id, 0).',
  );
}
