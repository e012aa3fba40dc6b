// `npm test` runs everything; `npm run coverage` (--coverage) also says which lines no test reaches, and fails where they are too many;
// `npm run check` (--quick) leaves out sizes, the packed tarball, what starts servers and what takes long.
// The steps run one after another, cheapest first, and the first failure ends the run.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { failuresFile } from './failures-reporter.mjs';
import { build, installDependencies, root, run } from './set-up.mjs';

const isQuick = process.argv.includes('--quick');
const isCovered = process.argv.includes('--coverage');
const resultFile = join(root, '.cache/test-result.json');
const apartFile = join(root, '.cache/test-result-apart.json');
const quietFile = join(root, '.cache/test-result-quiet.json');
for (const file of [resultFile, apartFile, quietFile, failuresFile]) rmSync(file, { force: true });

const reporters = ['--reporter=default', '--reporter=./scripts/failures-reporter.mjs', '--reporter=json'];
const vitest = ['run', ...reporters, `--outputFile.json=${resultFile}`];

/** @type {[name: string, step: () => boolean][]} */
const steps = [
  ['dependencies', installDependencies],
  ['format and lint', () => run('biome', ['check', '--error-on-warnings', '.'])],
  ['build', build],
  // Redis and a compiler from Debian's packages, where they are missing: once, not by every test file.
  ['servers', () => run('node', ['packages/test-servers/dist/set-up.js'])],
  ['types of tests and scripts', () => run('tsc', ['-p', 'tsconfig.tests.json'])],
  isQuick
    ? ['tests', () => run('vitest', [...vitest, ...setsOf('together', 'alone')])]
    : [
        isCovered ? 'tests with coverage' : 'tests',
        () => run('vitest', [...vitest, ...setsOf('together', 'alone', 'slow'), ...(isCovered ? ['--coverage'] : [])]),
      ],
];
if (!isQuick) {
  const isolated = ['run', ...reporters, `--outputFile.json=${apartFile}`, ...setsOf('apart')];
  steps.push(['tests apart', () => run('vitest', isolated)]);
  const single = ['run', ...reporters, `--outputFile.json=${quietFile}`, ...setsOf('quiet'), '--maxWorkers=1'];
  steps.push(['tests in quiet', () => run('vitest', single)]);
  steps.push(['size', () => run('node', ['scripts/size.mjs', '--no-build'])]);
}

/** The sets of scripts/test-sets.mjs. @param {string[]} names */
function setsOf(...names) {
  return names.map((name) => `--project=${name}`);
}

let failedStep;
for (const [name, step] of steps) {
  console.log(`\n=== ${name}`);
  const startMs = performance.now();
  const isOk = step();
  console.log(`=== ${name}: ${isOk ? 'ok' : 'FAILED'} in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  if (isOk) continue;
  failedStep = name;
  break;
}

if (failedStep && existsSync(failuresFile)) console.error(`\n${readFileSync(failuresFile, 'utf8')}`);
if (failedStep) console.error(`\nThe step "${failedStep}" failed; its output is above. Later steps did not run.`);
console.log(`\n${testCounts()}`);
process.exit(failedStep ? 1 : 0);

/** The counts come from the test runner's own reports; without a report no test ran. */
function testCounts() {
  const reports = [resultFile, apartFile, quietFile].filter((file) => existsSync(file));
  if (reports.length === 0) return 'no tests ran';
  const counts = reports.map((file) => JSON.parse(readFileSync(file, 'utf8')));
  const sum = (/** @type {'numPassedTests' | 'numFailedTests'} */ name) =>
    counts.reduce((all, one) => all + one[name], 0);
  return `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`;
}
