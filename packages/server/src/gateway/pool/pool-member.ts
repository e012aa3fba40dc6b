/** A member of an upstream, as the balancer carries it: where it is, its connections, its circuit, and what was counted of it. */
import type { Member } from 'sluice/balance';
import type { CircuitBreaker } from 'sluice/protect';
import type { MemberConnections } from '../upstream/member-connections.ts';

export interface PoolMember extends Member {
  readonly host: string;
  readonly port: number;
  readonly connections: MemberConnections;
  readonly breaker: CircuitBreaker | undefined;
  readonly meter: MemberMeter;
}

/** Why an attempt came to nothing. `busy`: all connections that the member may have were in use. */
export const failureReasons = ['connect', 'busy', 'timed-out', 'reset', 'malformed'] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Plain numbers; they become metrics when somebody asks. */
export interface MemberMeter {
  /** Attempts that were answered, by the first digit of the status: [1xx, 2xx, 3xx, 4xx, 5xx]. */
  readonly answered: number[];
  readonly failed: Record<FailureReason, number>;
  ejections: number;
}

export function memberMeter(): MemberMeter {
  return {
    answered: [0, 0, 0, 0, 0],
    failed: { connect: 0, busy: 0, 'timed-out': 0, reset: 0, malformed: 0 },
    ejections: 0,
  };
}

export function countAnswer({ answered }: MemberMeter, status: number): void {
  answered[Math.min(answered.length, Math.floor(status / 100)) - 1]! += 1;
}
