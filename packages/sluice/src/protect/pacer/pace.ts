/**
 * How fast one key may be called, by what its server has said so far. The time that it is told never steps back.
 *
 *      nothing said, or plenty left     at once
 *      little left                      spread over the time it has to do for
 *      nothing left                     at the end of that time
 *      Retry-After                      when it is over, and a little later by chance
 *
 * Once such a time is over, nobody knows what there is: one call finds out, and the others wait for its answer. A time that is longer
 * than anybody should be kept waiting by one odd header is over after `maxBlockMs`.
 */
import { type InLine, Line } from '../line.ts';
import type { ParsedPolicy, ParsedRateLimit } from '../rate-limit-headers/parsed.ts';
import { Budget } from './budget.ts';

// Who finds out may take long for reasons of its own. After this the next one goes too.
const patienceMs = 1000;

const maxBudgets = 16;

/** A call that was made at that moment, and has not ended: its number, and its place among the others. */
export type CallUnderWay = InLine<{ readonly sequence: number; readonly atMs: number }>;

export class Pace {
  private readonly startBelow: number;
  private readonly maxBlockMs: number;
  private readonly random: () => number;
  private readonly budgets = new Map<string, Budget>();
  private sent = 0;
  private readonly underWay: Line<CallUnderWay['value']> = new Line();
  /** When the latest of those was made that have ended. */
  private madeMs = Number.NEGATIVE_INFINITY;
  private blockedUntilMs = Number.NEGATIVE_INFINITY;
  private isUnsure = false;
  /** The number of the call that finds out. */
  private scout: number | undefined;

  constructor(startBelow: number, maxBlockMs: number, random: () => number) {
    this.startBelow = startBelow;
    this.maxBlockMs = maxBlockMs;
    this.random = random;
  }

  /** Knows nothing that a new one would not, and waits for no answer. */
  isFresh(nowMs: number): boolean {
    this.catchUp(nowMs);
    return this.inFlight === 0 && !this.isUnsure && !this.isBlocked() && !this.hasBudget(nowMs);
  }

  /** How long the next call has to wait, or one behind so many others in line has to at least; 0 or less: not at all. */
  delayMs(nowMs: number, ahead = 0): number {
    this.catchUp(nowMs);
    const { inFlight, sentMs, startBelow } = this;
    let nextMs = this.isBlocked() ? this.blockedUntilMs : nowMs;
    let isOneOut = this.isUnsure && this.scout !== undefined;
    for (const budget of this.budgets.values()) {
      if (!budget.isOver(nowMs))
        nextMs = Math.max(nextMs, budget.nextMsBehind(ahead, inFlight, startBelow, sentMs, nowMs));
      else if (budget.isFilledBy(inFlight)) isOneOut = true;
    }
    if (isOneOut) nextMs = Math.max(nextMs, sentMs + patienceMs);
    return nextMs - nowMs;
  }

  /** Counts a call that is made now. */
  send(nowMs: number): CallUnderWay {
    this.sent += 1;
    for (const budget of this.budgets.values()) budget.add(nowMs);
    if (this.isUnsure) this.scout = this.sent;
    return this.underWay.add({ sequence: this.sent, atMs: nowMs });
  }

  /** A call of `send` was answered. What the answer says is for `learn`. */
  answered(call: CallUnderWay): void {
    this.end(call);
    this.madeMs = Math.max(this.madeMs, call.value.atMs);
  }

  /** A call of `send` has no answer. */
  unanswered(call: CallUnderWay): void {
    this.answered(call);
    // The server may have seen it all the same.
    for (const budget of this.budgets.values()) budget.addUntold();
  }

  /** A call of `send` was not made after all: its turn is somebody else's. */
  notMade(call: CallUnderWay): void {
    this.end(call);
    for (const budget of this.budgets.values()) budget.takeBack(call.value.atMs);
  }

  /** All that the server has said. Calls under way stay what they are. */
  forget(): void {
    this.budgets.clear();
    this.blockedUntilMs = Number.NEGATIVE_INFINITY;
    this.isUnsure = false;
    this.scout = undefined;
  }

  /** The server said this, in answer to the call of that number. */
  learn({ policies }: ParsedRateLimit, nowMs: number, sequence = this.sent): void {
    this.catchUp(nowMs);
    // It answers, and what it says or does not say counts from here on.
    this.isUnsure = false;
    const told = new Set<Budget>();
    for (const policy of policies) {
      const budget = this.budgetOf(policy, nowMs);
      budget?.read(policy, sequence, this.sent, nowMs);
      if (budget) told.add(budget);
    }
    for (const budget of this.budgets.values()) if (!told.has(budget)) budget.addUntold();
  }

  /** No call for so long, and longer by that share of it: no two should come back at the same moment. */
  block(forMs: number, longerBy: number, nowMs: number): void {
    const blockMs = Math.min(forMs, this.maxBlockMs) * (1 + longerBy);
    this.blockedUntilMs = Math.max(this.blockedUntilMs, nowMs + blockMs);
  }

  private get inFlight(): number {
    return this.underWay.length;
  }

  /** When the latest call was made. */
  private get sentMs(): number {
    return Math.max(this.madeMs, this.underWay.last?.value.atMs ?? Number.NEGATIVE_INFINITY);
  }

  private end(call: CallUnderWay): void {
    this.underWay.remove(call);
    if (this.scout === call.value.sequence) this.scout = undefined;
  }

  private isBlocked(): boolean {
    return this.blockedUntilMs > Number.NEGATIVE_INFINITY;
  }

  private hasBudget(nowMs: number): boolean {
    return [...this.budgets.values()].some((budget) => !budget.isOver(nowMs));
  }

  /** Does what time alone has brought about. */
  private catchUp(nowMs: number): void {
    if (this.isBlocked() && nowMs >= this.blockedUntilMs) {
      this.blockedUntilMs = Number.NEGATIVE_INFINITY;
      this.isUnsure = true;
    }
    for (const budget of this.budgets.values()) {
      if (budget.hasEnded(nowMs) && budget.isTight(this.inFlight, this.startBelow)) this.isUnsure = true;
    }
  }

  /** The budget that a policy speaks of; none where it says nothing that calls can be spread by. */
  private budgetOf(policy: ParsedPolicy, nowMs: number): Budget | undefined {
    const { name, partitionKey = '', remaining, resetAfterMs, windowMs, unit } = policy;
    if (remaining === undefined || unit === 'concurrent-requests') return undefined;
    if (resetAfterMs === undefined && windowMs === undefined) return undefined;
    const id = `${name}\n${partitionKey}`;
    const known = this.budgets.get(id);
    if (known) return known;
    if (this.budgets.size === maxBudgets && !this.forgetOne(nowMs)) return undefined;
    const budget = new Budget(this.maxBlockMs, this.random);
    this.budgets.set(id, budget);
    return budget;
  }

  /** Whether there was one to forget: its time is over. */
  private forgetOne(nowMs: number): boolean {
    for (const [id, budget] of this.budgets) if (budget.isOver(nowMs)) return this.budgets.delete(id);
    return false;
  }
}
