/**
 * etcd as nodes meet it: one truth, behind a network, that can be slow, without a leader, or down.
 *
 *      node ──► network ──► arrived ──► committed ──► network ──► node
 *                 │ lost      │ no leader: lost, refused, or committed when there is one again
 *
 * Whoever asks knows nothing but what comes back in time. Transactions are linearizable, reads among them, unless a member is told to
 * lag: then those that only read are answered with what it knows, as etcd has done after a pause (etcd-io/etcd#20418).
 */
import { SluiceError } from 'sluice';
import type { Etcd, Transaction, TransactionOutcome } from 'sluice-server/cluster';
import type { EventLoop } from '../events.ts';
import type { Random } from '../random.ts';
import { EtcdState, problemOf } from './etcd-state.ts';
import type { Host, Run } from './host.ts';
import type { Network } from './network.ts';

export const etcdHost = 'etcd';

type Reply = (outcome: TransactionOutcome | Error) => void;

export class EtcdModel {
  readonly state = new EtcdState();
  /** How long a commit takes, on average. */
  commitMs = 0.5;
  /** Who is answered by a member that has not heard of anything after a revision. */
  readonly lagging = new Map<string, number>();
  readonly #loop: EventLoop;
  readonly #random: Random;
  readonly #network: Network;
  #outages = 0;
  #waiting: (() => void)[] = [];

  constructor(loop: EventLoop, network: Network, random: Random) {
    this.#loop = loop;
    this.#network = network;
    this.#random = random;
  }

  /** There is no leader. Returns how to have one again; outages may overlap. */
  loseLeader(): () => void {
    this.#outages += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#outages -= 1;
      if (this.#outages === 0) for (const commit of this.#waiting.splice(0)) commit();
    };
  }

  /** etcd for one run of a node. */
  clientOf(host: Host, run: Run): Etcd {
    return { transact: (transaction, timeoutMs) => this.#transact(host, run, transaction, timeoutMs) };
  }

  #transact(host: Host, run: Run, transaction: Transaction, timeoutMs: number): Promise<TransactionOutcome> {
    const problem = problemOf(transaction);
    if (problem !== undefined) return Promise.reject(new SluiceError('invalid-option', `etcdserver: ${problem}`));
    return new Promise((resolve, reject) => {
      const callOff = host
        .clockOf(run)
        .after(timeoutMs, () => reject(new Error(`etcd did not answer in ${timeoutMs} ms`)));
      const reply: Reply = (outcome) => {
        const back = { from: etcdHost, to: host.name, what: '?etcd', content: outcome };
        this.#network.send(back, () =>
          host.pass(run, 'message', () => {
            callOff();
            if (outcome instanceof Error) reject(outcome);
            else resolve(outcome);
          }),
        );
      };
      const envelope = { from: host.name, to: etcdHost, what: 'etcd', content: transaction };
      host.say(run, () => this.#network.send(envelope, () => this.#arrive(host.name, transaction, reply)));
    });
  }

  #arrive(from: string, transaction: Transaction, reply: Reply): void {
    const commit = () => {
      this.#loop.at(this.#loop.nowMs + this.#random.exponential(this.commitMs), () => {
        if (this.#outages === 0) reply(this.#commit(from, transaction));
        else this.#withoutLeader(commit, reply);
      });
    };
    if (this.#outages === 0) commit();
    else this.#withoutLeader(commit, reply);
  }

  #withoutLeader(commit: () => void, reply: Reply): void {
    const chance = this.#random.integer(3);
    if (chance === 0) reply(new Error('etcdserver: no leader'));
    else if (chance === 1) this.#waiting.push(commit);
  }

  #commit(from: string, transaction: Transaction): TransactionOutcome {
    const lagging = this.lagging.get(from);
    if (lagging !== undefined && transaction.change.length === 0) return this.state.readAt(lagging, transaction);
    return this.state.commit(transaction);
  }
}
