/**
 * The first stage: may this call go at all? The limits answer; what they said is counted here.
 *
 *      call ──► limits ──► refused: that is its end
 *                   └────► allowed ──► after its delay ──► on to the next stage
 */
import type { Store } from 'sluice';
import { canDelay } from '../../policy-kinds.ts';
import type { AnswerBook } from '../answer-book.ts';
import type { Call } from '../calls.ts';
import { andThen, type Eventual } from '../eventual.ts';
import type { Limit, LimitOperation, Operation } from '../scenario.ts';
import type { Counter, Slices } from '../slices.ts';
import { type Findings, type Measures, mostInWords } from '../vocabulary.ts';
import type { World } from '../world.ts';
import { type Answer, type Deciding, deciding } from './deciding.ts';
import { LimitMeters } from './limit-meters.ts';
import type { OperationLog } from './operation-log.ts';
import { SteppedClock } from './stepped-clock.ts';

export interface Pass {
  readonly delayMs: number;
  /** Gives back what was taken for as long as the call is under way. */
  readonly release: ((atMs: number) => Eventual<void>) | undefined;
}

export interface LimitStageOptions {
  readonly limits: readonly Limit[];
  readonly world: World;
  readonly slices: Slices;
  readonly groups: readonly string[];
  readonly book: AnswerBook;
  /** No stage follows. */
  readonly isLast: boolean;
  readonly operations: readonly Operation[];
  readonly log: OperationLog;
  /** Where the numbers live, and what keeps those of this variant apart in it. Default: memory of its own. */
  readonly place: { readonly store: Store; readonly name: string } | undefined;
  /** Told what nobody waits for: the run goes on when it has come to an end. */
  readonly follow: (work: Eventual<void>) => void;
}

class Tally {
  asked = 0;
  allowed = 0;

  put(measures: Measures, of?: string): void {
    const { asked, allowed } = this;
    measures.put('asked', asked, of);
    measures.put('allowed', allowed, of);
    measures.put('refused', asked - allowed, of);
    measures.put('refusedRatio', asked === 0 ? 0 : (asked - allowed) / asked, of);
  }
}

export class LimitStage {
  private readonly deciding: Deciding;
  private readonly world: World;
  /** What the limits go by; the meters go by the world's. */
  private readonly clock: SteppedClock;
  private readonly follow: LimitStageOptions['follow'];
  private readonly log: OperationLog;
  /** How each holder of places gives back what it was given so far; kept only where an operation does it. */
  private readonly givenTo: Map<string, ((atMs: number) => Eventual<void>)[]> | undefined;
  private readonly book: AnswerBook;
  private readonly groups: readonly string[];
  private readonly series: Record<'arrived' | 'refused' | 'remaining', Counter>;
  /** Where stages follow, what passes them is drawn instead. */
  private readonly allowedSeries: Counter | undefined;
  private readonly delayedSeries: Counter | undefined;
  private readonly total = new Tally();
  private readonly byGroup: readonly Tally[];
  private readonly meters: LimitMeters;
  private readonly refusedKeys = new Set<string>();
  private readonly words: string[] = [];
  /** Of this slice: what was left to whoever had least. `Infinity` while nobody has asked. */
  private leastLeft = Number.POSITIVE_INFINITY;
  private latestKey = '';
  /** Of the call before, where answers come later. */
  private latestPass: Promise<unknown> | undefined;
  private allowedCost = 0;
  private hasCosts = false;
  private firstRefusalMs: number | undefined;
  private allowedBefore = 0;
  private delayed = 0;
  private delayMsSum = 0;
  private delayMsMax = 0;

  constructor(options: LimitStageOptions) {
    const { limits, world, slices, groups, book, isLast, operations, log, place, follow } = options;
    this.clock = new SteppedClock(world.clock);
    const later = (afterMs: number, action: (atMs: number) => Eventual<void>): void =>
      world.at(world.nowMs + afterMs, () => follow(action(this.clock.at(world.nowMs))));
    this.deciding = deciding({ limits, clock: this.clock, place, log, later });
    this.world = world;
    this.follow = follow;
    this.log = log;
    this.givenTo = operations.some((operation) => operation.do === 'release') ? new Map() : undefined;
    this.book = book;
    this.groups = groups;
    this.byGroup = groups.map(() => new Tally());
    this.allowedSeries = isLast ? slices.counter('allowed', 'allowed') : undefined;
    this.series = {
      arrived: slices.counter('arrived', 'arrived'),
      refused: slices.counter('refused', 'refused'),
      remaining: slices.counter('remaining', 'level'),
    };
    const isDelayed = limits.some(({ policy }) => canDelay(policy));
    this.delayedSeries = isDelayed ? slices.counter('delayed', 'delayed') : undefined;
    this.meters = new LimitMeters(limits, world);
  }

  /** `undefined`: it was refused. */
  enter(call: Call): Eventual<Pass | undefined> {
    const { key, cost, atMs } = call;
    const question = { key, cost, atMs: this.clock.at(atMs) };
    const asked = this.deciding.ask(question);
    if (!(asked instanceof Promise)) return this.passOf(call, asked);
    // In the order of the calls, whichever answer is here first.
    const pass = Promise.all([asked, this.latestPass]).then(([answer]) => this.passOf(call, answer));
    this.latestPass = pass;
    return pass;
  }

  private passOf(call: Call, { decision, delayMs, release }: Answer): Pass | undefined {
    const { atMs, key, group } = call;
    const { allowed } = decision;
    this.latestKey = key;
    this.leastLeft = Math.min(this.leastLeft, decision.remaining);
    this.count(call, allowed, delayMs);
    this.meters.flush(atMs);
    if (!allowed) {
      this.refusedKeys.add(key);
      return undefined;
    }
    if (group >= 0) this.byGroup[group]!.allowed += 1;
    const giveBack = this.meters.grant(call, delayMs, release && ((worldMs) => release(this.clock.at(worldMs))));
    if (giveBack) this.remember(this.deciding.holderOf(key), giveBack);
    return { delayMs, release: giveBack };
  }

  private remember(holder: string, giveBack: (atMs: number) => Eventual<void>): void {
    const given = this.givenTo?.get(holder);
    if (given) given.push(giveBack);
    else this.givenTo?.set(holder, [giveBack]);
  }

  operate(operation: LimitOperation): void {
    const { nowMs } = this.world;
    if (operation.do === 'set-clock') this.clock.step(operation.byMs);
    else if (operation.do === 'release') {
      const given = this.givenTo?.get(this.deciding.holderOf(operation.key)) ?? [];
      this.log.say('release', given.length);
      for (const giveBack of given) this.follow(giveBack(nowMs));
    } else {
      const granted = this.deciding.operate!(operation, this.clock.at(nowMs));
      this.follow(andThen(granted, (cost) => this.meters.take(operation.key, cost, nowMs)));
    }
  }

  private count({ atMs, cost, group }: Call, isAllowed: boolean, delayMs: number): void {
    this.book.say(isAllowed);
    if (this.words.length < mostInWords) this.words.push(isAllowed ? 'yes' : 'no');
    this.total.asked += 1;
    if (group >= 0) this.byGroup[group]!.asked += 1;
    if (cost !== 1) this.hasCosts = true;
    this.series.arrived.add(atMs);
    (isAllowed ? this.allowedSeries : this.series.refused)?.add(atMs);
    if (isAllowed) {
      this.total.allowed += 1;
      this.allowedCost += cost;
    } else if (this.firstRefusalMs === undefined) {
      this.firstRefusalMs = atMs;
      this.allowedBefore = this.total.allowed;
    }
    if (!isAllowed || delayMs <= 0) return;
    this.delayedSeries?.add(atMs);
    this.delayed += 1;
    this.delayMsSum += delayMs;
    this.delayMsMax = Math.max(this.delayMsMax, delayMs);
  }

  endOfSlice(slice: number): void {
    // While nobody asks, what was taken comes back: that is to be seen as well. Before anybody has, any key is as good as new.
    const left = Number.isFinite(this.leastLeft)
      ? this.leastLeft
      : this.deciding.remaining(this.latestKey, this.clock.at(this.world.nowMs));
    this.follow(andThen(left, (value) => this.series.remaining.set(slice, value)));
    this.leastLeft = Number.POSITIVE_INFINITY;
  }

  report({ measures, texts, notes }: Findings): void {
    this.total.put(measures);
    if (this.hasCosts) measures.put('allowedCost', this.allowedCost);
    if (this.refusedKeys.size > 1) measures.put('refusedKeys', this.refusedKeys.size);
    measures.put('firstRefusalMs', this.firstRefusalMs);
    if (this.firstRefusalMs !== undefined) measures.put('allowedBefore', this.allowedBefore);
    this.meters.report(measures);
    if (this.delayedSeries) {
      measures.put('delayed', this.delayed);
      measures.put('delayMsMean', this.delayed === 0 ? 0 : this.delayMsSum / this.delayed);
      measures.put('delayMsMax', this.delayMsMax);
    }
    if (this.book.isCompared) {
      measures.put('extraAllowed', this.book.extraAllowed);
      measures.put('extraRefused', this.book.extraRefused);
    }
    for (const [i, tally] of this.byGroup.entries()) tally.put(measures, this.groups[i]);
    texts.set('answers', this.words.join(' '));
    if (this.total.asked <= mostInWords) notes.push(`answers: ${this.words.join(' ')}`);
  }
}
