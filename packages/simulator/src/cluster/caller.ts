/**
 * Somebody who asks before doing something, and does it when told yes.
 *
 *      sent ─────► node ─────► answer ─── older than g since it was sent? ──► dropped
 *        └── no answer: asks again, by the same id      └── no ──► used, at once or a moment later
 *
 * The age counts from the first sending, on the caller's own clock: an answer to a question that was asked again may be the answer
 * to the first.
 */
import type { Random } from '../random.ts';
import type { Host, Run } from './host.ts';
import { type Answer, type Asked, nameOf, type Question } from './simulated-node.ts';
import type { World } from './world.ts';

export interface CallerOptions {
  /** The mean time between two questions. */
  readonly gapMs: number;
  /** The share of questions that come as several at once. */
  readonly burstShare: number;
  /** The share that goes to any node, which asks the owner; the others follow redirections, as Redis Cluster clients do. */
  readonly forwardedShare: number;
  /** How long until it asks again, or gives up. */
  readonly patienceMs: number;
  readonly retryShare: number;
  /** The share of grants that is not used at once, but later within `g`. */
  readonly lateShare: number;
  /** The share that is reserved; of these some are used, some in part, and some not at all. Default none. */
  readonly reservedShare?: number;
  /** What is asked for. */
  readonly demand: () => readonly Asked[];
}

/** What chance decides otherwise. */
export interface Wish {
  /** Which node is asked. */
  readonly at?: string;
  readonly door?: Question['door'];
  /** How old the grant is when it is used. */
  readonly useAtAgeMs?: number;
}

interface Errand {
  readonly question: Question;
  readonly wish: Wish;
  readonly sentMs: number;
  isOver: boolean;
  redirections: number;
}

const mostRedirections = 4;
// How long something may be under way that was reserved, on average.
const settledAfterMs = 100;

export class Caller {
  readonly #world: World;
  readonly #host: Host;
  readonly #run: Run;
  readonly #random: Random;
  readonly #options: CallerOptions;
  /** By key: who owned it when last heard of. */
  readonly #owners = new Map<string, string>();
  #asked = 0;

  constructor(world: World, host: Host, options: CallerOptions) {
    this.#world = world;
    this.#host = host;
    this.#run = host.boot();
    this.#random = world.random.fork();
    this.#options = options;
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
    const { forwardedShare, reservedShare = 0 } = this.#options;
    const isForwarded = asked.length > 1 || this.#random.uniform() < forwardedShare;
    this.#world.ledger.asked.push({ asked, atMs: this.#world.loop.nowMs });
    this.#go(
      {
        id: this.#nextId(),
        door: wish.door ?? (isForwarded ? 'http' : 'resp'),
        asked,
        ...(reservedShare > 0 && this.#random.uniform() < reservedShare && { isReservation: true }),
      },
      wish,
    );
  }

  #nextId(): string {
    this.#asked += 1;
    return `${this.#host.name}.${this.#asked}`;
  }

  #go(question: Question, wish: Wish = {}): void {
    const errand: Errand = { question, sentMs: this.#host.nowMs(), wish, isOver: false, redirections: 0 };
    this.#send(errand, wish.at ?? this.#nodeFor(question));
    this.#wait(errand);
  }

  #nodeFor({ door, asked }: Question): string {
    const owner = door === 'resp' ? this.#owners.get(asked[0]!.key) : undefined;
    if (owner !== undefined) return owner;
    const nodes = [...this.#world.nodes.values()];
    const ready = nodes.filter(({ isReady }) => isReady);
    return this.#random.pick(ready.length > 0 ? ready : nodes).name;
  }

  #send(errand: Errand, to: string): void {
    const { network, nodes } = this.#world;
    const { question } = errand;
    const from = this.#host.name;
    const hear = (answer: Answer) =>
      network.send({ from: to, to: from, what: '?check', content: answer }, () =>
        this.#host.pass(this.#run, 'message', () => this.#hear(errand, answer, to)),
      );
    this.#host.say(this.#run, () =>
      network.send({ from, to, what: 'check', content: question }, () => nodes.get(to)?.answer(question, hear)),
    );
  }

  #wait(errand: Errand): void {
    const { patienceMs, retryShare } = this.#options;
    this.#host.clockOf(this.#run).after(patienceMs, () => {
      if (errand.isOver) return;
      this.#owners.delete(errand.question.asked[0]!.key);
      if (this.#random.uniform() < retryShare) {
        this.#send(errand, this.#nodeFor(errand.question));
        this.#wait(errand);
      } else if (this.#world.callerAge) {
        errand.isOver = true;
      }
    });
  }

  #hear(errand: Errand, answer: Answer, from: string): void {
    if (errand.isOver) return;
    const [{ key }] = errand.question.asked as [Asked];
    if (answer.kind === 'moved') {
      const owner = nameOf(answer.to);
      this.#owners.set(key, owner);
      errand.redirections += 1;
      if (errand.redirections <= mostRedirections) this.#send(errand, owner);
      return;
    }
    errand.isOver = true;
    if (answer.kind === 'error') {
      this.#world.ledger.failures.push({ code: answer.code, atMs: this.#world.loop.nowMs });
      this.#owners.delete(key);
      return;
    }
    if (errand.question.door === 'resp') this.#owners.set(key, from);
    if (errand.question.settlement || !answer.decisions.every(({ allowed }) => allowed)) return;
    const used = errand.question.isReservation ? this.#settleLater(errand.question, answer) : errand.question.asked;
    if (used.length > 0) this.#take(errand, used, answer.version);
  }

  /** What is used of a reservation; the rest is given back after a while. */
  #settleLater(question: Question, { decisions }: Extract<Answer, { kind: 'decisions' }>): readonly Asked[] {
    const { asked, door } = question;
    const unused = this.#random.integer(3);
    if (unused === 0) return asked;
    const actuals = asked.map(({ cost }) => (unused === 1 ? cost - 1 : 0));
    const settlement = { actuals, receipts: decisions.map(({ receipt = [] }) => receipt) };
    const giveBack = () => this.#go({ id: this.#nextId(), door, asked, settlement });
    this.#host.clockOf(this.#run).after(this.#random.exponential(settledAfterMs), giveBack);
    return asked.flatMap((one, i) => (actuals[i]! > 0 ? [{ ...one, cost: actuals[i]! }] : []));
  }

  /** Uses a grant now, or at a moment that is not too late. */
  #take(errand: Errand, used: readonly Asked[], version: number): void {
    const { graceMs } = this.#world.settings.shared;
    const ageMs = this.#host.nowMs() - errand.sentMs;
    const isLate = ageMs < graceMs && this.#random.uniform() < this.#options.lateShare;
    const useAtAgeMs = errand.wish.useAtAgeMs ?? (isLate ? ageMs + (graceMs - ageMs) * this.#random.uniform() : 0);
    if (useAtAgeMs <= ageMs) this.#use(errand, used, version);
    else this.#host.clockOf(this.#run).after(useAtAgeMs - ageMs, () => this.#use(errand, used, version));
  }

  #use({ question, sentMs }: Errand, used: readonly Asked[], version: number): void {
    const { ledger, settings, callerAge, loop } = this.#world;
    if (callerAge && this.#host.nowMs() - sentMs > settings.shared.graceMs) {
      ledger.dropped += 1;
      return;
    }
    ledger.used(used, version, loop.nowMs);
    this.#world.tell(this.#host.name, `uses ${question.id}: ${used.map(nameOfAsked).join(' ')}`);
  }
}

function nameOfAsked({ rule, key, cost }: Asked): string {
  return `${rule}/${key}${cost === 1 ? '' : ` x${cost}`}`;
}
