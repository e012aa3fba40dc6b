/**
 * A running service or gateway at one moment, for people who watch: what `GET /v1/status` answers once and `GET /v1/live` sends every second.
 * Counts only grow, from the start of the process on (a rule that comes back after a reload starts again): whoever wants a rate takes the
 * difference of two snapshots.
 */
import type { RefusedKey } from '../service/service.ts';

export interface LiveRule {
  /** A configured rule, or one of `namesBesideRules`. */
  readonly name: string;
  /** False for what is counted beside the configured rules: CL.THROTTLE, policies of requests, Envoy's descriptors. */
  readonly isConfigured: boolean;
  readonly allowed: number;
  readonly refused: number;
  readonly shadowRefused: number;
  readonly errors: number;
}

/** How long checks took: how many did not exceed each bound, and how many did exceed the last. */
export interface LiveDurations {
  readonly boundsMs: readonly number[];
  /** One more than there are bounds; not cumulated over the bounds. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface LiveStore {
  readonly type: string;
  /** Null: the store does not know. */
  readonly keys: number | null;
  readonly errors: number;
  readonly degraded: number;
  readonly evictedLiveKeys: number;
}

export interface LiveMember {
  readonly id: string;
  readonly address: string;
  readonly isSelf: boolean;
  readonly isLeaving: boolean;
}

export interface LiveCluster {
  readonly revision: number;
  readonly members: readonly LiveMember[];
  /** For each shard, places in `members`; -1: nobody. */
  readonly owners: readonly number[];
  readonly standbys: readonly number[];
}

export interface LiveUpstreamMember {
  readonly id: string;
  readonly circuit: 'closed' | 'open' | 'half-open' | 'none';
  /** Whether calls may go there at all, if only the few that a half-open circuit lets through. */
  readonly isUsable: boolean;
  readonly inFlight: number;
}

export interface LiveUpstream {
  readonly name: string;
  readonly members: readonly LiveUpstreamMember[];
}

/** Grow from the start of the process on. Whoever has asked for rules or overrides asks again when the number is another. */
export interface LiveRevision {
  /** With every configuration that was applied. */
  readonly rules: number;
  /** With every override that was put, removed, or dropped with its rule. One that runs out said when: `expiresAtMs`. */
  readonly overrides: number;
}

export interface LiveSnapshot {
  readonly kind: 'service' | 'gateway';
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly startedAtMs: number;
  readonly isReady: boolean;
  readonly notReadyBecause: string | null;
  readonly rules: readonly LiveRule[];
  readonly durations: LiveDurations;
  /** The most refused first. */
  readonly topRefused: readonly RefusedKey[];
  readonly store: LiveStore;
  /** Null: this is no node of a cluster. */
  readonly cluster: LiveCluster | null;
  /** The gateway's; empty for a service. */
  readonly upstreams: readonly LiveUpstream[];
  readonly revision: LiveRevision;
}
