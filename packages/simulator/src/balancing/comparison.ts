/** The balancers side by side: the tables that this folder is about. */
import { randomPick, roundRobin, shortestQueue, twoChoices } from 'sluice/balance';
import { fullestBin } from './bins.ts';
import { balancedResponse, type MakeBalancer, oneQueueSimulated, type QueueOptions, type Response } from './queues.ts';
import {
  expectedFullest,
  fullestAtRandom,
  fullestOfTwo,
  oneQueueResponse,
  randomResponse,
  randomResponseFixed,
  roundRobinResponse,
  sharesAtRandom,
  sharesOfTwo,
  twoChoicesResponse,
} from './theory.ts';

export type Service = QueueOptions['service'];

export interface Contender {
  readonly name: string;
  readonly response: (options: QueueOptions) => Response;
  /** What it should be, where there is a formula. */
  readonly theory: Readonly<Partial<Record<Service, (load: number, servers: number) => number>>>;
}

function balanced(make: MakeBalancer): Contender['response'] {
  return (options) => balancedResponse(make, options);
}

export const contenders: readonly Contender[] = [
  {
    name: 'random',
    response: balanced((members, random) => randomPick(members, { random })),
    theory: { exponential: randomResponse, fixed: randomResponseFixed },
  },
  {
    name: 'round robin',
    response: balanced((members) => roundRobin(members)),
    theory: { exponential: roundRobinResponse },
  },
  {
    name: 'two choices',
    response: balanced((members, random) => twoChoices(members, { random })),
    // Of very many servers; of few it is a little more.
    theory: { exponential: twoChoicesResponse },
  },
  {
    name: 'shortest queue',
    response: balanced((members, random) => shortestQueue(members, { random })),
    theory: {},
  },
  { name: 'one queue for all', response: oneQueueSimulated, theory: { exponential: oneQueueResponse } },
];

export interface ResponseRow extends Response {
  readonly name: string;
  readonly theory: number | undefined;
}

export function responses(options: QueueOptions): ResponseRow[] {
  const { service, load, servers } = options;
  return contenders.map(({ name, response, theory }) => ({
    name,
    ...response(options),
    theory: theory[service]?.(load, servers),
  }));
}

export interface BinsRow {
  readonly bins: number;
  /** The average of the fullest bins, what it should be, and the formula of its growth. */
  readonly atRandom: BinsFigures;
  readonly ofTwo: BinsFigures;
}

export interface BinsFigures {
  readonly fullest: number;
  readonly expected: number;
  readonly growth: number;
}

export function binsRow(bins: number, times: number, seed = 1): BinsRow {
  const options = { bins, times, seed };
  return {
    bins,
    atRandom: {
      fullest: fullestBin((members, random) => randomPick(members, { random }), options),
      expected: expectedFullest(sharesAtRandom(), bins),
      growth: fullestAtRandom(bins),
    },
    ofTwo: {
      fullest: fullestBin((members, random) => twoChoices(members, { random }), options),
      expected: expectedFullest(sharesOfTwo(), bins),
      growth: fullestOfTwo(bins),
    },
  };
}
