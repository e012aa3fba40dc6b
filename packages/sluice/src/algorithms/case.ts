/**
 * A case is a timeline of calls on one key with what each must be answered. Every algorithm has its own beside it in
 * `cases.ts`; every store has to pass all of them.
 */
import type { Policy } from '../vocabulary/policy.ts';

export interface Case {
  /** A sentence of the specification. */
  readonly name: string;
  readonly policy: Policy;
  readonly rows: readonly Row[];
}

/** The last two are compared only where they are given. */
export type Row = readonly [
  atMs: number,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAfterMs?: number,
  delayMs?: number,
];
