// What `rateLimit` adds to a request, beside the bare framework and beside the limiter that the framework's users have today.
import { httpBars } from './bars.mjs';
import { startLane } from './http/lane.mjs';
import { addedRatio, overheadRace, overheadTable } from './http/overhead.mjs';
import { startProcess } from './http/process.mjs';
import { runPieces } from './pieces.mjs';
import { coresInWords, generatorCore } from './service/cores.mjs';

/**
 * @typedef {import('../run.mjs').Run} Run
 * @typedef {import('./http/contender.mjs').Kind} Kind
 * @typedef {import('./http/contender.mjs').Limit} Limit
 * @typedef {import('./http/contender.mjs').Dialect} Dialect
 *
 * `dialect`: the headers that the usual limiter writes without being told, and that ours is told to write.
 * @typedef {{ title: string, usual: string, dialect: Dialect, isServer?: boolean }} Piece
 */

/** @type {Record<string, Piece>} */
// biome-ignore format: aligned rows
const frameworks = {
  node:    { title: 'node:http',           usual: 'rate-limiter-flexible', dialect: 'x-ratelimit' },
  express: { title: 'Express 5',           usual: 'express-rate-limit',    dialect: 'x-ratelimit' },
  fastify: { title: 'Fastify 5',           usual: '@fastify/rate-limit',   dialect: 'x-ratelimit' },
  hono:    { title: 'Hono',                usual: 'hono-rate-limiter',     dialect: 'draft-6' },
  koa:     { title: 'Koa 3',               usual: 'koa-ratelimit',         dialect: 'x-ratelimit' },
  nest:    { title: 'NestJS 11',           usual: '@nestjs/throttler',     dialect: 'x-ratelimit' },
  fetch:   { title: 'fetch-style handler', usual: 'rate-limiter-flexible', dialect: 'x-ratelimit', isServer: false },
};

const ours = 'sluice';
const oursFarBelow = 'sluice, far below the limit';

/** @type {[name: string, kind: Kind][]} */
const two = [
  ['bare', 'bare'],
  [ours, 'sluice'],
];

/**
 * Allowed: nobody reaches the limit. Refused: everybody has. In process there is no network; over TCP there is all that it takes, unevenly, so
 * that is shown and not judged by.
 * @typedef {{ name: string, limit: Limit, status: number, isOverTcp: boolean, turns: number, contenders: [string, Kind][] }} Workload
 */

const roomy = { limit: 1000, windowMs: 1000 };
const usedUp = { limit: 1, windowMs: 3_600_000 };

/** @type {Workload[]} */
const workloads = [
  {
    name: 'allowed',
    limit: roomy,
    status: 200,
    isOverTcp: false,
    turns: 9,
    contenders: [...two, [oursFarBelow, 'sluice roomier'], ['sluice, all its headers', 'sluice untold']],
  },
  { name: 'refused', limit: usedUp, status: 429, isOverTcp: false, turns: 9, contenders: two },
  { name: 'allowed, over TCP', limit: roomy, status: 200, isOverTcp: true, turns: 4, contenders: two },
];

/** @param {Run} run */
export function http(run) {
  const pieces = Object.entries(frameworks).map(([name, piece]) => [
    name,
    (/** @type {Run} */ run) => measure(name, piece, run),
  ]);
  return runPieces(Object.fromEntries(pieces), run);
}

/** @param {string} framework @param {Piece} piece @param {Run} run */
async function measure(framework, piece, { rounds, print, progress }) {
  const rows = [];
  const bars = [];
  for (const workload of workloads) {
    const { name, isOverTcp } = workload;
    if (isOverTcp && piece.isServer === false) continue;
    progress(`http, ${framework}, ${name}: ${rounds} rounds`);
    const raced = await race(framework, piece, workload, rounds);
    print(overheadTable(`${piece.title}, ${name}${isOverTcp ? `; ${coresInWords}` : ''}`, raced));
    rows.push({ workload: name, contenders: raced });
    if (isOverTcp) continue;
    for (const contender of [ours, oursFarBelow].filter((one) => raced.some(({ name }) => name === one))) {
      bars.push({
        name: `${piece.title}, ${name}: what ${piece.usual} adds, x ${contender}`,
        reached: addedRatio(raced, contender),
        atLeast: httpBars.usualLimiter,
      });
    }
  }
  return { rows, bars };
}

/**
 * @param {string} framework
 * @param {Piece} piece
 * @param {Workload} workload
 * @param {number} starts
 */
async function race(framework, { usual, dialect }, { limit, status, isOverTcp, turns, contenders }, starts) {
  const generator = isOverTcp ? await startProcess(generatorCore, 'generator.mjs') : undefined;
  /** @type {[string, Kind][]} */
  const all = [...contenders, [usual, 'usual']];
  const startLanes = () =>
    Promise.all(
      all.map(([name, kind]) => {
        const order = { framework, kind, limit, dialect };
        return startLane({ name, order, status: kind === 'bare' ? 200 : status }, generator);
      }),
    );
  try {
    return await overheadRace({ startLanes, starts, turns });
  } finally {
    await generator?.stop();
  }
}
