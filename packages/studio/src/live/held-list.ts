/** A list that keeps its order while somebody is in it, and goes on counting. */
import type { LiveSnapshot } from './contract.ts';

export type RefusedKey = LiveSnapshot['topRefused'][number];

export function heldList(held: readonly RefusedKey[], latest: readonly RefusedKey[]): readonly RefusedKey[] {
  const now = new Map(latest.map((one) => [nameOf(one), one]));
  return held.map((one) => now.get(nameOf(one)) ?? one);
}

/** Keys may have anything in them. */
function nameOf({ rule, key }: RefusedKey): string {
  return JSON.stringify([rule, key]);
}
