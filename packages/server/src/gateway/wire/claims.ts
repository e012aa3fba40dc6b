/** What a message may say about where it came from. Only a trusted proxy is believed, and nobody behind the body. */
import { plainName } from './plain-name.ts';

// What proxies of other makers say about the client's address.
const addresses = new Set([
  'x-real-ip',
  'client-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-cluster-client-ip',
  'fastly-client-ip',
]);

/** Whichever marks the name is spelt with. */
export function isClaim(name: string): boolean {
  const plain = plainName(name);
  return plain === 'forwarded' || plain.startsWith('x-forwarded-') || addresses.has(plain);
}
