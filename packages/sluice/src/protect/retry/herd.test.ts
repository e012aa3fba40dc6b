/** A thousand clients that were refused at the same moment do not come back at the same moment. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import { PassingClock } from '../passing-clock.test-support.ts';
import { retry } from './retry.ts';
import type { RetryOptions } from './settings.ts';

const clients = 1000;

/** When each client makes which attempt; every attempt fails. */
async function comeBacks(options: RetryOptions, randomOf: (client: number) => () => number): Promise<number[][]> {
  const clock = new PassingClock();
  const madeMs = Array.from({ length: clients }, (): number[] => []);
  const all = madeMs.map((own, client) =>
    retry({ ...options, clock, random: randomOf(client) })
      .run(async () => {
        own.push(clock.now());
        throw new Error('refused');
      })
      .catch(() => undefined),
  );
  await clock.pass(600_000);
  await Promise.all(all);
  return madeMs;
}

/** The most that come in any slice of so long, wherever it begins. */
function mostIn(sliceMs: number, timesMs: number[]): number {
  const sorted = [...timesMs].sort((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [i, atMs] of sorted.entries()) {
    while (sorted[first]! <= atMs - sliceMs) first += 1;
    most = Math.max(most, i - first + 1);
  }
  return most;
}

const chance = (client: number) => seededRandom(client);
const noChance = () => () => 0.5;

interface Case {
  readonly name: string;
  readonly options: RetryOptions;
  readonly attempt: number;
  /** From when to when the clients may come. */
  readonly fromMs: number;
  readonly toMs: number;
}

const cases: Case[] = [
  { name: 'nobody said when: the second attempt', options: {}, attempt: 2, fromMs: 0, toMs: 100 },
  { name: 'nobody said when: the third attempt', options: {}, attempt: 3, fromMs: 0, toMs: 300 },
  {
    name: 'all were told half a minute',
    options: { waitFor: () => 30_000 },
    attempt: 2,
    fromMs: 30_000,
    toMs: 33_000,
  },
  { name: 'all were told one second', options: { waitFor: () => 1000 }, attempt: 2, fromMs: 1000, toMs: 1100 },
  { name: 'all were told to come at once', options: { waitFor: () => 0 }, attempt: 2, fromMs: 0, toMs: 100 },
];

describe('a thousand clients refused at once', () => {
  it.each(cases)('$name', async ({ options, attempt, fromMs, toMs }) => {
    const spread = (await comeBacks(options, chance)).map((own) => own[attempt - 1]!);
    expect(Math.min(...spread)).toBeGreaterThanOrEqual(fromMs);
    expect(Math.max(...spread)).toBeLessThan(toMs);
    // Ten would be even. In no hundredth of the time are there three times as many.
    const sliceMs = (toMs - fromMs) / 100;
    expect(mostIn(sliceMs, spread)).toBeLessThanOrEqual(30);

    const herd = (await comeBacks(options, noChance)).map((own) => own[attempt - 1]!);
    expect(mostIn(sliceMs, herd)).toBe(clients);
  });
});
