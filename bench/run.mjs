// Runs the benchmarks of the library: every packages/sluice/src/**/*.bench.ts, one after another.
//
// A benchmark file default-exports { name, cases: { name, run(iterations) }[] }. It is bundled to plain JavaScript and
// measured in a process of its own, so that one file's garbage and inlining cannot colour the next one's figures.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installDependencies } from '../scripts/set-up.mjs';

const help = `npm run bench [-- [filter] [options]]

  filter        only the benchmark files with this word in their name, e.g. gcra
  --rounds <n>  rounds per case, the median counts (default 11)
  --json        print JSON
  --help        print this
`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '11' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});
if (options.help) {
  console.log(help);
  process.exit(0);
}
if (!(Number(options.rounds) >= 1)) fail(`--rounds must be a number of at least 1, got ${options.rounds}`);
if (!installDependencies()) process.exit(1);

const source = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url));
const filter = positionals[0] ?? '';
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.ts') && basename(file).includes(filter))
  .sort();
if (files.length === 0) fail(`no benchmark file has "${filter}" in its name`);

const results = [];
for (const file of files) {
  const result = measure(await bundle(join(source, file)));
  results.push(result);
  if (!options.json) console.log(table(result));
}
if (options.json) console.log(JSON.stringify(results, null, 2));

/**
 * @typedef {{ name: string, nsPerOperation: number, operationsPerSecond: number, timeRatio: number }} Case
 * @typedef {{ name: string, cases: Case[] }} Result
 */

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
 * @returns {Result}
 */
function measure(file) {
  const script = fileURLToPath(new URL('./measure.mjs', import.meta.url));
  const report = execFileSync(process.execPath, ['--expose-gc', script, file, String(options.rounds)], {
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
function table({ name, cases }) {
  const rows = cases.map(({ name, nsPerOperation, operationsPerSecond, timeRatio }) => [
    name,
    nsPerOperation.toFixed(1),
    operationsPerSecond.toLocaleString('en'),
    `${timeRatio.toFixed(2)}x`,
  ]);
  const lines = [['', 'ns/op', 'ops/s', 'time ratio'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (/** @type {string[]} */ line) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('   ');
  return `${name}\n${lines.map((line) => `  ${format(line)}`).join('\n')}\n`;
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(2);
}
