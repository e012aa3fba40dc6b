/**
 * Every metric of the gateway, beside those of the service, which it has too (`operations/metric-catalogue.ts`). `gateway-metrics.ts`
 * writes these and no others; docs/reference/metrics.md lists the same, and a test compares.
 *
 * Routes, upstreams, members and admissions are the operator's; the other labels have the values that are listed here. None is a caller's.
 */
import type { CatalogueEntry } from '../../operations/metric-catalogue.ts';

const ofRoute = ['route'] as const;
const ofUpstream = ['upstream'] as const;
const ofMember = ['upstream', 'member'] as const;
const ofAdmission = ['admission'] as const;

export const gatewayMetricCatalogue = {
  sluice_gateway_requests_total: {
    type: 'counter',
    labels: ['route', 'status'],
    help: 'Requests that have ended. Status: 1xx to 5xx, or gone where the client left first. Route "none": no route took them.',
  },
  sluice_gateway_request_duration_seconds: {
    type: 'histogram',
    labels: ofRoute,
    help: 'How long requests took, from their head to the end of the answer, with all waiting.',
  },
  sluice_gateway_requests_in_flight: {
    type: 'gauge',
    labels: ofRoute,
    help: 'Requests under way, those that wait too.',
  },
  sluice_gateway_refused_requests_total: {
    type: 'counter',
    labels: ['route', 'reason'],
    help: 'Requests that were not forwarded. Reasons: no-route, bad-request, limit, store (a rule that fails closed), admission, no-member.',
  },
  sluice_gateway_delayed_requests_total: {
    type: 'counter',
    labels: ofRoute,
    help: 'Requests that a rule let in after a delay.',
  },
  sluice_gateway_access_log_dropped_total: {
    type: 'counter',
    labels: [],
    help: 'Lines of the access log that were dropped, because the disk did not keep up.',
  },
  sluice_upstream_requests_total: {
    type: 'counter',
    labels: ['upstream', 'member', 'status'],
    help: 'Attempts that a member answered. Status: 1xx to 5xx.',
  },
  sluice_upstream_failures_total: {
    type: 'counter',
    labels: ['upstream', 'member', 'reason'],
    help: 'Attempts that came to nothing. Reasons: connect, timed-out, reset, malformed, busy.',
  },
  sluice_upstream_retries_total: {
    type: 'counter',
    labels: ['upstream', 'result'],
    help: 'Requests that might have been sent again. Results: made, refused (the budget was used up).',
  },
  sluice_upstream_in_flight: { type: 'gauge', labels: ofMember, help: 'Attempts under way.' },
  sluice_upstream_member_share: {
    type: 'gauge',
    labels: ofMember,
    help: 'How much of its weight a member gets: 0 it is out, 1 all of it, between while it warms up.',
  },
  sluice_upstream_ejections_total: {
    type: 'counter',
    labels: ofMember,
    help: 'Times that a member was taken out, because its checks or its answers failed.',
  },
  sluice_upstream_breaker_state: {
    type: 'gauge',
    labels: ofMember,
    help: 'Its circuit: 0 closed, 1 half-open, 2 open. Absent without a breaker.',
  },
  sluice_upstream_connections: {
    type: 'gauge',
    labels: ['upstream', 'member', 'state'],
    help: 'Connections. States: busy, idle, and waiting: requests that wait for one.',
  },
  sluice_upstream_members: {
    type: 'gauge',
    labels: ofUpstream,
    help: 'Members that take requests at the moment.',
  },
  sluice_admission_limit: {
    type: 'gauge',
    labels: ofAdmission,
    help: 'How many requests may be under way at once, now.',
  },
  sluice_admission_in_flight: { type: 'gauge', labels: ofAdmission, help: 'Requests that have a place.' },
  sluice_admission_waiting: { type: 'gauge', labels: ofAdmission, help: 'Requests that wait for a place.' },
  sluice_admission_admitted_total: { type: 'counter', labels: ofAdmission, help: 'Requests that got a place.' },
  sluice_admission_refused_total: {
    type: 'counter',
    labels: ['admission', 'reason'],
    help: 'Requests that got none. Reasons: full, waited-too-long, shed, closed, gone (the client left).',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type GatewayMetricName = keyof typeof gatewayMetricCatalogue;
