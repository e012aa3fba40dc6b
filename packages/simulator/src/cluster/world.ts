/**
 * The cluster, those who ask it, and everything between them, in one world of simulated time.
 *
 *      callers ──► network ──► nodes ◄──► network ◄──► nodes
 *         │                      └──────► network ◄──► etcd
 *         └── uses ──► ledger
 */
import type { Policy } from 'sluice';
import { slotOf } from 'sluice/client';
import { allFences, type ClusterSettings, drift, type Fences } from 'sluice-server/cluster';
import { type EventLoop, eventLoop } from '../events.ts';
import type { Random } from '../random.ts';
import { Caller, type CallerOptions } from './caller.ts';
import { EtcdModel } from './etcd-model.ts';
import { Host, type HostOptions } from './host.ts';
import { Ledger } from './ledger.ts';
import { fairWeather, Network, type Weather } from './network.ts';
import { SimulatedNode } from './simulated-node.ts';
import { Trace } from './trace.ts';

/** A rule of the configuration, in all the versions that it will have. */
export interface Rule {
  readonly name: string;
  readonly versions: readonly Policy[];
  readonly keys: readonly string[];
}

/** For how long something that is granted counts. */
export function spanMs({ window, lease = 0 }: Policy & { readonly lease?: number }): number {
  return window ?? lease;
}

/** The fences of the nodes, and the one of their callers: a grant that is too old is dropped. */
export interface AllFences extends Fences {
  readonly callerAge: boolean;
}

/** What chance says if it is left out. */
export type ClockOptions = Partial<Pick<HostOptions, 'rate' | 'originMs' | 'isPunctual'>>;

export interface WorldOptions {
  readonly seed: number;
  readonly settings: ClusterSettings;
  readonly rules: readonly Rule[];
  readonly weather?: Weather;
  /** Without those that are false. Default: all. */
  readonly fences?: Partial<AllFences>;
  /** By how much clocks differ from true time, at most. Default: by as much as the cluster allows for. */
  readonly drift?: number;
}

export class World {
  readonly loop: EventLoop;
  readonly random: Random;
  readonly network: Network;
  readonly etcd: EtcdModel;
  readonly ledger = new Ledger();
  readonly trace = new Trace();
  readonly settings: ClusterSettings;
  readonly rules: readonly Rule[];
  readonly fences: { -readonly [Name in keyof Fences]: Fences[Name] };
  readonly callerAge: boolean;
  readonly nodes = new Map<string, SimulatedNode>();
  readonly #drift: number;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: WorldOptions) {
    const { callerAge = true, ...removed } = options.fences ?? {};
    this.loop = eventLoop({ seed: options.seed, maxEvents: 1_000_000 });
    this.random = this.loop.random;
    this.network = new Network(this.loop, this.random.fork(), options.weather ?? fairWeather);
    this.etcd = new EtcdModel(this.loop, this.network, this.random.fork());
    this.settings = options.settings;
    this.rules = options.rules;
    this.fences = { ...allFences, ...removed };
    this.callerAge = callerAge;
    this.#drift = options.drift ?? drift;
  }

  /** A node that is not running yet. */
  addNode(name: string, clock: ClockOptions = {}): SimulatedNode {
    const node = new SimulatedNode(this, this.#host(name, clock));
    this.nodes.set(name, node);
    return node;
  }

  addCaller(name: string, options: CallerOptions, clock: ClockOptions = {}): Caller {
    return new Caller(this, this.#host(name, clock), options);
  }

  /** From now on the cluster does without it. What a node worked out when it started stays as it was. */
  remove(fence: keyof Fences): void {
    this.fences[fence] = false;
  }

  node(name: string): SimulatedNode {
    const node = this.nodes.get(name);
    if (!node) throw new Error(`There is no node ${name}.`);
    return node;
  }

  /** Who counts the key, as far as it knows itself. */
  ownerOf(key: string): SimulatedNode | undefined {
    return [...this.nodes.values()].find(({ node }) => node?.route(slotOf(key)) === 'here');
  }

  /** How many shards were ever begun to be counted without what was counted before. */
  get statesLost(): number {
    let lost = 0;
    for (const node of this.nodes.values()) lost += node.statesLost;
    return lost;
  }

  policyOf(rule: string, version: number): Policy {
    const { versions } = this.rules.find(({ name }) => name === rule)!;
    return versions[Math.min(version, versions.length - 1)]!;
  }

  tell(who: string, what: string, fields?: object): void {
    this.trace.add(this.loop.nowMs, who, what, fields);
  }

  /** Something happened that must not, whatever the faults: the run ends with it. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  async run(untilMs: number): Promise<void> {
    await this.loop.run(untilMs);
    if (this.#failure) throw this.#failure.error;
  }

  #host(name: string, clock: ClockOptions): Host {
    const random = this.random.fork();
    // The extremes are where it breaks, so they are as likely as all between them.
    const rate = 1 + this.#drift * Math.max(-1, Math.min(1, 4 * random.uniform() - 2));
    return new Host({ loop: this.loop, name, random, rate, originMs: random.uniform() * 1e6, ...clock });
  }
}
