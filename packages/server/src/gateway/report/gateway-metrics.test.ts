import { expect, it } from 'vitest';
import { parsePrometheusText } from '../../operations/prometheus-text.test-support.ts';
import { ask, gateway, member, metric } from '../gateway.test-support.ts';
import { gatewayMetricCatalogue } from './gateway-metric-catalogue.ts';
import { type GatewaySources, gatewayMetricsText } from './gateway-metrics.ts';
import { RouteMeter } from './route-meter.ts';

const nothing: GatewaySources = { routes: new Map(), pools: [], admissions: new Map(), droppedLines: 0 };

it('is the catalogue, in its order, and nothing else', () => {
  const families = parsePrometheusText(gatewayMetricsText({ ...nothing, routes: new Map([['a', new RouteMeter()]]) }));
  expect([...families.keys()]).toEqual(Object.keys(gatewayMetricCatalogue));
});

it('has the labels of the catalogue, and values of labels that only the operator or the code can choose', async () => {
  const one = await member();
  const running = await gateway({
    gateway: {
      admissions: { main: { concurrency: 5 } },
      routes: [{ name: 'api', match: { path: '/known' }, admission: 'main' }],
      upstreams: { app: { members: [one.id], breaker: true } },
    },
  });
  for (const target of ['/known', '/invented-by-a-caller', '/known?x=invented-by-a-caller'])
    await ask(`${running.url}${target}`, { headers: { host: 'invented-by-a-caller' } });
  const { body } = await ask(`${running.adminUrl}/metrics`);
  expect(body).not.toContain('invented');
  const families = parsePrometheusText(body);
  for (const [name, { labels, type, help }] of Object.entries(gatewayMetricCatalogue)) {
    const family = families.get(name);
    expect([name, family?.type, family?.help]).toEqual([name, type, help]);
    expect([name, family!.samples.length > 0]).toEqual([name, true]);
    for (const sample of family!.samples)
      expect(Object.keys(sample.labels).filter((label) => label !== 'le')).toEqual(labels);
  }
  expect(await metric(running, 'sluice_gateway_requests_total{route="api",status="2xx"}')).toBe(2);
  expect(await metric(running, 'sluice_gateway_requests_total{route="none",status="4xx"}')).toBe(1);
  expect(await metric(running, 'sluice_gateway_request_duration_seconds_count{route="api"}')).toBe(2);
  expect(await metric(running, 'sluice_requests_total{door="gateway"}')).toBe(3);
  expect(await metric(running, `sluice_upstream_connections{upstream="app",member="${one.id}",state="idle"}`)).toBe(1);
  expect(await metric(running, 'sluice_admission_admitted_total{admission="main"}')).toBe(2);
});

it('counts durations in the bucket that they do not exceed', () => {
  const meter = new RouteMeter();
  meter.inFlight = 3;
  for (const ms of [0.5, 0.51, 1e9]) meter.ended(200, ms);
  const families = parsePrometheusText(gatewayMetricsText({ ...nothing, routes: new Map([['a', meter]]) }));
  const { samples } = families.get('sluice_gateway_request_duration_seconds')!;
  const upTo = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
  expect([upTo('0.0005'), upTo('0.001'), upTo('30'), upTo('+Inf')]).toEqual([1, 2, 2, 3]);
  expect(meter.inFlight).toBe(0);
});
