/**
 * The address to limit by, behind proxies. Each proxy appends the address it saw to `X-Forwarded-For`; only what the
 * proxies you run have appended can be believed, everything left of it the caller may have made up.
 *
 *      X-Forwarded-For: made-up, 203.0.113.9, 10.0.0.7        peer 10.0.0.8
 *                                └ the client  └ proxy 1       └ proxy 2          trustedHops: 2
 */
import { zeroOrMore } from '../vocabulary/policy.ts';

/** @param trustedHops How many proxies of your own stand in front. Default 0: the header is not believed at all. */
export function clientIp(
  peerAddress: string,
  forwardedFor: string | readonly string[] | undefined,
  trustedHops = 0,
): string {
  zeroOrMore('trustedHops', trustedHops);
  const seen = [forwardedFor ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const addresses = [...seen, peerAddress];
  // With fewer entries than proxies the leftmost is the furthest that can be known.
  return addresses[Math.max(0, addresses.length - 1 - trustedHops)] as string;
}
