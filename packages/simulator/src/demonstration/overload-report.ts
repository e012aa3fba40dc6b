/** The page that `npm run demo -- overload` prints. A row takes seconds to find, so lines come one by one. */
import { type ComparisonRow, contenders } from '../overload/comparison.ts';
import { standard } from '../overload/overload.ts';
import type { Paint } from './paint.ts';

const firstColumn = 'a refusal costs';
const columns = contenders.map(({ name }) => Math.max(name.length, 4) + 4);

export async function* overloadLines(
  rows: AsyncIterable<ComparisonRow>,
  seed: number,
  paint: Paint,
): AsyncGenerator<string> {
  const { capacityPerSecond, queueLength, timeoutMs } = standard;
  yield `${paint('strong', 'Sluice')}: a service at three times what it can do (seed ${seed})`;
  yield '';
  yield `  It answers ${capacityPerSecond} requests a second, ${queueLength} may wait, and callers give up after ${timeoutMs} ms.`;
  yield `  20 clients send ${3 * capacityPerSecond} a second, and make each call up to 3 times.`;
  yield '  What it answers in time, as a share of what it could, with';
  yield '';
  yield `    ${'nothing'.padEnd(9)}retries without a budget`;
  yield `    ${'budget'.padEnd(9)}retryBudget(): one retry for every ten requests, and one a second`;
  yield `    ${'k'.padEnd(9)}the same, and adaptiveThrottle({ k }): k calls are sent for each that is accepted`;
  yield '';
  yield paint(
    'faint',
    lineOf(
      firstColumn,
      contenders.map(({ name }) => name),
    ),
  );
  for await (const { rejectionCost, goodputs } of rows) yield lineOf(percent(rejectionCost), goodputs.map(percent));
}

export async function overloadJson(rows: AsyncIterable<ComparisonRow>, seed: number): Promise<string> {
  const all: unknown[] = [];
  for await (const { rejectionCost, goodputs } of rows) {
    const byName = contenders.map(({ name }, i) => [name, goodputs[i]]);
    all.push({ rejectionCost, goodput: Object.fromEntries(byName) });
  }
  return JSON.stringify({ seed, ...standard, rows: all }, null, 2);
}

function lineOf(first: string, cells: readonly string[]): string {
  return first.padStart(firstColumn.length) + cells.map((cell, i) => cell.padStart(columns[i] ?? 0)).join('');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}
