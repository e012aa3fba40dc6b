/**
 * Who has had least, by the Completely Fair Scheduler's arithmetic: every tenant has a virtual time that goes the slower the more it
 * weighs, and whoever's is least goes next.
 *
 *      virtual += elapsed * 1024 / weight
 *
 *      ──────┬────────┬───┬───────────┬──────────►  virtual time
 *         minimum     b   c           a              newcomers begin at the minimum, and so does who wakes up behind it;
 *         of those who                               who wakes up before it keeps its place: sleeping
 *         are not asleep                             neither earns credit nor erases debt
 *
 * Where several tasks run at once, one is charged an estimate when it begins (or what it has taken by now, if that is more), and what it
 * really took when it ends: else whoever is first would get all the places before it is charged for the first. Estimates decide who goes
 * next and nothing else.
 *
 * The minimum is, as in Linux, of two: who goes next, and who began last of those who have something under way. It never falls. What
 * counts is what each has really had: what it was charged, and what its tasks under way have taken by now. Without the latter one task that
 * lasts would stop the minimum, and whoever comes or wakes meanwhile would starve all who have worked since. And were all counted who have
 * something under way, a stream on one place would hold the minimum back while others have the rest: its tenant sleeps, and wants no more.
 *
 * A tenant that leaves is remembered for as long as it has had more than the minimum: else it would leave and come back to be rid of it.
 */

import { IndexedHeap, type InHeap } from '../../balance/indexed-heap.ts';
import type { Line } from '../../protect/line.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import type { Waiting } from '../order.ts';
import { niceZeroWeight } from './weight.ts';

export interface Tenant extends InHeap {
  readonly name: string;
  weight: number;
  /** What it was charged, as virtual milliseconds. */
  virtualMs: number;
  /** What it is ordered by: with the estimates for what is under way, as last seen. It can only be too small. */
  rankMs: number;
  /** Among equals, whoever was served or came longest ago goes first. */
  turn: number;
  /** Told to sleep by the caller. */
  isBlocked: boolean;
  /** Has nothing to run, where tasks are run. */
  isIdle: boolean;
  /** Was added by the caller, and stays until the caller removes it. Others stay for as long as they have tasks. */
  isKept: boolean;
  /** Has left, and is only remembered. */
  hasLeft: boolean;
  /** Tasks under way, the sum of their estimates, and the sum of the times since the origin at which they began. */
  running: number;
  estimatesMs: number;
  beginsMs: number;
  /** How long a task of it takes as a rule. NaN: not known yet. */
  usualMs: number;
  begun: Begun | undefined;
  /** Its tasks that wait, where tasks are run. */
  line: Line<Waiting> | undefined;
}

/** Where a tenant stands among those who have something under way: who began last is first. */
interface Begun extends InHeap {
  readonly tenant: Tenant;
  turn: number;
}

// Until something is known: it only has to be more than nothing, so that places go round.
const firstEstimateMs = 1;
// The share of the newest in what is usual.
const learning = 1 / 8;

export class VirtualTime {
  /** Virtual milliseconds; never falls. */
  minimumMs = 0;
  /** How many have left and are remembered. */
  remembered = 0;
  private readonly maxTenants: number;
  private readonly tenants = new Map<string, Tenant>();
  private readonly awake = new IndexedHeap<Tenant>((a, b) =>
    a.rankMs === b.rankMs ? a.turn < b.turn : a.rankMs < b.rankMs,
  );
  private readonly begun = new IndexedHeap<Begun>((a, b) => a.turn > b.turn);
  private readonly gone = new IndexedHeap<Tenant>((a, b) => a.virtualMs < b.virtualMs);
  private turns = 0;
  private nowMs = Number.NEGATIVE_INFINITY;
  private originMs = Number.NaN;
  private usualMs = Number.NaN;
  /** Of those who had to be forgotten too early: newcomers begin no earlier, for any of them could be one of those. */
  private forgottenMs = 0;

  constructor(maxTenants: number) {
    this.maxTenants = maxTenants;
  }

  /** How many there are, without those who have left. */
  get size(): number {
    return this.tenants.size - this.remembered;
  }

  /** Whether some have tasks under way: then who is first depends on the time. */
  get isTimed(): boolean {
    return this.begun.size > 0;
  }

  /** It is so late by now, or later. What is under way has taken as much more. */
  passTo(nowMs: number): void {
    this.nowMs = Math.max(this.nowMs, nowMs);
  }

  find(name: string): Tenant | undefined {
    const tenant = this.tenants.get(name);
    return tenant?.hasLeft ? undefined : tenant;
  }

  known(name: string): Tenant {
    const tenant = this.tenants.get(name);
    if (!tenant) throw invalid('tenant', 'one that was added', name);
    return tenant;
  }

  /** A newcomer, or one that comes back: with what it owes. Awake unless it is idle. Of one that is here, only the weight changes. */
  add(name: string, weight: number, isIdle: boolean): Tenant {
    this.raiseMinimum();
    const old = this.tenants.get(name);
    if (old) {
      this.weigh(old, weight);
      if (old.hasLeft) this.comeBack(old, isIdle);
      else this.rank(old);
      return old;
    }
    this.makeRoom();
    const tenant = newTenant(name, weight, Math.max(this.minimumMs, this.forgottenMs), isIdle);
    this.tenants.set(name, tenant);
    if (!isIdle) this.getUp(tenant);
    return tenant;
  }

  /** What its tasks have taken so far, they took by the old weight: what it has had stays the same. */
  private weigh(tenant: Tenant, weight: number): void {
    const hadMs = this.hadMs(tenant);
    tenant.weight = weight;
    tenant.virtualMs += hadMs - this.hadMs(tenant);
  }

  remove(tenant: Tenant): void {
    if (tenant.hasLeft) return;
    tenant.hasLeft = true;
    this.remembered += 1;
    this.awake.remove(tenant);
    if (tenant.running === 0) this.gone.push(tenant);
    this.raiseMinimum();
  }

  setBlocked(tenant: Tenant, isBlocked: boolean): void {
    tenant.isBlocked = isBlocked;
    this.getUpOrLieDown(tenant);
  }

  setIdle(tenant: Tenant, isIdle: boolean): void {
    tenant.isIdle = isIdle;
    this.getUpOrLieDown(tenant);
  }

  /** Who has had least of those who are awake. The time matters only while something is under way. */
  first(nowMs: number): Tenant | undefined {
    this.passTo(nowMs);
    for (let first = this.awake.first; first; first = this.awake.first) {
      const rankMs = first.running === 0 ? first.rankMs : this.rankOf(first);
      if (rankMs <= first.rankMs) return first;
      // What it has under way takes longer than was thought. Ranks only grow by time, so whoever is first after this is.
      first.rankMs = rankMs;
      this.awake.moved(first);
    }
    return undefined;
  }

  charge(tenant: Tenant, elapsedMs: number): void {
    tenant.virtualMs += (elapsedMs * niceZeroWeight) / tenant.weight;
    if (tenant.hasLeft) this.gone.moved(tenant);
    this.rank(tenant);
    this.raiseMinimum();
  }

  /** A task of it begins. */
  begin(tenant: Tenant, nowMs: number): void {
    this.passTo(nowMs);
    if (Number.isNaN(this.originMs)) this.originMs = nowMs;
    const usualMs = Number.isNaN(tenant.usualMs) ? this.usualMs : tenant.usualMs;
    tenant.running += 1;
    tenant.estimatesMs += Number.isNaN(usualMs) ? firstEstimateMs : usualMs;
    tenant.beginsMs += nowMs - this.originMs;
    this.rank(tenant);
    tenant.begun ??= { heapIndex: -1, tenant, turn: 0 };
    tenant.begun.turn = tenant.turn;
    if (tenant.running === 1) this.begun.push(tenant.begun);
    else this.begun.moved(tenant.begun);
    this.raiseMinimum();
  }

  /** A task of it that began has ended. False where none is under way. */
  end(tenant: Tenant, elapsedMs: number, nowMs: number): boolean {
    if (tenant.running === 0) return false;
    this.passTo(nowMs);
    tenant.estimatesMs -= tenant.estimatesMs / tenant.running;
    tenant.beginsMs -= nowMs - elapsedMs - this.originMs;
    tenant.running -= 1;
    if (tenant.running === 0) tenant.estimatesMs = tenant.beginsMs = 0;
    tenant.usualMs = learn(tenant.usualMs, elapsedMs);
    this.usualMs = learn(this.usualMs, elapsedMs);
    // The minimum is raised while it still counts: else it would stand still where tenants come one by one, and none be forgotten.
    this.charge(tenant, elapsedMs);
    if (tenant.running === 0) {
      this.begun.remove(tenant.begun!);
      if (tenant.hasLeft) this.gone.push(tenant);
      this.raiseMinimum();
    }
    return true;
  }

  /** What its tasks under way have taken by now. Never less than nothing, whatever the caller says that others of them took. */
  private takenMs({ running, beginsMs }: Tenant): number {
    return running === 0 ? 0 : Math.max(0, running * (this.nowMs - this.originMs) - beginsMs);
  }

  private hadMs(tenant: Tenant): number {
    return tenant.virtualMs + (this.takenMs(tenant) * niceZeroWeight) / tenant.weight;
  }

  private rankOf(tenant: Tenant): number {
    return tenant.virtualMs + (Math.max(tenant.estimatesMs, this.takenMs(tenant)) * niceZeroWeight) / tenant.weight;
  }

  /** After a charge or a change: behind those with the same rank, and with no more than is sure. */
  private rank(tenant: Tenant): void {
    this.turns += 1;
    tenant.turn = this.turns;
    tenant.rankMs = tenant.virtualMs + (tenant.estimatesMs * niceZeroWeight) / tenant.weight;
    if (!tenant.hasLeft) this.awake.moved(tenant);
  }

  private comeBack(tenant: Tenant, isIdle: boolean): void {
    tenant.hasLeft = false;
    this.remembered -= 1;
    this.gone.remove(tenant);
    tenant.isBlocked = false;
    tenant.isIdle = isIdle;
    this.getUpOrLieDown(tenant);
  }

  private getUpOrLieDown(tenant: Tenant): void {
    if (tenant.hasLeft) return;
    const isAwake = !tenant.isBlocked && !tenant.isIdle;
    if (isAwake && tenant.heapIndex < 0) this.getUp(tenant);
    else if (!isAwake && this.awake.remove(tenant)) this.raiseMinimum();
  }

  private getUp(tenant: Tenant): void {
    this.raiseMinimum();
    // With what it has under way it must not be behind the minimum; without it, it may: that is charged when it ends.
    tenant.virtualMs += Math.max(0, this.minimumMs - this.hadMs(tenant));
    this.rank(tenant);
    this.awake.push(tenant);
    this.raiseMinimum();
  }

  private raiseMinimum(): void {
    const next = this.first(this.nowMs);
    const begun = this.begun.first?.tenant ?? next;
    if (begun) this.minimumMs = Math.max(this.minimumMs, Math.min(this.hadMs(begun), this.hadMs(next ?? begun)));
    for (let first = this.gone.first; first && first.virtualMs <= this.minimumMs; first = this.gone.first)
      this.forget(first);
  }

  private makeRoom(): void {
    if (this.tenants.size < this.maxTenants) return;
    const first = this.gone.first;
    if (!first)
      throw new SluiceError('queue-full', `The fair scheduler has as many tenants as it may: ${this.maxTenants}.`);
    this.forgottenMs = Math.max(this.forgottenMs, first.virtualMs);
    this.forget(first);
  }

  private forget(tenant: Tenant): void {
    this.gone.remove(tenant);
    this.tenants.delete(tenant.name);
    this.remembered -= 1;
  }
}

function learn(usualMs: number, elapsedMs: number): number {
  return Number.isNaN(usualMs) ? elapsedMs : usualMs + (elapsedMs - usualMs) * learning;
}

function newTenant(name: string, weight: number, virtualMs: number, isIdle: boolean): Tenant {
  return {
    heapIndex: -1,
    name,
    weight,
    virtualMs,
    rankMs: virtualMs,
    turn: 0,
    isBlocked: false,
    isIdle,
    isKept: false,
    hasLeft: false,
    running: 0,
    estimatesMs: 0,
    beginsMs: 0,
    usualMs: Number.NaN,
    begun: undefined,
    line: undefined,
  };
}
