/**
 * Everybody gets its share, whatever the others do: whoever has had least for its weight goes next. `virtual-time.ts` is the arithmetic,
 * `fair-order.ts` the tasks of each tenant; this is the door to both.
 */
import { wholeNumber } from '../../protect/option-checks.ts';
import type { ProtectedCall } from '../../protect/protection.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import { knownFields, zeroOrMore } from '../../vocabulary/policy.ts';
import { Runner, type Scheduler, type SchedulerStats } from '../runner.ts';
import { checkCall, checkTask, type SchedulerOptions, settingsOf, type TaskOptions } from '../settings.ts';
import type { Guest } from '../waiting-room.ts';
import { FairOrder } from './fair-order.ts';
import { type Tenant, VirtualTime } from './virtual-time.ts';
import { type TenantShare, weightOf } from './weight.ts';

export interface FairSchedulerOptions extends SchedulerOptions {
  /** How many tenants may be there, with those who have left and are remembered: 1 to 10,000,000. Default 100,000. */
  readonly maxTenants?: number;
  /** How many tasks of `run` may be under way at once. Default 1. */
  readonly concurrency?: number;
  /** How many tasks may wait, at most 1,000,000. Default 100,000. */
  readonly capacity?: number;
}

export interface FairTaskOptions extends TaskOptions {
  /** Whose task it is. One that was not added has nice 0, and is forgotten when it has no task left. */
  readonly tenant: string;
}

/** A tenant as it stands. */
export interface TenantView {
  readonly weight: number;
  /** What it was charged so far, as milliseconds of a tenant of nice 0. The one with least goes next. */
  readonly virtualMs: number;
  /** Not told to sleep, and not without tasks where tasks are run. */
  readonly isAwake: boolean;
  /** Begun and not ended. */
  readonly running: number;
  /** Tasks of `run` that wait. */
  readonly waiting: number;
}

export interface FairSchedulerStats extends SchedulerStats {
  readonly tenants: number;
  /** Have left, and are remembered until they owe nothing. */
  readonly remembered: number;
  /** What whoever goes next has had, or whoever began last if that is less, with what is under way by then. It never falls, and newcomers begin there. */
  readonly minimumVirtualMs: number;
}

export interface FairScheduler extends Scheduler {
  /** Runs the task when its tenant's turn comes, charges the tenant for it, and answers as the task does. Throws as `PriorityScheduler.run` does where it is not run. */
  run<R>(task: ProtectedCall<R>, options: FairTaskOptions): Promise<R>;
  /**
   * A newcomer, awake; or another share for a tenant that is there. Throws `queue-full` where there are too many. The time matters only
   * while something is under way, here and in `wake`: without one it is the last that was given, or the clock's where that was read.
   */
  add(tenant: string, share?: TenantShare, atMs?: number): void;
  /** Who has had least of those who are awake; it changes nothing. `undefined` where nobody is. The time matters only between `begin` and `end`. */
  next(atMs?: number): string | undefined;
  /** It has had so much more. */
  charge(tenant: string, elapsedMs: number): void;
  /** For several at once: something of the tenant's begins, and is charged by an estimate for now, so that the next turn is another's. */
  begin(tenant: string, atMs?: number): void;
  /** What had begun has ended and took so long: that is charged in place of the estimate. */
  end(tenant: string, elapsedMs: number, atMs?: number): void;
  /** For one at a time: charges the time since the last tick to whom that named, and names who goes next. */
  tick(atMs?: number): string | undefined;
  /** It sleeps from now on. False where there is no such tenant. */
  block(tenant: string): boolean;
  /** It is awake, with what it owes and without what it did not use. False where there is no such tenant. */
  wake(tenant: string, atMs?: number): boolean;
  /** It goes, and so do its tasks that wait. What it owes is remembered until the others have caught up. False where there is no such tenant. */
  remove(tenant: string): boolean;
  /** How a tenant stands; `undefined` where there is no such tenant. */
  view(tenant: string): TenantView | undefined;
  stats(): FairSchedulerStats;
}

const mostTenants = 1e7;
const longestMs = 1e12;
const fieldsOfRun = new Set(['tenant', 'deadlineMs', 'signal']);

export function fairScheduler(options: FairSchedulerOptions = {}): FairScheduler {
  knownFields('fairScheduler options', options, 'maxTenants concurrency capacity shed name clock');
  const time = new VirtualTime(wholeNumber('maxTenants', options.maxTenants ?? 100_000, 1, mostTenants));
  const order = new FairOrder(time, options.shed === 'lowest-priority');
  const defaults = { noun: 'fair scheduler', concurrency: 1, capacity: 100_000 };
  const runner = new Runner(settingsOf(options, defaults, order));
  /** Whom the last tick named, and when. */
  let ticking: Tenant | undefined;
  let tickedMs = 0;

  const momentOf = (atMs: number | undefined) =>
    time.isTimed || atMs !== undefined ? runner.moments.now(atMs) : Number.NEGATIVE_INFINITY;

  /** For those to whom no time need be given: where others are, they are not mixed with the clock's. */
  const momentOfComing = (atMs: number | undefined) =>
    atMs === undefined && runner.moments.isGiven ? runner.moments.latestMs : momentOf(atMs);

  function setBlocked(name: string, isBlocked: boolean): boolean {
    const tenant = time.find(name);
    if (!tenant) return false;
    time.setBlocked(tenant, isBlocked);
    if (!isBlocked) runner.nudge();
    return true;
  }

  function remove(name: string): boolean {
    const tenant = time.find(name);
    if (!tenant) return false;
    // So many and no more: whoever is told of one may bring another.
    for (let left = tenant.line?.length ?? 0; left > 0; left -= 1) {
      const first = tenant.line?.first;
      if (first) runner.room.drop(first.value as Guest, 'removed', runner.moments.latestMs);
    }
    tenant.isKept = false;
    if ((tenant.line?.length ?? 0) === 0) time.remove(tenant);
    return true;
  }

  const methods: Omit<FairScheduler, 'size'> = {
    async run(task, taskOptions) {
      checkCall(task);
      checkTask(taskOptions, fieldsOfRun);
      return runner.run(task, taskOptions, { tenant: nameOf(taskOptions.tenant) });
    },
    add(name, share = {}, atMs) {
      time.passTo(momentOfComing(atMs));
      const tenant = time.add(nameOf(name), weightOf(share), false);
      tenant.isKept = true;
      order.weigh(tenant);
    },
    next: (atMs) => time.first(momentOf(atMs))?.name,
    charge: (name, elapsedMs) => time.charge(time.known(name), elapsedOf(elapsedMs)),
    begin(name, atMs) {
      const tenant = time.find(name);
      // Who has left is only remembered, and may be forgotten any moment: nothing of it can begin.
      if (!tenant) throw invalid('tenant', 'one that was added', name);
      time.begin(tenant, runner.moments.now(atMs));
    },
    end(name, elapsedMs, atMs) {
      const tenant = time.known(name);
      if (!time.end(tenant, elapsedOf(elapsedMs), runner.moments.now(atMs)))
        throw invalid('tenant', 'one with something under way', name, 'Call begin() first, or charge() alone.');
    },
    tick(atMs) {
      const nowMs = runner.moments.now(atMs);
      if (ticking) time.end(ticking, nowMs - tickedMs, nowMs);
      ticking = time.first(nowMs);
      tickedMs = nowMs;
      // So that it is remembered until it is charged, also where it leaves in between.
      if (ticking) time.begin(ticking, nowMs);
      return ticking?.name;
    },
    block: (name) => setBlocked(name, true),
    wake(name, atMs) {
      time.passTo(momentOfComing(atMs));
      return setBlocked(name, false);
    },
    remove,
    view(name) {
      const tenant = time.find(name);
      if (!tenant) return undefined;
      const { weight, virtualMs, running, isBlocked, isIdle, line } = tenant;
      return { weight, virtualMs, isAwake: !isBlocked && !isIdle, running, waiting: line?.length ?? 0 };
    },
    drain: () => runner.drain(),
    close: () => runner.close(),
    on: runner.on,
    stats: () => ({
      ...runner.stats(),
      tenants: time.size,
      remembered: time.remembered,
      minimumVirtualMs: time.minimumMs,
    }),
  };
  return withGetters<FairScheduler, 'size'>(methods, { size: () => runner.room.size });
}

function nameOf(tenant: string): string {
  if (typeof tenant !== 'string') throw invalid('tenant', 'text', tenant);
  return tenant;
}

function elapsedOf(elapsedMs: number): number {
  return zeroOrMore('elapsedMs', elapsedMs, longestMs);
}
