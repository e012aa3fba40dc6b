import { type Check, gcra, limiter, memoryStore, type Store } from 'sluice';
import { denyCache, layered } from 'sluice/layers';
import { type Bench, type BenchCase, hotKey, manyKeys } from '../../../../../bench/cases.ts';

const policy = gcra({ limit: 1, window: '30d' });

/** A store whose every trip after the first per key would be a mistake. */
function behindCache(): { readonly store: Store<'sync'>; trips(): number } {
  const inner = memoryStore();
  let trips = 0;
  const counting: Store<'sync'> = {
    mode: 'sync',
    clock: inner.clock,
    apply(checks, atMs) {
      trips += 1;
      return inner.apply(checks, atMs);
    },
  };
  return { store: layered(counting, denyCache({ atMost: '1h' })), trips: () => trips };
}

function remembered(name: string, keys: readonly string[]): BenchCase {
  const { store, trips } = behindCache();
  const batches = keys.map((key): Check[] => [{ name: 'bench', key, policy, cost: 1 }]);
  for (const batch of [...batches, ...batches]) store.apply(batch);
  return {
    name,
    run(iterations) {
      const before = trips();
      for (let i = 0; i < iterations; i += 1) {
        const batch = batches[i % batches.length]!;
        if (store.apply([{ ...batch[0]! }])[0]!.allowed) throw new Error('A refused key was allowed.');
      }
      if (trips() !== before) throw new Error('A refused key was asked for again.');
    },
  };
}

function throughLimiter(): BenchCase {
  const { store, trips } = behindCache();
  const limit = limiter(policy, { store, name: 'bench' });
  limit.check('key', 1);
  limit.check('key', 1);
  return {
    name: 'a refused key, through a limiter',
    run(iterations) {
      const before = trips();
      for (let i = 0; i < iterations; i += 1) if (limit.check('key').allowed) throw new Error('It was allowed.');
      if (trips() !== before) throw new Error('A refused key was asked for again.');
    },
  };
}

const bench: Bench = {
  name: 'deny-cache',
  cases: [
    remembered('a refused key, 1 key', hotKey),
    remembered('a refused key, 10,000 keys', manyKeys),
    throughLimiter(),
  ],
};
export default bench;
