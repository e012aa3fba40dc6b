import { describe, expect, test } from 'vitest';
import { doorMeter } from '../service/door-meter.ts';
import { CheckMeter, durationBoundsMs, namesBesideRules, outcomes } from './check-meter.ts';
import { metricCatalogue } from './metric-catalogue.ts';
import { type MetricSources, serviceMetrics } from './metrics.ts';
import { type Family, parsePrometheusText } from './prometheus-text.test-support.ts';

const metrics = serviceMetrics('1.2.3');

const nothing: MetricSources = {
  rules: [],
  checks: [],
  doors: {},
  store: { type: 'memory', keys: 0, evictedLiveKeys: 0, errors: 0, degraded: 0 },
  envoy: [],
  reloads: { succeeded: 0, failed: 0, lastSuccessMs: 0 },
};

const node = {
  ...{ id: 'f'.repeat(40), keys: 9, durableKeys: 10, durableWrites: 11 },
  ...{ ownedShards: 341, standbyShards: 340, rightForMs: 7500 },
  ...{ takenOver: 1, promoted: 2, handedOver: 3, forwarded: 4, quarantineRefusals: 5 },
};

async function scrape(sources: Partial<MetricSources>): Promise<Map<string, Family>> {
  return parsePrometheusText(await metrics.text({ ...nothing, ...sources }));
}

/** `name{a="1"} 2` as `['1', 2]`, for those that are not 0. */
function series(families: Map<string, Family>, name: string): (string | number)[][] {
  return families
    .get(name)!
    .samples.filter(({ value }) => value !== 0)
    .map(({ labels, value }) => [...Object.values(labels), value]);
}

describe('checks', () => {
  test('are counted by rule and outcome, over all threads', async () => {
    const one = new CheckMeter(['per-ip', 'per-user']);
    const two = new CheckMeter(['per-ip', 'per-user']);
    one.count('per-ip', 'allowed');
    one.count('per-ip', 'allowed');
    two.count('per-ip', 'allowed');
    two.count('per-user', 'refused');
    two.count('per-user', 'shadow-refused');
    one.count('cl.throttle', 'refused');
    two.count('envoy', 'error');
    const families = await scrape({ rules: ['per-ip', 'per-user'], checks: [one.read(), two.read()] });
    expect(series(families, 'sluice_checks_total')).toEqual([
      ['per-ip', 'allowed', 3],
      ['per-user', 'refused', 1],
      ['per-user', 'shadow-refused', 1],
      ['cl.throttle', 'refused', 1],
      ['envoy', 'error', 1],
    ]);
  });

  test('a rule that was never asked is there, with 0', async () => {
    const families = await scrape({ rules: ['quiet'] });
    const { samples } = families.get('sluice_checks_total')!;
    expect(samples).toContainEqual({
      name: 'sluice_checks_total',
      labels: { rule: 'quiet', outcome: 'refused' },
      value: 0,
    });
  });

  test('names that callers invent never become labels', async () => {
    const meter = new CheckMeter(['per-ip']);
    for (let i = 0; i < 5000; i += 1) meter.count(`invented ${i}`, 'allowed');
    for (const name of ['__proto__', 'constructor', '', '"} 1\nfake 2']) meter.count(name, 'allowed');
    const families = await scrape({ rules: ['per-ip'], checks: [meter.read()] });
    const { samples } = families.get('sluice_checks_total')!;
    expect(samples).toHaveLength((1 + namesBesideRules.length) * outcomes.length);
    expect(series(families, 'sluice_checks_total')).toEqual([['ad-hoc', 'allowed', 5004]]);
  });

  test('a thread that has not seen the new rules yet adds nothing to the labels', async () => {
    const late = new CheckMeter(['gone', 'stays']);
    late.count('gone', 'allowed');
    late.count('stays', 'allowed');
    const families = await scrape({ rules: ['stays', 'new'], checks: [late.read()] });
    expect(series(families, 'sluice_checks_total')).toEqual([['stays', 'allowed', 1]]);
  });

  test('after a reload, rules that stay keep their counts', () => {
    const meter = new CheckMeter(['a', 'b']);
    meter.count('a', 'allowed', 5);
    meter.count('b', 'refused');
    meter.setRules(['c', 'b']);
    const sum = new CheckMeter(['a', 'b', 'c']);
    sum.add(meter.read());
    const { names, counts, durations } = sum.read();
    expect(names.slice(0, 3)).toEqual(['a', 'b', 'c']);
    expect(counts.slice(0, 12)).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    expect(durations.reduce((total, count) => total + count)).toBe(1);
  });

  test('after a reload, a rule is counted where it is now', () => {
    const meter = new CheckMeter(['a', 'b']);
    meter.count('b', 'allowed');
    meter.setRules(['b']);
    meter.count('b', 'allowed');
    expect(meter.read().names[0]).toBe('b');
    expect(meter.read().counts.slice(0, 4)).toEqual([2, 0, 0, 0]);
  });

  test('what is read survives the way to another thread', () => {
    const meter = new CheckMeter(['a']);
    meter.count('a', 'error', 2);
    expect(JSON.parse(JSON.stringify(meter.read()))).toEqual(meter.read());
  });
});

describe('durations', () => {
  test('fall into the first bucket that they do not exceed', async () => {
    const meter = new CheckMeter();
    meter.observe(0.001); // exactly on the first bound
    meter.observe(0.0011);
    meter.observe(2, 10); // one measurement for ten checks
    meter.count('envoy', 'allowed', 5000); // above all bounds
    const families = await scrape({ checks: [meter.read()] });
    const { samples } = families.get('sluice_check_duration_seconds')!;
    const bucket = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
    expect([bucket('0.000001'), bucket('0.0000025'), bucket('0.001'), bucket('0.0025'), bucket('1')]).toEqual([
      1, 2, 2, 12, 12,
    ]);
    expect(bucket('+Inf')).toBe(13);
    const sum = samples.find(({ name }) => name.endsWith('_sum'))?.value;
    expect(sum).toBeCloseTo(5.0200021, 9);
    expect(samples).toHaveLength(durationBoundsMs.length + 1 + 2);
  });

  test('are added over threads', async () => {
    const [one, two] = [new CheckMeter(), new CheckMeter()];
    one.observe(3);
    two.observe(3);
    const families = await scrape({ checks: [one.read(), two.read()] });
    const { samples } = families.get('sluice_check_duration_seconds')!;
    expect(samples.find(({ name }) => name.endsWith('_count'))?.value).toBe(2);
  });
});

test('doors are counted over their threads, and a closed door has no series', async () => {
  const one = { ...doorMeter(), connections: 2, requests: 10, malformed: 1, timedOut: 4 };
  const two = { ...doorMeter(), connections: 3, requests: 5, unauthorized: 2, refusedConnections: 7 };
  const families = await scrape({ doors: { http: [one, two], resp: [doorMeter()] } });
  const rows = [
    ['sluice_connections', 5],
    ['sluice_requests_total', 15],
    ['sluice_malformed_requests_total', 1],
    ['sluice_unauthorized_requests_total', 2],
    ['sluice_refused_connections_total', 7],
    ['sluice_timed_out_connections_total', 4],
  ] as const;
  for (const [name, value] of rows) {
    expect(series(families, name)).toEqual([['http', value]]);
    expect(families.get(name)!.samples.map(({ labels }) => labels.door)).toEqual(['http', 'resp']);
  }
});

test('the store, reloads and the build are told', async () => {
  const families = await scrape({
    store: { type: 'memory', keys: 17, evictedLiveKeys: 3, errors: 4, degraded: 5 },
    reloads: { succeeded: 6, failed: 7, lastSuccessMs: 1_700_000_000_500 },
  });
  expect(series(families, 'sluice_keys')).toEqual([['memory', 17]]);
  expect(series(families, 'sluice_evicted_live_keys_total')).toEqual([[3]]);
  expect(series(families, 'sluice_store_errors_total')).toEqual([[4]]);
  expect(series(families, 'sluice_degraded_total')).toEqual([[5]]);
  expect(series(families, 'sluice_config_reloads_total')).toEqual([
    ['success', 6],
    ['failure', 7],
  ]);
  expect(series(families, 'sluice_config_last_success_timestamp_seconds')).toEqual([[1_700_000_000.5]]);
  expect(series(families, 'sluice_build_info')).toEqual([['1.2.3', process.version, 1]]);
});

test('a store that does not know its keys says nothing rather than 0', async () => {
  const families = await scrape({ store: { ...nothing.store, type: 'redis', keys: undefined } });
  expect(families.get('sluice_keys')!.samples).toEqual([]);
});

test('a node tells what it owns and what has moved; a service of its own says nothing of a cluster', async () => {
  const families = await scrape({ cluster: node });
  expect(series(families, 'sluice_cluster_shards')).toEqual([
    ['owned', 341],
    ['with-standby', 340],
  ]);
  expect(series(families, 'sluice_cluster_right_seconds')).toEqual([[7.5]]);
  expect(series(families, 'sluice_cluster_moved_shards_total')).toEqual([
    ['taken-over', 1],
    ['promoted', 2],
    ['handed-over', 3],
  ]);
  expect(series(families, 'sluice_cluster_forwarded_total')).toEqual([[4]]);
  expect(series(families, 'sluice_cluster_quarantine_refusals_total')).toEqual([[5]]);
  expect([...(await scrape({})).keys()].filter((name) => name.startsWith('sluice_cluster_'))).toEqual([]);
});

test('limits of Envoy files are told by their path, whatever characters it has', async () => {
  const hits = { withinLimit: 4, nearLimit: 1, overLimit: 2, shadowMode: 3 };
  const families = await scrape({ envoy: [{ domain: 'edge', descriptor: 'path_"/a\\b\n*"', ...hits }] });
  expect(series(families, 'sluice_envoy_hits_total')).toEqual([
    ['edge', 'path_"/a\\b\n*"', 'within', 4],
    ['edge', 'path_"/a\\b\n*"', 'near', 1],
    ['edge', 'path_"/a\\b\n*"', 'over', 2],
    ['edge', 'path_"/a\\b\n*"', 'shadow', 3],
  ]);
});

test('the output is the catalogue and the process, nothing else', async () => {
  const families = await scrape({ rules: ['a'], doors: { http: [doorMeter()] }, cluster: node });
  const own = [...families].filter(([name]) => name.startsWith('sluice_'));
  expect(own.map(([name]) => name).sort()).toEqual(Object.keys(metricCatalogue).sort());
  for (const [name, { type, help, samples }] of own) {
    const entry = metricCatalogue[name as keyof typeof metricCatalogue];
    expect([type, help]).toEqual([entry.type, entry.help]);
    for (const { labels } of samples) {
      expect(Object.keys(labels).filter((label) => label !== 'le')).toEqual(entry.labels);
    }
  }
  const rest = [...families.keys()].filter((name) => !name.startsWith('sluice_'));
  expect(rest.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
  expect(rest).toContain('process_resident_memory_bytes');
});

test('two scrapes at once do not mix', async () => {
  const texts = await Promise.all([1, 2].map((keys) => scrape({ store: { ...nothing.store, keys } })));
  expect(texts.map((families) => series(families, 'sluice_keys'))).toEqual([[['memory', 1]], [['memory', 2]]]);
});

describe('the parser of these tests', () => {
  const rows: [problem: string, text: string][] = [
    ['no line feed at the end', '# TYPE a counter\na 1'],
    ['a value that is no number', '# TYPE a counter\na x\n'],
    ['a sample without a type', 'a 1\n'],
    ['a series twice', '# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n'],
    ['a quotation mark that is not escaped', '# TYPE a gauge\na{b="""} 1\n'],
    ['a counter below 0', '# TYPE a counter\na -1\n'],
    ['buckets that fall', '# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n'],
    ['buckets without +Inf', '# TYPE a histogram\na_bucket{le="1"} 2\na_sum 1\na_count 2\n'],
    ['a label twice', '# TYPE a gauge\na{b="1",b="2"} 1\n'],
  ];
  test.each(rows)('refuses %s', (_, text) => {
    expect(() => parsePrometheusText(text)).toThrow();
  });
});
