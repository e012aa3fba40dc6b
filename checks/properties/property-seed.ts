/**
 * The seed of everything that tests draw at random, the same in each run: what fails, fails again, and nothing fails by chance.
 * `PROPERTY_SEED=12345` takes another, `PROPERTY_SEED=random` one that nobody has chosen. Properties get it with `fast-check`
 * (vitest.config.ts), other tests by `inject('propertySeed')`.
 */
import { randomInt } from 'node:crypto';

declare module 'vitest' {
  export interface ProvidedContext {
    propertySeed: number;
  }
}

const usual = 1;
// fast-check takes 32 bits of a seed; it would print another than the one that it was given.
const seeds = 2 ** 31;

export function propertySeedOf(text: string | undefined): number {
  if (text === undefined || text === '') return usual;
  if (text === 'random') return randomInt(seeds);
  const seed = Number(text);
  if (Number.isInteger(seed) && seed >= 0 && seed < seeds) return seed;
  throw new RangeError(
    `PROPERTY_SEED must be "random" or a whole number from 0 to ${seeds - 1}, got ${JSON.stringify(text)}.`,
  );
}
