/** The history as an auditor needs it: every grant that was used, at the true time of its use, and every decision, at the time it was made. */
import type { Decision } from 'sluice';
import type { Asked, Operation } from './simulated-node.ts';

/** A grant that a caller used. */
export interface Use extends Asked {
  readonly atMs: number;
  /** When it was asked for first: it was decided no earlier. */
  readonly askedMs: number;
  /** Of the configuration that it was granted by. */
  readonly version: number;
  /** How many shards had lost what was counted before, when it was used. */
  readonly statesLost: number;
  /** Of a lease: when its holder stopped to rely on it. Later, if it is renewed, and sooner, if it is given back. */
  endMs?: number;
}

/** Something that was done to a key beside asking for it: it may have freed what was used, taken more, or forbidden everything. */
export interface Intervention extends Asked {
  readonly operation: Operation;
  /** It was carried out no earlier. */
  readonly fromMs: number;
  /**
   * And no later; unless it was answered, nobody knows whether it ever is. Who has lost what was counted has lost what was done, and does it once more if it
   * is sent again.
   */
  toMs: number;
  readonly durationMs: number;
  /** How many shards had lost what was counted before, when it was sent. */
  readonly statesLost: number;
}

/** A decision that a node made between two moments, whether the caller heard of it or not. */
export interface Decided extends Asked {
  readonly fromMs: number;
  readonly toMs: number;
  readonly allowed: boolean;
  readonly reason: string | undefined;
  readonly version: number;
  /** One of several rules about one request: it may be refused for another's sake. */
  readonly isOneOfMany: boolean;
}

/** A question that a node could not answer, though some may have carried out a part. */
export interface Failure {
  readonly asked: readonly Asked[];
  readonly code: string;
  readonly atMs: number;
  /** Who asked had no answer yet, and had not given up: it is no answer to what was asked again needlessly. */
  readonly isAwaited: boolean;
}

export class Ledger {
  readonly uses: Use[] = [];
  readonly interventions: Intervention[] = [];
  readonly decisions: Decided[] = [];
  /** Every question, at the time it was sent first. */
  readonly asked: { readonly asked: readonly Asked[]; readonly atMs: number }[] = [];
  /** Grants that came too late to be used. */
  dropped = 0;
  readonly failures: Failure[] = [];
  /** By reason. */
  readonly refusals = new Map<string, number>();
  readonly #byQuestion = new Map<string, readonly Intervention[]>();

  used(use: Use): Use {
    this.uses.push(use);
    return use;
  }

  /** By which question something is done. */
  asks(id: string, interventions: readonly Intervention[]): void {
    if (interventions.length > 0) this.#byQuestion.set(id, interventions);
  }

  /** An owner has answered a question that is no demand, for the first time or again. */
  answered(id: string, atMs: number, statesLost: number): void {
    for (const intervention of this.#byQuestion.get(id) ?? [])
      if (intervention.statesLost !== statesLost) intervention.toMs = Math.max(intervention.toMs, atMs);
  }

  intervened(intervention: Intervention): Intervention {
    this.interventions.push(intervention);
    return intervention;
  }

  decided(
    asked: readonly Asked[],
    decisions: readonly Decision[],
    version: number,
    fromMs: number,
    toMs: number,
  ): void {
    for (const [i, { allowed, reason }] of decisions.entries()) {
      this.decisions.push({
        ...asked[i]!,
        fromMs,
        toMs,
        allowed,
        reason,
        version,
        isOneOfMany: asked.length > 1,
      });
      if (!allowed) this.refusals.set(reason ?? 'limit', (this.refusals.get(reason ?? 'limit') ?? 0) + 1);
    }
  }
}
