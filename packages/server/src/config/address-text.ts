import type { Address } from './config.ts';

/** `host:port`, as URLs have it. */
export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** As in the file: `false` for a closed door. */
export function doorText(address: Address | undefined): string | false {
  return address === undefined ? false : addressText(address);
}
