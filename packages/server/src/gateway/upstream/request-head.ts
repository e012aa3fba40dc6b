/** The head of a request as it goes to a member: the caller's headers, and those that belong to this connection alone. */
import type { Exchange } from '../exchange.ts';
import type { HeaderList } from '../wire/message.ts';
import { requestText } from '../wire/write-head.ts';
import type { RepeatableBody } from './repeatable-body.ts';

export interface RequestParts {
  readonly target: string;
  readonly authority: string;
  readonly headers: HeaderList;
}

/** The protocol that the member may be asked to switch to; undefined: none. */
export function upgradeOf(exchange: Exchange): string | undefined {
  const { upgrade } = exchange;
  // Inside of such a tunnel requests would go past every rule of the gateway.
  if (upgrade === undefined || /(^|[\s,])(h2c?|http|tls)\b/i.test(upgrade)) return undefined;
  return upgrade;
}

export function requestHead(
  exchange: Exchange,
  body: RepeatableBody,
  { target, authority, headers }: RequestParts,
): string {
  const { method } = exchange.request;
  const own = ['host', authority];
  if (!body.isNone) {
    if (body.framing === 'chunked') own.push('transfer-encoding', 'chunked');
    else own.push('content-length', String(body.framing));
    if (mustAskFirst(exchange, body)) own.push('expect', '100-continue');
  } else if (method === 'POST' || method === 'PUT' || method === 'PATCH') own.push('content-length', '0');
  const acceptsTrailers = asksForTrailers(exchange.request.headers);
  if (acceptsTrailers) own.push('te', 'trailers');
  const upgrade = exchange.upgrade === undefined ? undefined : upgradeOf(exchange);
  if (upgrade !== undefined) own.push('upgrade', upgrade);
  if (upgrade !== undefined) own.push('connection', acceptsTrailers ? 'upgrade, te' : 'upgrade');
  else if (acceptsTrailers) own.push('connection', 'te');
  return requestText(method, target, headers, own);
}

/** Whether the client sends its body only once the member wants it. Once asked for, it comes. */
export function mustAskFirst(exchange: Exchange, body: RepeatableBody): boolean {
  return exchange.expectsContinue && !body.isNone && !body.isBegun;
}

function asksForTrailers(headers: HeaderList): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'te') return /(^|,)[ \t]*trailers[ \t]*(,|;|$)/i.test(headers[i + 1]!);
  }
  return false;
}
