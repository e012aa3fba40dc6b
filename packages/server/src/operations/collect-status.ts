/**
 * Makes a snapshot of what threads, store, cluster and pools have counted, when somebody asks. Nothing is kept between two of them.
 *
 *      CheckMeter  RefusedKeys ...        one of each per thread
 *           └───────────┴──► collectStatus(sources) ──► LiveSnapshot
 */
import type { ClusterView } from '../cluster/view.ts';
import { version } from '../version.ts';
import { CheckMeter, type CheckMeterData, durationBoundsMs, outcomes } from './check-meter.ts';
import type {
  LiveCluster,
  LiveDurations,
  LiveRevision,
  LiveRule,
  LiveSnapshot,
  LiveStore,
  LiveUpstream,
} from './live-snapshot.ts';
import type { StoreNumbers } from './metrics.ts';
import { type RefusedKeysData, topRefused } from './refused-keys.ts';

export interface StatusSources {
  readonly kind: LiveSnapshot['kind'];
  readonly startedAtMs: number;
  readonly readiness: { readonly isReady: boolean; readonly reason?: string };
  /** The configured rules. */
  readonly rules: readonly string[];
  /** One of each thread. */
  readonly checks: readonly CheckMeterData[];
  /** Of all threads. */
  readonly refusals: RefusedKeysData;
  readonly store: StoreNumbers;
  readonly cluster?: ClusterView | undefined;
  readonly upstreams?: readonly LiveUpstream[];
  readonly revision: LiveRevision;
}

/** As many as fit on a screen; `GET /v1/refused` has more. */
const mostRefused = 20;

export function collectStatus(sources: StatusSources): LiveSnapshot {
  const { kind, startedAtMs, readiness, rules, checks, refusals, store, cluster, upstreams = [], revision } = sources;
  return {
    kind,
    version,
    atMs: Date.now(),
    startedAtMs,
    isReady: readiness.isReady,
    notReadyBecause: readiness.reason ?? null,
    ...checksOf(rules, checks),
    topRefused: topRefused(refusals, mostRefused),
    store: storeOf(store),
    cluster: cluster === undefined ? null : clusterOf(cluster),
    upstreams,
    revision,
  };
}

function checksOf(
  configured: readonly string[],
  threads: readonly CheckMeterData[],
): { readonly rules: readonly LiveRule[]; readonly durations: LiveDurations } {
  const sum = new CheckMeter(configured);
  for (const data of threads) sum.add(data);
  const { names, counts, durations, durationMsSum } = sum.read();
  const isConfigured = new Set(configured);
  const rules = names.map((name, place): LiveRule => {
    const [allowed, refused, shadowRefused, errors] = counts.slice(
      place * outcomes.length,
      (place + 1) * outcomes.length,
    ) as [number, number, number, number];
    return { name, isConfigured: isConfigured.has(name), allowed, refused, shadowRefused, errors };
  });
  return { rules, durations: { boundsMs: durationBoundsMs, counts: durations, sumMs: durationMsSum } };
}

function storeOf({ type, keys, errors, degraded, evictedLiveKeys }: StoreNumbers): LiveStore {
  return { type, keys: keys ?? null, errors, degraded, evictedLiveKeys };
}

function clusterOf({ revision, members, owners, standbys }: ClusterView): LiveCluster {
  return {
    revision,
    members: members.map(({ id, addresses, isSelf, isLeaving }) => ({
      id,
      address: addresses.resp,
      isSelf,
      isLeaving,
    })),
    owners: Array.from(owners),
    standbys: Array.from(standbys),
  };
}
