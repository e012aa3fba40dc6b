/** What may be shown of a secret. */
import type { Config } from './config.ts';

/** Where a secret would stand. */
export const hidden = '(hidden)';

/** An address of a server as it may be shown: parameters may hold passwords too. */
export function withoutCredentials(address: string): string {
  if (!URL.canParse(address)) return hidden;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}`;
}

/** What must not stand in a log. */
export function secretsOf({ security, store }: Pick<Config, 'security' | 'store'>): readonly string[] {
  const ofStore = store.type === 'owned' ? store.etcd.password : store.type === 'cluster' ? store.token : undefined;
  return ofStore === undefined ? security.tokens : [...security.tokens, ofStore];
}
