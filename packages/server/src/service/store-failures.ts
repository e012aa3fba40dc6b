/** What stores that can fail have in common: how they are left to fail by themselves, and how often they did. */
import type { DegradeLayer } from 'sluice/layers';

/**
 * For stores that know by themselves when nobody can be sure, key by key: neither a deadline nor a breaker over all keys, which would refuse those of
 * owners that are well.
 */
export const failsByItself = { after: 2 ** 31 - 1, breaker: { consecutiveFailures: 2 ** 32 } } as const;

export function failureNumbers(layer: DegradeLayer): { readonly errors: number; readonly degraded: number } {
  const { storeErrors, degraded } = layer.stats();
  return { errors: storeErrors, degraded: degraded.closed + degraded.open + degraded.local };
}
