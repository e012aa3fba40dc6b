/**
 * Who asks. The address is the peer's, or what trusted proxies say it is (`sluice/http`); the subject is what rules, tenants and
 * priorities are about.
 */
import type { Subject } from 'sluice';
import { clientIpReader } from 'sluice/http';
import type { GatewayConfig } from '../../config/gateway-config.ts';
import type { Exchange } from '../exchange.ts';
import { type HeaderReaders, identityHeadersCheck } from './identity-headers.ts';
import { linesOf, type SourceReader, sourceReader } from './source.ts';

export interface Identity {
  addressOf(exchange: Exchange): string;
  /** Whether what this peer says about others is believed. */
  isProxy(peerAddress: string): boolean;
  /**
   * Adds the fields that the configuration names to what is known of every request. Throws a `Problem` where the member could see others,
   * also where they are read later: by an admission, by a pool.
   */
  describe(exchange: Exchange, known: Subject): Subject;
}

// Of documentation (RFC 5737), so that no peer has it.
const somebodyElse = '192.0.2.255';

export function identityOf(config: Pick<GatewayConfig, 'trustProxy' | 'identify'> & HeaderReaders): Identity {
  const { trustProxy, identify } = config;
  const clientIp = clientIpReader({ trustProxy });
  const isAlone = trustProxy === 0;
  const checkHeaders = identityHeadersCheck(config);
  const fields = Object.entries(identify).map(([field, source]): [string, SourceReader] => [
    field,
    sourceReader(source),
  ]);
  return {
    addressOf({ client, request }) {
      const peer = plainAddress(client.address);
      return isAlone ? peer : plainAddress(clientIp(peer, linesOf(request.headers, 'x-forwarded-for')));
    },
    // Who is believed about somebody else is a proxy.
    isProxy: (peerAddress) => !isAlone && clientIp(plainAddress(peerAddress), somebodyElse) === somebodyElse,
    describe({ request }, known) {
      checkHeaders?.(request.headers);
      if (fields.length === 0) return known;
      const subject: Record<string, unknown> = { ...known };
      for (const [field, read] of fields) {
        const value = read(request, known);
        if (value !== undefined) subject[field] = value;
      }
      return subject;
    },
  };
}

/** A socket that listens to both kinds writes IPv4 as IPv6; lists and keys have it as people do. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
