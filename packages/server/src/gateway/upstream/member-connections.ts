/**
 * The connections to one member.
 *
 *      asked ──┬─► an idle one is there: the one that was used last, so that those that are not needed grow old and end
 *              ├─► fewer than `connections` are open: a new one
 *              └─► wait in line, for at most `connectMs`; the first that becomes free goes to the first who waits
 *
 * Time-outs have no timers of their own: a request that sets and clears one pays for it. Each connection carries a deadline, and all of
 * them are looked at now and then; a time-out comes late by at most the pause between two looks.
 */
import { type Clock, monotonicClock } from 'sluice';
import type { TimeoutsConfig } from '../../config/gateway-config.ts';
import { readFirst } from '../read-first.ts';
import type { BodyLimits } from '../wire/body-decoder.ts';
import type { MessageLimits } from '../wire/message.ts';
import {
  type ConnectionOwner,
  type ConnectionTaker,
  type MemberAddress,
  MemberConnection,
} from './member-connection.ts';

export interface MemberSettings {
  /** At most so many are open, those included that are being opened, and tunnels. */
  readonly connections: number;
  readonly timeouts: TimeoutsConfig;
  readonly limits: MessageLimits;
  /** Default: the monotonic clock. */
  readonly clock?: Clock;
}

export interface MemberStats {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

// More than this wait for nothing: a member that is so far behind does not catch up within the time they are given.
const mostWaiting = 1024;

// How late a time-out may come, as a share of the shortest and in milliseconds.
const lateShare = 0.1;
const lateMsMost = 100;
const lateMsLeast = 5;

export class MemberConnections implements ConnectionOwner {
  readonly member: MemberAddress;
  readonly settings: MemberSettings;
  readonly clock: Clock;
  /** An answer's body may be of any length: it is passed on, not kept. */
  readonly answerLimits: BodyLimits;
  private readonly all = new Set<MemberConnection>();
  private readonly idle: MemberConnection[] = [];
  /** In the order of their coming, each with the time until which it waits. */
  private readonly waiting = new Map<ConnectionTaker, number>();
  private readonly sweepMs: number;
  private isSweeping = false;
  private isClosed = false;

  constructor(member: MemberAddress, settings: MemberSettings) {
    this.member = member;
    this.settings = settings;
    this.clock = settings.clock ?? monotonicClock;
    this.answerLimits = { ...settings.limits, bodyBytes: Number.POSITIVE_INFINITY };
    const { connectMs, responseMs, idleMs } = settings.timeouts;
    const shortestMs = Math.min(connectMs, responseMs, idleMs);
    this.sweepMs = Math.max(lateMsLeast, Math.min(lateMsMost, shortestMs * lateShare));
  }

  stats(): MemberStats {
    return { open: this.all.size, idle: this.idle.length, waiting: this.waiting.size };
  }

  /** Gives the taker a connection, now or later, or refuses it. */
  acquire(taker: ConnectionTaker): void {
    const nowMs = this.clock.now();
    for (let connection = this.idle.pop(); connection !== undefined; connection = this.idle.pop()) {
      connection.isIdle = false;
      if (nowMs < connection.deadlineMs) {
        connection.deadlineMs = Number.POSITIVE_INFINITY;
        taker.take(connection);
        return;
      }
      connection.destroy();
    }
    if (this.all.size < this.settings.connections) this.open(taker);
    else if (this.waiting.size < mostWaiting) this.waiting.set(taker, nowMs + this.settings.timeouts.connectMs);
    else {
      const { connections } = this.settings;
      taker.refuse(`${mostWaiting} requests wait for one of its ${connections} connections already`, this.whyNone());
    }
  }

  /** A new one, whatever is idle and whoever waits: in place of one that has just died. */
  acquireFresh(taker: ConnectionTaker): void {
    this.open(taker);
  }

  /** The taker does not want one any more. */
  abandon(taker: ConnectionTaker): void {
    if (this.waiting.delete(taker)) return;
    for (const connection of this.all) {
      if (connection.awaitedBy === taker) connection.destroy();
    }
  }

  /** Back from its user, ready for another request. */
  release(connection: MemberConnection): void {
    connection.user = undefined;
    connection.isReused = true;
    if (this.isClosed) connection.destroy();
    else if (this.waiting.size > 0) this.firstInLine()!.take(connection);
    else {
      const { idleMs } = this.settings.timeouts;
      connection.deadlineMs = this.clock.now() + Math.min(idleMs, connection.memberIdleMs ?? idleMs);
      connection.isIdle = true;
      this.idle.push(connection);
    }
  }

  /** Idle ones end now, busy ones after their answer. What still comes is served, on connections that are not kept. */
  close(): void {
    this.isClosed = true;
    for (const connection of [...this.idle]) connection.destroy();
  }

  private firstInLine(): ConnectionTaker | undefined {
    for (const taker of this.waiting.keys()) {
      this.waiting.delete(taker);
      return taker;
    }
    return undefined;
  }

  private open(taker: ConnectionTaker): void {
    const connection = new MemberConnection(this.member, this);
    connection.awaitedBy = taker;
    connection.deadlineMs = this.clock.now() + this.settings.timeouts.connectMs;
    this.all.add(connection);
    if (!this.isSweeping) void this.sweepOn();
  }

  // --- What a connection says ---

  connected(connection: MemberConnection): void {
    const taker = connection.awaitedBy!;
    connection.awaitedBy = undefined;
    connection.deadlineMs = Number.POSITIVE_INFINITY;
    taker.take(connection);
  }

  left(connection: MemberConnection): void {
    this.all.delete(connection);
    if (connection.isIdle) this.idle.splice(this.idle.indexOf(connection), 1);
    connection.isIdle = false;
    if (this.all.size >= this.settings.connections) return;
    const next = this.firstInLine();
    if (next !== undefined) this.open(next);
  }

  // --- Time ---

  /** As long as there is something to look at; the last look finds nothing and is the last. */
  private async sweepOn(): Promise<void> {
    this.isSweeping = true;
    while (this.all.size > 0) {
      await this.clock.sleep(this.sweepMs);
      await readFirst();
      this.sweep();
    }
    this.isSweeping = false;
  }

  private sweep(): void {
    const nowMs = this.clock.now();
    for (const connection of this.all) {
      if (nowMs >= connection.deadlineMs) this.overdue(connection);
    }
    for (const [taker, untilMs] of this.waiting) {
      if (nowMs < untilMs) return;
      this.waiting.delete(taker);
      taker.refuse(`no connection became free within ${this.settings.timeouts.connectMs} ms`, this.whyNone());
    }
  }

  /** That others use what there may be says nothing about the member; that none of them has come about does. */
  private whyNone(): 'connect' | 'busy' {
    for (const { user } of this.all) if (user !== undefined) return 'busy';
    return 'connect';
  }

  private overdue(connection: MemberConnection): void {
    connection.deadlineMs = Number.POSITIVE_INFINITY;
    const { user, awaitedBy } = connection;
    if (user !== undefined) user.overdue();
    else {
      connection.awaitedBy = undefined;
      connection.destroy();
      awaitedBy?.refuse(`no connection within ${this.settings.timeouts.connectMs} ms`, 'connect');
    }
  }
}
