/**
 * What one key has on loan: a few loans, each with an end of its own, and how much to borrow next.
 *
 *      size   1 ─ 2 ─ 4 ─ 8 ─ 8 ─ 4 ─ 4         doubles when a slice ran out before its lease was over,
 *                         └ mostly unspent      halves when most of it went back
 */
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { LeaseClock, type Stamp } from './lease-clock.ts';
import type { Lending } from './lending.ts';

export interface Loan {
  readonly cost: number;
  readonly receipt: Receipt | undefined;
  /** When the question was sent: the store charged no earlier. */
  readonly sent: Stamp;
  /** How long after that it may be spent. */
  lastsMs: number;
  /** The same for what is not spent at once by the call that it was borrowed for. */
  readonly keepsMs: number;
  left: number;
}

/** When the store was asked to lend, and how many orders about the key had been carried out by then. */
export interface Asked {
  readonly sent: Stamp;
  readonly orders: number;
}

/** The store had not as much as this when it was asked. */
export interface Refusal {
  readonly sent: Stamp;
  readonly missing: number;
  readonly decision: Decision;
  /** How long after that it need not be asked again. */
  readonly lastsMs: number;
}

// Sums of fractional costs round; less than this is nothing.
const dust = 1e-9;

export class Slice {
  readonly name: string;
  readonly key: string;
  /** The policy as the caller knows it. */
  readonly policy: Policy;
  readonly lending: Lending;
  /** The order of loans is that of their ends, or nearly. */
  loans: Loan[] = [];
  size: number;
  refusal: Refusal | undefined;
  /** What the store said last, and when it was asked. */
  latest: Decision | undefined;
  asked: Stamp | undefined;
  /** When it last lent something. */
  lent: Stamp | undefined;
  /** Resolves when the last in line has had its turn; undefined when nobody is in line. */
  lineEnd: Promise<void> | undefined;
  /** How many orders about the key were carried out. What was asked for before the latest of them is not kept. */
  orders = 0;
  /** What those in line are going to ask for. */
  queued = 0;
  /** Who came no later than this and finds nothing here gets the same error. */
  failedUpTo = 0;
  error: unknown;

  constructor(name: string, key: string, policy: Policy, lending: Lending, size: number) {
    this.name = name;
    this.key = key;
    this.policy = policy;
    this.lending = lending;
    this.size = size;
  }

  /** What may be spent at this moment. */
  left(now: Stamp): number {
    let left = 0;
    for (const loan of this.loans) if (isLive(loan, now)) left += loan.left;
    return left;
  }

  /** What has to be borrowed for a call of this cost; 0 when there is enough. */
  missing(cost: number, now: Stamp): number {
    // More than there can ever be is the store's to refuse, in full.
    if (cost > this.lending.most) return cost;
    const missing = cost - this.left(now);
    return missing > dust ? missing : 0;
  }

  /** Takes a cost that is there. */
  spend(cost: number, now: Stamp): void {
    let rest = cost;
    for (const loan of this.loans) {
      if (!isLive(loan, now)) continue;
      const part = Math.min(rest, loan.left);
      loan.left -= part;
      rest -= part;
      if (rest <= dust) break;
    }
    while (this.loans.length > 0 && this.loans[0]!.left <= dust) this.loans.shift();
  }

  shrink(minSlice: number): void {
    this.size = Math.max(minSlice, Math.floor(this.size / 2));
  }

  /** What is left of the loans from now on is kept for later. */
  keep(): void {
    for (const loan of this.loans) loan.lastsMs = Math.min(loan.lastsMs, loan.keepsMs);
  }

  /** Whether it is known that the store has not that much. */
  isRefused(missing: number, now: Stamp): boolean {
    const { refusal } = this;
    if (!refusal || missing < refusal.missing - dust) return false;
    return LeaseClock.passedMs(refusal.sent, now) < refusal.lastsMs;
  }

  /** Takes out the loans that are over, or all of them. From here on nobody can spend them. */
  takeOut(now?: Stamp): Loan[] {
    const out = this.loans.filter((loan) => now === undefined || !isLive(loan, now));
    if (out.length > 0) this.loans = this.loans.filter((loan) => !out.includes(loan));
    return out;
  }
}

/** Asked at every decision, in the same turn that spends: whoever was stopped and goes on finds that its lease is over. */
function isLive({ sent, lastsMs }: Loan, now: Stamp): boolean {
  return LeaseClock.passedMs(sent, now) < lastsMs;
}
