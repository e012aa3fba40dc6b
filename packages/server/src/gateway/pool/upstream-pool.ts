/**
 * An upstream while it runs: its members with their connections and circuits, the balancer that chooses among those that are well, and
 * the budget of its retries.
 *
 *      members ──► balancer, by name ──► health: checks, outliers, slow start ──► pick
 *
 * A change of the configuration keeps what it can: a member that stays keeps its connections, its health, its circuit and its counts.
 */
import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from 'sluice';
import { balancers, type HealthChecked, type HealthStats, healthChecked } from 'sluice/balance';
import {
  type CircuitBreaker,
  type CircuitBreakerOptions,
  type CircuitState,
  circuitBreaker,
  type RetryBudget,
  retryBudget,
} from 'sluice/protect';
import type { UpstreamConfig, UpstreamMember } from '../../config/gateway-config.ts';
import { occasionalLog } from '../../operations/occasional-log.ts';
import type { Log } from '../../service/log.ts';
import { UnderWay } from '../../service/under-way.ts';
import type { Passage } from '../passage.ts';
import { type SourceReader, sourceReader } from '../stages/source.ts';
import { type MemberStats as ConnectionStats, MemberConnections } from '../upstream/member-connections.ts';
import { probeOf } from '../upstream/probe.ts';
import type { Collecting } from '../upstream/repeatable-body.ts';
import type { MessageLimits } from '../wire/message.ts';
import { type MemberMeter, memberMeter, type PoolMember } from './pool-member.ts';
import { Taken } from './taken.ts';

export interface PoolParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Of answers. */
  readonly limits: MessageLimits;
}

export interface PoolStats {
  readonly upstream: string;
  readonly retries: number;
  readonly retriesRefused: number;
  readonly members: readonly PoolMemberStats[];
}

export interface PoolMemberStats extends HealthStats {
  readonly meter: MemberMeter;
  readonly circuit: CircuitState | undefined;
  readonly connections: ConnectionStats;
}

/** Why a member is left out whose circuit is open. */
const circuitReason = 'circuit';

export class UpstreamPool {
  config: UpstreamConfig;
  budget: RetryBudget;
  readonly meter = { retries: 0, retriesRefused: 0 };
  readonly collecting: Collecting = { bytes: 0 };
  /** Why members failed, a line now and then. */
  readonly failures: Log;
  private readonly parts: PoolParts;
  private balancer: HealthChecked<PoolMember>;
  private stickyBy: SourceReader | undefined;
  private readonly out = new Set<string>();
  private readonly underWay = new UnderWay<Taken>();
  private readonly closing = new AbortController();

  constructor(config: UpstreamConfig, parts: PoolParts) {
    this.config = config;
    this.parts = parts;
    // One listens for each open circuit, and any number of members may have one.
    setMaxListeners(0, this.closing.signal);
    this.failures = occasionalLog(parts.log, { clock: parts.clock });
    this.budget = this.budgetOf(config);
    this.stickyBy = config.stickyBy && sourceReader(config.stickyBy);
    this.balancer = this.balancerOf(
      config,
      config.members.map((member) => this.memberOf(member, config)),
    );
  }

  /** What keeps a request at its member; undefined where the balancer does not care. */
  keyOf({ exchange, subject, address }: Passage): string | undefined {
    if (this.config.balancer !== 'hash-ring') return undefined;
    return this.stickyBy?.(exchange.request, subject) ?? address;
  }

  pick(key: string | undefined, leftOut: ReadonlySet<string> | undefined): Taken | undefined {
    const picked = leftOut === undefined ? this.balancer.pick(key) : this.balancer.pick(key, { except: leftOut });
    return picked && new Taken(picked, this.underWay);
  }

  /** Whether somebody could be asked now: one that is in, and whose circuit lets a call through. */
  hasTaker(): boolean {
    // Circuits first, as in `stats`.
    const closed = this.balancer.members.filter(({ breaker }) => (breaker?.retryAfterMs() ?? 0) === 0);
    const ids = new Set(closed.map(({ id }) => id));
    return this.balancer.stats().some(({ id, share }) => share > 0 && ids.has(id));
  }

  /** Whether an answer of this status is not what the client should see, while somebody else can be asked. */
  isSetAside(status: number): boolean {
    return this.config.retries.statuses.includes(status);
  }

  /** When the first of the open circuits lets somebody through; `Infinity` where nobody knows. */
  retryAfterMs(): number {
    const waits = this.balancer.members.map(({ breaker }) => breaker?.retryAfterMs() ?? 0);
    return Math.min(...waits.filter((ms) => ms > 0));
  }

  reconfigure(config: UpstreamConfig): void {
    const before = this.config;
    this.config = config;
    this.stickyBy = config.stickyBy && sourceReader(config.stickyBy);
    if (config.retries.budgetRatio !== before.retries.budgetRatio) this.budget = this.budgetOf(config);
    const known = new Map(this.balancer.members.map((member) => [member.id, member]));
    if (isDeepStrictEqual(choosing(config), choosing(before))) this.changeMembers(config, before, known);
    else this.replaceBalancer(config, before, known);
    for (const { id, breaker } of this.balancer.members) {
      if (breaker === undefined) this.balancer.release(id, circuitReason);
      // Of a circuit with other numbers that is not known yet.
      else this.followCircuit(id, breaker);
    }
    this.lookWhoIsOut();
    const staying = new Set(config.members.map(({ id }) => id));
    for (const [id, { connections }] of known) if (!staying.has(id)) connections.close();
  }

  stats(): PoolStats {
    // Circuits first: one that notices by this that its time is over brings its member back, which the balancer then says too.
    const members = new Map(
      this.balancer.members.map((member) => [member.id, { ...member, circuit: member.breaker?.state }]),
    );
    return {
      upstream: this.config.name,
      ...this.meter,
      members: this.balancer.stats().map((stats) => {
        const { meter, circuit, connections } = members.get(stats.id)!;
        return { ...stats, meter, circuit, connections: connections.stats() };
      }),
    };
  }

  close(): void {
    this.closing.abort();
    this.balancer.close();
    for (const { connections } of this.balancer.members) connections.close();
  }

  private changeMembers(config: UpstreamConfig, before: UpstreamConfig, known: Map<string, PoolMember>): void {
    for (const member of config.members) {
      const old = known.get(member.id);
      if (old === undefined) this.balancer.add(this.memberOf(member, config));
      else {
        const { weight, connections, breaker } = this.kept(old, member, config, before);
        this.balancer.update(member.id, { weight, connections, breaker } as Partial<Omit<PoolMember, 'id'>>);
      }
    }
    // Last: an outlier must not be let in for want of others where others have come.
    const staying = new Set(config.members.map(({ id }) => id));
    for (const id of known.keys()) if (!staying.has(id)) this.balancer.remove(id);
  }

  /** Another way to choose, or to find out who is well, goes on from what is known: of health, and of what is under way. */
  private replaceBalancer(config: UpstreamConfig, before: UpstreamConfig, known: Map<string, PoolMember>): void {
    const old = this.balancer;
    const health = old.snapshot();
    const next = this.balancerOf(
      config,
      config.members.map((member) => {
        const own = known.get(member.id);
        return own === undefined ? this.memberOf(member, config) : this.kept(own, member, config, before);
      }),
    );
    // While everybody can still be picked there.
    for (const taken of this.underWay) taken.move(next);
    this.balancer = next;
    next.restore(health);
    old.close();
  }

  /** What held a member may not be asked about any more, and a member that is out may have left. */
  private lookWhoIsOut(): void {
    const known = new Map(this.balancer.stats().map((stats) => [stats.id, stats]));
    for (const id of this.out) {
      const stats = known.get(id);
      if (stats === undefined) this.out.delete(id);
      else if (stats.isHealthy) this.healthChanged(id, true, []);
    }
  }

  private memberOf({ id, host, port, weight }: UpstreamMember, config: UpstreamConfig): PoolMember {
    return {
      id,
      host,
      port,
      weight,
      connections: this.connectionsOf({ host, port }, config),
      breaker: this.breakerOf(id, config),
      meter: memberMeter(),
    };
  }

  private kept(old: PoolMember, now: UpstreamMember, config: UpstreamConfig, before: UpstreamConfig): PoolMember {
    const isSame = config.connections === before.connections && isDeepStrictEqual(config.timeouts, before.timeouts);
    if (!isSame) old.connections.close();
    return {
      ...old,
      weight: now.weight,
      connections: isSame ? old.connections : this.connectionsOf(now, config),
      breaker: isDeepStrictEqual(breaking(config), breaking(before))
        ? old.breaker
        : this.resumed(old.id, old.breaker, config),
    };
  }

  private connectionsOf({ host, port }: { host: string; port: number }, config: UpstreamConfig): MemberConnections {
    const { connections, timeouts } = config;
    const { limits, clock } = this.parts;
    return new MemberConnections({ host, port }, { connections, timeouts, limits, clock });
  }

  private breakerOf(id: string, config: UpstreamConfig): CircuitBreaker | undefined {
    const options = breaking(config);
    if (options === undefined) return undefined;
    const breaker = circuitBreaker({ ...options, clock: this.parts.clock });
    this.watchCircuit(id, breaker);
    return breaker;
  }

  /** A circuit with other numbers that stands where the old one stood. */
  private resumed(id: string, old: CircuitBreaker | undefined, config: UpstreamConfig): CircuitBreaker | undefined {
    const next = this.breakerOf(id, config);
    if (old !== undefined) next?.restore(old.snapshot());
    return next;
  }

  private healthChanged(id: string, isHealthy: boolean, reasons: readonly string[]): void {
    const { log } = this.parts;
    const fields = { upstream: this.config.name, member: id };
    if (isHealthy) {
      this.out.delete(id);
      log.info(fields, 'a member is back');
    } else if (!this.out.has(id)) {
      this.out.add(id);
      const member = this.balancer.members.find((one) => one.id === id);
      if (member !== undefined) member.meter.ejections += 1;
      log.warn({ ...fields, reasons }, 'a member is out');
    }
  }

  private watchCircuit(id: string, breaker: CircuitBreaker): void {
    breaker.on('change', () => {
      // One that was replaced may still hear of calls that began under it.
      if (this.balancer.members.some((member) => member.breaker === breaker)) this.followCircuit(id, breaker);
    });
  }

  /**
   * While its circuit is open a member is not chosen at all; when probes may go, it is back with the little that slow start gives it.
   * The circuit has no timer: it says how long it will be open, and here somebody looks when that is over.
   */
  private followCircuit(id: string, breaker: CircuitBreaker): void {
    if (breaker.state !== 'open') {
      this.balancer.release(id, circuitReason);
      return;
    }
    this.balancer.hold(id, circuitReason);
    this.parts.clock.sleep(breaker.retryAfterMs(), this.closing.signal).then(
      // Whoever looks makes it notice the time.
      () => void breaker.state,
      (error) => {
        if (!this.closing.signal.aborted) throw error;
      },
    );
  }

  private budgetOf({ retries }: UpstreamConfig): RetryBudget {
    return retryBudget({ ratio: retries.budgetRatio, clock: this.parts.clock });
  }

  private balancerOf(config: UpstreamConfig, members: readonly PoolMember[]): HealthChecked<PoolMember> {
    const { clock, log } = this.parts;
    const { health, outliers, slowStartMs } = config;
    const balancer = healthChecked(balancers[config.balancer](members, { clock }), {
      clock,
      ...(health && {
        checks: {
          probe: probeOf(health),
          interval: health.intervalMs,
          timeout: health.timeoutMs,
          unhealthyAfter: health.unhealthyAfter,
          healthyAfter: health.healthyAfter,
        },
      }),
      ...(outliers && {
        outliers: {
          consecutiveFailures: outliers.consecutiveFailures,
          ejectFor: outliers.ejectionMs,
          ejectForMax: outliers.longestEjectionMs,
          ejectedShareMax: outliers.mostEjectedShare,
        },
      }),
      ...(slowStartMs > 0 && { slowStart: { over: slowStartMs } }),
    });
    balancer.on('change', ({ id, isHealthy, reasons }) => {
      // One that was replaced still hears of members that have left.
      if (this.balancer === balancer) this.healthChanged(id, isHealthy, reasons);
    });
    balancer.on('error', ({ error }) => log.error({ err: error, upstream: config.name }, 'health checks failed'));
    return balancer;
  }
}

/** What makes another balancer necessary. */
function choosing({ balancer, health, outliers, slowStartMs }: UpstreamConfig): object {
  return { balancer, health, outliers, slowStartMs };
}

/** What a circuit depends on. */
function breaking({ breaker, timeouts }: UpstreamConfig): CircuitBreakerOptions | undefined {
  return (
    breaker && {
      failureRatio: breaker.failureRatio,
      minCalls: breaker.minimumCalls,
      window: breaker.windowMs,
      openFor: breaker.openMs,
      probes: breaker.halfOpenCalls,
      // A probe has as long as every request: with less, a member that is slow would never be found well.
      probeTimeout: Math.max(breaker.openMs, timeouts.connectMs + timeouts.responseMs),
    }
  );
}
