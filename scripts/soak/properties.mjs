/**
 * The tests that draw their inputs at random, with one seed after the other (`npm test` always takes the same).
 *
 *      --from 17     the first seed; without it, any
 *      --seeds 100   how many; without it, until stopped
 *      --minutes 30  begins no other seed after that long
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../set-up.mjs';

// Those that fast-check takes as they are, so that a failure prints the seed that it was given.
const seedsInAll = 2 ** 31;

/** @param {readonly string[]} args */
export async function soak(args) {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: 'string' }, seeds: { type: 'string' }, minutes: { type: 'string' } },
  });
  const from = values.from === undefined ? Math.floor(Math.random() * seedsInAll) : number('from', values.from);
  const seeds = values.seeds === undefined ? Number.POSITIVE_INFINITY : number('seeds', values.seeds);
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : number('minutes', values.minutes);
  const files = filesThatDraw();
  const startMs = performance.now();
  const minutesPassed = () => (performance.now() - startMs) / 60_000;
  let tests = 0;
  for (let count = 0; count < seeds && minutesPassed() < minutes; count += 1) {
    const seed = (from + count) % seedsInAll;
    tests += testsPassed(seed, files);
    console.log(
      `  ${count + 1} seeds, the last ${seed}: ${tests} tests of ${files.length} files passed in ${minutesPassed().toFixed(1)} minutes`,
    );
  }
}

/**
 * @param {number} seed
 * @param {readonly string[]} files
 */
function testsPassed(seed, files) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-properties-'));
  const reportFile = join(folder, 'report.json');
  try {
    const { status, stdout, stderr } = spawnSync(
      join(root, 'node_modules/.bin/vitest'),
      ['run', '--silent', '--reporter=dot', '--reporter=json', `--outputFile.json=${reportFile}`, ...files],
      { cwd: root, encoding: 'utf8', env: { ...process.env, PROPERTY_SEED: String(seed) }, maxBuffer: 2 ** 30 },
    );
    if (status !== 0) console.error(`${stdout}\n${stderr}`);
    const report = JSON.parse(readFileSync(reportFile, 'utf8'));
    if (status === 0) return /** @type {number} */ (report.numPassedTests);
    const failed = /** @type {{ name: string, status: string }[]} */ (report.testResults)
      .filter((result) => result.status === 'failed')
      .map(({ name }) => relative(root, name));
    // What fails outside of any test belongs to no file.
    const again = `PROPERTY_SEED=${seed} node_modules/.bin/vitest run ${(failed.length > 0 ? failed : files).join(' ')}`;
    throw new Error(`seed ${seed} failed: see above\nAgain: ${again}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The tests that draw, or whose support does. */
function filesThatDraw() {
  const sources = ['packages', 'checks']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'));
  return sources.filter((file) => draws(join(root, file)));
}

/**
 * @param {string} file
 * @returns {boolean}
 */
function draws(file) {
  const text = readFileSync(file, 'utf8');
  if (/from 'fast-check'|inject\('propertySeed'\)/.test(text)) return true;
  const support = [...text.matchAll(/from '(\.[^']*\.test-support\.ts)'/g)];
  return support.some(([, path]) => draws(join(dirname(file), /** @type {string} */ (path))));
}

/**
 * @param {string} name
 * @param {string} text
 */
function number(name, text) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`--${name} must be a whole number of 0 or more, got ${JSON.stringify(text)}.`);
}
