/**
 * The headers that go on to the member: the client's, less those of its hop, plus who it was.
 *
 *      Forwarded: for=203.0.113.9;proto=https;host=shop.example        RFC 7239
 *      X-Forwarded-For / -Proto / -Host                                 what most members still read
 *      Via: 1.1 sluice
 *
 * What a trusted proxy said before is kept, and ours comes after it. What anybody else said is taken out: a member that believes these
 * headers would believe whoever wrote them.
 */
import type { Exchange } from '../exchange.ts';
import { isClaim } from '../wire/claims.ts';
import { endToEnd } from '../wire/hop-by-hop.ts';
import type { HeaderList } from '../wire/message.ts';
import { plainName } from '../wire/plain-name.ts';
import { plainAddress } from './identity.ts';

const pseudonym = 'sluice';

// What is written here, after what a proxy has written. Whatever else begins with x-forwarded- is somebody's claim too.
const rewritten = new Set(['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']);

export function forwardingHeaders({ request, client }: Exchange, isFromProxy: boolean): string[] {
  const headers = without(endToEnd(request.headers), isFromProxy ? isRewritten : isClaim);
  const said = isFromProxy ? claimsOf(request.headers) : noClaims;
  const peer = plainAddress(client.address);
  const proto = client.isTls ? 'https' : 'http';
  const { authority } = request;
  headers.push(
    'forwarded',
    after(said.forwarded, forwardedElement(peer, proto, authority)),
    'x-forwarded-for',
    after(said['x-forwarded-for'], peer),
    // What the first proxy saw, not what we see of it.
    'x-forwarded-proto',
    said['x-forwarded-proto'] ?? proto,
  );
  const host = said['x-forwarded-host'] ?? authority;
  if (host !== '') headers.push('x-forwarded-host', host);
  appendVia(headers, viaOf(client.protocol));
  return headers;
}

/** What we are called in `Via`, after the protocol that the message came by. */
export function viaOf(protocol: string): string {
  return `${protocol.startsWith('HTTP/') ? protocol.slice(5).replace('2.0', '2') : protocol} ${pseudonym}`;
}

function appendVia(headers: string[], via: string): void {
  // The last line is the nearest hop's.
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at] !== 'via') continue;
    headers[at + 1] = `${headers[at + 1]}, ${via}`;
    return;
  }
  headers.push('via', via);
}

function without(headers: string[], isLeftOut: (name: string) => boolean): string[] {
  let kept = 0;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (isLeftOut(name)) continue;
    headers[kept] = name;
    headers[kept + 1] = headers[at + 1] as string;
    kept += 2;
  }
  headers.length = kept;
  return headers;
}

/** No proxy writes them with other marks: whoever did came through it. */
function isRewritten(name: string): boolean {
  return rewritten.has(name) || (plainName(name) !== name && isClaim(name));
}

const noClaims: Readonly<Record<string, string | undefined>> = {};

/** Several lines of one name are one list. */
function claimsOf(headers: HeaderList): Readonly<Record<string, string | undefined>> {
  const said: Record<string, string | undefined> = {};
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (rewritten.has(name)) said[name] = after(said[name], headers[at + 1] as string);
  }
  return said;
}

function after(before: string | undefined, own: string): string {
  return before === undefined || before === '' ? own : `${before}, ${own}`;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function forwardedElement(peer: string, proto: string, authority: string): string {
  // An IPv6 address has colons, which a token may not have.
  const node = peer.includes(':') ? `"[${peer}]"` : peer;
  const host = authority === '' ? '' : `;host=${quotedUnlessToken(authority)}`;
  return `for=${node};proto=${proto}${host}`;
}

function quotedUnlessToken(text: string): string {
  return token.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}
