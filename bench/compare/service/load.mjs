// At 70 % of what it can do: requests at their times whether or not earlier ones were answered, for each protocol a minute in laps.
// Beside each door something that decides nothing and speaks the same protocol, at 70 % of what that can do: what the machine, the kernel and the generator
// make of a latency, they make of both.
import { startRedis } from '@sluice/test-servers';
import { figure, median, table } from '../../table.mjs';
import { serviceBars } from '../bars.mjs';
import { answerOfCheck } from './answer-of-check.mjs';
import { coresInWords, moveToServerCore } from './cores.mjs';
import { generate, questions } from './generator.mjs';
import { startContender, startSluice } from './server-process.mjs';

const loadRatio = 0.7;
const maximumMs = 3000;
const minuteMs = 60_000;

const increment = /** @type {const} */ ({ protocol: 'resp', words: ['INCR', 'key:{key}'] });

/**
 * @typedef {import('./generator.mjs').Question} Question
 * @typedef {import('./generator.mjs').LoadReport} LoadReport
 * @typedef {{ name: string, port: number, question: Question }} Server
 * @typedef {{ ours: Server, bare: Server, connections: number, inFlightPerConnection: number }} Way
 */

/** @param {import('../../run.mjs').Run} run */
export async function load({ rounds, print, progress }) {
  const { ways, stop } = await startWays();
  const rows = [];
  try {
    for (const way of ways) {
      const laps = { ours: /** @type {Lap[]} */ ([]), bare: /** @type {Lap[]} */ ([]) };
      for (let round = 0; round < rounds; round += 1) {
        for (const who of /** @type {const} */ (['ours', 'bare'])) {
          progress(`service, load, round ${round + 1} of ${rounds}: ${way[who].name}`);
          laps[who].push(await lapOf(way[who], way, minuteMs / rounds));
        }
      }
      rows.push({ ours: rowOf(way.ours, laps.ours), bare: rowOf(way.bare, laps.bare) });
    }
  } finally {
    await stop();
  }
  print(loadTable(rows));
  const bars = rows.flatMap(({ ours: { name, p99Ms, errors } }) => [
    { name: `${name}: p99 ms at ${100 * loadRatio} %`, reached: p99Ms, atMost: serviceBars.loadP99Ms },
    { name: `${name}: errors in a minute`, reached: errors, atMost: 0 },
  ]);
  return { rows, bars };
}

async function startWays() {
  /** @type {(() => Promise<unknown>)[]} */
  const stops = [];
  const stop = async () => {
    for (const end of stops.reverse()) await end();
  };
  try {
    const sluice = await startSluice({ workers: 1 });
    stops.push(sluice.stop);
    const constant = JSON.stringify({ ...(await answerOfCheck(sluice.http)), isBodyRead: true });
    const bareHttp = await startContender('node-http.mjs', [constant]);
    stops.push(bareHttp.stop);
    const redis = await startRedis();
    stops.push(() => redis.stop());
    moveToServerCore(redis.pid);
    const echo = await startContender('grpc-echo.mjs');
    stops.push(echo.stop);
    /** @type {Way[]} */
    const ways = [
      {
        ours: { name: 'sluice, HTTP POST /v1/check', port: sluice.http, question: questions.http },
        bare: { name: 'node:http, a constant', port: bareHttp.port, question: questions.http },
        connections: 256,
        inFlightPerConnection: 1,
      },
      {
        ours: { name: 'sluice, CL.THROTTLE', port: sluice.resp, question: questions.resp },
        bare: { name: 'redis, INCR', port: redis.port, question: increment },
        connections: 50,
        inFlightPerConnection: 1,
      },
      {
        ours: { name: 'sluice, CL.THROTTLE, 64 pipelined', port: sluice.resp, question: questions.resp },
        bare: { name: 'redis, INCR, 64 pipelined', port: redis.port, question: increment },
        connections: 8,
        inFlightPerConnection: 64,
      },
      {
        ours: { name: 'sluice, gRPC ShouldRateLimit', port: sluice.grpc, question: questions.grpc },
        bare: { name: '@grpc/grpc-js, an echo', port: echo.port, question: questions.grpc },
        connections: 4,
        inFlightPerConnection: 16,
      },
    ];
    return { ways, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @typedef {LoadReport & { maximumPerSecond: number, scheduledPerSecond: number }} Lap */

/**
 * The maximum is looked for each time anew, over the connections that the load then comes by: a machine has better moments and worse.
 * @param {Server} server
 * @param {Way} way
 * @param {number} durationMs
 * @returns {Promise<Lap>}
 */
async function lapOf({ port, question }, { connections, inFlightPerConnection }, durationMs) {
  const to = { port, question, connections };
  const closed = /** @type {const} */ ({ kind: 'closed', inFlightPerConnection });
  const most = await generate({ ...to, loop: closed, durationMs: maximumMs, warmUpMs: 2000 });
  const scheduledPerSecond = loadRatio * most.perSecond;
  const open = /** @type {const} */ ({ kind: 'open', perSecond: scheduledPerSecond });
  const report = await generate({ ...to, loop: open, durationMs, warmUpMs: 1000 });
  return { ...report, maximumPerSecond: most.perSecond, scheduledPerSecond };
}

/** @param {Server} server @param {readonly Lap[]} laps */
function rowOf({ name }, laps) {
  const of = (/** @type {(lap: Lap) => number} */ field) => median(laps.map(field));
  const sum = (/** @type {(lap: Lap) => number} */ field) => laps.reduce((total, lap) => total + field(lap), 0);
  return {
    name,
    maximumPerSecond: of((lap) => lap.maximumPerSecond),
    scheduledPerSecond: of((lap) => lap.scheduledPerSecond),
    p50Ms: of((lap) => lap.p50Ms),
    p99Ms: of((lap) => lap.p99Ms),
    bestP99Ms: Math.min(...laps.map((lap) => lap.p99Ms)),
    worstP99Ms: Math.max(...laps.map((lap) => lap.p99Ms)),
    p999Ms: of((lap) => lap.p999Ms),
    maxMs: Math.max(...laps.map((lap) => lap.maxMs)),
    sentLateP99Ms: of((lap) => lap.sentLateP99Ms),
    requests: sum((lap) => lap.requests),
    errors: sum((lap) => lap.errors),
    firstError: laps.find((lap) => lap.firstError !== undefined)?.firstError,
  };
}

/** @typedef {ReturnType<typeof rowOf>} Row */

/** @param {readonly { ours: Row, bare: Row }[]} rows */
function loadTable(rows) {
  const head = ['', 'maximum', 'sent per second', 'p50 ms', 'p99 ms', 'best', 'worst', 'x the bare one'];
  return table(`open loop at ${100 * loadRatio} % of the maximum, a minute in laps; ${coresInWords}`, [
    [...head, 'p99.9 ms', 'max ms', 'sent late p99 ms', 'requests', 'errors'],
    ...rows.flatMap(({ ours, bare }) =>
      [ours, bare].map((row) => [
        row.name,
        figure(row.maximumPerSecond),
        figure(row.scheduledPerSecond),
        figure(row.p50Ms),
        figure(row.p99Ms),
        figure(row.bestP99Ms),
        figure(row.worstP99Ms),
        figure(row.p99Ms / bare.p99Ms),
        figure(row.p999Ms),
        figure(row.maxMs),
        figure(row.sentLateP99Ms),
        figure(row.requests),
        row.errors === 0 ? '0' : `${row.errors}: ${row.firstError}`,
      ]),
    ),
  ]);
}
