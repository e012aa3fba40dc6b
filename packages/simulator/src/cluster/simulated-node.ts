/** A node of the cluster on a host of the simulation: the server's own `ClusterNode`, its doors, and its ends. */
import type { Check, Decision, Policy, Receipt } from 'sluice';
import { slotOf } from 'sluice/client';
import {
  ClusterNode,
  type NodeEnvironment,
  type PeerMessage,
  type PeerReply,
  readPeerMessage,
  writePeerMessage,
} from 'sluice-server/cluster';
import type { Host, Run } from './host.ts';
import type { World } from './world.ts';

/** A question of a caller. `'resp'`: who does not own the key says who does; `'http'`: who does not own it asks the owner. */
export interface Question {
  readonly id: string;
  readonly door: 'resp' | 'http';
  readonly asked: readonly Asked[];
  /** What is done to all of them. Without it they are checked; those that are leased are acquired. */
  readonly operation?: Operation;
  /** So many of them, from the first, are checked all the same. Default none. */
  readonly checked?: number;
  /** Of what was reserved or leased before, in the order of what is asked. */
  readonly receipts?: readonly Receipt[];
  /** How much of what was reserved was really used. */
  readonly actuals?: readonly number[];
  /** Of a block. */
  readonly durationMs?: number;
}

export type Operation = NonNullable<Check['operation']>;

export interface Asked {
  readonly rule: string;
  readonly key: string;
  readonly cost: number;
}

export type Answer =
  /** With the version of the configuration that it was decided by. */
  | { readonly kind: 'decisions'; readonly decisions: readonly Decision[]; readonly version: number }
  | { readonly kind: 'moved'; readonly to: string }
  | { readonly kind: 'error'; readonly code: string };

export class SimulatedNode {
  readonly host: Host;
  /** Which version of the rules its configuration file has. */
  version = 0;
  node: ClusterNode | undefined;
  /** It says that it may be asked: it has joined, and does not leave. */
  isReady = false;
  /** Callers can reach it: from when it has joined until it is gone. */
  #isOpen = false;
  readonly #world: World;
  #run: Run | undefined;
  /** How many of those who asked have no answer yet. */
  #unanswered = 0;
  #strike: { grants: number; readonly hit: () => void } | undefined;
  /** In earlier lives. */
  #statesLost = 0;

  constructor(world: World, host: Host) {
    this.#world = world;
    this.host = host;
  }

  get name(): string {
    return this.host.name;
  }

  /** How many shards it has ever begun to count without what was counted before. */
  get statesLost(): number {
    return this.#statesLost + (this.node?.origins.takenOver ?? 0);
  }

  get address(): string {
    return addressOf(this.name);
  }

  /** Resolves when it has joined the cluster; never, if it crashes before. */
  async start(): Promise<void> {
    const run = this.host.boot();
    this.#run = run;
    this.node = new ClusterNode({
      addresses: { resp: this.address },
      settings: this.#world.settings,
      environment: this.#environment(run),
      fences: this.#world.fences,
    });
    this.#world.tell(this.name, 'starts');
    try {
      await this.node.start();
    } catch (error) {
      if (run.isAlive) this.#world.fail(error);
    }
    if (!run.isAlive) return new Promise(() => {});
    this.isReady = true;
    this.#isOpen = true;
    this.#world.tell(this.name, 'has joined');
  }

  /** Without a word to anybody. */
  crash(): void {
    if (!this.node) return;
    this.#world.tell(this.name, 'crashes');
    this.#end();
  }

  /** Hands over what it has, then ends. Resolves when it has. */
  async leave(withinMs: number): Promise<void> {
    const { node } = this;
    if (!node) return;
    this.isReady = false;
    this.#world.tell(this.name, 'leaves');
    await node.leave(withinMs);
    if (this.node !== node) return;
    // Whoever has come through a door is answered, if that does not take too long.
    this.#isOpen = false;
    const clock = this.host.clockOf(this.#run!);
    const endMs = clock.nowMs() + withinMs;
    while (this.#unanswered > 0 && clock.nowMs() < endMs) await new Promise<void>((resolve) => clock.after(1, resolve));
    if (this.node !== node) return;
    this.#world.tell(this.name, 'has left');
    this.#end();
  }

  /** Something befalls the node right after it has sent a grant, and before anything else; sooner, if it has said something that must not be forgotten. */
  strikeAfterGrants(grants: number, hit: () => void): void {
    this.#strike = { grants, hit };
  }

  #hasSent({ operation }: Question, answer: Answer): void {
    const strike = this.#strike;
    if (!strike || answer.kind !== 'decisions' || !answer.decisions.every(({ allowed }) => allowed)) return;
    strike.grants -= 1;
    if (strike.grants > 0 && operation !== 'block' && operation !== 'renew') return;
    this.#strike = undefined;
    strike.hit();
  }

  /** A question has arrived. */
  answer(question: Question, reply: (answer: Answer) => void): void {
    const { node } = this;
    const run = this.#run;
    // Nobody listens: who asks hears nothing, or that the connection was refused; to callers it is the same.
    if (!node || !run || !this.#isOpen) return;
    this.host.pass(run, 'message', () => {
      this.#unanswered += 1;
      const send = (answer: Answer) =>
        this.host.say(run, () => {
          this.#unanswered -= 1;
          reply(answer);
          this.#hasSent(question, answer);
        });
      const elsewhere = question.door === 'resp' ? redirection(node, question.asked[0]!.key) : undefined;
      if (elsewhere) {
        if (elsewhere.kind === 'error') this.#world.tell(this.name, `cannot answer ${question.id}: ${elsewhere.code}`);
        send(elsewhere);
      } else this.#decide(node, question, send);
    });
  }

  /** Another node says something. */
  hear(message: PeerMessage, reply: (reply: PeerReply | Error) => void): void {
    const { node } = this;
    const run = this.#run;
    if (!node || !run) {
      reply(new Error(`nobody listens at ${this.address}`));
      return;
    }
    this.host.pass(run, 'message', () => {
      const send = (answer: PeerReply | Error) => {
        const { ledger, loop, statesLost } = this.#world;
        // Whether or not the node that was asked hears of it.
        if (message.kind === 'apply') ledger.answered(idOf(message), loop.nowMs, statesLost);
        this.host.say(run, () => reply(answer));
      };
      whenAnswered(
        () => node.receive(message),
        send,
        (error) => send(error as Error),
      );
    });
  }

  #decide(node: ClusterNode, question: Question, send: (answer: Answer) => void): void {
    const { id, asked, checked = 0, receipts, actuals, durationMs } = question;
    const { version } = this;
    const checks = asked.map(({ rule, key, cost }, i): Check => {
      const policy = this.#world.policyOf(rule, version);
      const operation = operationOf(i < checked ? {} : question, policy);
      return { name: rule, key, policy, cost, operation, receipt: receipts?.[i], actual: actuals?.[i], durationMs };
    });
    const isDemand = isTaking(question.operation);
    const askedMs = this.#world.loop.nowMs;
    whenAnswered(
      () => node.apply(checks, id),
      (decisions) => {
        const { ledger, loop, statesLost } = this.#world;
        if (isDemand || checked > 0) ledger.decided(asked, decisions, version, askedMs, loop.nowMs);
        if (!isDemand) ledger.answered(id, loop.nowMs, statesLost);
        this.#world.tell(this.name, `answers ${id}: ${decisions.map(wordOf).join(' ')}`);
        send({ kind: 'decisions', decisions, version });
      },
      (error) => {
        // Whoever waited for something in a node that is gone by now has no answer from it.
        if (this.node !== node) return;
        const { code = 'unknown' } = error as { code?: string };
        if (code !== 'store-unavailable' && !(code === unsupported && asked.length > 1)) this.#world.fail(error);
        this.#world.tell(this.name, `cannot answer ${id}: ${(error as Error).message}`);
        send({ kind: 'error', code });
      },
    );
  }

  #end(): void {
    this.isReady = false;
    this.#isOpen = false;
    this.#unanswered = 0;
    this.#strike = undefined;
    this.host.crash();
    this.#statesLost = this.statesLost;
    this.node?.stop();
    this.node = undefined;
    this.#run = undefined;
  }

  #environment(run: Run): NodeEnvironment {
    const tell = (text: string, fields: object) => run.isAlive && this.#world.tell(this.name, `: ${text}`, fields);
    const random = this.#world.random.fork();
    return {
      clock: this.host.clockOf(run),
      etcd: this.#world.etcd.clientOf(this.host, run),
      peers: { ask: (address, message, timeoutMs) => this.#ask(run, address, message, timeoutMs) },
      random: () => random.uniform(),
      log: {
        debug: () => {},
        info: (fields, text) => tell(text, fields),
        warn: (fields, text) => tell(text, fields),
        error: (fields, text) => tell(text, fields),
      },
    };
  }

  #ask(run: Run, address: string, message: PeerMessage, timeoutMs: number): Promise<PeerReply> {
    const { network } = this.#world;
    return new Promise((resolve, reject) => {
      const callOff = this.host
        .clockOf(run)
        .after(timeoutMs, () => reject(new Error(`${address} did not answer in ${timeoutMs} ms`)));
      const to = nameOf(address);
      // What travels is text, and bytes beside it: nothing is shared between nodes, and nothing gets through that JSON has not.
      const { text, bytes } = writePeerMessage(message);
      const written = bytes === undefined ? { text } : { text, bytes: Uint8Array.from(bytes) };
      const answer = (reply: PeerReply | Error) => {
        const content = reply instanceof Error ? reply : (JSON.parse(JSON.stringify(reply)) as PeerReply);
        network.send({ from: to, to: this.name, what: `?${message.kind}`, content }, () =>
          this.host.pass(run, 'message', () => {
            callOff();
            if (content instanceof Error) reject(content);
            else resolve(content);
          }),
        );
      };
      const envelope = { from: this.name, to, what: message.kind, content: message };
      this.host.say(run, () =>
        network.send(envelope, () => this.#world.nodes.get(to)?.hear(readPeerMessage(written), answer)),
      );
    });
  }
}

/** What several owners cannot do together. */
export const unsupported = 'unsupported-operation';

const takers: readonly (Operation | undefined)[] = [undefined, 'reserve', 'take'];

/** Whether somebody wants to have something, and may be refused. */
function isTaking(operation: Operation | undefined): boolean {
  return takers.includes(operation);
}

/** A place among those in flight is leased, whatever is asked for beside it. */
function operationOf({ operation }: Pick<Question, 'operation'>, policy: Policy): Operation | undefined {
  return isLeased(policy) && isTaking(operation) ? 'acquire' : operation;
}

export function isLeased({ algorithm }: Policy): boolean {
  return algorithm === 'concurrency';
}

export function addressOf(name: string): string {
  return `${name}:6380`;
}

export function nameOf(address: string): string {
  return address.slice(0, address.indexOf(':'));
}

/** Of the question that a node asks another for. */
function idOf({ requestId = '' }: Extract<PeerMessage, { kind: 'apply' }>): string {
  return requestId.split(' ')[0]!;
}

/** What a node that does not own a key says to those who can go elsewhere. */
function redirection(node: ClusterNode, key: string): Answer | undefined {
  const route = node.route(slotOf(key));
  if (route === 'here') return undefined;
  if (route === 'nowhere') return { kind: 'error', code: 'clusterdown' };
  return { kind: 'moved', to: route.addresses.resp };
}

/** An answer may be there at once, or be a promise, or neither come. */
function whenAnswered<T>(ask: () => T | Promise<T>, then: (answer: T) => void, failed: (error: unknown) => void): void {
  let answer: T | Promise<T>;
  try {
    answer = ask();
  } catch (error) {
    failed(error);
    return;
  }
  if (answer instanceof Promise) answer.then(then, failed);
  else then(answer);
}

function wordOf({ allowed, remaining, reason }: Decision): string {
  return allowed ? `yes(${remaining})` : `no(${reason ?? remaining})`;
}
