/**
 * One place can be written in many ways, and what a route or a rule does not recognise it does not guard. So both see the path as the
 * member behind may come to understand it:
 *
 *      /%61dmin        /admin       escapes decoded, once; %25 stays, or what it stands before would be read twice
 *      /a%2Fb  /a\b    /a/b         slashes too: a rule for /a/b has to hold where a handler is given 'a/b'
 *      /a/../admin     /admin       steps back taken, written as %2e as well
 *      //admin  /./admin  /admin    empty steps are none
 *      /%zz  /%ff      as they are  what is no character stays
 *      /a/..;/admin    refused      before it comes here (`wire/target.ts`): a step back to some, a name to others
 *
 * Only for deciding: what is forwarded is the target as the client wrote it. The decoding is that of the library's middleware.
 */
import { isUtf8 } from 'node:buffer';

/** The path of a target (`/a?b=c`), as routes and rules see it. */
export function routePath(target: string): string {
  const end = pathEnd(target);
  const path = end < 0 ? target : target.slice(0, end);
  const isPlain =
    path.startsWith('/') && !path.includes('%') && !path.includes('/.') && !path.includes('//') && !path.includes('\\');
  // `OPTIONS *` is about the server, not about a place on it.
  return isPlain || path === '*' ? path : resolved(decoded(path));
}

/** Where the query begins, or a fragment, which has no business here; -1 where there is neither. */
function pathEnd(target: string): number {
  const query = target.indexOf('?');
  const fragment = target.indexOf('#');
  return query < 0 || (fragment >= 0 && fragment < query) ? fragment : query;
}

/**
 * The target without what its path begins with. Escapes in the rest stay as the client wrote them; a path that reaches its place by
 * detours (`/v1/../v1/x`) is sent by the straight way, or the steps back would count from somewhere else.
 */
export function withoutPrefix(target: string, prefix: string): string {
  const path = routePath(target);
  if (path !== prefix && !path.startsWith(`${prefix}/`)) return target;
  const rest = path.slice(prefix.length) || '/';
  const queryAt = pathEnd(target);
  const written = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  const writtenRest = written.slice(prefix.length) || '/';
  const isStraight = written.startsWith(prefix) && /^\/(?!\/)/.test(writtenRest) && routePath(writtenRest) === rest;
  return (isStraight ? writtenRest : encoded(rest)) + query;
}

/** The host of an authority as routes and rules see it: lower case, without port, without the dot at the end of a full name. */
export function routeHost(authority: string): string {
  const port = /:\d*$/.exec(authority);
  const host = port === null ? authority : authority.slice(0, port.index);
  return (host.endsWith('.') ? host.slice(0, -1) : host).toLowerCase();
}

// What follows a stray percent sign stays too: in `%%36c`, the 6 would make an escape of it that was none.
const escapes = /((?:%(?![\da-f]{2})[\da-f]?(?:%[\da-f]{2})?)+)|(?:%(?!25)[\da-f]{2})+/gi;

function decoded(path: string): string {
  return path
    .replace(escapes, (text, stray?: string) => (stray === undefined ? decodedRun(text) : text))
    .replaceAll('\\', '/');
}

function decodedRun(text: string): string {
  const bytes = Buffer.from(text.replaceAll('%', ''), 'hex');
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let found = '';
  for (let at = 0; at < bytes.length; ) {
    const sequence = bytes.subarray(at, at + lengthOfSequence(bytes[at] as number));
    const isCharacter = isUtf8(sequence);
    found += isCharacter ? sequence.toString('utf8') : text.slice(at * 3, at * 3 + 3);
    at += isCharacter ? sequence.length : 1;
  }
  return found;
}

/** By its first byte, RFC 3629. */
function lengthOfSequence(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function resolved(path: string): string {
  const steps: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') steps.pop();
    else if (segment !== '' && segment !== '.') steps.push(segment);
  }
  const isFolder = /^\.{0,2}$/.test(segments.at(-1) as string);
  return `/${steps.join('/')}${isFolder && steps.length > 0 ? '/' : ''}`;
}

/** What may not stand in a target is escaped. Percent signs are escapes already, or were never any. */
function encoded(path: string): string {
  return path.replace(/[^\x21-\x7e]|["#<>?\\^`{|}]/gu, (letter) => encodeURIComponent(letter));
}
