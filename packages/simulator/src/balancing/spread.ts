/** How evenly a ring spreads keys, and how many of them move when a member comes or goes. */
import { type HashRingOptions, hashRing } from 'sluice/balance';

export interface SpreadOptions {
  readonly members: number;
  readonly keys: number;
  /** Default: a ring as it comes. */
  readonly ring?: HashRingOptions;
}

export interface Spread {
  /** Of the keys that each member has: the standard deviation, the most and the fewest, each times their average. */
  readonly deviation: number;
  readonly most: number;
  readonly fewest: number;
  /** One more member comes; then the first one goes. */
  readonly join: Moved;
  readonly leave: Moved;
}

export interface Moved {
  /** The share of all keys that have another member now. */
  readonly ratio: number;
  /** Those of them that were not moved to the newcomer, or from the one that left: as a share of all keys. */
  readonly needlessRatio: number;
}

export function ringSpread({ members, keys, ring: options = {} }: SpreadOptions): Spread {
  const ids = Array.from({ length: members }, (_, i) => `10.0.${i >> 8}.${i & 255}:8080`);
  const numbers = new Map([...ids, 'newcomer'].map((id, i) => [id, i]));
  const ring = hashRing(ids, options);

  function ownersOfAll(): Uint32Array {
    return new Uint32Array(keys).map((_, key) => {
      const picked = ring.pick(`user:${key}`);
      picked?.done();
      return numbers.get(picked?.member.id ?? '') ?? 0;
    });
  }

  const before = ownersOfAll();
  ring.add('newcomer');
  const joined = ownersOfAll();
  ring.remove(ids[0]!);
  const left = ownersOfAll();
  return {
    ...evenness(before, members),
    join: moved(before, joined, (_from, to) => to === members),
    leave: moved(joined, left, (from) => from === 0),
  };
}

function evenness(owners: Uint32Array, members: number): Pick<Spread, 'deviation' | 'most' | 'fewest'> {
  const counts = new Float64Array(members);
  for (const owner of owners) counts[owner]! += 1;
  const ratios = counts.map((count) => (count * members) / owners.length);
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - 1) ** 2, 0) / members;
  return { deviation: Math.sqrt(variance), most: Math.max(...ratios), fewest: Math.min(...ratios) };
}

function moved(before: Uint32Array, after: Uint32Array, isNeeded: (from: number, to: number) => boolean): Moved {
  let all = 0;
  let needless = 0;
  for (let key = 0; key < before.length; key += 1) {
    const from = before[key]!;
    const to = after[key]!;
    if (from === to) continue;
    all += 1;
    if (!isNeeded(from, to)) needless += 1;
  }
  return { ratio: all / before.length, needlessRatio: needless / before.length };
}
