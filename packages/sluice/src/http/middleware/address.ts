/** The address a request is limited by: what the trusted proxies say, or the framework where it was told of them. */
import { clientIpReader, withoutPort } from '../client-ip.ts';
import { ownText } from '../own-text.ts';
import type { CommonOptions } from './options.ts';
import { identityOf, type RequestReader } from './request-reader.ts';
import type { Mistake } from './warnings.ts';

// All that have no address are one: each a stranger of its own would be nobody's limit.
const noAddress = 'unknown';

type AddressOptions = Pick<CommonOptions<never, never, never>, 'trustProxy' | 'forwardingHeader'>;

export interface AddressReader<Request> {
  of(request: Request): string;
  /**
   * What is to be waited for, as it was given. Where it is a promise the address is kept until it is asked for: a client that leaves meanwhile takes
   * it along, and would be counted together with all that have none.
   */
  whileHere<A>(request: Request, answer: A): A;
}

export function addressReader<Request>(
  { trustProxy, forwardingHeader = 'x-forwarded-for' }: AddressOptions,
  reader: RequestReader<Request>,
  warn: (mistake: Mistake) => void,
): AddressReader<Request> {
  const clientIp = clientIpReader({ trustProxy: trustProxy ?? 0, forwardingHeader });
  const isLookedAt = trustProxy === undefined ? atFirstAndThenSome() : () => false;
  const kept = new WeakMap<object, string>();
  // Most have nothing to wait for, and need not look for what was kept.
  let hasKept = false;

  function read(request: Request): string | undefined {
    if (trustProxy !== undefined)
      return clientIp(reader.peerAddress(request) ?? '', reader.header(request, forwardingHeader));
    const peer = reader.peerAddress(request);
    const own = reader.ownAddress?.(request);
    // What is not the peer's the framework has from a header.
    return own === undefined || own === peer ? peer : ownText(withoutPort(own));
  }

  function keep(request: Request): void {
    try {
      const address = read(request);
      if (!address) return;
      kept.set(identityOf(request, reader), address);
      hasKept = true;
    } catch {
      // Whoever needs it reads it again, and is told what is wrong.
    }
  }

  return {
    of(request) {
      if (isLookedAt()) {
        const trust = reader.ownTrust?.(request) ?? 'none';
        if (trust === 'everyone') warn('everyone-trusted');
        if (trust === 'none' && isForwarded(request, reader)) warn('proxy-not-trusted');
      }
      const address = (hasKept ? kept.get(identityOf(request, reader)) : undefined) ?? read(request);
      if (address !== undefined && address !== '') return address;
      warn('no-address');
      return noAddress;
    },
    whileHere(request, answer) {
      if (typeof (answer as { then?: unknown } | null | undefined)?.then === 'function') keep(request);
      return answer;
    },
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
