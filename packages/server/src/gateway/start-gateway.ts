/**
 * Brings a configuration to life as a gateway: store, rules, plans, the front that clients come to, the door of the administration, the
 * watch over the file.
 *
 *      clients ──► front ──► pipeline, by the current plan ──► members
 *                               ▲
 *      file, SIGHUP, POST /v1/reload ──► a new plan, whole or not at all
 */
import { type ActiveOverride, type Clock, monotonicClock, SluiceError } from 'sluice';
import type { Address, Config } from '../config/config.ts';
import type { GatewayConfig } from '../config/gateway-config.ts';
import { idleSettings } from '../config/idle-settings.ts';
import type { ReadConfigResult } from '../config/read-config.ts';
import { secretsOf } from '../config/secrets.ts';
import { watchConfig } from '../config/watch-config.ts';
import { readSite, studioFolder } from '../http/site.ts';
import { CheckMeter } from '../operations/check-meter.ts';
import { collectStatus } from '../operations/collect-status.ts';
import type { ServiceLog } from '../operations/log.ts';
import { serviceMetrics } from '../operations/metrics.ts';
import { occasionalLog } from '../operations/occasional-log.ts';
import { refusedKeys } from '../operations/refused-keys.ts';
import { Reloads } from '../serve/reloads.ts';
import { watchRoom } from '../serve/room-watch.ts';
import { doorMeter } from '../service/door-meter.ts';
import { LocalService } from '../service/local-service.ts';
import { type OpenStore, openStore } from '../service/open-store.ts';
import { readTls } from '../service/read-tls.ts';
import type { Service } from '../service/service.ts';
import { Tokens } from '../service/tokens.ts';
import { memoryFiles, restoreState, stateSaver } from '../state/kept-state.ts';
import { version } from '../version.ts';
import { type Administration, administered, noDescriptors, openAdministration } from './administration.ts';
import { openFront } from './front/front.ts';
import { Passage } from './passage.ts';
import { pass } from './pipeline.ts';
import type { Limits } from './plan.ts';
import { Plans } from './plans.ts';
import { gatewayMetricsText } from './report/gateway-metrics.ts';
import { rulesOfRoutes, spelled } from './rules-of-routes.ts';

export interface GatewayOptions {
  /** With a `gateway`. */
  readonly config: Config;
  /** Files and folders whose change is a change of the configuration. */
  readonly watched: readonly string[];
  /** What stood in them before they were read; what changes until they are watched is a change, too. Default: what stands there then. */
  readonly watchedContent?: string;
  /** Reads the configuration again. */
  readConfig(): ReadConfigResult;
  readonly log: ServiceLog;
  /** Where the studio was built. Default: where it is installed; it is not served without an index.html. */
  readonly studioFolder?: string;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export interface RunningGateway {
  readonly listening: { readonly gateway: Address; readonly admin: Address | undefined };
  /** Rules, keys, metrics, readiness, reload. */
  readonly service: Service;
  /** Whether the administration's door has the studio. */
  readonly hasStudio: boolean;
  /** After the access log was moved away. */
  reopenAccessLog(): void;
  /** Finishes what was begun, and ends. */
  stop(): Promise<void>;
}

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const opened = await openStore(options.config, options.log, options.clock);
  const closers: (() => unknown)[] = [() => opened.close()];
  try {
    return await startOver(opened, options, closers);
  } catch (error) {
    // A port that is taken, a file that is not there: nothing of what was opened stays.
    for (const close of closers.reverse()) await close();
    throw error;
  }
}

/** @param closers what to do if it does not start */
async function startOver(
  opened: OpenStore,
  options: GatewayOptions,
  closers: (() => unknown)[],
): Promise<RunningGateway> {
  const { config, log, clock = monotonicClock } = options;
  const gateway = gatewayOf(config);
  const limiting = await startLimiting(opened, config, log);
  const plans = new Plans({ clock, log, sparingly: occasionalLog(log, { most: 10, clock }) });
  closers.push(() => plans.end());
  plans.change(gateway, () => limiting.limitsOf(config));
  tellIdle(config, log);
  const tls = readTls(gateway.tls);
  let authority = tls?.ca;
  const front = openFront({ limits: gateway.limits, tls, http2: gateway.http2, log, clock }, (exchange) => {
    const plan = plans.current;
    plan.begun();
    pass(new Passage(plan, exchange, clock.now()));
  });
  const tokens = new Tokens(config.security.tokens);
  const reloads = new Reloads(options, (next) => {
    const nextGateway = gatewayOf(next);
    const nextTls = readTls(nextGateway.tls);
    plans.change(nextGateway, () => limiting.change(next));
    // Whose certificates are asked for was settled when the socket was opened: another authority applies after a restart. And without any
    // Node would let in whoever has a certificate of an authority that it knows itself.
    if (nextGateway.tls?.clientAuthority === gateway.tls?.clientAuthority) authority = nextTls?.ca;
    front.renewCertificate(nextTls && { ...nextTls, ca: authority });
    tokens.set(next.security.tokens);
    log.level = next.logs.level;
    log.hide(secretsOf(next));
    tellIdle(next, log);
  });

  const metrics = serviceMetrics(version);
  const adminMeter = doorMeter();
  const startedAtMs = Date.now();
  let isEnding = false;
  const service = administered(limiting.local, limiting.refusals, {
    reload: () => reloads.reload(),
    async metrics() {
      const own = gatewayMetricsText(plans.numbers());
      const ofService = await metrics.text({
        rules: ruleNames(reloads.config),
        checks: [limiting.checks.read()],
        doors: { gateway: [{ ...front.meter, unauthorized: 0 }], ...(gateway.admin && { admin: [adminMeter] }) },
        store: opened.stats(),
        envoy: [],
        reloads: reloads.numbers,
      });
      return own + ofService;
    },
    status: () =>
      collectStatus({
        kind: 'gateway',
        startedAtMs,
        readiness: readiness(),
        rules: ruleNames(reloads.config),
        checks: [limiting.checks.read()],
        refusals: limiting.refusals.read(),
        store: opened.stats(),
        upstreams: plans.upstreams(),
        revision: limiting.local.revision,
      }),
    readiness,
  });

  function readiness() {
    const reason = isEnding ? 'the gateway is ending' : opened.problem();
    return reason === undefined ? { isReady: true } : { isReady: false, reason };
  }

  const listening = await front.listen(gateway.listen);
  closers.push(() => front.drain(0));
  let admin: Administration | undefined;
  const studio = gateway.admin && config.studio ? (options.studioFolder ?? studioFolder()) : undefined;
  const site = studio === undefined ? undefined : readSite(studio);
  if (gateway.admin) {
    admin = await openAdministration(gateway.admin, service, config, { tokens, meter: adminMeter, log, site });
  }
  const saver = stateSaver(
    config,
    memoryFiles(config, opened, () => limiting.local.overrides()),
    log,
  );
  const roomWatch = watchRoom(
    opened.memories.map(({ memory }) => memory),
    log,
  );
  closers.push(() => roomWatch.end());
  const watch = watchConfig({ ...reloads.watched, onChange: () => void reloads.reload(), log });
  reloads.onWatched = (watched) => watch.follow(watched);
  await watch.ready;

  async function stop(): Promise<void> {
    isEnding = true;
    roomWatch.end();
    await watch.close();
    front.stopListening();
    await front.drain(config.drainMs);
    await admin?.close(config.drainMs);
    await plans.end();
    try {
      await saver.end();
    } finally {
      await opened.close();
    }
  }

  let stopped: Promise<void> | undefined;
  return {
    listening: { gateway: listening, admin: admin?.address },
    service,
    hasStudio: site !== undefined,
    reopenAccessLog: () => plans.reopenAccessLog(),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** The rules over the store, with what was used in the last run. */
async function startLimiting(opened: OpenStore, config: Config, log: ServiceLog) {
  const restored = await restoreState(config, opened, log);
  const checks = new CheckMeter(ruleNames(config));
  const refusals = refusedKeys();
  const { store, largeStore } = opened;
  const local = new LocalService({ store, largeStore, checks, refusals, envoy: noDescriptors }, withRoutes(config));
  local.restoreNames(restored.names);
  tellDropped(local.restoreOverrides(restored.overrides));

  function tellDropped(dropped: readonly ActiveOverride[]): void {
    if (dropped.length > 0)
      log.warn({ overrides: dropped.length }, 'overrides were dropped that no rule can have any more');
  }

  /** Nothing to ask where there is nothing that could refuse. */
  function limitsOf({ rules, allow, deny }: Config): Limits | undefined {
    return rules.length + allow.length + deny.length === 0 ? undefined : local;
  }

  return {
    local,
    checks,
    refusals,
    limitsOf,
    change(next: Config): Limits | undefined {
      tellDropped(local.configure(withRoutes(next)));
      checks.setRules(ruleNames(next));
      return limitsOf(next);
    },
  };
}

function gatewayOf({ gateway }: Config): GatewayConfig {
  if (gateway !== undefined) return gateway;
  throw new SluiceError(
    'invalid-option',
    'The configuration has no gateway section: there is nowhere to send requests.',
  );
}

/** With rules that know which routes they are for. */
function withRoutes(config: Config): Config {
  const { rules, allow, deny } = config;
  return {
    ...config,
    rules: rulesOfRoutes(rules, gatewayOf(config).routes),
    allow: allow.map(spelled),
    deny: deny.map(spelled),
  };
}

/** Whoever wrote a limit that limits nobody believes to be limited. */
function tellIdle(config: Config, log: ServiceLog): void {
  const settings = idleSettings(gatewayOf(config), config.rules);
  if (settings.length > 0) log.warn({ settings }, 'some settings do nothing here');
}

function ruleNames({ rules }: Config): string[] {
  return rules.map(({ name }) => name);
}
