// `npm test` runs everything; `npm run coverage` (--coverage) also says which lines no test reaches, and fails where they are too many;
// `npm run check` (--quick) leaves out sizes, the packed tarball and what starts servers.
// The steps run one after another, cheapest first, and the first failure ends the run.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { failuresFile } from './failures-reporter.mjs';
import { build, installDependencies, root, run } from './set-up.mjs';

const isQuick = process.argv.includes('--quick');
const isCovered = process.argv.includes('--coverage');
const resultFile = join(root, '.cache/test-result.json');
const apartFile = join(root, '.cache/test-result-apart.json');
for (const file of [resultFile, apartFile, failuresFile]) rmSync(file, { force: true });

const reporters = ['--reporter=default', '--reporter=./scripts/failures-reporter.mjs', '--reporter=json'];
const vitest = ['run', ...reporters, `--outputFile.json=${resultFile}`];

// Tests of the package as it is published, tests with real servers and processes, and those that try thousands of inputs.
const slow = [
  'checks/packed-{tarball,server}.test.ts',
  'checks/examples.test.ts',
  'checks/runtimes.test.ts',
  'packages/simulator/src/overload/overload.test.ts',
  'packages/simulator/src/balancing/balancing.test.ts',
  'packages/server/src/gateway/*.test.ts',
  'checks/readme-snippets.test.ts',
  'packages/test-servers/**',
  '**/stores/redis/**',
  '**/*redis.test.ts',
  '**/*fuzz.test.ts',
  'packages/server/src/serve/**',
  'packages/server/src/operations/operations.test.ts',
  'packages/server/src/load/generate.test.ts',
  'packages/server/src/commands/bench.test.ts',
  'packages/server/src/resp/clients.test.ts',
  'packages/server/src/grpc/grpc-door-{drain,tls}.test.ts',
  'packages/server/src/resp/cluster-clients.test.ts',
  'packages/server/src/cluster/fire/**',
  'packages/server/src/cluster/etcd/**',
  'packages/server/src/cluster/{client,client-conformance,cluster-node,long-windows}.test.ts',
  'packages/simulator/src/cluster/**',
  'packages/simulator/src/scenario/ready-scenarios.test.ts',
  'packages/server/src/commands/{simulate,tune}.test.ts',
  'packages/server/src/simulate/guide.test.ts',
  'packages/studio/src/browser/**',
];

// These work in processes, browsers and worlds of their own, or try thousands of inputs on what others cover: to collect their coverage says nothing
// and takes long, and they go well with each other and not with the rest.
const apart = [
  'packages/simulator/src/theory.test.ts',
  'packages/server/src/simulate/ready-scenarios-redis.test.ts',
  'packages/server/src/gateway/nginx-limit-req.test.ts',
  'packages/server/src/http/fuzz.test.ts',
  'packages/server/src/grpc/grpc-door-fuzz.test.ts',
  'packages/sluice/src/stores/redis/one-truth.test.ts',
  'packages/sluice/src/protect/adaptive-concurrency/simulation.test.ts',
  'packages/sluice/src/protect/pacer/simulation.test.ts',
  'packages/simulator/src/cluster/',
  'packages/simulator/src/overload/overload.test.ts',
  'packages/simulator/src/balancing/balancing.test.ts',
  'packages/simulator/src/scenario/ready-scenarios.test.ts',
  'packages/server/src/cluster/fire/',
  'packages/sluice/src/stores/shared-memory/shared-memory-store.test.ts',
  'packages/studio/src/browser/',
  'checks/readme-snippets.test.ts',
];

/** @type {[name: string, step: () => boolean][]} */
const steps = [
  ['dependencies', installDependencies],
  ['format and lint', () => run('biome', ['check', '--error-on-warnings', '.'])],
  ['build', build],
  // Redis and a compiler from Debian's packages, where they are missing: once, not by every test file.
  ['servers', () => run('node', ['packages/test-servers/dist/set-up.js'])],
  ['types of tests and scripts', () => run('tsc', ['-p', 'tsconfig.tests.json'])],
  isQuick
    ? ['tests', () => run('vitest', [...vitest, ...slow.map((files) => `--exclude=${files}`)])]
    : [
        isCovered ? 'tests with coverage' : 'tests',
        () =>
          run('vitest', [
            ...vitest,
            ...(isCovered ? ['--coverage'] : []),
            ...apart.map((files) => `--exclude=${files}**`),
          ]),
      ],
];
if (!isQuick) {
  steps.push(['tests apart', () => run('vitest', ['run', ...reporters, `--outputFile.json=${apartFile}`, ...apart])]);
  steps.push(['size', () => run('node', ['scripts/size.mjs', '--no-build'])]);
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
  const reports = [resultFile, apartFile].filter((file) => existsSync(file));
  if (reports.length === 0) return 'no tests ran';
  const counts = reports.map((file) => JSON.parse(readFileSync(file, 'utf8')));
  const sum = (/** @type {'numPassedTests' | 'numFailedTests'} */ name) =>
    counts.reduce((all, one) => all + one[name], 0);
  return `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`;
}
