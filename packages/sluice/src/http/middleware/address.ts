/** The address a request is limited by: what the trusted proxies say, or the framework where it was told of them. */
import { clientIpReader, withoutPort } from '../client-ip.ts';
import type { CommonOptions } from './options.ts';
import type { RequestReader } from './request-reader.ts';
import type { Mistake } from './warnings.ts';

// All that have no address are one: each a stranger of its own would be nobody's limit.
const noAddress = 'unknown';

type AddressOptions = Pick<CommonOptions<never, never, never>, 'trustProxy' | 'forwardingHeader'>;

export function addressReader<Request>(
  { trustProxy, forwardingHeader = 'x-forwarded-for' }: AddressOptions,
  reader: RequestReader<Request>,
  warn: (mistake: Mistake) => void,
): (request: Request) => string {
  const clientIp = clientIpReader({ trustProxy: trustProxy ?? 0, forwardingHeader });

  function known(address: string | undefined): string {
    if (address !== undefined && address !== '') return address;
    warn('no-address');
    return noAddress;
  }

  if (trustProxy !== undefined) {
    return (request) => known(clientIp(reader.peerAddress(request) ?? '', reader.header(request, forwardingHeader)));
  }
  const isLookedAt = atFirstAndThenSome();
  return (request) => {
    if (isLookedAt()) {
      const trust = reader.ownTrust?.(request) ?? 'none';
      if (trust === 'everyone') warn('everyone-trusted');
      if (trust === 'none' && isForwarded(request, reader)) warn('proxy-not-trusted');
    }
    const own = reader.ownAddress?.(request);
    return known(own === undefined ? reader.peerAddress(request) : withoutPort(own));
  };
}

// A mistake about proxies is to be seen in everything that comes through one. To look for it takes some frameworks as long as the limit itself.
const lookedAtFirst = 1000;
const thenOneIn = 100;

/** Whether the next request is one of those that are looked at for mistakes. */
function atFirstAndThenSome(): () => boolean {
  let seen = 0;
  return () => {
    seen = seen === lookedAtFirst + thenOneIn ? lookedAtFirst : seen + 1;
    return seen <= lookedAtFirst;
  };
}

function isForwarded<Request>(request: Request, reader: RequestReader<Request>): boolean {
  return reader.header(request, 'x-forwarded-for') !== undefined || reader.header(request, 'forwarded') !== undefined;
}
