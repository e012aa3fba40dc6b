/**
 * What a request is about: its target and its authority (RFC 9112 3.2).
 *
 *      GET /a?b HTTP/1.1                     origin-form: as it is
 *      GET http://shop.example/a HTTP/1.1    absolute-form: becomes /a, of shop.example, which `Host` must say too
 *      OPTIONS * HTTP/1.1                    asterisk-form
 *      GET /a/..;/b HTTP/1.1                 refused: a step back to those who cut off what follows `;`, to others a name
 *
 * Texts that come by HTTP/2 are checked by the same functions.
 */
import { isIPv6 } from 'node:net';
import { isHostName, targetByte } from './characters.ts';
import { BadMessage } from './message.ts';

const longestAuthority = 270;

/** Throws unless it is a path with or without a query, or the `*` of OPTIONS. */
export function checkTarget(target: string, method: string): void {
  if (target.charCodeAt(0) !== 0x2f) {
    if (target === '*' && method === 'OPTIONS') return;
    throw new BadMessage(400, 'a request target must be a path, or an address of http or https');
  }
  // 1 in the path, 2 behind the `?`: what each byte must not exceed.
  let allowed = 1;
  for (let index = 1; index < target.length; index++) {
    const code = target.charCodeAt(index);
    const where = code > 0xff ? 0 : targetByte[code]!;
    if (where === 0 || where > allowed) throw badTargetByte(code);
    if (code === 0x3f) allowed = 2;
  }
  if (hidesStep(target)) throw new BadMessage(400, 'a step of a request target must not be . or .. with parameters');
}

// In the path, with any of it escaped: some decode before they split, others after. `\` is a slash to some and comes in only as %5c.
const hiddenStep = /^[^?]*?(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b)/i;

function hidesStep(target: string): boolean {
  // Most targets have neither, which is found out faster than the rest.
  return (target.includes(';') || target.includes('%')) && hiddenStep.test(target);
}

function badTargetByte(code: number): BadMessage {
  if (code === 0x23) return new BadMessage(400, 'a request target must not have a fragment');
  return new BadMessage(400, `a request target has character 0x${code.toString(16).padStart(2, '0')}`);
}

/** Throws unless it is a host with or without a port: names of letters, digits and `-._~`, IPv4, or IPv6 in brackets. */
export function checkAuthority(authority: string): void {
  if (authority.length === 0) throw new BadMessage(400, 'Host must not be empty');
  if (authority.length > longestAuthority) throw new BadMessage(400, 'Host is too long');
  const isBracketed = authority.charCodeAt(0) === 0x5b;
  const hostEnd = isBracketed ? authority.indexOf(']') + 1 : authority.indexOf(':');
  const host = isBracketed || hostEnd !== -1 ? authority.slice(0, hostEnd) : authority;
  const isHost = isBracketed ? isIPv6Literal(host.slice(1, -1)) : isHostName(host);
  if (!isHost) throw new BadMessage(400, 'Host must be a host name or an address');
  if (host.length < authority.length && !isPort(authority.slice(host.length))) {
    throw new BadMessage(400, 'the port of Host must be a number up to 65535');
  }
}

// No zone: it means something on the client's machine only.
function isIPv6Literal(text: string): boolean {
  return !text.includes('%') && isIPv6(text);
}

function isPort(text: string): boolean {
  if (text.charCodeAt(0) !== 0x3a || text.length < 2 || text.length > 6) return false;
  for (let index = 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return Number(text.slice(1)) <= 65_535;
}

/** The authority and the rest of a target in absolute-form; undefined: it is in another form. */
export function absoluteForm(target: string, method: string): { authority: string; target: string } | undefined {
  const scheme = target.slice(0, 8).toLowerCase();
  const authorityStart = scheme.startsWith('http://') ? 7 : scheme === 'https://' ? 8 : undefined;
  if (authorityStart === undefined) return undefined;
  let authorityEnd = authorityStart;
  while (authorityEnd < target.length && !'/?#'.includes(target.charAt(authorityEnd))) authorityEnd += 1;
  const authority = target.slice(authorityStart, authorityEnd);
  const rest = target.slice(authorityEnd);
  // RFC 9112 3.2.4: an OPTIONS of an address without path is one of the whole server.
  if (rest === '') return { authority, target: method === 'OPTIONS' ? '*' : '/' };
  return { authority, target: rest.startsWith('?') ? `/${rest}` : rest };
}
