import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../set-up.mjs';

const rounds = 5;

// The tests of the cluster's faults, each fault several times, and the table of what they cost.
export async function soak() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fire-'));
  const file = join(folder, 'report');
  process.env.FIRE_ROUNDS ??= String(rounds);
  process.env.FIRE_REPORT = file;
  try {
    // One after the other: they share the machine's cores, and the table tells what faults cost, not what neighbours do.
    const isOk = run('vitest', [
      'run',
      '--no-file-parallelism',
      '--testTimeout=600000',
      'packages/server/src/cluster/fire',
    ]);
    console.log(table(readFileSync(file, 'utf8')));
    if (!isOk) throw new Error('a promise was broken, or the cluster did not come back: see above');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @typedef {{ fault: string, grants: number, violations: number, wronglyRefused: number, withoutServiceMs: number, withoutServiceMsMedian: number }} Row
 * @param {string} text one row per line
 */
function table(text) {
  /** @type {Row[]} */
  const rows = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const faults = [...new Set(rows.map(({ fault }) => fault))];
  const lines = faults.map((fault) => {
    const own = rows.filter((row) => row.fault === fault);
    const sum = (/** @type {(row: Row) => number} */ of) => own.reduce((total, row) => total + of(row), 0);
    const grants = sum((row) => row.grants);
    const wrong = sum((row) => row.wronglyRefused);
    const medianMs = sum((row) => row.withoutServiceMsMedian) / own.length;
    const mostMs = Math.max(...own.map((row) => row.withoutServiceMs));
    return [
      fault,
      own.length,
      grants,
      // Each row tells of the whole history up to then.
      Math.max(...own.map((row) => row.violations)),
      `${((100 * wrong) / (grants + wrong)).toFixed(1)} %`,
      `${(medianMs / 1000).toFixed(1)} s`,
      `${(mostMs / 1000).toFixed(1)} s`,
    ].join(' | ');
  });
  return [
    '| fault | tries | grants | violations | wrongly refused | without service, typical key | without service, worst key |',
    '|---|---|---|---|---|---|---|',
    ...lines.map((line) => `| ${line} |`),
  ].join('\n');
}
