/**
 * What requests hold under rules of `concurrency`. A place is lent for a time, so that one whose gateway died comes back by itself; while
 * its request is under way, be it a stream or an upgraded connection of many hours, it is renewed at half of that time.
 *
 *      begin ──► wait half the lease ──► renew ─┬─► done: wait half the lease again
 *                                               └─► not done: try again soon, until the lease is over and the place is gone
 *
 * One alarm serves all requests. Those that wait equally long stand in one line, in the order in which they are due.
 */
import type { Clock, RulesResult } from 'sluice';
import type { Log } from '../service/log.ts';
import { Alarm } from './admission/alarm.ts';
import type { Limits } from './plan.ts';

/** What one request holds. */
export interface Leased {
  readonly limits: Limits;
  readonly result: RulesResult;
  /** Of several rules, the shortest. */
  readonly leaseMs: number;
  endsMs: number;
  dueMs: number;
  /** Where it waits; undefined: it is just being renewed, or has ended. */
  line: Set<Leased> | undefined;
  isOver: boolean;
}

// Of a lease. A renewal that fails leaves time for some more before the place is gone.
const renewedAfter = 1 / 2;
const triedAgainAfter = 1 / 8;

// Leases may be as short as a millisecond; the clock's timers need not be set more often.
const shortestWaitMs = 1;

export class Leases {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly alarm: Alarm;
  private alarmMs = Number.POSITIVE_INFINITY;
  private readonly lines = new Map<number, Set<Leased>>();
  private isClosed = false;

  constructor(clock: Clock, log: Log) {
    this.clock = clock;
    this.log = log;
    this.alarm = new Alarm(clock);
  }

  /** Undefined: it holds nothing. */
  begin(limits: Limits, result: RulesResult): Leased | undefined {
    const leaseMs = shortestLeaseMs(result);
    if (leaseMs === undefined) return undefined;
    const nowMs = this.clock.now();
    const leased = { limits, result, leaseMs, endsMs: nowMs + leaseMs, dueMs: 0, line: undefined, isOver: false };
    this.wait(leased, nowMs, renewedAfter);
    return leased;
  }

  /** Its request has ended: the place is given back. */
  end(leased: Leased): void {
    leased.isOver = true;
    this.leave(leased);
    try {
      const released = leased.limits.release(leased.result);
      if (released instanceof Promise) released.catch((error) => this.notReleased(error));
    } catch (error) {
      this.notReleased(error);
    }
  }

  /** Nothing is renewed any more. */
  close(): void {
    this.isClosed = true;
    this.lines.clear();
    this.alarm.stop();
  }

  private wait(leased: Leased, nowMs: number, share: number): void {
    if (this.isClosed) return;
    const waitMs = Math.max(shortestWaitMs, leased.leaseMs * share);
    let line = this.lines.get(waitMs);
    if (line === undefined) {
      line = new Set();
      this.lines.set(waitMs, line);
    }
    leased.dueMs = nowMs + waitMs;
    leased.line = line;
    line.add(leased);
    if (leased.dueMs < this.alarmMs) this.setAlarm(nowMs, leased.dueMs);
  }

  private leave(leased: Leased): void {
    leased.line?.delete(leased);
    leased.line = undefined;
  }

  private setAlarm(nowMs: number, dueMs: number): void {
    this.alarmMs = dueMs;
    this.alarm.set(Math.max(shortestWaitMs, dueMs - nowMs), () => this.renewDue());
  }

  private renewDue(): void {
    this.alarmMs = Number.POSITIVE_INFINITY;
    const nowMs = this.clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [waitMs, line] of this.lines) {
      for (const leased of line) {
        if (leased.dueMs > nowMs) {
          nextMs = Math.min(nextMs, leased.dueMs);
          break;
        }
        this.leave(leased);
        this.renew(leased, nowMs);
      }
      // Policies come and go, and their leases with them.
      if (line.size === 0) this.lines.delete(waitMs);
    }
    if (nextMs < this.alarmMs) this.setAlarm(nowMs, nextMs);
  }

  /** Whatever the store does, the request goes on. */
  private renew(leased: Leased, nowMs: number): void {
    try {
      const renewed = leased.limits.renew(leased.result);
      if (!(renewed instanceof Promise)) this.renewed(leased, nowMs, renewed);
      else {
        renewed.then(
          (isRenewed) => this.renewed(leased, nowMs, isRenewed),
          (error) => this.notRenewed(leased, error),
        );
      }
    } catch (error) {
      this.notRenewed(leased, error);
    }
  }

  /** @param askedMs from then on, at the latest, the lease runs again */
  private renewed(leased: Leased, askedMs: number, isRenewed: boolean): void {
    if (leased.isOver) return;
    if (!isRenewed) {
      this.notRenewed(leased, undefined);
      return;
    }
    leased.endsMs = askedMs + leased.leaseMs;
    this.wait(leased, this.clock.now(), renewedAfter);
  }

  private notRenewed(leased: Leased, error: unknown): void {
    if (leased.isOver) return;
    const nowMs = this.clock.now();
    if (nowMs < leased.endsMs) this.wait(leased, nowMs, triedAgainAfter);
    else
      this.log.warn({ err: error }, 'a place under a rule could not be renewed, and is gone while its request goes on');
  }

  private notReleased(error: unknown): void {
    // A lease that cannot be given back runs out by itself.
    this.log.warn({ err: error }, 'a place under a rule could not be given back');
  }
}

function shortestLeaseMs({ decisions }: RulesResult): number | undefined {
  let shortestMs: number | undefined;
  for (const { receipt, policy } of decisions) {
    if (receipt === undefined) continue;
    const { lease } = policy as { readonly lease?: number };
    if (lease !== undefined && (shortestMs === undefined || lease < shortestMs)) shortestMs = lease;
  }
  return shortestMs;
}
