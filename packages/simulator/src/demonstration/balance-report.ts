/** The page that `npm run demo -- balance` prints. A table takes seconds to find, so lines come one by one. */
import { type BinsRow, binsRow, type ResponseRow, responses } from '../balancing/comparison.ts';
import { ringSpread, type Spread } from '../balancing/spread.ts';
import { ringDeviation } from '../balancing/theory.ts';
import { type Cycle, cyclesOf } from '../balancing/turns.ts';
import type { Paint } from './paint.ts';

export interface BalanceSizes {
  readonly keys: number;
  readonly ringMembers: readonly number[];
  readonly servers: number;
  readonly loads: readonly number[];
  readonly calls: number;
  readonly bins: readonly { readonly count: number; readonly times: number }[];
}

export const standardSizes: BalanceSizes = {
  keys: 1_000_000,
  ringMembers: [10, 100, 1000],
  servers: 10,
  loads: [0.5, 0.8, 0.95],
  calls: 1_000_000,
  bins: [
    { count: 10, times: 1000 },
    { count: 100, times: 400 },
    { count: 1000, times: 100 },
    { count: 10_000, times: 30 },
  ],
};

const points = 150;
const weights = { A: 5, B: 1, C: 1 };

/** What the page shows: each figure is found when it is asked for. */
function* turns(): Generator<Cycle> {
  yield* cyclesOf(weights, 3);
}

interface RingRow extends Spread {
  readonly members: number;
  readonly expectedDeviation: number;
}

function* rings({ ringMembers, keys }: BalanceSizes): Generator<RingRow> {
  for (const members of ringMembers) {
    yield {
      members,
      expectedDeviation: ringDeviation(points, members, keys),
      ...ringSpread({ members, keys, ring: { points } }),
    };
  }
}

interface LoadRows {
  readonly load: number;
  readonly exponential: readonly ResponseRow[];
  readonly fixed: readonly ResponseRow[];
}

function* loads({ loads, servers, calls }: BalanceSizes, seed: number): Generator<LoadRows> {
  for (const load of loads) {
    const options = { load, servers, calls, seed };
    yield {
      load,
      exponential: responses({ ...options, service: 'exponential' }),
      fixed: responses({ ...options, service: 'fixed' }),
    };
  }
}

function* bins({ bins }: BalanceSizes, seed: number): Generator<BinsRow> {
  for (const { count, times } of bins) yield binsRow(count, times, seed);
}

export function* balanceLines(seed: number, paint: Paint, sizes: BalanceSizes = standardSizes): Generator<string> {
  const title = (text: string, more: string) => `${paint('strong', text)}${more}`;
  const head = (cells: readonly string[], widths: readonly number[]) => paint('faint', lineOf(cells, widths));

  yield title('Sluice', `: which member has the next call (seed ${seed})`);
  yield '';
  yield title('Turns', ': smooth weighted round robin of A with weight 5, B and C with 1; a cycle in each line');
  for (const { order, picks } of turns()) {
    const counts = Object.entries(picks).map(([id, count]) => `${id} ${count}`);
    yield `  ${order.join(' ')}    ${counts.join('  ')}`;
  }

  yield '';
  yield title('Keys', `: a ring of ${points} points for each member, ${sizes.keys.toLocaleString('en')} keys`);
  yield '  a share of the keys, times the average; then what part of the keys moves, and needlessly';
  yield head(
    ['members', 'deviation', 'theory', 'most', 'fewest', 'one comes', 'one goes', 'of n + 1', 'needless'],
    ringWidths,
  );
  for (const row of rings(sizes)) yield lineOf(ringCells(row), ringWidths);

  yield '';
  yield title(
    'Response',
    `: ${sizes.servers} servers with a queue each, Poisson arrivals, ${sizes.calls.toLocaleString('en')} calls`,
  );
  yield '  from arrival until done, in mean services; services vary exponentially, or are all alike';
  for (const { load, exponential, fixed } of loads(sizes, seed)) {
    yield '';
    yield head([`busy ${percent(load)}`, 'varying', 'theory', 'p99', 'alike', 'theory', 'p99'], responseWidths);
    for (const [i, row] of exponential.entries()) yield lineOf(responseCells(row, fixed[i]), responseWidths);
  }
  yield '';
  yield '  theory: M/M/1 and M/D/1 for random, E_N/M/1 for round robin, Erlang C for one queue,';
  yield '  very many servers for two choices';

  yield '';
  yield title('Balls', ': as many as bins, and how many are in the fullest');
  yield head(
    ['bins', 'random', 'expected', 'log N / log log N', 'two choices', 'expected', 'log log N / log 2'],
    binsWidths,
  );
  for (const row of bins(sizes, seed)) yield lineOf(binsCells(row), binsWidths);
}

export function balanceJson(seed: number, sizes: BalanceSizes = standardSizes): string {
  const report = {
    seed,
    points,
    ...sizes,
    turns: [...turns()],
    rings: [...rings(sizes)],
    responses: [...loads(sizes, seed)],
    balls: [...bins(sizes, seed)],
  };
  return JSON.stringify(report, null, 2);
}

const ringWidths = [9, 11, 8, 7, 8, 11, 10, 10, 10];
const responseWidths = [-20, 9, 8, 8, 11, 8, 8];
const binsWidths = [8, 9, 10, 19, 13, 10, 19];

function ringCells({ members, deviation, expectedDeviation, most, fewest, join, leave }: RingRow): string[] {
  const needless = join.needlessRatio + leave.needlessRatio;
  const moved = [join.ratio, leave.ratio, 1 / (members + 1), needless].map((ratio) => percent(ratio, 2));
  const [comes, goes, fair, none] = moved as [string, string, string, string];
  return [
    members.toLocaleString('en'),
    percent(deviation, 1),
    percent(expectedDeviation, 1),
    most.toFixed(2),
    fewest.toFixed(2),
    comes,
    goes,
    fair,
    none,
  ];
}

function responseCells(varying: ResponseRow, alike: ResponseRow | undefined): string[] {
  const figures = (row: ResponseRow | undefined) => [row?.mean, row?.theory, row?.p99].map(figure);
  return [`  ${varying.name}`, ...figures(varying), ...figures(alike)];
}

function binsCells({ bins, atRandom, ofTwo }: BinsRow): string[] {
  const figures = [atRandom, ofTwo].flatMap(({ fullest, expected, growth }) => [fullest, expected, growth]);
  return [bins.toLocaleString('en'), ...figures.map(figure)];
}

/** A width below 0 is to the left. */
function lineOf(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => {
      const width = widths[i] ?? 0;
      return width < 0 ? cell.padEnd(-width) : cell.padStart(width);
    })
    .join('')
    .trimEnd();
}

function figure(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2);
}

function percent(ratio: number, digits = 0): string {
  return `${(100 * ratio).toFixed(digits)}%`;
}
