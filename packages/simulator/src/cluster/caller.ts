/**
 * Somebody who asks before doing something, and does it when told yes.
 *
 *      asks ─────► answer ─── older than g since it was sent? ──► dropped; what was reserved is given back
 *                               └── no ──► used, at once or a moment later; of what was reserved the rest is given back
 *
 * The age counts from the first sending, on the caller's own clock: an answer to a question that was asked again may be the answer
 * to the first. Now and then it does something else to a key: looks at it, forbids it, gives back, takes more.
 */
import type { Random } from '../random.ts';
import { type Decisions, type Errand, Errands, type ErrandsOptions, type Heard, type Wish } from './errands.ts';
import type { Host, Run } from './host.ts';
import { LeaseHolder } from './lease-holder.ts';
import type { Intervention } from './ledger.ts';
import { type Asked, isLeased, type Operation, type Question } from './simulated-node.ts';
import type { World } from './world.ts';

export interface CallerOptions extends ErrandsOptions {
  /** The mean time between two questions. */
  readonly gapMs: number;
  /** The share of questions that come as several at once. */
  readonly burstShare: number;
  /** The share that goes to any node, which asks the owner; the others follow redirections, as Redis Cluster clients do. */
  readonly forwardedShare: number;
  /** The share of grants that is not used at once, but later within `g`. */
  readonly lateShare: number;
  /** The share that is reserved; of these some are used, some in part, some not at all, and some more than was reserved. Default none. */
  readonly reservedShare?: number;
  /** The share that takes what there is. Default none. */
  readonly takenShare?: number;
  /** The share that is no demand at all, and until when there is any. Default none. */
  readonly interventions?: { readonly share: number; readonly untilMs: number };
  /** What is asked for. */
  readonly demand: () => readonly Asked[];
}

// How long something may be under way that was reserved, on average.
const settledAfterMs = 100;
// Of what is done to several keys: one of them is only asked for, and the others' lot hangs on that.
const mixedShare = 0.3;
// Long enough for an owner to be lost and replaced meanwhile.
const blockMsMax = 1400;

export class Caller {
  readonly #world: World;
  readonly #host: Host;
  readonly #run: Run;
  readonly #random: Random;
  readonly #options: CallerOptions;
  readonly #errands: Errands;
  readonly #holder: LeaseHolder;

  constructor(world: World, host: Host, options: CallerOptions) {
    this.#world = world;
    this.#host = host;
    this.#run = host.boot();
    this.#random = world.random.fork();
    this.#options = options;
    this.#errands = new Errands(world, host, this.#run, this.#random, options);
    this.#holder = new LeaseHolder(world, host, this.#run, this.#random, this.#errands);
  }

  /** Asks again and again. */
  start(): void {
    const { gapMs, burstShare, demand } = this.#options;
    const next = () => {
      const times = this.#random.uniform() < burstShare ? 2 + this.#random.integer(5) : 1;
      for (let i = 0; i < times; i += 1) this.ask(demand());
      this.#host.clockOf(this.#run).after(this.#random.exponential(gapMs * (1 + burstShare * 3)), next);
    };
    next();
  }

  ask(asked: readonly Asked[], wish: Wish = {}): void {
    const isForwarded = asked.length > 1 || this.#random.uniform() < this.#options.forwardedShare;
    const door = wish.door ?? (isForwarded ? 'http' : 'resp');
    const intervention = this.#intervention(asked);
    if (intervention !== undefined) {
      this.#intervene({ door, asked, ...intervention }, wish);
      return;
    }
    const wanted = this.#wanted(asked);
    this.#world.ledger.asked.push({ asked: wanted.asked, atMs: this.#world.loop.nowMs });
    this.#errands.go({ door, ...wanted }, (answer, errand) => this.#hear(answer, errand), wish);
  }

  /** In which way it is asked for, and how much. */
  #wanted(asked: readonly Asked[]): Pick<Question, 'asked' | 'operation'> {
    const { reservedShare = 0, takenShare = 0 } = this.#options;
    if (reservedShare > 0 && this.#random.uniform() < reservedShare)
      return { asked: asked.map((one) => this.#muchOf(one)), operation: 'reserve' };
    if (takenShare === 0 || asked.some((one) => this.#isLease(one))) return { asked };
    return this.#random.uniform() < takenShare ? { asked, operation: 'take' } : { asked };
  }

  /** Anything up to all there may be at once: what gives back much shows most when it does so twice. But whoever renews all places leaves none. */
  #muchOf(asked: Asked): Asked {
    if (this.#isLease(asked)) return asked;
    const { rule, key } = asked;
    const { limit, burst = limit } = this.#world.policyOf(rule, 0);
    return { rule, key, cost: 1 + this.#random.integer(Math.min(limit, burst)) };
  }

  #isLease({ rule }: Asked): boolean {
    return isLeased(this.#world.policyOf(rule, 0));
  }

  #hear(answer: Decisions, errand: Errand): void {
    const { decisions, version } = answer;
    const { asked, operation, checked } = errand.question;
    if (!decisions.every(({ allowed }) => allowed)) return;
    const granted = asked.slice(0, checked).map((one, i) => ({
      ...one,
      cost: decisions[i]!.granted ?? one.cost,
      decision: decisions[i]!,
    }));
    for (const one of granted.filter((each) => this.#isLease(each)))
      this.#holder.hold(one, one.decision.receipt!, version, errand);
    const counted = granted.filter((one) => !this.#isLease(one));
    const used = operation === 'reserve' ? this.#settleLater(counted, errand) : counted;
    if (used.length > 0) this.#take(errand, used, version);
  }

  /** What is used of a reservation; the rest is given back after a while, or what it took beyond is said. */
  #settleLater(
    reserved: readonly (Asked & { readonly decision: Decisions['decisions'][number] })[],
    errand: Errand,
  ): readonly Asked[] {
    const manner = this.#random.integer(4);
    if (reserved.length === 0) return reserved;
    const isDropped = this.#errands.isTooOld(errand);
    if (manner === 0 && !isDropped) return reserved;
    const { door } = errand.question;
    const actuals = reserved.map(({ cost }) =>
      isDropped ? 0 : [0, this.#random.integer(cost), cost + 1][manner - 1]!,
    );
    const receipts = reserved.map(({ decision }) => decision.receipt!);
    const asked = reserved.map(({ rule, key, cost }) => ({ rule, key, cost }));
    const settle = { door, asked, operation: 'settle', actuals, receipts } as const;
    this.#host.clockOf(this.#run).after(this.#random.exponential(settledAfterMs), () => {
      const overrun = asked.map((one, i) => ({ ...one, cost: actuals[i]! - one.cost })).filter(({ cost }) => cost > 0);
      const noted = this.#note('penalize', overrun, 0);
      const id = this.#errands.go(settle, () => this.#carriedOut(noted), { isInsistent: true });
      this.#world.ledger.asks(id, noted);
    });
    return asked.flatMap((one, i) => (actuals[i]! > 0 ? [{ ...one, cost: Math.min(one.cost, actuals[i]!) }] : []));
  }

  /** Uses a grant now, or at a moment that is not too late. */
  #take(errand: Errand, used: readonly Asked[], version: number): void {
    const { graceMs } = this.#world.settings.shared;
    const ageMs = this.#errands.ageMs(errand);
    const isLate = ageMs < graceMs && this.#random.uniform() < this.#options.lateShare;
    const useAtAgeMs = errand.wish.useAtAgeMs ?? (isLate ? ageMs + (graceMs - ageMs) * this.#random.uniform() : 0);
    if (useAtAgeMs <= ageMs) this.#use(errand, used, version);
    else this.#host.clockOf(this.#run).after(useAtAgeMs - ageMs, () => this.#use(errand, used, version));
  }

  #use(errand: Errand, used: readonly Asked[], version: number): void {
    const { ledger, loop, statesLost } = this.#world;
    const { question, askedMs } = errand;
    if (this.#errands.isTooOld(errand)) {
      ledger.dropped += 1;
      return;
    }
    for (const { rule, key, cost } of used)
      ledger.used({ rule, key, cost, version, atMs: loop.nowMs, askedMs, statesLost });
    this.#world.tell(this.#host.name, `uses ${question.id}: ${used.map(nameOfAsked).join(' ')}`);
  }

  // --- What is no demand ---

  #intervention(asked: readonly Asked[]): { readonly operation: Operation; readonly durationMs?: number } | undefined {
    const { interventions } = this.#options;
    if (interventions === undefined || this.#random.uniform() >= interventions.share) return undefined;
    if (this.#world.loop.nowMs >= interventions.untilMs) return { operation: 'peek' };
    // Of leases nothing can be given back but by whoever has them.
    const all = ['peek', 'block', 'reset', 'penalize', 'penalize', 'reward'] as const;
    const operation = this.#random.pick(asked.some((one) => this.#isLease(one)) ? all.slice(0, 3) : all);
    return operation === 'block' ? { operation, durationMs: blockMsMax * this.#random.uniform() } : { operation };
  }

  #intervene(question: Omit<Question, 'id'> & { readonly operation: Operation }, wish: Wish): void {
    const { operation, asked, durationMs = 0 } = question;
    const isMixed = operation !== 'peek' && asked.length > 1 && this.#random.uniform() < mixedShare;
    const checked = isMixed ? 1 : 0;
    const noted = operation === 'peek' ? [] : this.#note(operation, asked.slice(checked), durationMs);
    const heard: Heard = (answer, errand) => {
      // Where the check is refused, nothing was done.
      if (isMixed && !answer.decisions.every(({ allowed }) => allowed)) return;
      this.#carriedOut(noted);
      if (isMixed) this.#hear(answer, errand);
    };
    const id = this.#errands.go({ ...question, checked }, heard, { ...wish, isInsistent: operation !== 'peek' });
    this.#world.ledger.asks(id, noted);
  }

  #note(operation: Operation, asked: readonly Asked[], durationMs: number): readonly Intervention[] {
    const { ledger, loop, statesLost } = this.#world;
    const sent = { operation, durationMs, fromMs: loop.nowMs, toMs: Number.POSITIVE_INFINITY, statesLost };
    return asked.map(({ rule, key, cost }) => {
      this.#world.tell(this.#host.name, `${operation}s ${nameOfAsked({ rule, key, cost })}`);
      return ledger.intervened({ rule, key, cost, ...sent });
    });
  }

  #carriedOut(noted: readonly Intervention[]): void {
    for (const intervention of noted) intervention.toMs = this.#world.loop.nowMs;
  }
}

function nameOfAsked({ rule, key, cost }: Asked): string {
  return `${rule}/${key}${cost === 1 ? '' : ` x${cost}`}`;
}
