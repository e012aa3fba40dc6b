/** A node's address as clients of Redis are told it: host and port apart, or in one text in which IPv6 has no brackets. */
import type { NodeAddresses } from '../cluster/view.ts';
import type { Endpoint } from './session.ts';

export function nodeEndpoint({ resp }: NodeAddresses): Endpoint {
  const colon = resp.lastIndexOf(':');
  return { address: resp.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(resp.slice(colon + 1)) };
}

/** Clients split it at the last colon. */
export function endpointText({ address, port }: Endpoint): string {
  return `${address}:${port}`;
}
