/**
 * Which member goes next? One interface for every way to choose: `pick` takes a member, `done` on what it returned gives it back and says
 * how it went. Members come, go and change while it runs.
 */
import type { Clock } from '../vocabulary/clock.ts';

/** Where a request can go. Your own fields (an address, a zone) travel with it. */
export interface Member {
  /** Who it is: unique in its pool. */
  readonly id: string;
  /** How much of the load it takes beside the others: from 0.000001 to 1,000,000. Default 1. */
  readonly weight?: number;
}

/** A member, or its id where that is all there is to say. */
export type MemberOrId<M extends Member> = M | (Member extends M ? string : never);

/** How a call of a member went. `ignored` says nothing about the member, but how long it took at least: the caller gave up. */
export type PickOutcome = 'ok' | 'failed' | 'ignored';

/** A member, taken until `done`. */
export interface Picked<M extends Member = Member> {
  readonly member: M;
  /** The member has answered, and the call goes on: it is not one that stalls, however long this lasts. `healthChecked` learns more of it. */
  answered?(outcome: PickOutcome): void;
  /** Gives it back. Once; what is said after that does nothing. Default `ok`. */
  done(outcome?: PickOutcome): void;
}

export interface PickOptions {
  /** Ids that are not to be chosen: where it was tried already. */
  readonly except?: ReadonlySet<string> | undefined;
}

export interface MemberStats {
  readonly id: string;
  readonly weight: number;
  /** How much of its weight it gets: 0 nothing, 1 all, between while it warms up. */
  readonly share: number;
  /** Picked and not done. */
  readonly inFlight: number;
  readonly picks: number;
}

export interface Balancer<M extends Member = Member> {
  /** The members, in the order in which they came. */
  readonly members: readonly M[];
  /** Takes a member; `undefined` where none can be. The key matters to balancers that keep a key at its member. */
  pick(key?: string, options?: PickOptions): Picked<M> | undefined;
  add(member: MemberOrId<M>): void;
  /** No longer chosen from now on; calls under way end as usual. False where there is no such member. */
  remove(id: string): boolean;
  /** Changes what is known of a member, and keeps what can be kept: calls under way, its place, its measurements. */
  update(id: string, changes: Partial<Omit<M, 'id'>>): void;
  /** How much of its weight a member gets, 0 to 1; 0 takes it out until it is raised again. What health checks and slow start turn. */
  setShare(id: string, share: number): void;
  stats(): readonly MemberStats[];
}

/** What all of them take. */
export interface BalancerOptions {
  /** From 0 to below 1. Default `Math.random`; give `seededRandom` for runs that repeat. */
  readonly random?: () => number;
  /** Default: monotonic. */
  readonly clock?: Clock;
}
