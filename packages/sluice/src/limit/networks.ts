/** Networks of addresses: `10.0.0.0/8`, `2001:db8::/32`; an address alone is a network of one. */
import { addressGroups } from './ip-address.ts';

/** Whether an address, as its groups, is in the network; undefined where the text is none. */
export function networkTest(network: string): ((groups: readonly number[]) => boolean) | undefined {
  const [, address = '', given] = /^([^/]+)(?:\/(\d+))?$/.exec(network) ?? [];
  const own = addressGroups(address);
  const most = address.includes(':') ? 128 : 32;
  const bits = Number(given ?? most);
  if (own === undefined || bits > most) return undefined;
  // By group, how many of its last bits do not count. An IPv4 address is the end of an IPv6 one.
  const free = own.map((_, i) => Math.min(16, Math.max(0, 16 * i + 16 - 128 + most - bits)));
  return (groups) => own.every((group, i) => (group ^ (groups[i] as number)) >> (free[i] as number) === 0);
}
