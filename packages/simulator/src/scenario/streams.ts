/** Chance of its own for each part of a run: what one draws changes nothing for the others. */
import { type Random, random } from '../random.ts';

const parts = ['calls', 'servers', 'protect'] as const;

/** The seeds that follow that of the scenario; after the largest come the smallest again. */
export function streamOf(seed: number, part: (typeof parts)[number]): Random {
  const further = parts.indexOf(part);
  const largest = Number.MAX_SAFE_INTEGER;
  return random(seed <= largest - further ? seed + further : further - (largest - seed) - 1);
}
