/**
 * The address to limit by, behind proxies. Each proxy appends the address it saw to `X-Forwarded-For`, or to `Forwarded` (RFC 7239);
 * only what the proxies you run have appended can be believed, everything left of it the caller may have made up.
 *
 *      X-Forwarded-For: made-up, 203.0.113.9, 10.0.0.7        peer 10.0.0.8
 *                                └ the client  └ proxy 1       └ proxy 2          2 proxies, or those of '10.0.0.0/8'
 *
 * Which of the two headers is to be read has to be said: a proxy that writes the one passes on the other as the caller sent it.
 */
import { addressGroups } from '../limit/ip-address.ts';
import { networkTest } from '../limit/networks.ts';
import { invalid } from '../vocabulary/errors.ts';
import { knownFields, oneOf } from '../vocabulary/policy.ts';
import { ownText } from './own-text.ts';

/**
 * The proxies that you run: how many of them stand in front, or their addresses: `'10.0.0.7'`, `'10.0.0.0/8'`, `'loopback'`, `'private'`.
 * By addresses the client is the first from the right that is none of them.
 */
export type TrustedProxies = number | string | readonly string[];

export type ForwardingHeader = 'x-forwarded-for' | 'forwarded';

export interface ClientIpOptions {
  /** Default 0: there are none, and the header is not believed at all. */
  readonly trustProxy?: TrustedProxies;
  /** The header that your proxies write. Default `'x-forwarded-for'`. */
  readonly forwardingHeader?: ForwardingHeader;
}

/** The client's address, from the peer's and the lines of the header. */
export type ClientIpReader = (peerAddress: string, forwarded: string | readonly string[] | undefined) => string;

/** For one request; where there are many, make the reader once. */
export function clientIp(
  peerAddress: string,
  forwarded: string | readonly string[] | undefined,
  options: ClientIpOptions = {},
): string {
  return clientIpReader(options)(peerAddress, forwarded);
}

const networks: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10'],
};

// The callers of most services come through a handful of proxies; more than this is somebody trying out addresses.
const maxRemembered = 1000;
// No chain of proxies is longer. What a caller adds on the left is not worth reading.
const maxHops = 32;

export function clientIpReader(options: ClientIpOptions = {}): ClientIpReader {
  knownFields('client IP options', options, 'trustProxy forwardingHeader');
  const { trustProxy = 0, forwardingHeader = 'x-forwarded-for' } = options;
  oneOf('forwardingHeader', forwardingHeader, ['x-forwarded-for', 'forwarded']);
  const seenBy = forwardingHeader === 'forwarded' ? forwardedFor : listed;
  if (typeof trustProxy === 'number') {
    if (!Number.isInteger(trustProxy) || trustProxy < 0 || trustProxy > maxHops)
      throw invalid('trustProxy', `a whole number of proxies from 0 to ${maxHops}, or their addresses`, trustProxy);
    if (trustProxy === 0) return (peerAddress) => peerAddress;
    return (peerAddress, forwarded) => {
      const seen = seenBy(forwarded);
      // With fewer entries than proxies the leftmost is the furthest that can be known.
      return nearestKnown(seen, peerAddress, Math.max(0, seen.length - trustProxy));
    };
  }
  const isTrusted = remembering(inNetworks(trustProxy));
  return (peerAddress, forwarded) => {
    if (!isTrusted(peerAddress)) return peerAddress;
    const seen = seenBy(forwarded);
    let at = seen.length - 1;
    while (at > 0 && isTrusted(addressOf(seen[at] as string) ?? '')) at -= 1;
    return nearestKnown(seen, peerAddress, Math.max(0, at));
  };
}

/** The address seen at a place, or the nearest to the right of it where what is written there is none. */
function nearestKnown(seen: readonly string[], peerAddress: string, from: number): string {
  for (let at = from; at < seen.length; at += 1) {
    const address = addressOf(seen[at] as string);
    if (address !== undefined) return address;
  }
  return peerAddress;
}

const portOfIpv4 = /^([\d.]+):\d+$/;
const bracketed = /^\[([^\]]+)\](:\d+)?$/;

/** Without the port and brackets that some proxies write. A port changes with every connection, and would be a caller of its own. */
export function withoutPort(entry: string): string {
  return (bracketed.exec(entry) ?? portOfIpv4.exec(entry))?.[1] ?? entry;
}

/** An address without its port; undefined for what is no address. */
function addressOf(entry: string): string | undefined {
  const address = withoutPort(entry);
  return addressGroups(address) === undefined ? undefined : ownText(address);
}

function linesOf(forwarded: string | readonly string[] | undefined): string {
  // The last ones are the nearest, whatever the caller put in front of them.
  return typeof forwarded === 'string' ? forwarded : (forwarded ?? []).join(',');
}

/** `X-Forwarded-For`: a plain list. */
function listed(forwarded: string | readonly string[] | undefined): string[] {
  const entries = linesOf(forwarded)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return entries.slice(-maxHops);
}

// A parameter of an element; semicolons in quotes are part of it.
const parameter = /\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;"]*)\s*(?:;|$)/gy;

/** `Forwarded`: elements of parameters, of which `for` is what the proxy saw. One without it is there, but says nothing. */
function forwardedFor(forwarded: string | readonly string[] | undefined): string[] {
  return elementsOf(linesOf(forwarded)).map((text) => {
    for (const [, name = '', value = ''] of text.trim().matchAll(parameter)) {
      if (name.toLowerCase() === 'for') return unquoted(value.trim());
    }
    return '';
  });
}

/**
 * The elements, found from the right: that is where one's own proxies wrote. Read from the left, a quote that a caller left open would
 * swallow what they appended.
 */
function elementsOf(text: string): string[] {
  const found: string[] = [];
  let end = text.length;
  for (let at = end - 1; at >= -1 && found.length < maxHops; at -= 1) {
    if (at >= 0 && text[at] === '"') at = openingQuote(text, at);
    if (at >= 0 && text[at] !== ',') continue;
    const element = text.slice(at + 1, end);
    if (element.trim() !== '') found.push(element);
    end = Math.max(0, at);
  }
  return found.reverse();
}

/** Where the quoted text began that ends here; -1 where it never did, and all that is left is one broken element. */
function openingQuote(text: string, closing: number): number {
  let at = text.lastIndexOf('"', closing - 1);
  while (closing > 0 && at > 0 && isEscaped(text, at)) at = text.lastIndexOf('"', at - 1);
  return closing === 0 ? -1 : at;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
}

/** Whether an address is in one of the networks. */
function inNetworks(given: string | readonly string[]): (address: string) => boolean {
  if (typeof given !== 'string' && !Array.isArray(given))
    throw invalid('trustProxy', 'a number of proxies, an address, a network, or a list of them', given);
  const tests = [given]
    .flat()
    .flatMap((name) => networks[name] ?? [name])
    .map(inNetwork);
  return (address) => {
    const groups = addressGroups(address);
    return groups !== undefined && tests.some((test) => test(groups));
  };
}

function inNetwork(network: string): (groups: readonly number[]) => boolean {
  const isIn = networkTest(String(network));
  if (isIn === undefined)
    throw invalid('trustProxy', 'addresses or networks such as "10.0.0.0/8", "loopback" or "private"', network);
  return isIn;
}

/** The answers for the latest addresses, so that each is read once. */
function remembering(test: (address: string) => boolean): (address: string) => boolean {
  const known = new Map<string, boolean>();
  return (address) => {
    const before = known.get(address);
    if (before !== undefined) return before;
    if (known.size >= maxRemembered) known.clear();
    const answer = test(address);
    known.set(address, answer);
    return answer;
  };
}
