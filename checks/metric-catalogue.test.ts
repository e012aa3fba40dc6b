// The page of metrics, the dashboard and the code speak of the same metrics.
import { expect, test } from 'vitest';
import { gatewayMetricCatalogue } from '../packages/server/src/gateway/report/gateway-metric-catalogue.ts';
import { type CatalogueEntry, metricCatalogue } from '../packages/server/src/operations/metric-catalogue.ts';
import { read } from './repository.ts';

interface Row {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

/** The rows of the first table whose first cell is a metric. */
function documented(page: string): Row[] {
  return [...page.matchAll(/^\| `(sluice_\w+)` +\| (\w+) +\| ([^|]*) \| (.*?) +\|$/gm)].map(
    ([, name = '', type = '', labels = '', help = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
      help,
    }),
  );
}

test('the page of metrics says what the code says, in its order', () => {
  const catalogue: [string, CatalogueEntry][] = [
    ...Object.entries(metricCatalogue),
    ...Object.entries(gatewayMetricCatalogue),
  ];
  const expected = catalogue.map(([name, { type, labels, help }]) => ({ name, type, labels: [...labels], help }));
  expect(documented(read('docs/reference/metrics.md'))).toEqual(expected);
});

test('the metrics that others rely on are there, by their names', () => {
  expect(Object.keys(metricCatalogue)).toEqual(
    expect.arrayContaining([
      'sluice_checks_total',
      'sluice_check_duration_seconds',
      'sluice_keys',
      'sluice_store_errors_total',
      'sluice_degraded_total',
      'sluice_evicted_live_keys_total',
    ]),
  );
});

test('rows are read', () => {
  expect(
    documented('| a |\n| `sluice_a_total` | counter | `b`, `c` | Says | so. |\n| `other` | x | y | z |\n'),
  ).toEqual([{ name: 'sluice_a_total', type: 'counter', labels: ['b', 'c'], help: 'Says | so.' }]);
});
