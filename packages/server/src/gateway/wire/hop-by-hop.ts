/** Headers are for the next hop or for whoever is at the other end (RFC 9110 7.6.1). Only the latter are passed on. */
import { namedOptions } from './connection-options.ts';
import type { HeaderList } from './message.ts';

const ofTheHop = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/**
 * `Connection` may name further headers of the hop, but not these: they are for everybody on the way (RFC 9110 7.6.1 forbids to name such),
 * and a client that could make them vanish could hide who it is from those behind the gateway, or what the gateway said of it.
 */
const neverOfTheHop = new Set([
  'age',
  'authorization',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expires',
  'forwarded',
  'host',
  'location',
  'origin',
  'range',
  'set-cookie',
  'vary',
  'via',
  'x-real-ip',
]);

/** The headers that are passed on. Those that frame a message are not: who sends it writes them anew. */
export function endToEnd(headers: HeaderList): string[] {
  const kept: string[] = [];
  let named: Set<string> | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    if (!ofTheHop.has(name)) kept.push(name, headers[index + 1]!);
    else if (name === 'connection') named = withNamed(named, headers[index + 1]!);
  }
  return named === undefined ? kept : without(kept, named);
}

function withNamed(named: Set<string> | undefined, value: string): Set<string> | undefined {
  if (value === 'keep-alive' || value === 'close') return named;
  const names = namedOptions(value).filter((name) => !neverOfTheHop.has(name) && !name.startsWith('x-forwarded-'));
  return new Set([...(named ?? []), ...names]);
}

/** Those that would be passed on, had this line of `Connection` not named them. */
export function namedAway(value: string): readonly string[] {
  return [...(withNamed(undefined, value) ?? [])].filter((name) => !ofTheHop.has(name));
}

function without(headers: HeaderList, named: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (!named.has(headers[index]!)) kept.push(headers[index]!, headers[index + 1]!);
  }
  return kept;
}
