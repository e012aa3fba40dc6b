/** What the gateway of a configuration amounts to: its settings by their names in the file, and in words. */
import type { Rule } from 'sluice';
import { addressText, doorText } from './address-text.ts';
import type { AdmissionConfig, GatewayConfig, RouteConfig, UpstreamConfig } from './gateway-config.ts';
import { idleSettings } from './idle-settings.ts';
import { durationWords, numberWords } from './policy-words.ts';
import { sourceText } from './source-schema.ts';

/** Settings with the values in force; upstreams and admissions each under its name, routes all together: their order matters. */
export function gatewaySettings(gateway: GatewayConfig | undefined): Record<string, unknown> {
  if (gateway === undefined) return {};
  const { listen, admin, tls, limits, accessLog, identify, admissions, upstreams } = gateway;
  return {
    'gateway.listen': addressText(listen),
    'gateway.admin': doorText(admin),
    'gateway.tls.certificate': tls?.certificate,
    'gateway.tls.key': tls?.key,
    'gateway.tls.clientAuthority': tls?.clientAuthority,
    'gateway.http2': gateway.http2,
    'gateway.trustProxy': gateway.trustProxy,
    'gateway.identify': Object.fromEntries(Object.entries(identify).map(([field, from]) => [field, sourceText(from)])),
    'gateway.limits.headBytes': limits.headBytes,
    'gateway.limits.headers': limits.headers,
    'gateway.limits.bodyBytes': limits.bodyBytes,
    'gateway.limits.connections': limits.connections,
    'gateway.limits.streams': limits.streams,
    'gateway.limits.head': limits.headMs,
    'gateway.limits.idle': limits.idleMs,
    'gateway.accessLog.path': accessLog?.path,
    'gateway.accessLog.format': accessLog?.format,
    ...named('gateway.admissions', admissions),
    'gateway.routes': gateway.routes,
    ...named('gateway.upstreams', upstreams),
  };
}

function named(path: string, parts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [`${path}.${name}`, part]));
}

/** For people, a line each. */
export function describeGateway(gateway: GatewayConfig, rules: readonly Rule[]): string[] {
  const { listen, admin, tls, http2, accessLog } = gateway;
  const speaks = `${tls ? 'HTTPS' : 'HTTP'}/1.1${http2 ? ' and HTTP/2' : ''}`;
  const certificate = tls?.clientAuthority === undefined ? '' : ', clients need a certificate';
  return [
    'Gateway',
    `  ${addressText(listen)}, ${speaks}${certificate}; administration ${admin ? `on ${addressText(admin)}` : 'closed'}`,
    ...gateway.routes.map((route) => `  route ${route.name}: ${routeWords(route)}`),
    ...Object.values(gateway.upstreams).map((upstream) => `  upstream ${upstream.name}: ${upstreamWords(upstream)}`),
    ...Object.values(gateway.admissions).map(
      (admission) => `  admission ${admission.name}: ${admissionWords(admission)}`,
    ),
    ...(accessLog
      ? [`  access log: ${accessLog.format}, ${accessLog.path === '-' ? 'to standard output' : `in ${accessLog.path}`}`]
      : []),
    ...idleSettings(gateway, rules).map((line) => `  ${line}`),
  ];
}

function routeWords({ host, path, method, headers, upstream, rules, admission, stripPrefix }: RouteConfig): string {
  const match = [
    host && `host ${host.join(' or ')}`,
    path && `path ${path.join(' or ')}`,
    method?.join(' or '),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].filter((part) => part !== undefined);
  const parts = [
    `${match.length === 0 ? 'everything' : match.join(', ')} to ${upstream}`,
    rules && (rules.length === 0 ? 'no rules' : `rules ${rules.join(', ')}`),
    admission && `through ${admission}`,
    stripPrefix && `without ${stripPrefix}`,
  ];
  return parts.filter((part) => part !== undefined).join('; ');
}

function upstreamWords({ members, balancer, stickyBy, health, outliers, breaker, retries }: UpstreamConfig): string {
  const parts = [
    members.map(({ id, weight }) => (weight === 1 ? id : `${id} (weight ${numberWords(weight)})`)).join(', '),
    `by ${balancer}${stickyBy ? ` of ${sourceText(stickyBy)}` : ''}`,
    health && `asked for ${health.path} every ${durationWords(health.intervalMs)}`,
    outliers &&
      `out for ${durationWords(outliers.ejectionMs)} after ${numberWords(outliers.consecutiveFailures)} failures in a row`,
    breaker && `broken at ${numberWords(breaker.failureRatio * 100)}% failures`,
    retries.attempts > 0
      ? `${numberWords(retries.attempts)} more ${retries.attempts === 1 ? 'try' : 'tries'}`
      : 'no retries',
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function admissionWords({ concurrency, queue, queueTimeoutMs, tenant, priority }: AdmissionConfig): string {
  const atOnce =
    typeof concurrency === 'number'
      ? numberWords(concurrency)
      : `${numberWords(concurrency.min)} to ${numberWords(concurrency.max)} (${concurrency.algorithm})`;
  const parts = [
    `${atOnce} at once`,
    queue === 0 ? 'nobody waits' : `${numberWords(queue)} waiting for at most ${durationWords(queueTimeoutMs)}`,
    tenant && `fair by ${sourceText(tenant)}`,
    priority && `urgent by ${sourceText(priority)}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
