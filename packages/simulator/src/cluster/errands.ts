/**
 * A caller's way to an answer.
 *
 *      sent ─────► node ─────► moved? ──► asks there      no answer? ──► asks again, by the same id, or gives up
 *                                └─► decisions             error? ─┘
 */
import type { Random } from '../random.ts';
import type { Host, Run } from './host.ts';
import { type Answer, type Asked, nameOf, type Question, unsupported } from './simulated-node.ts';
import type { World } from './world.ts';

export interface ErrandsOptions {
  /** How long until it asks again, or gives up. */
  readonly patienceMs: number;
  readonly retryShare: number;
}

/** What chance decides otherwise. */
export interface Wish {
  /** Which node is asked. */
  readonly at?: string;
  readonly door?: Question['door'];
  /** How old the grant is when it is used. */
  readonly useAtAgeMs?: number;
  /** What has to be done is asked for again until it is, or nearly so. */
  readonly isInsistent?: boolean;
}

export interface Errand {
  readonly question: Question;
  readonly wish: Wish;
  /** By the caller's own clock, and in true time. */
  readonly sentMs: number;
  readonly askedMs: number;
}

export type Decisions = Extract<Answer, { kind: 'decisions' }>;

/** What is done with the decisions, if there are any. */
export type Heard = (answer: Decisions, errand: Errand) => void;

interface UnderWay extends Errand {
  readonly heard: Heard;
  isOver: boolean;
  redirections: number;
}

const mostRedirections = 4;
const insistence = 0.9;
// Of what has to be done: sent once more when it was done, as by somebody else who has not heard of that.
const repeatedShare = 0.4;
// How much later: the shard may have been handed over by then, or its owner be lost and replaced.
const repeatedAfterMs = [50, 600];

export class Errands {
  readonly #world: World;
  readonly #host: Host;
  readonly #run: Run;
  readonly #random: Random;
  readonly #options: ErrandsOptions;
  /** By key: who owned it when last heard of. */
  readonly #owners = new Map<string, string>();
  #count = 0;

  constructor(world: World, host: Host, run: Run, random: Random, options: ErrandsOptions) {
    this.#world = world;
    this.#host = host;
    this.#run = run;
    this.#random = random;
    this.#options = options;
  }

  /** Says by which id it is asked for. */
  go(asks: Omit<Question, 'id'>, heard: Heard, wish: Wish = {}): string {
    this.#count += 1;
    const question = { ...asks, id: `${this.#host.name}.${this.#count}` };
    const errand: UnderWay = {
      question,
      wish,
      sentMs: this.#host.nowMs(),
      askedMs: this.#world.loop.nowMs,
      heard,
      isOver: false,
      redirections: 0,
    };
    this.#send(errand, wish.at ?? this.#nodeFor(question));
    this.#wait(errand);
    return question.id;
  }

  /** How old the answer is, by the caller's own clock: it may be the answer to the first time that it was asked for. */
  ageMs({ sentMs }: Errand): number {
    return this.#host.nowMs() - sentMs;
  }

  /** A grant that nobody may use any more. */
  isTooOld(errand: Errand): boolean {
    const { callerAge, settings } = this.#world;
    return callerAge && this.ageMs(errand) > settings.shared.graceMs;
  }

  #nodeFor({ door, asked }: Question): string {
    const owner = door === 'resp' ? this.#owners.get(asked[0]!.key) : undefined;
    if (owner !== undefined) return owner;
    const nodes = [...this.#world.nodes.values()];
    const ready = nodes.filter(({ isReady }) => isReady);
    return this.#random.pick(ready.length > 0 ? ready : nodes).name;
  }

  #send(errand: UnderWay, to: string): void {
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

  #wait(errand: UnderWay): void {
    const { patienceMs, retryShare } = this.#options;
    this.#host.clockOf(this.#run).after(patienceMs, () => {
      if (errand.isOver) return;
      this.#owners.delete(errand.question.asked[0]!.key);
      if (this.#random.uniform() < (errand.wish.isInsistent ? insistence : retryShare)) {
        errand.redirections = 0;
        this.#send(errand, this.#nodeFor(errand.question));
        this.#wait(errand);
      } else if (this.#world.callerAge) {
        errand.isOver = true;
      }
    });
  }

  #hear(errand: UnderWay, answer: Answer, from: string): void {
    const { asked } = errand.question;
    if (answer.kind === 'error' && answer.code === unsupported) {
      errand.isOver = true;
      return;
    }
    if (answer.kind === 'error') {
      const { code } = answer;
      this.#world.ledger.failures.push({ asked, code, atMs: this.#world.loop.nowMs, isAwaited: !errand.isOver });
    }
    if (errand.isOver) return;
    const [{ key }] = asked as [Asked];
    if (answer.kind === 'moved') {
      const owner = nameOf(answer.to);
      this.#owners.set(key, owner);
      errand.redirections += 1;
      if (errand.redirections <= mostRedirections) this.#send(errand, owner);
      return;
    }
    if (answer.kind === 'error') {
      // Whether it was carried out is not known, as if there had been no answer.
      this.#owners.delete(key);
      return;
    }
    errand.isOver = true;
    if (errand.question.door === 'resp') this.#owners.set(key, from);
    errand.heard(answer, errand);
    const isDone = errand.wish.isInsistent && answer.decisions.every(({ allowed }) => allowed);
    if (isDone && this.#random.uniform() < repeatedShare) this.#repeat(errand);
  }

  /** Nobody waits for the answer: nothing must be done by it. */
  #repeat(errand: UnderWay): void {
    const { question } = errand;
    this.#host.clockOf(this.#run).after(this.#random.exponential(this.#random.pick(repeatedAfterMs)), () => {
      const repeated = { ...errand, question: { ...question, door: 'http' as const } };
      this.#send(repeated, this.#nodeFor(repeated.question));
    });
  }
}
