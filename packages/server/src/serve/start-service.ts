/**
 * Brings a configuration to life: store, rules, doors, the watch over its files, the state on disk.
 *
 *      workers: 1        doors ──► service ──► store                        everything in this thread
 *      workers: n        doors ─┐
 *                        doors ─┼─► channel ──► service ──► store           doors in threads of their own
 *                        doors ─┘        └─ CL.THROTTLE from memory that all threads share
 */
import { type ActiveOverride, type SharedMemoryStore, sharedMemoryStore } from 'sluice';
import type { ClusterDoor } from '../cluster/view.ts';
import { addressText } from '../config/address-text.ts';
import type { Config } from '../config/config.ts';
import type { ReadConfigResult } from '../config/read-config.ts';
import { watchConfig } from '../config/watch-config.ts';
import { envoyLimiter } from '../envoy/should-rate-limit.ts';
import { readSite, studioFolder } from '../http/site.ts';
import { CheckMeter } from '../operations/check-meter.ts';
import { collectStatus } from '../operations/collect-status.ts';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';
import type { ServiceLog } from '../operations/log.ts';
import { type DoorName, serviceMetrics } from '../operations/metrics.ts';
import { refusedKeys, topRefused } from '../operations/refused-keys.ts';
import { startTracing } from '../operations/tracing.ts';
import type { TlsFiles } from '../service/door.ts';
import { answersOf, LocalService } from '../service/local-service.ts';
import { type OpenStore, openStore } from '../service/open-store.ts';
import { readTls } from '../service/read-tls.ts';
import type { Service } from '../service/service.ts';
import { Tokens } from '../service/tokens.ts';
import { memoryFiles, restoreState, type StateFile, stateSaver } from '../state/kept-state.ts';
import { removeLeftovers, restoreBytes, saveBytes } from '../state/snapshot-file.ts';
import { doorNames, type Listening, openDoors } from '../threads/doors.ts';
import { serviceHandlers } from '../threads/remote-service.ts';
import { applySettings, type ThreadSettings, threadSettings } from '../threads/thread-settings.ts';
import { startWorkers } from '../threads/workers.ts';
import { version } from '../version.ts';
import { envoyRulesOf, Reloads } from './reloads.ts';
import { watchRoom } from './room-watch.ts';

export interface StartOptions {
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
  /** A thread died, or the cluster does not take us: nothing more can be served. */
  onDeath(error: unknown): void;
}

export interface RunningService {
  readonly listening: Readonly<Partial<Record<DoorName, Listening>>>;
  readonly service: Service;
  /** Where browsers find the studio; undefined: nowhere. */
  readonly studio: Listening | undefined;
  /** Finishes what was begun, saves the state, ends. */
  stop(): Promise<void>;
}

/** Where connections are served. */
interface Front {
  readonly listening: RunningService['listening'];
  measure(): Promise<readonly Measures[]>;
  /** After a reload. */
  configure(settings: ThreadSettings): void;
  drain(timeoutMs: number): Promise<void>;
  /** After everything else: threads may still hold sockets. */
  end(): Promise<void>;
}

type Measures = Awaited<ReturnType<Awaited<ReturnType<typeof startWorkers>>['measure']>>[number];

export async function startService(options: StartOptions): Promise<RunningService> {
  const { config, log } = options;
  const opened = await openStore(config, log);
  const shared = await sharedMemoryFor(config, log);
  const restored = await restoreState(config, opened, log);
  const checks = new CheckMeter(ruleNames(config));
  const refusals = refusedKeys();
  let envoyRules = envoyRulesOf(config.envoy);
  const envoy = envoyLimiter({
    rules: () => envoyRules,
    store: opened.store,
    responseHeaders: () => reloads.config.envoy?.responseHeaders ?? false,
    keyBytes: config.limits.keyBytes,
    onStatus(name, key, { allowed, shadow }) {
      if (!allowed && !shadow) refusals.count('envoy', key === '' ? name : `${name}: ${key}`);
    },
  });
  const { store, largeStore, sentStore } = opened;
  const parts = { store, largeStore, sentStore, throttleStore: shared, checks, refusals, envoy };
  const local = new LocalService(parts, config);
  local.restoreNames(restored.names);
  tellDropped(local.restoreOverrides(restored.overrides), log);
  const reloads = new Reloads(
    options,
    (next, nextEnvoyRules) => {
      tellDropped(local.configure(next), log);
      envoyRules = nextEnvoyRules;
      checks.setRules(ruleNames(next));
      const settings = threadSettings(next);
      log.hide(settings.secrets);
      log.level = settings.logLevel;
      front?.configure(settings);
    },
    envoyRules,
  );
  const metrics = serviceMetrics(version);
  let isEnding = false;
  let front: Front | undefined;
  let writing: Promise<string> | undefined;
  let collecting: Promise<LiveSnapshot> | undefined;
  const startedAtMs = Date.now();

  async function measures(): Promise<readonly Measures[]> {
    return [{ checks: checks.read(), refusals: refusals.read(), doors: {} }, ...((await front?.measure()) ?? [])];
  }

  const service: Service = {
    ...answersOf(local),
    topRefused: async (most) =>
      topRefused(
        (await measures()).flatMap((one) => one.refusals),
        most,
      ),
    reload: () => reloads.reload(),
    metrics() {
      // Whoever asks while it is being written gets the same.
      writing ??= writeMetrics().finally(() => {
        writing = undefined;
      });
      return writing;
    },
    status() {
      collecting ??= collect().finally(() => {
        collecting = undefined;
      });
      return collecting;
    },
    readiness,
  };

  function readiness() {
    const reason = isEnding ? 'the service is ending' : front ? opened.problem() : 'the service is starting';
    return reason === undefined ? { isReady: true } : { isReady: false, reason };
  }

  async function collect(): Promise<LiveSnapshot> {
    const all = await measures();
    return collectStatus({
      kind: 'service',
      startedAtMs,
      readiness: readiness(),
      rules: ruleNames(reloads.config),
      checks: all.map((one) => one.checks),
      refusals: all.flatMap((one) => one.refusals),
      store: storeNumbers(opened, shared),
      cluster: opened.cluster?.door.view(),
      revision: local.revision,
    });
  }

  async function writeMetrics(): Promise<string> {
    const all = await measures();
    return metrics.text({
      rules: ruleNames(reloads.config),
      checks: all.map((one) => one.checks),
      doors: Object.fromEntries(
        doorNames
          .map((name) => [name, all.flatMap(({ doors }) => doors[name] ?? [])] as const)
          .filter(([, meters]) => meters.length > 0),
      ),
      store: storeNumbers(opened, shared),
      cluster: opened.cluster?.stats(),
      envoy: envoy.counts(),
      reloads: reloads.numbers,
    });
  }

  const studio = config.studio ? (options.studioFolder ?? studioFolder()) : undefined;
  const served = await openFront(service, shared, opened.cluster?.door, studio, options);
  front = served;
  // Who comes through the first open door may have asked for a reload, which the others have not heard of.
  if (reloads.config !== config) served.configure(threadSettings(reloads.config));
  joinCluster(opened, served.listening, options);
  const files = [...memoryFiles(config, opened, () => local.overrides()), ...throttleFiles(config, shared)];
  const saver = stateSaver(config, files, log);
  const roomWatch = watchRoom([...opened.memories.map(({ memory }) => memory), ...(shared ? [shared] : [])], log);
  const watch = watchConfig({ ...reloads.watched, onChange: () => void reloads.reload(), log });
  reloads.onWatched = (watched) => watch.follow(watched);

  return {
    listening: served.listening,
    service,
    studio: studio === undefined ? undefined : (served.listening.admin ?? served.listening.http),
    async stop() {
      isEnding = true;
      roomWatch.end();
      await watch.close();
      // With the doors open: who comes meanwhile is sent on to the next owner.
      await opened.cluster?.leave(config.drainMs);
      await served.drain(config.drainMs);
      try {
        await saver.end();
      } finally {
        await opened.close();
        await served.end();
      }
    },
  };
}

/** The doors are open by now: until it has joined, everything is refused. */
function joinCluster(
  { cluster }: OpenStore,
  { resp, http, grpc }: RunningService['listening'],
  options: StartOptions,
): void {
  const { store } = options.config;
  if (cluster === undefined || store.type !== 'owned' || resp === undefined) return;
  const at = (listening: Listening | undefined) =>
    listening && addressText({ host: store.advertise, port: listening.port });
  cluster.join({ resp: at(resp)!, http: at(http), grpc: at(grpc) }).catch(options.onDeath);
}

function tellDropped(overrides: readonly ActiveOverride[], log: ServiceLog): void {
  if (overrides.length > 0)
    log.warn({ overrides: overrides.length }, 'overrides were dropped that no rule can have any more');
}

function ruleNames({ rules }: Config): string[] {
  return rules.map(({ name }) => name);
}

/**
 * Memory for CL.THROTTLE that all threads share; with one thread, or with Redis, the store does. Where the state is kept on disk, one
 * thread uses it too: the number of threads may be another after the restart.
 */
async function sharedMemoryFor(
  { workers, store, snapshot }: Config,
  log: ServiceLog,
): Promise<SharedMemoryStore | undefined> {
  if (store.type !== 'memory' || (workers === 1 && snapshot === undefined)) return undefined;
  // A bucket is two numbers, and a place with room for no more is as large as a line of the processor's cache.
  const fresh = sharedMemoryStore({ maxKeys: store.maxKeys, cellsPerKey: 2 });
  if (snapshot === undefined) return fresh;
  const path = throttlePath(snapshot.path);
  await removeLeftovers(path);
  const kept = await restoreBytes(path);
  if (kept === undefined) return fresh;
  if (kept.buffer.byteLength !== fresh.buffer.byteLength) {
    log.warn({ path }, 'CL.THROTTLE keeps the maxKeys that its state was saved with');
  }
  return kept;
}

function throttlePath(path: string): string {
  return `${path}.throttle`;
}

function throttleFiles({ snapshot }: Config, shared: SharedMemoryStore | undefined): readonly StateFile[] {
  if (snapshot === undefined || shared === undefined) return [];
  const path = throttlePath(snapshot.path);
  return [{ path, write: () => saveBytes(path, shared.snapshot()) }];
}

async function openFront(
  service: Service,
  shared: SharedMemoryStore | undefined,
  cluster: ClusterDoor | undefined,
  studio: string | undefined,
  { config, log, onDeath }: StartOptions,
): Promise<Front> {
  const { listen, limits, workers, tracing, security } = config;
  const tls = readTls(security.tls);
  if (workers === 1) return openHere(service, config, { tls, cluster, studio, log });
  return startWorkers({
    count: workers,
    // Shared out evenly: how many a door has is bounded over all threads, if not to the last one (schema.ts says so).
    orders: {
      limits: { ...limits, connections: Math.ceil(limits.connections / workers) },
      settings: threadSettings(config),
      tls,
      listen,
      tracing,
      buffer: shared?.buffer,
      studio,
    },
    handlers: serviceHandlers(service),
    onDeath,
  });
}

interface OpenHereParts {
  readonly tls: TlsFiles | undefined;
  readonly cluster: ClusterDoor | undefined;
  /** Where it was built. */
  readonly studio: string | undefined;
  readonly log: ServiceLog;
}

async function openHere(
  service: Service,
  { listen, limits, security, tracing: traced }: Config,
  { tls, cluster, studio, log }: OpenHereParts,
): Promise<Front> {
  const tracing = await startTracing(traced, log);
  const tokens = new Tokens(security.tokens);
  const site = studio === undefined ? undefined : readSite(studio);
  const doors = openDoors(service, listen, { limits, tokens, tls, log, cluster, site }, tracing);
  const listening: Partial<Record<DoorName, Listening>> = {};
  for (const name of doorNames) {
    const address = listen[name];
    if (address) listening[name] = await doors.listen(name, address);
  }
  const none = { checks: new CheckMeter().read(), refusals: [] };
  return {
    listening,
    measure: async () => [{ ...none, doors: doors.meters }],
    configure: (settings) => applySettings(settings, { tokens, log }),
    async drain(timeoutMs) {
      doors.stopListening();
      await doors.drain(timeoutMs);
      await tracing.shutdown();
    },
    end: async () => {},
  };
}

function storeNumbers(opened: OpenStore, shared: SharedMemoryStore | undefined) {
  const own = opened.stats();
  if (shared === undefined) return own;
  const { keys, evictedLiveKeys, refusedNewcomers } = shared.stats();
  return {
    ...own,
    keys: (own.keys ?? 0) + keys,
    evictedLiveKeys: own.evictedLiveKeys + evictedLiveKeys,
    errors: own.errors + refusedNewcomers,
  };
}
