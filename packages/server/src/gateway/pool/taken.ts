/** A member that a request has, whichever balancer chose it: where a reload brings another, what is under way goes on there. */
import type { HealthChecked, PickOutcome } from 'sluice/balance';
import type { Placed, UnderWay } from '../../service/under-way.ts';
import type { PoolMember } from './pool-member.ts';

type Picked = NonNullable<ReturnType<HealthChecked<PoolMember>['pick']>>;

export class Taken implements Placed {
  place = 0;
  /** As it was when it was chosen. */
  readonly member: PoolMember;
  private picked: Picked;
  private said: PickOutcome | undefined = undefined;
  private readonly underWay: UnderWay<Taken>;

  constructor(picked: Picked, underWay: UnderWay<Taken>) {
    this.member = picked.member;
    this.picked = picked;
    this.underWay = underWay;
    underWay.add(this);
  }

  /** How it goes, before it is over. */
  answered(outcome: PickOutcome): void {
    this.said = outcome;
    this.picked.answered(outcome);
  }

  done(outcome: PickOutcome): void {
    this.underWay.delete(this);
    this.picked.done(outcome);
  }

  /** Counts there from now on. What was said of it is known there, but that it goes well is still to be taken back. */
  move(balancer: HealthChecked<PoolMember>): void {
    const { id } = this.member;
    const others = new Set(balancer.members.map((member) => member.id));
    // It has left: where it was chosen is where it ends.
    if (!others.delete(id)) return;
    const picked = balancer.pick(id, { except: others });
    if (picked === undefined) return;
    this.picked = picked;
    if (this.said !== undefined) picked.answered(this.said === 'ok' ? 'ok' : 'ignored');
  }
}
