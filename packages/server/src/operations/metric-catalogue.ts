/**
 * Every metric of the service: name, type, labels and what it says. `metrics.ts` writes these and no others, `docs/reference/metrics.md`
 * lists the same, and the Grafana dashboard asks for nothing else; tests compare. (The process itself adds `process_*` and `nodejs_*`.)
 *
 * No label has values that a caller can invent: rules, domains and limits are the operator's, the rest is listed here.
 */
export interface CatalogueEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const door = ['door'] as const;

export const metricCatalogue = {
  sluice_checks_total: {
    type: 'counter',
    labels: ['rule', 'outcome'],
    help: 'What each rule said. Outcomes: allowed, refused, shadow-refused, error.',
  },
  sluice_check_duration_seconds: {
    type: 'histogram',
    labels: [],
    help: 'How long a check took, from the question to the answer of the store.',
  },
  sluice_keys: {
    type: 'gauge',
    labels: ['store'],
    help: 'Keys that the store holds. Not told of Redis, which does not count them.',
  },
  sluice_store_errors_total: {
    type: 'counter',
    labels: [],
    help: 'Times that the store failed or did not answer in time.',
  },
  sluice_degraded_total: {
    type: 'counter',
    labels: [],
    help: 'Checks that were answered by onStoreFailure, because the store did not answer.',
  },
  sluice_evicted_live_keys_total: {
    type: 'counter',
    labels: [],
    help: 'Keys that were forgotten while they still mattered, because the store was full.',
  },
  sluice_cluster_shards: {
    type: 'gauge',
    labels: ['part'],
    help: 'Of the shards of the cluster, those that this node owns (owned), and those of them whose standby is up to date (with-standby). Only in a cluster.',
  },
  sluice_cluster_right_seconds: {
    type: 'gauge',
    labels: [],
    help: 'How long this node may still decide without hearing from etcd. 0: it refuses everything.',
  },
  sluice_cluster_moved_shards_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Shards that changed their owner: taken-over (with nothing known of them, so they refuse for a window), promoted (from the standby), handed-over (to another node, as planned).',
  },
  sluice_cluster_forwarded_total: {
    type: 'counter',
    labels: [],
    help: 'Checks that another node was asked for.',
  },
  sluice_cluster_quarantine_refusals_total: {
    type: 'counter',
    labels: [],
    help: 'Checks that were refused because what an earlier owner granted is not known.',
  },
  sluice_connections: { type: 'gauge', labels: door, help: 'Open connections.' },
  sluice_refused_connections_total: {
    type: 'counter',
    labels: door,
    help: 'Connections refused because too many were open.',
  },
  sluice_requests_total: {
    type: 'counter',
    labels: door,
    help: 'Requests, commands or calls answered, errors included.',
  },
  sluice_malformed_requests_total: { type: 'counter', labels: door, help: 'Requests that could not be understood.' },
  sluice_unauthorized_requests_total: { type: 'counter', labels: door, help: 'Requests without a valid token.' },
  sluice_timed_out_connections_total: {
    type: 'counter',
    labels: door,
    help: 'Connections ended because nothing happened, or a request did not become whole in time.',
  },
  sluice_envoy_hits_total: {
    type: 'counter',
    labels: ['domain', 'descriptor', 'outcome'],
    help: 'Hits on each configured limit of the Envoy files. Outcomes: within, over, and parts of these: near (beyond four fifths of the limit), shadow (over, but let through).',
  },
  sluice_config_reloads_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Times that the configuration was read again. Results: success, failure (the old one stays).',
  },
  sluice_config_last_success_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the configuration in use was read, in seconds since the epoch.',
  },
  sluice_build_info: { type: 'gauge', labels: ['version', 'node'], help: 'Always 1; the labels say what is running.' },
} as const satisfies Record<string, CatalogueEntry>;

export type MetricName = keyof typeof metricCatalogue;
