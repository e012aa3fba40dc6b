/**
 * A small cluster for schedules written by hand: nodes a and b (and more), one rule, one key that a owns, clocks that run alike, a network
 * without surprises. Everything that happens on it is in the schedule.
 */
import { type Check, type Decision, type Policy, slidingLog } from 'sluice';
import { slotOf } from 'sluice/client';
import type { ClusterSettings, PeerMessage, SharedSettings } from 'sluice-server/cluster';
import type { Caller } from './caller.ts';
import type { Wish } from './errands.ts';
import type { Envelope, Postmaster } from './network.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { tooMuch } from './verdict.ts';
import { type AllFences, type ClockOptions, World } from './world.ts';

export const limit = 5;
export const windowMs = 1000;
export const graceMs = 10;
export const ttlMs = 400;
/** From when an owner is heard of last until another one has its keys, at most. */
export const takeOverMs = 1.5 * ttlMs;
/** From then on until it grants something again. */
export const quarantineMs = windowMs + 3 * graceMs;

/** What there is to a schedule beside its play. */
export interface StageOptions {
  /** The fence that is missing. */
  readonly without?: keyof AllFences | undefined;
  /** It is missing from the start, not only once the cluster has come together. */
  readonly fromTheStart?: boolean;
  readonly shared?: Partial<SharedSettings>;
  /** Beside those. */
  readonly settings?: Partial<Omit<ClusterSettings, 'shared'>>;
  readonly clocks?: Readonly<Record<string, ClockOptions>>;
  readonly delayMs?: number;
  /** Of the rule. Default: a log. */
  readonly policy?: Policy;
  /** The key is one that c takes over when it joins. */
  readonly isForC?: boolean;
  /** Before the cluster comes together. */
  readonly prepare?: (stage: Stage) => void;
}

const log: Policy = slidingLog({ limit, window: windowMs });

const exact: ClockOptions = { rate: 1, isPunctual: true };

export class Stage {
  readonly world: World;
  readonly caller: Caller;
  readonly a: SimulatedNode;
  readonly b: SimulatedNode;
  /** Not running. */
  readonly c: SimulatedNode;
  key = '';

  constructor(options: StageOptions) {
    const { without, fromTheStart = false, shared, settings, clocks = {}, delayMs = 0.2, policy = log } = options;
    const isCallers = without === 'callerAge';
    this.world = new World({
      seed: 1,
      settings: {
        name: 'staged',
        ttlMs,
        shared: { graceMs, unreplicated: 0, durableFromMs: 3_600_000, shards: 32, ...shared },
        maxKeys: 10_000,
        durableKeys: 1000,
        patienceMs: 200,
        ...settings,
      },
      rules: [{ name: 'rule', versions: [policy], keys: [] }],
      weather: { delayMs, slowShare: 0, slowMs: 0, strayShare: 0, strayMs: 0, lossShare: 0 },
      fences: without !== undefined && (fromTheStart || isCallers) ? { [without]: false } : {},
      drift: 0,
    });
    this.a = this.world.addNode('a', { ...exact, ...clocks.a });
    this.b = this.world.addNode('b', { ...exact, ...clocks.b });
    this.c = this.world.addNode('c', { ...exact, ...clocks.c });
    const nobody = { gapMs: 1, burstShare: 0, forwardedShare: 0, retryShare: 0, lateShare: 0, patienceMs: 5000 };
    this.caller = this.world.addCaller('caller', { ...nobody, demand: () => [] }, exact);
  }

  /** The cluster has come together, and a key of a is found. Then the fence is taken away. */
  static async settled(options: StageOptions): Promise<Stage> {
    const stage = await Stage.#comeTogether(options);
    stage.key = options.isForC ? await Stage.keyForC() : stage.keysOf(stage.a)[0]!;
    const { without } = options;
    if (without !== undefined && without !== 'callerAge') stage.world.remove(without);
    return stage;
  }

  static async #comeTogether(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options);
    options.prepare?.(stage);
    void stage.a.start();
    await stage.run(50);
    void stage.b.start();
    await stage.run(3000);
    return stage;
  }

  /** Who owns what goes by the nodes' addresses alone: a rehearsal shows it. */
  static async keyForC(): Promise<string> {
    const stage = await Stage.#comeTogether({});
    const before = stage.keysOf(stage.a);
    void stage.c.start();
    await stage.run(1000);
    return stage.keysOf(stage.c).find((key) => before.includes(key))!;
  }

  keysOf({ node }: SimulatedNode): string[] {
    return Array.from({ length: 200 }, (_, i) => `key-${i}`).filter((key) => node?.route(slotOf(key)) === 'here');
  }

  /** Until something has come to pass; after a while it has to. */
  async runUntil(isSo: () => boolean): Promise<void> {
    for (let ms = 0; ms < 5000; ms += 1) {
      if (isSo()) return;
      await this.run(1);
    }
    throw new Error('It did not come to pass.');
  }

  async run(ms: number): Promise<void> {
    await this.world.run(this.world.loop.nowMs + ms);
  }

  /** As many questions as the limit, one right after the other, to one node, which answers by itself or not at all. */
  async spend(at: SimulatedNode, wish: Wish = {}, questions = limit): Promise<void> {
    for (let i = 0; i < questions; i += 1) this.ask(at, wish);
    await this.run(graceMs + 1);
  }

  /** A question every millisecond, for a while. */
  async press(at: SimulatedNode, forMs: number, wish: Wish = {}): Promise<void> {
    for (let i = 0; i < forMs; i += 1) {
      this.ask(at, wish);
      await this.run(1);
    }
  }

  ask(at: SimulatedNode, { key = this.key, ...wish }: Wish & { readonly key?: string } = {}): void {
    this.caller.ask([{ rule: 'rule', key, cost: 1 }], { at: at.name, door: 'resp', ...wish });
  }

  /** One use of a key, by the rule. */
  checkOf(key: string): Check {
    return { name: 'rule', key, policy: this.world.policyOf('rule', 0), cost: 1 };
  }

  /** What a node itself says to checks, whoever owns their keys, as soon as it does. */
  async carriedOut({ node }: SimulatedNode, checks: readonly Check[], requestId?: string): Promise<Decision[]> {
    let answer: Decision[] | undefined;
    let failure: unknown;
    const asked = async () => node!.apply(checks, requestId);
    asked().then(
      (decisions) => {
        answer = decisions;
      },
      (error) => {
        failure = error;
      },
    );
    await this.runUntil(() => answer !== undefined || failure !== undefined);
    if (failure !== undefined) throw failure;
    return answer!;
  }

  /** How messages of a kind travel from now on. */
  mail(order: Postmaster): void {
    const before = this.world.network.postmaster;
    this.world.network.postmaster = (envelope) => order(envelope) ?? before?.(envelope);
  }

  /** Nothing of this kind arrives any more; what was sent is kept. */
  intercept(isMeant: (envelope: Envelope) => boolean): PeerMessage[] {
    const kept: PeerMessage[] = [];
    this.mail((envelope) => {
      if (!isMeant(envelope)) return undefined;
      kept.push(envelope.content as PeerMessage);
      return 'lost';
    });
    return kept;
  }

  /** Of the auditor. */
  get objections(): string[] {
    return tooMuch(this.world).map(({ text }) => text);
  }

  get used(): number {
    return this.world.ledger.uses.length;
  }
}
