// What the library costs a web page: bundled, minified, gzipped, from the built package as users get it. And the studio, as it is served.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, installDependencies, root } from './set-up.mjs';

const { values: options } = parseArgs({
  options: { json: { type: 'boolean' }, help: { type: 'boolean' }, 'no-build': { type: 'boolean' } },
});
if (options.help) {
  console.log(
    'npm run size [-- --json]    gzip sizes of the library and the studio; exits 1 when one is over its ceiling',
  );
  process.exit(0);
}
if (!options['no-build'] && (!installDependencies() || !build())) process.exit(1);
// Not imported at the top: on a fresh clone it has only just been installed.
const { build: bundle } = await import('rolldown');

const factories = [
  'gcra',
  'tokenBucket',
  'leakyBucket',
  'fixedWindow',
  'slidingLog',
  'slidingSlots',
  'slidingWindow',
  'smooth',
  'concurrency',
];

/** @param {string} factory */
const oneAlgorithm = (factory) => `
  import { limiter, ${factory} } from 'sluice';
  const limit = limiter(${factory}({ limit: 100, window: '1m' }));
  console.log(limit.check('key'));
`;

// Not all goals are met, docs/decisions/0006-size.md says why; the ceilings keep the sizes from growing unnoticed.
/** @type {{ name: string, source: string, goalBytes?: number, ceilingBytes?: number }[]} */
const entries = [
  {
    name: 'everything',
    source: `export * from 'sluice'; export * from 'sluice/http';`,
    goalBytes: 12_000,
    ceilingBytes: 40_100,
  },
  { name: 'one algorithm with a limiter', source: oneAlgorithm('gcra'), goalBytes: 3_000, ceilingBytes: 14_750 },
  {
    name: 'one algorithm, small limiter',
    source: oneAlgorithm('gcra').replaceAll('limiter', 'smallLimiter'),
    goalBytes: 3_000,
    ceilingBytes: 3_000,
  },
  {
    name: 'rules with gcra',
    source: `import { gcra, rules } from 'sluice'; export { gcra, rules };`,
    ceilingBytes: 17_600,
  },
  {
    name: 'fetch middleware with gcra',
    source: `import { gcra } from 'sluice'; import { rateLimit } from 'sluice/fetch'; export { gcra, rateLimit };`,
    ceilingBytes: 34_750,
  },
  {
    name: 'resilientFetch',
    source: `export { resilientFetch } from 'sluice/protect';`,
    ceilingBytes: 20_000,
  },
  { name: 'priorityScheduler', source: `export { priorityScheduler } from 'sluice/schedule';`, ceilingBytes: 5_100 },
  { name: 'all schedulers', source: `export * from 'sluice/schedule';`, ceilingBytes: 8_100 },
  { name: 'twoChoices', source: `export { twoChoices } from 'sluice/balance';`, ceilingBytes: 2_700 },
  { name: 'all balancers', source: `export * from 'sluice/balance';`, ceilingBytes: 18_100 },
];
const library = await import('sluice');
for (const factory of factories) {
  if (factory in library) entries.push({ name: `limiter + ${factory}`, source: oneAlgorithm(factory) });
}

const rows = [];
for (const entry of entries) {
  const bytes = await gzipBytes(entry.source);
  const { name, goalBytes, ceilingBytes } = entry;
  rows.push({ name, bytes, goalBytes, ceilingBytes, ok: bytes <= (ceilingBytes ?? Infinity) });
}

const studio = { name: 'studio, all views', bytes: siteBytes(), goalBytes: 200_000, ceilingBytes: 200_000 };
rows.push({ ...studio, ok: studio.bytes <= studio.ceilingBytes });

if (options.json) {
  console.log(JSON.stringify(rows, null, 2));
} else {
  for (const { name, bytes, goalBytes, ceilingBytes, ok } of rows) {
    const bounds = goalBytes && ceilingBytes ? `  goal ${format(goalBytes)}  ceiling ${format(ceilingBytes)}` : '';
    console.log(`${name.padEnd(30)} ${format(bytes)} B${bounds}${ok ? '' : '  TOO LARGE'}`);
  }
}
process.exit(rows.every(({ ok }) => ok) ? 0 : 1);

/**
 * @param {string} source
 * @returns {Promise<number>}
 */
async function gzipBytes(source) {
  // Inside the repository, so that `sluice` resolves as it does for a user.
  const folder = join(root, '.cache/size');
  mkdirSync(folder, { recursive: true });
  const input = join(folder, 'entry.mjs');
  writeFileSync(input, source);
  const { output } = await bundle({
    input,
    platform: 'browser',
    write: false,
    transform: { target: 'es2022' },
    output: { format: 'esm', minify: true },
  });
  rmSync(folder, { recursive: true });
  return output.reduce((sum, chunk) => sum + ('code' in chunk ? gzipSync(chunk.code, { level: 9 }).length : 0), 0);
}

function siteBytes() {
  const site = join(root, 'packages/studio/site');
  const files = readdirSync(site, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files.reduce(
    (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
    0,
  );
}

/** @param {number} bytes */
function format(bytes) {
  return bytes.toLocaleString('en').padStart(7);
}
