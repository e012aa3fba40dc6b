/**
 * The last stage: where does this call go, and how long does it take there? The balancer is the library's; the servers are a model.
 *
 *                   ┌──► server A
 *      call ──► pick┼──► server B          happenings: B fails from 10s until 20s, C is slow, D joins, A leaves
 *                   └──► server C
 */
import { type Balancer, balancers, type HealthChecked, healthChecked, type Member } from 'sluice/balance';
import type { Random } from '../../random.ts';
import type { Call } from '../calls.ts';
import type { Balance, Servers } from '../scenario.ts';
import { type Counter, type Slices, slicesPerRun } from '../slices.ts';
import { streamOf } from '../streams.ts';
import { type Findings, mostInWords } from '../vocabulary.ts';
import type { World } from '../world.ts';
import { KeyPlaces } from './key-places.ts';
import { Server } from './server.ts';

export interface ServersStageOptions {
  readonly servers: Servers;
  readonly balance: Balance;
  readonly world: World;
  readonly slices: Slices;
  readonly seed: number;
  readonly durationMs: number;
}

/** More lines than that nobody can tell apart. */
const mostSharesShown = 8;

/** One for each use, so that a balancer that draws more often changes nothing for the failures. */
function streamsOf(seed: number): Record<'choices' | 'failures' | 'health', Random> {
  const { fork } = streamOf(seed, 'servers');
  return { choices: fork(), failures: fork(), health: fork() };
}

export class ServersStage {
  private readonly world: World;
  private readonly servers: ReadonlyMap<string, Server>;
  private readonly balancer: Balancer;
  private readonly health: HealthChecked | undefined;
  private readonly places: KeyPlaces | undefined;
  private readonly picks = new Map<string, number>();
  private readonly words: string[] = [];
  private readonly fullest: Counter;
  private readonly shares: ReadonlyMap<string, Counter>;
  private picksBefore = new Map<string, number>();
  private picked = 0;
  private pickedBefore = 0;
  private unroutable = 0;
  private reachedFailing = 0;
  private ejections = 0;
  private readonly canFail: boolean;
  private failure: { readonly error: unknown } | undefined;

  constructor(options: ServersStageOptions) {
    const { servers, balance, world, slices, seed } = options;
    const streams = streamsOf(seed);
    this.world = world;
    this.servers = new Map(
      servers.members.map((spec) => [spec.id, new Server(spec, servers.queue, world, streams.failures.uniform)]),
    );
    const members = servers.members.filter(({ joinsMs }) => joinsMs === 0).map(({ id, weight }) => ({ id, weight }));
    const { clock } = world;
    const plain = balancers[balance.kind]<Member>(members, {
      ...balance.options,
      random: streams.choices.uniform,
      clock,
    });
    this.health = balance.health && this.watched(plain, balance.health, streams.health.uniform);
    this.balancer = this.health ?? plain;
    this.fullest = slices.counter('fullest', 'queue');
    const hasShares = servers.members.length > 1 && servers.members.length <= mostSharesShown;
    const shown = hasShares ? servers.members : [];
    this.shares = new Map(shown.map(({ id }) => [id, slices.counter(`share.${id}`, 'share')]));
    const isChanging = servers.members.some(
      ({ joinsMs, leavesMs }) => joinsMs > 0 || leavesMs < Number.POSITIVE_INFINITY,
    );
    this.places = isChanging ? new KeyPlaces() : undefined;
    this.canFail = servers.happenings.some(({ fails }) => fails > 0);
    this.plan(servers);
  }

  private watched(balancer: Balancer, health: NonNullable<Balance['health']>, random: () => number): HealthChecked {
    const { checks, ...others } = health;
    const probe = ({ id }: { readonly id: string }) => this.servers.get(id)!.isWell();
    const watched = healthChecked(balancer, {
      ...others,
      ...(checks && { checks: { ...checks, probe } }),
      clock: this.world.clock,
      random,
    });
    watched.on('change', ({ isHealthy }) => {
      if (!isHealthy) this.ejections += 1;
    });
    watched.on('error', ({ error }) => {
      this.failure ??= { error };
    });
    return watched;
  }

  private plan({ members, happenings }: Servers): void {
    for (const { id, weight, joinsMs, leavesMs } of members) {
      if (joinsMs > 0) this.change(joinsMs, () => this.balancer.add({ id, weight }));
      if (leavesMs < Number.POSITIVE_INFINITY) this.change(leavesMs, () => this.balancer.remove(id));
    }
    for (const { server, fromMs, untilMs, fails, slow } of happenings) {
      const struck = this.servers.get(server)!;
      this.world.at(fromMs, () => {
        struck.fails += fails;
        struck.slow *= slow;
      });
      this.world.at(untilMs, () => {
        // Sums of fractions need not come back to 0 by themselves.
        struck.fails = Math.max(0, Number((struck.fails - fails).toFixed(9)));
        struck.slow /= slow;
      });
    }
  }

  private change(atMs: number, action: () => void): void {
    this.world.at(atMs, () => {
      action();
      this.places?.noteChange();
    });
  }

  /** One attempt of a call. */
  attempt(call: Call, end: (isOk: boolean) => void): void {
    const picked = this.balancer.pick(call.key);
    if (!picked) {
      this.unroutable += 1;
      end(false);
      return;
    }
    const { id } = picked.member;
    const server = this.servers.get(id)!;
    this.note(id, call);
    if (server.fails > 0) this.reachedFailing += 1;
    server.serve({
      call,
      end(isOk) {
        picked.done(isOk ? 'ok' : 'failed');
        end(isOk);
      },
    });
    this.fullest.raise(this.world.nowMs, server.load);
  }

  private note(id: string, { key }: Call): void {
    this.picked += 1;
    this.picks.set(id, (this.picks.get(id) ?? 0) + 1);
    if (this.words.length < mostInWords) this.words.push(id);
    this.places?.note(key, id);
  }

  endOfSlice(slice: number): void {
    const all = this.picked - this.pickedBefore;
    for (const [id, series] of this.shares) {
      const inSlice = (this.picks.get(id) ?? 0) - (this.picksBefore.get(id) ?? 0);
      series.set(slice, all === 0 ? 0 : inSlice / all);
    }
    if (this.shares.size > 0) this.picksBefore = new Map(this.picks);
    this.pickedBefore = this.picked;
    // Who waits already at the beginning of a slice waits in it, whether or not another comes.
    let most = 0;
    for (const { load } of this.servers.values()) most = Math.max(most, load);
    this.fullest.set(slice + 1, most);
  }

  report({ measures, texts, notes }: Findings): void {
    this.health?.close();
    if (this.failure) throw this.failure.error;
    const counts = [...this.servers.keys()].map((id) => this.picks.get(id) ?? 0);
    measures.put('fullestMax', Math.max(...this.fullest.values));
    measures.put('fullestMean', this.fullest.values.reduce((sum, each) => sum + each, 0) / slicesPerRun);
    if (this.picked > 0 && counts.length > 1) {
      measures.put('shareMin', Math.min(...counts) / this.picked);
      measures.put('shareMax', Math.max(...counts) / this.picked);
    }
    measures.put('keysMovedRatio', this.places?.movedRatio);
    if (this.places || this.health) measures.put('unroutable', this.unroutable);
    if (this.canFail) measures.put('reachedFailing', this.reachedFailing);
    if (this.health) measures.put('ejections', this.ejections);
    if (counts.length <= mostSharesShown) {
      for (const [i, id] of [...this.servers.keys()].entries()) {
        measures.put('reached', counts[i], id);
        if (this.shares.has(id) && this.picked > 0) measures.put('share', counts[i]! / this.picked, id);
      }
    }
    texts.set('picks', this.words.join(' '));
    if (this.shares.size > 1) notes.push(`first picks: ${this.words.join(' ')}`);
  }
}
