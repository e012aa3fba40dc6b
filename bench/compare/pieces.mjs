// A comparison in pieces: each measures and prints something and has bars of its own.
import { barsTable, isMet } from './bars.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {{ rows: unknown, bars: readonly import('./bars.mjs').Bar[] }} Measured
 */

/**
 * Runs those pieces that have the filter in their name, and prints all bars at the end.
 * @param {Record<string, (run: Run) => Promise<Measured>>} pieces
 * @param {Run} run
 */
export async function runPieces(pieces, run) {
  const chosen = Object.entries(pieces).filter(([name]) => name.includes(run.filter));
  if (chosen.length === 0) run.fail(`nothing here has "${run.filter}" in its name: ${Object.keys(pieces).join(', ')}`);
  /** @type {Record<string, unknown>} */
  const report = {};
  /** @type {import('./bars.mjs').Bar[]} */
  const bars = [];
  for (const [name, piece] of chosen) {
    const measured = await piece(run);
    report[name] = measured.rows;
    bars.push(...measured.bars);
  }
  if (bars.length > 0) run.print(barsTable(bars));
  return { ...report, bars: bars.map((bar) => ({ ...bar, isMet: isMet(bar) })) };
}
