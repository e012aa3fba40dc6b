/**
 * One limit of the server, as its headers told it: so many calls are left, and have to do until an end.
 *
 *      read                                                        end
 *       ├──────┬──────┬──────┬──────┬──────┬──────┬──────┬──────────┤
 *       sent   ·      ·      ·      ·      ·      ·      ·            7 left: one every eighth of the time
 *
 * Each answer brings a new count, so the spacing follows what is true. In a bucket that is refilled meanwhile it settles at the rate
 * of the refill. Two things the count does not say, and they are worked out from one answer to the next:
 *
 * - Others live on the same budget. Where so many more were used than were called from here, what is left is shared with them.
 * - The window slides: its end is always a whole window away, and what is used comes back one by one before that. Spread over all of
 *   that time, only half of the limit would ever be used. What was called from here is known, and so is when it comes back.
 */
import type { ParsedPolicy } from '../rate-limit-headers/parsed.ts';
import { SentCalls } from './sent-calls.ts';

// Headers round an end up to whole seconds. Two ends closer than that may be the same one, and the earlier is nearer to the truth.
const roundingMs = 1000;

// How much the latest answer says about how many there are on the budget.
const crowdWeight = 0.2;

// What comes back does so by the server's clock, after calls that take longer and shorter ways. Without a little in reserve, one
// that comes too early finds nothing left, and then nothing goes until the end.
const reserve = 0.05;

// One odd count must not make it seem that a budget is shared with millions: nobody would make a second call in a window then, and
// without one nobody finds out otherwise. (Nor can more than the limit have been used.)
const maxCrowd = 1000;

export class Budget {
  private readonly maxBlockMs: number;
  private readonly random: () => number;
  /** The number of the call whose answer counts, and of the last that was made before that answer came. */
  private sequence = -1;
  private sequenceAtAnswer = -1;
  private remaining = 0;
  private limit = 0;
  private cost = 1;
  /** Calls take from it, those under way as well. Of anything else, only that nothing is left matters. */
  private isOfCalls = true;
  /** Calls that ended since without an answer that told about it. The server may have counted them. */
  private untold = 0;
  private endMs = Number.NEGATIVE_INFINITY;
  private isNoticed = true;
  /** How many calls the server counts for one from here: more than 1 where others live on it too. */
  private crowd = 1;
  /** What decides about a part of a call, anew with each answer. */
  private luck = 0;
  private windowMs: number | undefined;
  private sent: SentCalls | undefined;
  /** Since when every answer said that the end is a window away or more. */
  private isFullSinceMs = Number.POSITIVE_INFINITY;
  /** It comes back little by little, as far as can be told: its end is no further away than that would take. */
  private mayRefill = false;
  private readMs = 0;
  /** When the server last said anything about it. */
  private toldMs = Number.NEGATIVE_INFINITY;

  constructor(maxBlockMs: number, random: () => number) {
    this.maxBlockMs = maxBlockMs;
    this.random = random;
  }

  /** Takes over what the answer to a call says; `lastSequence` is the number of the last call that was made by now. */
  read(policy: ParsedPolicy, sequence: number, lastSequence: number, nowMs: number): void {
    const { remaining = 0, resetAfterMs, windowMs, limit, cost = 1, unit } = policy;
    const isKnown = !this.isOver(nowMs);
    this.toldMs = nowMs;
    const lengthMs = resetAfterMs ?? windowMs ?? 0;
    if (isKnown && sequence <= this.sequenceAtAnswer) {
      // Both were under way at once. Which of them the server counted last cannot be known, so only bad news counts.
      if (remaining < this.remaining) this.endMs = Math.max(this.endMs, nowMs + lengthMs);
      this.remaining = Math.min(this.remaining, remaining);
      return;
    }
    const own = (sequence - this.sequence) * this.cost;
    const used = this.remaining - remaining;
    if (isKnown && used > 0) {
      const many = Math.max(1, Math.min(maxCrowd, this.limit, used / Math.max(1, own)));
      this.crowd += crowdWeight * (many - this.crowd);
    }
    // Where something came back, a new window may have begun before the end of the last was due.
    const isSameEnd = isKnown && used >= own && this.endMs > nowMs + lengthMs - roundingMs;
    this.endMs = isSameEnd ? Math.min(this.endMs, nowMs + lengthMs) : nowMs + lengthMs;
    this.isNoticed = false;
    this.sequence = sequence;
    this.sequenceAtAnswer = lastSequence;
    this.remaining = remaining;
    this.cost = Math.max(1, cost);
    // Where the server does not say, the most that was ever left.
    this.limit = limit || Math.max(this.limit, remaining);
    this.isOfCalls = unit === undefined;
    this.untold = 0;
    this.luck = this.random();
    this.readMs = nowMs;
    this.slide(windowMs, lengthMs, nowMs);
  }

  /** A call was made. */
  add(nowMs: number): void {
    this.sent?.add(nowMs);
  }

  /** A call that was added was not made after all. */
  takeBack(atMs: number): void {
    this.sent?.takeBack(atMs);
  }

  /** A call ended, and the server said nothing about this budget. */
  addUntold(): void {
    this.untold += 1;
  }

  /** Nobody has said what there is now. */
  isOver(nowMs: number): boolean {
    return nowMs >= this.believedUntilMs();
  }

  /** Whether it is over since the last time that somebody asked. */
  hasEnded(nowMs: number): boolean {
    if (this.isNoticed || !this.isOver(nowMs)) return false;
    this.isNoticed = true;
    return true;
  }

  /** Even if all of it has come back, that many calls under way would use it up. */
  isFilledBy(inFlight: number): boolean {
    // Where nothing was ever left, nobody knows how much that is.
    return this.isOfCalls && this.limit > 0 && inFlight * this.cost >= this.limit;
  }

  /** So little is left that it has to be spread. */
  isTight(inFlight: number, startBelow: number): boolean {
    const left = this.left(inFlight);
    return left < 1 || left * this.cost < startBelow * this.limit;
  }

  /** When the next call may be made, after one at `sentMs`. */
  nextMs(inFlight: number, startBelow: number, sentMs: number): number {
    return Math.min(this.believedUntilMs(), this.toldNextMs(inFlight, startBelow, sentMs));
  }

  /** When somebody behind so many others in line may go at the earliest, by what is known now. */
  nextMsBehind(ahead: number, inFlight: number, startBelow: number, sentMs: number, nowMs: number): number {
    const firstMs = this.nextMs(inFlight, startBelow, sentMs);
    if (ahead === 0 || !this.isOfCalls) return firstMs;
    const own = Math.max(0, this.own(inFlight));
    const callsOfLimit = Math.max(1, this.limit / this.cost / this.crowd);
    // Each window after this one has to do for as many as the limit, and may begin a rounding earlier than it was told.
    const windows = Math.floor(Math.max(0, ahead - own) / callsOfLimit);
    let atMs = this.endMs + Math.max(0, windows * (this.windowMs ?? 0) - roundingMs);
    if (ahead < own || this.isSliding())
      atMs = Math.min(atMs, this.spreadMs(ahead, own, inFlight, startBelow, sentMs, nowMs));
    // What is left was told in whole units: of the next one nearly all may have been there.
    if (this.mayRefill) atMs = Math.min(atMs, this.readMs + ((ahead - own) * this.windowMs!) / callsOfLimit);
    return Math.max(firstMs, Math.min(atMs, this.toldMs + this.maxBlockMs));
  }

  private toldNextMs(inFlight: number, startBelow: number, sentMs: number): number {
    const own = this.own(inFlight);
    if (own < 1) return this.endMs;
    if (sentMs === Number.NEGATIVE_INFINITY || !this.isTight(inFlight, startBelow)) return Number.NEGATIVE_INFINITY;
    return sentMs + this.spacingMs(own, sentMs);
  }

  /** The first of those in line go at once while there is plenty, and the rest at equal distances. */
  private spreadMs(
    ahead: number,
    own: number,
    inFlight: number,
    startBelow: number,
    sentMs: number,
    nowMs: number,
  ): number {
    const left = this.left(inFlight);
    const plenty = Math.min(left, Math.floor(left - (startBelow * this.limit) / this.cost) + 1);
    const atOnce = Math.max(sentMs === Number.NEGATIVE_INFINITY ? 1 : 0, plenty);
    if (ahead < atOnce) return Number.NEGATIVE_INFINITY;
    const fromMs = atOnce > 0 ? nowMs : sentMs;
    return fromMs + (ahead - atOnce + 1) * this.spacingMs(Math.max(0, own - atOnce), fromMs);
  }

  private spacingMs(own: number, sentMs: number): number {
    return this.isSliding() ? this.slidingSpacingMs(own, sentMs) : (this.endMs - sentMs) / (own + 1);
  }

  /** Its end, or when what was said about it is too long ago to keep anybody waiting. */
  private believedUntilMs(): number {
    return Math.min(this.endMs, this.toldMs + this.maxBlockMs);
  }

  /** How many of the calls that are left are for us. */
  private own(inFlight: number): number {
    // A part of a call is one by chance: many who each own a part of the last call do not all make it.
    return Math.floor(this.left(inFlight) / this.crowd + (this.crowd > 1 ? this.luck : 0));
  }

  /** How many more calls may be made before the end. */
  private left(inFlight: number): number {
    if (!this.isOfCalls) return this.remaining > 0 ? Number.POSITIVE_INFINITY : 0;
    return Math.floor(this.remaining / this.cost) - inFlight - this.untold;
  }

  private slide(windowMs: number | undefined, lengthMs: number, nowMs: number): void {
    if (windowMs !== this.windowMs) this.sent = windowMs === undefined ? undefined : new SentCalls(windowMs);
    this.windowMs = windowMs;
    const isFull = windowMs !== undefined && lengthMs >= windowMs;
    const refillMs = ((this.limit - this.remaining) / this.limit) * (windowMs ?? 0);
    this.mayRefill = this.isOfCalls && lengthMs <= refillMs + roundingMs && windowMs !== undefined;
    this.isFullSinceMs = isFull ? Math.min(this.isFullSinceMs, nowMs) : Number.POSITIVE_INFINITY;
  }

  /** In its first second the end of a window that does not slide is a whole window away too. */
  private isSliding(): boolean {
    return this.readMs - this.isFullSinceMs > roundingMs;
  }

  /** The shortest spacing by which there is always one left until the next comes back. */
  private slidingSpacingMs(own: number, sentMs: number): number {
    const sent = this.sent!;
    // Of what comes back to all, that part is ours which we have used.
    const share = Math.min(1, sent.total(sentMs) / Math.max(1, this.limit - this.remaining));
    let calls = own - Math.floor(reserve * this.limit);
    let spacingMs = 0;
    sent.forEach(sentMs, (count, backInMs) => {
      spacingMs = Math.max(spacingMs, backInMs / Math.max(1, calls));
      calls += count * share;
    });
    return Math.max(spacingMs, this.windowMs! / Math.max(1, calls));
  }
}
