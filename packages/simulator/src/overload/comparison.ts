/** The same overload with and without protections, at every cost of a refusal: the table that this folder is about. */
import { type OverloadOptions, overload, standard } from './overload.ts';

/** What a refusal costs the service, as a share of a request. */
export const rejectionCosts = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5] as const;

export interface Contender {
  readonly name: string;
  readonly options: OverloadOptions;
}

// Without a throttle there is nothing that has to settle.
const atOnce = { settlingMs: 15_000, measuredMs: 15_000 };

export const contenders = [
  { name: 'nothing', options: { ...atOnce, client: { budget: 'endless' } } },
  { name: 'budget', options: { ...atOnce, client: {} } },
  { name: 'k 2', options: { client: { k: 2 } } },
  { name: 'k 1.1', options: { client: { k: 1.1 } } },
  { name: 'k 1.05', options: { client: { k: 1.05 } } },
] as const satisfies readonly Contender[];

/** How long a full queue takes to work off, as a share of the callers' patience. */
export const queues = [
  { name: 'half of the time-out', queueLength: (standard.capacityPerSecond * standard.timeoutMs * 0.5) / 1000 },
  { name: '93% of the time-out', queueLength: (standard.capacityPerSecond * standard.timeoutMs * 0.93) / 1000 },
] as const;

export interface ComparisonRow {
  readonly rejectionCost: number;
  /** By contender, in their order. */
  readonly goodputs: readonly number[];
}

/** One row after the other, as they are found. */
export async function* compare(queueLength: number, seed: number): AsyncGenerator<ComparisonRow> {
  for (const rejectionCost of rejectionCosts) {
    const goodputs: number[] = [];
    for (const { options } of contenders) {
      const { goodput } = await overload({ ...options, queueLength, rejectionCost, seed });
      goodputs.push(goodput);
    }
    yield { rejectionCost, goodputs };
  }
}
