/**
 * From configurations to plans. What a change leaves as it was stays as it is: pools with their connections, health and circuits,
 * admissions with those who wait, counts, the store. All that could be wrong is made first; only then anything changes.
 *
 *      configuration ──► what is new is opened ──► rules ──► what stays is told ──► the new plan is the current one
 *                             └──── wrong: closed again, nothing has changed ─┘          └─► what is gone is closed when the
 *                                                                                            last request of its plans has ended
 */
import type { Clock } from 'sluice';
import type { AccessLogConfig, GatewayConfig, RouteConfig } from '../config/gateway-config.ts';
import type { LiveUpstream } from '../operations/live-snapshot.ts';
import type { Log } from '../service/log.ts';
import { openAdmission } from './admission/admission.ts';
import type { Admission } from './admission/admission-types.ts';
import { Leases } from './leases.ts';
import { type Admittance, type Limits, Plan, type Route } from './plan.ts';
import { UpstreamPool } from './pool/upstream-pool.ts';
import { type AccessLog, openAccessLog } from './report/access-log.ts';
import type { GatewaySources } from './report/gateway-metrics.ts';
import { RouteMeter } from './report/route-meter.ts';
import { compileRoutes } from './routes/compile-routes.ts';
import { noRoute } from './routes/no-route.ts';
import { identityOf } from './stages/identity.ts';
import { sourceReader } from './stages/source.ts';

export interface PlansParts {
  readonly clock: Clock;
  readonly log: Log;
  /** For what clients can bring about again and again. */
  readonly sparingly: Log;
}

/** The rules of a configuration; throws where they are wrong, and then has changed nothing. */
export type ChangeLimits = () => Limits | undefined;

/** Everything that is closed when nobody needs it any more. */
interface Opened {
  readonly pools: ReadonlyMap<string, UpstreamPool>;
  readonly admissions: ReadonlyMap<string, Admission>;
  readonly accessLog: AccessLog | undefined;
}

const nothing: Opened = { pools: new Map(), admissions: new Map(), accessLog: undefined };

export class Plans {
  private readonly parts: PlansParts;
  private readonly leases: Leases;
  private opened: Opened = nothing;
  private meters: ReadonlyMap<string, RouteMeter> = new Map();
  private plan: Plan | undefined;
  /** Plans that still have requests under way, the oldest first, with what went when they did. */
  private readonly retired: { isLeft: boolean; readonly close: () => void }[] = [];
  private droppedLines = 0;

  constructor(parts: PlansParts) {
    this.parts = parts;
    this.leases = new Leases(parts.clock, parts.sparingly);
  }

  get current(): Plan {
    if (this.plan === undefined) throw new Error('There is no plan before the first configuration.');
    return this.plan;
  }

  /** Throws where the configuration cannot be; then nothing has changed. */
  change(config: GatewayConfig, changeLimits: ChangeLimits): void {
    const before = this.opened;
    const fresh: (() => void)[] = [];
    try {
      const opened = this.open(config, before, fresh);
      const meters = this.metersOf(config);
      const routeOf = routesOf(config, opened, meters);
      const identity = identityOf(config);
      const limits = changeLimits();
      const { clock, sparingly: log } = this.parts;
      const plan = new Plan({
        routeOf,
        identity,
        limits,
        leases: this.leases,
        strangers: meters.get(noRoute)!,
        accessLog: opened.accessLog,
        clock,
        log,
      });
      this.takeOver(config, before);
      this.opened = opened;
      this.meters = meters;
      this.replace(plan, () => this.close(before, opened));
    } catch (error) {
      for (const undo of fresh) undo();
      throw error;
    }
  }

  /** Opens what the configuration has and nobody has opened yet. `fresh` undoes it. */
  private open(config: GatewayConfig, before: Opened, fresh: (() => void)[]): Opened {
    const { clock, log } = this.parts;
    const pools = new Map<string, UpstreamPool>();
    for (const upstream of Object.values(config.upstreams)) {
      const known = before.pools.get(upstream.name);
      // Made also where there is one, to see that it can be: what stays is changed only when nothing can go wrong any more.
      const made = new UpstreamPool(upstream, { clock, log, limits: config.limits });
      if (known === undefined) fresh.push(() => made.close());
      else made.close();
      pools.set(upstream.name, known ?? made);
    }
    const admissions = new Map<string, Admission>();
    for (const admission of Object.values(config.admissions)) {
      const known = before.admissions.get(admission.name);
      const opened = known ?? openAdmission(admission, clock);
      if (known === undefined) fresh.push(() => opened.close());
      admissions.set(admission.name, opened);
    }
    return { pools, admissions, accessLog: this.accessLogOf(config.accessLog, before.accessLog, fresh) };
  }

  private accessLogOf(
    config: AccessLogConfig | undefined,
    before: AccessLog | undefined,
    fresh: (() => void)[],
  ): AccessLog | undefined {
    if (config === undefined) return undefined;
    if (before?.config.path === config.path && before.config.format === config.format) return before;
    const opened = openAccessLog(config, this.parts.log);
    fresh.push(() => void opened.close());
    return opened;
  }

  /** Routes that stay keep their counts. */
  private metersOf({ routes }: GatewayConfig): ReadonlyMap<string, RouteMeter> {
    const names = [...routes.map(({ name }) => name), noRoute];
    return new Map(names.map((name) => [name, this.meters.get(name) ?? new RouteMeter()]));
  }

  /** Tells those that stay what has changed. */
  private takeOver(config: GatewayConfig, before: Opened): void {
    for (const upstream of Object.values(config.upstreams)) before.pools.get(upstream.name)?.reconfigure(upstream);
    for (const admission of Object.values(config.admissions)) {
      before.admissions.get(admission.name)?.reconfigure(admission);
    }
  }

  private replace(plan: Plan, close: () => void): void {
    const old = this.plan;
    this.plan = plan;
    if (old === undefined) return;
    const entry = { isLeft: false, close };
    this.retired.push(entry);
    old.retire(() => {
      entry.isLeft = true;
      // What this one lost, an older one may still use.
      while (this.retired[0]?.isLeft) this.retired.shift()?.close();
    });
  }

  /** What was there before and is not there now. */
  private close(before: Opened, now: Opened): void {
    for (const [name, pool] of before.pools) if (now.pools.get(name) !== pool) pool.close();
    for (const [name, admission] of before.admissions) {
      if (now.admissions.get(name) !== admission) admission.close();
    }
    const { accessLog } = before;
    if (accessLog === undefined || accessLog === now.accessLog) return;
    this.droppedLines += accessLog.dropped;
    void accessLog.close();
  }

  reopenAccessLog(): void {
    this.opened.accessLog?.reopen();
  }

  /** For those who watch. */
  upstreams(): LiveUpstream[] {
    return [...this.opened.pools.values()].map((pool) => {
      const { upstream, members } = pool.stats();
      return {
        name: upstream,
        members: members.map(({ id, circuit, share, inFlight }) => ({
          id,
          circuit: circuit ?? 'none',
          // Not its health: where too few are healthy, all are used. Nor its circuit: one that is half-open lets some calls through,
          // unless checks or outliers leave the member out all the same.
          isUsable: share > 0,
          inFlight,
        })),
      };
    });
  }

  numbers(): GatewaySources {
    const { pools, admissions, accessLog } = this.opened;
    return {
      routes: this.meters,
      pools: [...pools.values()].map((pool) => pool.stats()),
      admissions: new Map([...admissions].map(([name, admission]) => [name, admission.stats()])),
      droppedLines: this.droppedLines + (accessLog?.dropped ?? 0),
    };
  }

  /** When everything has ended. */
  async end(): Promise<void> {
    for (const { close } of this.retired.splice(0)) close();
    this.leases.close();
    const { pools, admissions, accessLog } = this.opened;
    for (const pool of pools.values()) pool.close();
    for (const admission of admissions.values()) admission.close();
    await accessLog?.close();
  }
}

function routesOf(
  config: GatewayConfig,
  { pools, admissions }: Opened,
  meters: ReadonlyMap<string, RouteMeter>,
): Plan['routeOf'] {
  const find = compileRoutes(config.routes);
  const routes = new Map<RouteConfig, Route>();
  for (const route of config.routes) {
    const pool = pools.get(route.upstream);
    if (pool === undefined) throw new Error(`Route ${route.name}: there is no upstream ${route.upstream}.`);
    const meter = meters.get(route.name)!;
    routes.set(route, { config: route, pool, meter, admittance: admittanceOf(route, config, admissions) });
  }
  return (question) => {
    const found = find(question);
    return found && routes.get(found);
  };
}

function admittanceOf(
  { name, admission }: RouteConfig,
  config: GatewayConfig,
  admissions: ReadonlyMap<string, Admission>,
): Admittance | undefined {
  if (admission === undefined) return undefined;
  const own = admissions.get(admission);
  const settings = config.admissions[admission];
  if (own === undefined || settings === undefined)
    throw new Error(`Route ${name}: there is no admission ${admission}.`);
  const { tenant, priority, priorities } = settings;
  return {
    admission: own,
    tenantOf: tenant && sourceReader(tenant),
    priorityOf: priority && sourceReader(priority),
    priorities,
  };
}
