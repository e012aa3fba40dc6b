/** The same traffic through every algorithm; the result is plain data, ready to be drawn or printed as JSON. */
import { byKey, type Counts, countsOf, grantsOf, worstWindow } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { random } from '../random.ts';
import { replay } from '../replay.ts';
import { merge } from '../traffic.ts';
import type { Options } from './arguments.ts';
import { type Client, clients } from './clients.ts';
import { type Contender, contenders, windowMs } from './contenders.ts';

export interface ClientResult {
  readonly client: string;
  readonly history: readonly Outcome[];
  readonly counts: Counts;
  /** The most calls of this client that went in any 10 seconds. */
  readonly worstWindow: number;
}

export interface Result extends Contender {
  readonly perClient: readonly ClientResult[];
  readonly counts: Counts;
  /** The worst of its clients: limits are per key. */
  readonly worstWindow: number;
  readonly firstRefusal: Outcome | undefined;
}

export interface Experiment {
  readonly options: Options;
  readonly clients: readonly Client[];
  readonly results: readonly Result[];
}

const holdMsMean = 700;
// The moment a delayed call goes is a sum of fractions, and rounds: two that are a whole window apart may seem closer.
const roundingMs = 1e-6;

export function experiment(options: Options): Experiment {
  const all = clients(options.seed, options.seconds * 1000);
  return { options, clients: all, results: contenders.map((each) => resultOf(each, all, options.seed)) };
}

function resultOf(contender: Contender, all: readonly Client[], seed: number): Result {
  const { exponential } = random(seed);
  const { history, counts, refusals } = replay(contender.policy, merge(...all.map(({ traffic }) => traffic)), {
    holdMs: () => exponential(holdMsMean),
  });
  const histories = byKey(history);
  const perClient = all.map(({ name }) => clientResult(name, histories.get(name) ?? []));
  return {
    ...contender,
    perClient,
    counts,
    worstWindow: Math.max(...perClient.map((each) => each.worstWindow)),
    firstRefusal: refusals[0],
  };
}

function clientResult(client: string, history: readonly Outcome[]): ClientResult {
  const worst = worstWindow(grantsOf(history), windowMs - roundingMs);
  return { client, history, counts: countsOf(history), worstWindow: worst };
}
