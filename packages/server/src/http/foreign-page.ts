/**
 * Refuses what a page of another site makes its visitor's browser send here. The browser would not let that page read the answer, since
 * there are no CORS headers; but what a request does, it does.
 *
 *      Sec-Fetch-Site    the browser says itself where the page is from
 *      Origin            says it where that is missing (plain HTTP beyond loopback); it must be where the request is sent to
 *      neither           no browser, or nothing that a page of another site could have sent so
 *
 * A server that passes its client's headers on looks like that client's browser. So checks are not asked whose page it was: they must be
 * JSON, by their content type, which another site's page may not send before it was given leave, and none is ever given.
 *
 * And a page whose name was made to mean this machine after it was loaded (DNS rebinding) is of the same site to the browser. It
 * shows in `Host`, which is the page's name; where a token is needed, it has none.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { Problem, shown } from './problem.ts';
import type { Route } from './route.ts';
import type { Serves } from './routes.ts';

export interface DoorGuard {
  readonly serves: Serves;
  /** Whether whoever asks must have a token, or believe a certificate. */
  readonly isGuarded: boolean;
}

export function mustNotBeForeign(request: IncomingMessage, { area, body }: Route, door: DoorGuard): void {
  const { headers, method = '', socket } = request;
  const isReading = method === 'GET' || method === 'HEAD';
  const isAdministration = area === 'administration';
  const isConcerned = isAdministration || !(isReading || body === 'json');
  if (isConcerned && isOfAnotherSite(headers) && !(isReading && isNavigation(headers)))
    throw new Problem(403, 'A page of another site may not ask this. Only pages that came from here may.');
  // Programs have the port for checks; at the other one somebody tries a check with the page that came from there.
  const needsOwnName = isAdministration || (door.serves === 'administration' && body !== undefined);
  if (needsOwnName && !door.isGuarded && isLoopback(socket.localAddress) && !isOwnName(headers.host))
    throw new Problem(
      403,
      `This port is open to this machine only, and ${shown(headers.host)} is not a name of it. Ask for localhost, or have tokens (security.token).`,
    );
}

function isOfAnotherSite(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  return origin !== undefined && origin.replace(/^https?:\/\//i, '').toLowerCase() !== host?.toLowerCase();
}

/** Somebody followed a link: the answer is shown to a person, not to the page with the link. A frame would be there unseen. */
function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

/** Addresses, `localhost`, and names without a dot, which nobody elsewhere can have. */
function isOwnName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
  return isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost');
}
