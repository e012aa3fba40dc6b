/**
 * The text that Prometheus scrapes, made from the plain numbers that threads and doors keep, when it is asked for.
 *
 *      CheckMeter  CheckMeter  DoorMeter ...        one of each per thread
 *           └──────────┴───────────┴──► metrics.text(sources)
 *
 * Nothing is kept between scrapes, so a rule that is gone leaves nothing behind. The figures of the process itself (memory, event loop,
 * file descriptors) are prom-client's.
 */
import type { Registry } from 'prom-client';
import type { NodeStats } from '../cluster/cluster-node.ts';
import type { StoreConfig } from '../config/config.ts';
import type { DoorMeter } from '../service/door-meter.ts';
import { CheckMeter, type CheckMeterData, durationBoundsMs, outcomes } from './check-meter.ts';
import { type MetricName, metricCatalogue } from './metric-catalogue.ts';
import { histogramText, metricText, type Series } from './prometheus-text.ts';

export type DoorName = 'http' | 'grpc' | 'resp' | 'admin';

export interface MetricSources {
  /** The configured rules: only these, and `namesBesideRules`, become labels. */
  readonly rules: readonly string[];
  /** One of each thread. */
  readonly checks: readonly CheckMeterData[];
  /** One of each thread that has the door. A door that stays closed is absent. */
  readonly doors: Readonly<Partial<Record<DoorName | 'gateway', readonly DoorMeter[]>>>;
  readonly store: StoreNumbers;
  /** Of the node of a cluster that this is. */
  readonly cluster?: NodeStats | undefined;
  readonly envoy: Iterable<EnvoyLimitHits>;
  readonly reloads: ReloadNumbers;
}

export interface StoreNumbers {
  readonly type: StoreConfig['type'];
  /** Undefined: the store does not know. */
  readonly keys: number | undefined;
  readonly evictedLiveKeys: number;
  readonly errors: number;
  readonly degraded: number;
}

/** One limit of the Envoy files, by its place there. As many as the operator configured, never as many as there are callers. */
export interface EnvoyLimitHits {
  readonly domain: string;
  readonly descriptor: string;
  readonly withinLimit: number;
  readonly overLimit: number;
  /** The part of these that was beyond four fifths of the limit. */
  readonly nearLimit: number;
  /** The part of `overLimit` that was let through. */
  readonly shadowMode: number;
}

export interface ReloadNumbers {
  readonly succeeded: number;
  readonly failed: number;
  readonly lastSuccessMs: number;
}

export interface Metrics {
  text(sources: MetricSources): Promise<string>;
}

/** `version` is the service's. One per process: it also watches the process itself, from the first scrape on. */
export function serviceMetrics(version: string): Metrics {
  let ofProcess: Promise<Registry> | undefined;
  return {
    async text(sources) {
      ofProcess ??= processMetrics();
      return serviceText(version, sources) + (await (await ofProcess).metrics());
    },
  };
}

/** Loaded when somebody scrapes: until then it would only take memory. */
async function processMetrics(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

function serviceText(version: string, { rules, checks, doors, store, cluster, envoy, reloads }: MetricSources): string {
  const build: Series = [[version, process.version], 1];
  return [
    checksText(rules, checks),
    // Without a number there is no series: 0 would say that the store is empty.
    text('sluice_keys', store.keys === undefined ? [] : [[[store.type], store.keys]]),
    text('sluice_store_errors_total', [[[], store.errors]]),
    text('sluice_degraded_total', [[[], store.degraded]]),
    text('sluice_evicted_live_keys_total', [[[], store.evictedLiveKeys]]),
    cluster === undefined ? '' : clusterText(cluster),
    doorsText(doors),
    text('sluice_envoy_hits_total', [...envoy].flatMap(envoySeries)),
    text('sluice_config_reloads_total', [
      [['success'], reloads.succeeded],
      [['failure'], reloads.failed],
    ]),
    text('sluice_config_last_success_timestamp_seconds', [[[], reloads.lastSuccessMs / 1000]]),
    text('sluice_build_info', [build]),
  ].join('');
}

function clusterText(node: NodeStats): string {
  return [
    text('sluice_cluster_shards', [
      [['owned'], node.ownedShards],
      [['with-standby'], node.standbyShards],
    ]),
    text('sluice_cluster_right_seconds', [[[], node.rightForMs / 1000]]),
    text('sluice_cluster_moved_shards_total', [
      [['taken-over'], node.takenOver],
      [['promoted'], node.promoted],
      [['handed-over'], node.handedOver],
    ]),
    text('sluice_cluster_forwarded_total', [[[], node.forwarded]]),
    text('sluice_cluster_quarantine_refusals_total', [[[], node.quarantineRefusals]]),
  ].join('');
}

function text(name: MetricName, series: readonly Series[]): string {
  return metricText(name, metricCatalogue[name], series);
}

function checksText(rules: readonly string[], threads: readonly CheckMeterData[]): string {
  const sum = new CheckMeter(rules);
  for (const data of threads) sum.add(data);
  const { names, counts, durations, durationMsSum } = sum.read();
  const series = names.flatMap((name, i) =>
    outcomes.map((outcome, j): Series => [[name, outcome], counts[i * outcomes.length + j]!]),
  );
  const histogram = 'sluice_check_duration_seconds';
  return (
    text('sluice_checks_total', series) +
    histogramText(histogram, metricCatalogue[histogram], {
      bounds: durationBoundsMs.map((ms) => ms / 1000),
      counts: durations,
      sum: durationMsSum / 1000,
    })
  );
}

const doorMetrics = {
  connections: 'sluice_connections',
  refusedConnections: 'sluice_refused_connections_total',
  requests: 'sluice_requests_total',
  malformed: 'sluice_malformed_requests_total',
  unauthorized: 'sluice_unauthorized_requests_total',
  timedOut: 'sluice_timed_out_connections_total',
} as const satisfies Record<keyof DoorMeter, MetricName>;

function doorsText(doors: MetricSources['doors']): string {
  const fields = Object.entries(doorMetrics) as [keyof DoorMeter, MetricName][];
  return fields
    .map(([field, name]) => {
      const series = Object.entries(doors).map(([door, meters]): Series => {
        return [[door], meters.reduce((sum, meter) => sum + meter[field], 0)];
      });
      return text(name, series);
    })
    .join('');
}

function envoySeries({ domain, descriptor, ...hits }: EnvoyLimitHits): Series[] {
  return [
    [[domain, descriptor, 'within'], hits.withinLimit],
    [[domain, descriptor, 'near'], hits.nearLimit],
    [[domain, descriptor, 'over'], hits.overLimit],
    [[domain, descriptor, 'shadow'], hits.shadowMode],
  ];
}
