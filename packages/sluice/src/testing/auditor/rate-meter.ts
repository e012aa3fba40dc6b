/**
 * Buckets: over any time t at most `burst + rate * t`. Time is counted in what drains in it, so that whole costs and whole
 * milliseconds do not round: one unit of cost is `unit` parts, one millisecond drains `drain` parts.
 */
import { type BucketNumbers, bucketNumbers } from '../../algorithms/bucket.ts';
import { EarliestFirst } from './earliest-first.ts';
import { fillOf, type Meter } from './meter.ts';
import type { RateClause } from './promise.ts';

// Sums beyond this are taken anew from a later origin, while their parts are still exact.
const largestSum = 2 ** 44;

abstract class RateMeter implements Meter {
  used = 0;
  most = 0;
  fromMs = 0;
  toMs = 0;
  fill = 0;
  quietMs = Number.NEGATIVE_INFINITY;
  protected readonly numbers: BucketNumbers;
  readonly #clause: RateClause;
  #largest = 0;

  constructor(clause: RateClause) {
    this.#clause = clause;
    // A bucket of nothing (a call goes first, and the next one pays) has no numbers; its size plays no part in them.
    this.numbers = bucketNumbers(clause.limit, clause.windowMs, clause.burst || 1);
  }

  take(arriveMs: number, leaveMs: number, cost: number): void {
    // Whatever is left out below, its size is not: the promise allows one call more, the largest so far.
    this.#largest = Math.max(this.#largest, cost);
    this.weigh(arriveMs, leaveMs, cost);
  }

  protected abstract weigh(arriveMs: number, leaveMs: number, cost: number): void;

  /** `level` parts are more than what drained between the two moments. */
  protected report(level: number, fromMs: number, toMs: number): void {
    const { unit, drain } = this.numbers;
    const room = this.#clause.burst + (this.#clause.lends ? this.#largest : 0);
    const drained = ((toMs - fromMs) * drain) / unit;
    this.used = level / unit + drained;
    this.most = room + drained;
    this.fromMs = fromMs;
    this.toMs = toMs;
    this.fill = fillOf(level / unit, room);
    this.quietMs = Math.max(this.quietMs, toMs + Math.max(0, level) / drain);
  }
}

/**
 * In the order in which intervals end. The most, over all beginnings, of what began since then less what drained since then:
 *
 *      total - min over i of ( spent before i - drained before i )  -  drained until now
 *
 * The uses are kept in the order of their beginnings with the running minimum beside them. One that ends late but began
 * early is put in its place; only what stands behind it changes.
 */
export class CertainRateMeter extends RateMeter {
  /** Uses whose moment is more uncertain than this are left out: a set with one of them has hardly anything to prove. */
  readonly #longestMs: number;
  #originMs = Number.NaN;
  #total = 0;
  #begins: number[] = [];
  #costs: number[] = [];
  /** What was spent before, less what drained before: parts. */
  #lows: number[] = [];
  #lowestFromMs: number[] = [];
  #head = 0;

  constructor(clause: RateClause) {
    super(clause);
    this.#longestMs = clause.windowMs + (clause.burst * clause.windowMs) / clause.limit;
  }

  protected weigh(arriveMs: number, leaveMs: number, cost: number): void {
    if (arriveMs - leaveMs > this.#longestMs) return;
    if (Number.isNaN(this.#originMs)) this.#originMs = leaveMs;
    this.#forgetBefore(arriveMs - this.#longestMs);
    this.#insert(leaveMs, cost * this.numbers.unit);
    const last = this.#begins.length - 1;
    const drained = (arriveMs - this.#originMs) * this.numbers.drain;
    this.report(this.#total - this.#lows[last]! - drained, this.#lowestFromMs[last]!, arriveMs);
    if (Math.abs(drained) > largestSum || this.#total > largestSum) this.#moveOrigin(leaveMs);
  }

  #insert(beginMs: number, parts: number): void {
    let i = this.#begins.length;
    this.#begins.push(beginMs);
    this.#costs.push(parts);
    this.#lows.push(0);
    this.#lowestFromMs.push(0);
    for (; i > this.#head && this.#begins[i - 1]! > beginMs; i -= 1) {
      this.#begins[i] = this.#begins[i - 1]!;
      this.#costs[i] = this.#costs[i - 1]!;
    }
    this.#begins[i] = beginMs;
    this.#costs[i] = parts;
    this.#total += parts;
    let spent = this.#total;
    for (let later = this.#begins.length - 1; later >= i; later -= 1) spent -= this.#costs[later]!;
    for (; i < this.#begins.length; i += 1) {
      const low = spent - (this.#begins[i]! - this.#originMs) * this.numbers.drain;
      const isLowest = i === 0 || low < this.#lows[i - 1]!;
      this.#lows[i] = isLowest ? low : this.#lows[i - 1]!;
      this.#lowestFromMs[i] = isLowest ? this.#begins[i]! : this.#lowestFromMs[i - 1]!;
      spent += this.#costs[i]!;
    }
  }

  /** Nothing can come in before these any more. The last of them keeps the running minimum. */
  #forgetBefore(beginMs: number): void {
    while (this.#head < this.#begins.length - 1 && this.#begins[this.#head + 1]! < beginMs) this.#head += 1;
    if (this.#head < 64 || this.#head * 2 < this.#begins.length) return;
    for (const list of [this.#begins, this.#costs, this.#lows, this.#lowestFromMs]) list.splice(0, this.#head);
    this.#head = 0;
  }

  #moveOrigin(originMs: number): void {
    const drained = (originMs - this.#originMs) * this.numbers.drain;
    const spent = this.#total;
    this.#lows = this.#lows.map((low) => low - spent + drained);
    this.#total = 0;
    this.#originMs = originMs;
  }
}

/**
 * In the order in which intervals begin. A use may be as late as its end, so the bucket gets it only then; and as early as its
 * beginning, so until then all of it counts on top.
 */
export class PossibleRateMeter extends RateMeter {
  readonly #underWay = new EarliestFirst();
  #level = 0;
  #levelMs = Number.NEGATIVE_INFINITY;
  #emptyMs = Number.NEGATIVE_INFINITY;

  protected weigh(arriveMs: number, leaveMs: number, cost: number): void {
    while (this.#underWay.firstMs < arriveMs) {
      this.#drainUntil(this.#underWay.firstMs);
      this.#level += this.#underWay.remove();
    }
    this.#drainUntil(arriveMs);
    this.#underWay.add(leaveMs, cost * this.numbers.unit);
    this.report(this.#level + this.#underWay.sum, this.#emptyMs, arriveMs);
    this.quietMs = Math.max(this.quietMs, leaveMs + (this.#level + this.#underWay.sum) / this.numbers.drain);
  }

  #drainUntil(nowMs: number): void {
    const left = this.#level - (nowMs - this.#levelMs) * this.numbers.drain;
    if (left <= 0) this.#emptyMs = nowMs;
    this.#level = Math.max(0, left);
    this.#levelMs = nowMs;
  }
}
