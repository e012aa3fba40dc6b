// How far each algorithm is from "at most the limit in any window", on traffic of several kinds. Nothing is timed here: the same traffic gives the same
// figures on every machine.

import { accuracyOf, limitRefusing } from '@sluice/simulator';
import { algorithmNames, parsePolicy } from 'sluice';
import { table } from '../table.mjs';
import { generatedTraffic } from './accuracy/generated.mjs';
import { trafficOfLog } from './accuracy/logs.mjs';
import { runPieces } from './pieces.mjs';

/**
 * @typedef {import('../../packages/simulator/src/index.ts').Traffic} Traffic
 * @typedef {{ name: string, traffic: Traffic }} Named
 */

const windowMs = 60_000;
// Limits that refuse nearly nobody, and limits that bite.
const refusedRatios = [0.001, 0.01, 0.1];

/** Algorithms that answer by delaying are not wrong when they let somebody wait. */
const judgedByWindow = ['fixed-window', 'sliding-log', 'sliding-slots', 'sliding-window'];
const notByRate = ['concurrency', 'smooth'];
const algorithms = algorithmNames.filter((name) => !notByRate.includes(name));

/** @param {import('../run.mjs').Run} run */
export function accuracy(run) {
  return runPieces(
    {
      generated: async () => ({ rows: compareAll(generatedTraffic, run), bars: barsOf() }),
      logs: async () => {
        if (run.logs.length === 0) run.progress('accuracy, logs: none were given. Add --log access.log');
        const named = [];
        for (const path of run.logs) named.push(await trafficOfLog(path));
        return { rows: compareAll(named, run), bars: [] };
      },
    },
    run,
  );
}

/**
 * @param {readonly Named[]} all
 * @param {import('../run.mjs').Run} run
 */
function compareAll(all, { print, progress }) {
  return all.flatMap(({ name, traffic }) =>
    refusedRatios.map((ratio) => {
      progress(`accuracy, ${name}, the exact log refuses at most ${percent(ratio)}`);
      const limit = limitRefusing(traffic, { windowMs, ratio });
      const rows = algorithms.map((algorithm) => ({ algorithm, ...judge(algorithm, traffic, limit) }));
      print(
        accuracyTable(
          `${name}: ${limit} per minute, with which the exact log refuses ${percent(ratio)} at most`,
          limit,
          rows,
        ),
      );
      return { name, ratio, limit, rows };
    }),
  );
}

/**
 * @param {string} algorithm
 * @param {Traffic} traffic
 * @param {number} limit
 */
function judge(algorithm, traffic, limit) {
  const policy = parsePolicy({ algorithm, limit, window: windowMs });
  const found = accuracyOf(policy, traffic, { limit, windowMs });
  if (algorithm === 'sliding-log' && found.wronglyAllowed + found.wronglyRefused > 0) {
    throw new Error('The exact log was judged wrong: the judge is.');
  }
  return found;
}

/**
 * @param {string} title
 * @param {number} limit
 * @param {readonly ({ algorithm: string } & import('../../packages/simulator/src/index.ts').Accuracy)[]} rows
 */
function accuracyTable(title, limit, rows) {
  const { calls, keys } = /** @type {typeof rows[0]} */ (rows[0]);
  return table(`${title} (${calls.toLocaleString('en')} calls of ${keys.toLocaleString('en')} clients)`, [
    ['', 'refused', 'wrongly refused', 'wrongly allowed', 'worst window', 'of the limit', 'clients above it'],
    ...rows.map((row) => {
      const isJudged = judgedByWindow.includes(row.algorithm);
      return [
        row.algorithm,
        percent(row.refused / calls),
        isJudged ? percent(row.wronglyRefused / calls) : '-',
        isJudged ? percent(row.wronglyAllowed / calls) : '-',
        row.worstWindow.toLocaleString('en'),
        `${(row.worstWindow / limit).toFixed(2)}x`,
        row.keysAbove.toLocaleString('en'),
      ];
    }),
  ]);
}

/** @param {number} ratio */
function percent(ratio) {
  return `${(100 * ratio).toFixed(3)} %`;
}

/** Strict is strict, on any traffic: that is a bar, and not a figure. */
function barsOf() {
  const limit = 100;
  return generatedTraffic.flatMap(({ name, traffic }) =>
    ['sliding-log', 'sliding-slots'].map((algorithm) => ({
      name: `${algorithm} on ${name}: worst window of ${limit}`,
      reached: judge(algorithm, traffic, limit).worstWindow,
      atMost: limit,
    })),
  );
}
