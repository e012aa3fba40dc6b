// `sluice tune` on a generated access log: lines per second of one core, and how long the answer takes after the last line.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { figure, median, table } from '../table.mjs';
import { runPieces } from './pieces.mjs';
import { writeLog } from './tune/generated-log.mjs';

const execute = promisify(execFile);
const lane = fileURLToPath(new URL('tune/lane.mjs', import.meta.url));

const bars = {
  /** By the processor time of all threads: a machine that is busy with something else does not count. */
  linesPerSecond: 300_000,
};

const lines = 3_000_000;

/** @param {import('../run.mjs').Run} run */
export function tune(run) {
  return runPieces({ reading, whole }, run);
}

/** @typedef {{ lines: number, seconds: number, residentMegabytes: number }} Lap */

/** @param {import('../run.mjs').Run} run */
async function reading(run) {
  const rows = [];
  for (const [name, format, work] of /** @type {const} */ ([
    ['combined', 'combined', 'read'],
    ['combined, and a policy asked for each line', 'combined', 'policy'],
    ['combined, gzipped', 'combined.gz', 'read'],
    ['JSON lines', 'json', 'read'],
    ['CSV', 'csv', 'read'],
  ])) {
    run.progress(`tune, ${name}: ${run.rounds} rounds`);
    const laps = await lapsOf(format, work, run.rounds);
    const perSecond = median(laps.map((lap) => lap.lines / lap.seconds));
    rows.push({ name, linesPerSecond: perSecond, residentMegabytes: median(laps.map((lap) => lap.residentMegabytes)) });
  }
  run.print(
    table(`reading and tracing ${lines.toLocaleString('en')} lines, per second of processor time`, [
      ['', 'lines/s', 'MB resident'],
      ...rows.map((row) => [row.name, figure(row.linesPerSecond), figure(row.residentMegabytes)]),
    ]),
  );
  const reached = rows.map(({ name, linesPerSecond }) => ({
    name: `lines/s, ${name}`,
    reached: linesPerSecond,
    atLeast: bars.linesPerSecond,
  }));
  return { rows, bars: reached };
}

/** All that the command does, with what it prints by default. @param {import('../run.mjs').Run} run */
async function whole(run) {
  run.progress(`tune, whole: ${run.rounds} rounds`);
  const laps = await lapsOf('combined', 'whole', run.rounds);
  const rows = { seconds: median(laps.map(({ seconds }) => seconds)) };
  run.print(
    table(`the whole command, ${lines.toLocaleString('en')} lines of combined`, [
      ['', 'processor s'],
      ['from the first line to the advice', figure(rows.seconds)],
    ]),
  );
  return { rows, bars: [] };
}

/**
 * @param {string} format
 * @param {'read' | 'policy' | 'whole'} work
 * @param {number} rounds
 * @returns {Promise<Lap[]>}
 */
async function lapsOf(format, work, rounds) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-tune-'));
  try {
    const log = join(folder, 'access.log');
    await writeLog(log, { format, lines });
    const laps = [];
    for (let round = 0; round < rounds; round += 1) {
      const { stdout } = await execute(process.execPath, [lane, log, work], { timeout: 300_000, maxBuffer: 1e8 });
      laps.push(JSON.parse(stdout));
    }
    return laps;
  } finally {
    await rm(folder, { recursive: true });
  }
}
