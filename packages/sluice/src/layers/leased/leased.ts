/**
 * The layer: `layered(redis, leased({ lease: '200ms' }))`. It borrows a slice of a key's quota for a short time and spends it with
 * no trip to the store.
 */
import type { Store } from '../../stores/store.ts';
import { oneStore } from '../ask.ts';
import { type LeasedStats, type LeasedStore, leasedStore } from './leased-store.ts';
import { type LeasedOptions, settingsOf } from './settings.ts';

/** The layer; wraps one store. */
export interface LeasedLayer {
  (store: Store): Store<'async'>;
  stats(): LeasedStats;
  /** Gives everything back. From then on every call goes through to the store. */
  close(): Promise<void>;
}

export function leased(options: LeasedOptions): LeasedLayer {
  const settings = settingsOf(options);
  const mustBeOnly = oneStore('leased');
  let own: LeasedStore | undefined;

  function wrap(store: Store): Store<'async'> {
    mustBeOnly(store);
    own = leasedStore(store, settings);
    const { mode, clock, apply, direct } = own;
    return { mode, clock, apply, direct };
  }

  return Object.assign(wrap, {
    stats: () => own?.stats() ?? { decidedHere: 0, refusedHere: 0, borrows: 0, returned: 0, lost: 0, keys: 0 },
    close: async () => own?.close(),
  });
}
