// Runs the benchmarks of the packages: every packages/*/src/**/*.bench.ts, one after another.
//
// A benchmark file default-exports { name, cases: { name, run(iterations) }[] }. It is bundled to plain JavaScript and
// measured in a process of its own, so that one file's garbage and inlining cannot colour the next one's figures.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from './table.mjs';

/**
 * @typedef {{ name: string, nsPerOperation: number, operationsPerSecond: number, timeRatio: number }} Case
 * @typedef {{ name: string, cases: Case[] }} Result
 */

const packages = ['sluice', 'tuner'];

/** @param {import('./run.mjs').Run} run */
export async function suites({ rounds, filter, print, progress, fail }) {
  const files = packages
    .flatMap((name) => {
      const source = fileURLToPath(new URL(`../packages/${name}/src/`, import.meta.url));
      return readdirSync(source, { recursive: true, encoding: 'utf8' }).map((file) => join(source, file));
    })
    .filter((file) => file.endsWith('.bench.ts') && basename(file).includes(filter))
    .sort();
  if (files.length === 0) fail(`no benchmark file has "${filter}" in its name`);
  const results = [];
  for (const [i, file] of files.entries()) {
    progress(`suite ${i + 1} of ${files.length}: ${basename(file, '.bench.ts')}`);
    const result = measure(await bundle(file), rounds);
    results.push(result);
    print(resultTable(result));
  }
  return results;
}

/**
 * @param {string} file
 * @returns {Promise<string>} the bundled file
 */
async function bundle(file) {
  // Not imported at the top: on a fresh clone it has only just been installed.
  const { build } = await import('rolldown');
  const output = fileURLToPath(new URL(`./.cache/${basename(file, '.ts')}.mjs`, import.meta.url));
  await build({
    input: file,
    platform: 'node',
    // Peers stay as they are on disk; only our own sources are compiled in.
    external: (id) => /^[@a-z]/.test(id) && !/^sluice(\/|$)/.test(id),
    resolve: { conditionNames: ['@sluice/source', 'import', 'default'] },
    output: { file: output, format: 'esm' },
  });
  return output;
}

/**
 * @param {string} file
 * @param {number} rounds
 * @returns {Result}
 */
function measure(file, rounds) {
  const script = fileURLToPath(new URL('./measure.mjs', import.meta.url));
  const report = execFileSync(process.execPath, ['--expose-gc', script, file, String(rounds)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  rmSync(file);
  const { name, cases } = JSON.parse(report);
  const firstNs = cases[0]?.nsPerOperation;
  return {
    name,
    cases: cases.map((/** @type {Case} */ { name, nsPerOperation }) => ({
      name,
      nsPerOperation,
      operationsPerSecond: Math.round(1e9 / nsPerOperation),
      timeRatio: nsPerOperation / firstNs, // Above 1: slower than the first case.
    })),
  };
}

/** @param {Result} result */
function resultTable({ name, cases }) {
  const rows = cases.map(({ name, nsPerOperation, operationsPerSecond, timeRatio }) => [
    name,
    nsPerOperation.toFixed(1),
    operationsPerSecond.toLocaleString('en'),
    `${timeRatio.toFixed(2)}x`,
  ]);
  return table(name, [['', 'ns/op', 'ops/s', 'time ratio'], ...rows]);
}
