/**
 * The names that servers and people give to what a call is made of, the best first. Compared without regard to case. A dot is a step into an
 * object, or a dot.
 *
 * Where a log has several, the earlier in the list is taken: what a proxy-aware server found out before what the connection says, and the
 * time of a request's arrival before that of the line.
 */

export const addressNames = [
  'client_ip',
  'clientIp',
  'client.ip',
  'request.client_ip', // Caddy, with its trusted proxies
  'request.remote_ip', // Caddy
  'httpRequest.remoteIp', // Google Cloud
  'ClientHost', // Traefik: without the port
  'ClientAddr',
  'remote_addr', // nginx
  'remoteAddr',
  'remote_ip',
  'remoteIp',
  'remote_address',
  'remoteAddress',
  'req.remoteAddress', // pino-http
  'req.ip',
  'request.remote_addr',
  'source.ip', // Elastic
  'source_ip',
  'sourceIp',
  'downstream_remote_address', // Envoy
  'downstream_direct_remote_address',
  'c-ip',
  'ip',
  'ip_address',
  'ipAddress',
  'client_address',
  'remote_host',
  'client', // the gateway of Sluice
] as const;

export const forwardedNames = [
  'http_x_forwarded_for', // nginx
  'x_forwarded_for', // Envoy
  'x-forwarded-for',
  'xff',
  'forwarded_for',
] as const;

export const userNames = [
  'user',
  'remote_user', // nginx
  'remoteUser',
  'user_id', // Caddy
  'userId',
  'user.id',
  'user.name',
  'username',
  'user_name',
  'ClientUsername', // Traefik
  'auth_user',
] as const;

export const timeNames = [
  'msec', // nginx: finer than its other two
  'StartUTC', // Traefik
  'StartLocal',
  'start_time', // Envoy
  'startTime',
  'EdgeStartTimestamp', // Cloudflare
  'requestTimeEpoch', // Amazon's gateway
  '@timestamp',
  'timestamp',
  'time_iso8601',
  'time_local',
  'ts', // Caddy
  't_ms',
  'time_ms',
  'timestamp_ms',
  'time',
  'datetime',
  'date_time',
  'date',
  'requestTime',
] as const;

export const statusNames = [
  'status',
  'status_code',
  'statusCode',
  'response_code', // Envoy
  'responseCode',
  'DownstreamStatus', // Traefik
  'httpRequest.status',
  'res.statusCode',
  'http.response.status_code',
  'EdgeResponseStatus',
  'sc-status',
] as const;

export const methodNames = [
  'method',
  'request_method',
  'requestMethod',
  'request.method',
  'req.method',
  'httpRequest.requestMethod',
  'http.request.method',
  'httpMethod',
  'ClientRequestMethod',
  'verb',
] as const;

export const targetNames = [
  'target', // the gateway of Sluice
  'path',
  'request_uri',
  'requestUri',
  'uri',
  'request.uri',
  'req.url',
  'RequestPath',
  'httpRequest.requestUrl',
  'url.path',
  'url.original',
  'ClientRequestURI',
  'ClientRequestPath',
  'request_path',
  'url',
] as const;

/** `GET /a HTTP/1.1` in one. */
export const requestNames = ['request', 'request_line', 'http_request'] as const;

export const routeNames = ['route', 'endpoint', 'routeKey'] as const;

/** Found without being asked for only in CSV: where servers write their logs, such a name may be a duration or a sum of money. */
export const costNames = ['cost'] as const;

const milliseconds = /(^|[_.\-a-z])(ms|Ms|MS|millis)$/;

/** Whether the name says that a plain number counts milliseconds. `msec` of nginx counts seconds. */
export function saysMs(name: string): boolean {
  return milliseconds.test(name) || name === 'requestTimeEpoch';
}
