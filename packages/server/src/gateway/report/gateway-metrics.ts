/** What Prometheus scrapes of the gateway, made from plain numbers when it is asked for. */
import type { CircuitState } from 'sluice/protect';
import { histogramsText, metricText, type Series } from '../../operations/prometheus-text.ts';
import type { AdmissionStats } from '../admission/admission-types.ts';
import { refusals } from '../passage.ts';
import { failureReasons } from '../pool/pool-member.ts';
import type { PoolStats } from '../pool/upstream-pool.ts';
import { type GatewayMetricName, gatewayMetricCatalogue } from './gateway-metric-catalogue.ts';
import { durationBoundsMs, endings, type RouteMeter } from './route-meter.ts';

export interface GatewaySources {
  /** By name; `none` for requests that no route took. */
  readonly routes: ReadonlyMap<string, RouteMeter>;
  readonly pools: readonly PoolStats[];
  readonly admissions: ReadonlyMap<string, AdmissionStats>;
  readonly droppedLines: number;
}

export function gatewayMetricsText({ routes, pools, admissions, droppedLines }: GatewaySources): string {
  return [
    routesText(routes),
    text('sluice_gateway_access_log_dropped_total', [[[], droppedLines]]),
    poolsText(pools),
    admissionsText(admissions),
  ].join('');
}

function text(name: GatewayMetricName, series: readonly Series[]): string {
  return metricText(name, gatewayMetricCatalogue[name], series);
}

function routesText(routes: GatewaySources['routes']): string {
  const all = [...routes];
  const duration = 'sluice_gateway_request_duration_seconds';
  return [
    text(
      'sluice_gateway_requests_total',
      all.flatMap(([route, { counts }]) => endings.map((ending, i): Series => [[route, ending], counts[i]!])),
    ),
    histogramsText(
      duration,
      gatewayMetricCatalogue[duration],
      all.map(([route, { durations, durationMsSum }]) => ({
        labels: [route],
        bounds: durationBoundsMs.map((ms) => ms / 1000),
        counts: durations,
        sum: durationMsSum / 1000,
      })),
    ),
    text(
      'sluice_gateway_requests_in_flight',
      all.map(([route, { inFlight }]): Series => [[route], inFlight]),
    ),
    text(
      'sluice_gateway_refused_requests_total',
      all.flatMap(([route, { refused }]) => refusals.map((reason): Series => [[route, reason], refused[reason]])),
    ),
    text(
      'sluice_gateway_delayed_requests_total',
      all.map(([route, { delayed }]): Series => [[route], delayed]),
    ),
  ].join('');
}

const circuitNumber: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 1, open: 2 };

function poolsText(pools: readonly PoolStats[]): string {
  const members = pools.flatMap(({ upstream, members: own }) => own.map((member) => ({ upstream, ...member })));
  type OfMember = (typeof members)[number];
  const perMember = (name: GatewayMetricName, seriesOf: (member: OfMember) => readonly Series[]) =>
    text(name, members.flatMap(seriesOf));
  return [
    perMember('sluice_upstream_requests_total', ({ upstream, id, meter }) =>
      meter.answered.map((count, i): Series => [[upstream, id, endings[i]!], count]),
    ),
    perMember('sluice_upstream_failures_total', ({ upstream, id, meter }) =>
      failureReasons.map((reason): Series => [[upstream, id, reason], meter.failed[reason]]),
    ),
    text(
      'sluice_upstream_retries_total',
      pools.flatMap(({ upstream, retries, retriesRefused }): Series[] => [
        [[upstream, 'made'], retries],
        [[upstream, 'refused'], retriesRefused],
      ]),
    ),
    perMember('sluice_upstream_in_flight', ({ upstream, id, inFlight }) => [[[upstream, id], inFlight]]),
    perMember('sluice_upstream_member_share', ({ upstream, id, share }) => [[[upstream, id], share]]),
    perMember('sluice_upstream_ejections_total', ({ upstream, id, meter }) => [[[upstream, id], meter.ejections]]),
    perMember('sluice_upstream_breaker_state', ({ upstream, id, circuit }) =>
      circuit === undefined ? [] : [[[upstream, id], circuitNumber[circuit]]],
    ),
    perMember('sluice_upstream_connections', ({ upstream, id, connections: { open, idle, waiting } }) => [
      [[upstream, id, 'busy'], open - idle],
      [[upstream, id, 'idle'], idle],
      [[upstream, id, 'waiting'], waiting],
    ]),
    text(
      'sluice_upstream_members',
      pools.map(({ upstream, members: own }): Series => [[upstream], own.filter(({ share }) => share > 0).length]),
    ),
  ].join('');
}

const reasons = ['full', 'waited-too-long', 'shed', 'closed', 'gone'] as const;

function admissionsText(admissions: GatewaySources['admissions']): string {
  const all = [...admissions];
  const gauge = (name: GatewayMetricName, numberOf: (stats: AdmissionStats) => number) =>
    text(
      name,
      all.map(([admission, stats]): Series => [[admission], numberOf(stats)]),
    );
  return [
    gauge('sluice_admission_limit', ({ limit }) => limit),
    gauge('sluice_admission_in_flight', ({ inFlight }) => inFlight),
    gauge('sluice_admission_waiting', ({ waiting }) => waiting),
    gauge('sluice_admission_admitted_total', ({ admitted }) => admitted),
    text(
      'sluice_admission_refused_total',
      all.flatMap(([admission, { refused }]) =>
        reasons.map((reason): Series => [[admission, reason], refused[reason]]),
      ),
    ),
  ].join('');
}
