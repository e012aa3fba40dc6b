/**
 * The names that most messages are made of. They are found by their bytes, whatever their case, so that no string is made of them; and those
 * that say how a message is to be read are found here or nowhere, by number.
 */
import { nameByte } from './characters.ts';

/** What a name means for the reading of its message. Each is a bit, so that a set of names that were seen is a number. */
export const meanings = {
  none: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 4,
  connection: 8,
  expect: 16,
  upgrade: 32,
  authorization: 64,
  proxyAuthorization: 128,
  contentType: 256,
  origin: 512,
} as const;

const meaningful: Readonly<Record<string, number>> = {
  host: meanings.host,
  'content-length': meanings.contentLength,
  'transfer-encoding': meanings.transferEncoding,
  connection: meanings.connection,
  expect: meanings.expect,
  upgrade: meanings.upgrade,
  authorization: meanings.authorization,
  'proxy-authorization': meanings.proxyAuthorization,
  'content-type': meanings.contentType,
  origin: meanings.origin,
};

const frequent = `accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-credentials
  access-control-allow-headers access-control-allow-methods access-control-allow-origin access-control-expose-headers access-control-max-age
  access-control-request-headers access-control-request-method age allow alt-svc baggage cache-control cdn-cache-control content-disposition
  content-encoding content-language content-location content-range content-security-policy cookie date dnt etag expires forwarded from
  grpc-message grpc-status http2-settings if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-modified link location
  max-forwards permissions-policy pragma priority proxy-authenticate proxy-connection range ratelimit ratelimit-policy referer
  referrer-policy retry-after sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user
  sec-websocket-accept sec-websocket-extensions sec-websocket-key sec-websocket-protocol sec-websocket-version server server-timing
  set-cookie strict-transport-security te traceparent tracestate trailer upgrade-insecure-requests user-agent vary via warning
  www-authenticate x-api-key x-content-type-options x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto
  x-frame-options x-powered-by x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-real-ip x-request-id x-requested-with
  x-xss-protection`.split(/\s+/);

// Open addressing, never more than a quarter full: a name that is there is always found.
const slots = 512;
const names: (string | undefined)[] = new Array(slots).fill(undefined);
const hashes = new Int32Array(slots);
const meaningOfSlot = new Int32Array(slots);

for (const name of [...Object.keys(meaningful), ...frequent]) {
  let hash = 0;
  for (let index = 0; index < name.length; index++) hash = nextHash(hash, name.charCodeAt(index));
  let slot = hash & (slots - 1);
  while (names[slot] !== undefined) slot = (slot + 1) & (slots - 1);
  names[slot] = name;
  hashes[slot] = hash;
  meaningOfSlot[slot] = meaningful[name] ?? meanings.none;
}

/** The hash of a name is this over its bytes in lower case, from 0. */
export function nextHash(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

/** Where the name that stands at `start` is in the table; -1: it is none of these. */
export function knownName(bytes: Buffer, start: number, length: number, hash: number): number {
  let slot = hash & (slots - 1);
  for (let name = names[slot]; name !== undefined; name = names[slot]) {
    if (hashes[slot] === hash && name.length === length && isSame(name, bytes, start)) return slot;
    slot = (slot + 1) & (slots - 1);
  }
  return -1;
}

function isSame(name: string, bytes: Buffer, start: number): boolean {
  for (let index = 0; index < name.length; index++) {
    if (nameByte[bytes[start + index]!] !== name.charCodeAt(index)) return false;
  }
  return true;
}

export function nameAt(slot: number): string {
  return names[slot]!;
}

export function meaningAt(slot: number): number {
  return meaningOfSlot[slot]!;
}
