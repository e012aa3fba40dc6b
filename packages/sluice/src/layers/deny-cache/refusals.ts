/**
 * The batches that were refused a moment ago, found by any of their checks that refused:
 *
 *      key of a check that refused ──► batches refused because of it ──► every check of the batch, and what each was told
 *
 * A batch is known only if it is the same in everything that the answer depends on. So what is answered from here is what
 * the store said, and nothing that was worked out from it.
 */
import type { Check } from '../../stores/store.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { isSamePolicy, type Policy } from '../../vocabulary/policy.ts';

export interface Refusal {
  readonly checks: readonly Check[];
  readonly decisions: readonly Decision[];
  /** When the batch was sent: the store answered then or later. */
  readonly sentMs: number;
  /** The last moment at which all of it is certain to hold still. */
  readonly untilMs: number;
}

// Costs and rules that one key was refused for. More of them push each other out.
const mostPerKey = 8;

// How many of the oldest keys are looked at for each new one.
const sweptPerKey = 2;

export class Refusals {
  private readonly byKey = new Map<string, Refusal[]>();
  private readonly maxKeys: number;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  get size(): number {
    return this.byKey.size;
  }

  find(checks: readonly Check[]): Refusal | undefined {
    for (const check of checks) {
      const refusals = this.byKey.get(check.key);
      if (refusals === undefined) continue;
      for (const refusal of refusals) if (isSameBatch(refusal.checks, checks)) return refusal;
    }
    return undefined;
  }

  /** The same for a plain check alone. */
  findOne(name: string, key: string, policy: Policy, cost: number, sinceMs: number | undefined): Refusal | undefined {
    const refusals = this.byKey.get(key);
    if (refusals === undefined) return undefined;
    for (const refusal of refusals) {
      const { checks } = refusal;
      const check = checks[0] as Check;
      if (checks.length === 1 && check.name === name && check.policy === policy && check.cost === cost) {
        const isCheck = check.operation === undefined || check.operation === 'check';
        if (isCheck && !check.shadow && check.maxDelayMs === undefined && check.sinceMs === sinceMs) return refusal;
      }
    }
    return undefined;
  }

  /** Keeps a refusal under the keys of the checks that refused. */
  keep(refusal: Refusal, refusing: readonly Check[]): void {
    for (const { name, key, policy } of refusing) {
      const known = (this.byKey.get(key) ?? []).filter(
        // The key has been asked for under another policy since: what it was told under this one need not hold any more.
        (other) =>
          !isSameBatch(other.checks, refusal.checks) &&
          !other.checks.some(
            (check) => check.name === name && check.key === key && !isSamePolicy(check.policy, policy),
          ),
      );
      // Removed and added at the end: the oldest stay in front.
      this.byKey.delete(key);
      this.sweep(refusal.sentMs);
      this.byKey.set(key, [...known.slice(1 - mostPerKey), refusal]);
    }
  }

  /** Forgets what was refused because of this name's key. */
  drop(name: string, key: string): void {
    const refusals = this.byKey.get(key);
    if (refusals === undefined) return;
    for (const refusal of refusals) {
      if (refusal.checks.some((check) => check.name === name && check.key === key)) this.forget(refusal);
    }
  }

  forget(refusal: Refusal): void {
    for (const { key } of refusal.checks) {
      const refusals = this.byKey.get(key);
      if (!refusals?.includes(refusal)) continue;
      const left = refusals.filter((other) => other !== refusal);
      if (left.length === 0) this.byKey.delete(key);
      else this.byKey.set(key, left);
    }
  }

  /** Makes room for a key. All are kept for about as long, so the oldest are the first that are over. */
  private sweep(nowMs: number): void {
    let looked = 0;
    for (const [key, refusals] of this.byKey) {
      const isOver = refusals.every(({ untilMs }) => untilMs < nowMs);
      if (isOver || this.byKey.size >= this.maxKeys) this.byKey.delete(key);
      looked += 1;
      if (looked >= sweptPerKey && this.byKey.size < this.maxKeys) return;
    }
  }
}

function isSameBatch(a: readonly Check[], b: readonly Check[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (!isSameCheck(a[i]!, b[i]!)) return false;
  return true;
}

function isSameCheck(a: Check, b: Check): boolean {
  return (
    a === b ||
    (a.key === b.key &&
      a.name === b.name &&
      a.cost === b.cost &&
      (a.operation ?? 'check') === (b.operation ?? 'check') &&
      a.maxDelayMs === b.maxDelayMs &&
      a.sinceMs === b.sinceMs &&
      a.changedMs === b.changedMs &&
      (a.shadow ?? false) === (b.shadow ?? false) &&
      isSamePolicy(a.policy, b.policy))
  );
}
