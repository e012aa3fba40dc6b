import type { Address } from './config.ts';

/** As in the file: `host:port`, and `false` for a closed door. */
export function addressText(address: Address | undefined): string | false {
  if (address === undefined) return false;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
