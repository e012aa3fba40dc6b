// At 70 % of what it can do, a minute for each protocol, requests at their times whether or not earlier ones were answered.
import { figure, table } from '../../table.mjs';
import { serviceBars } from '../bars.mjs';
import { coresInWords } from './cores.mjs';
import { generate, questions } from './generator.mjs';
import { startSluice } from './server-process.mjs';

const loadRatio = 0.7;
const maximumMs = 5000;
const minuteMs = 60_000;

/** `openConnections`: few where requests are pipelined, so that those due at the same moment share a write. */
// biome-ignore format: aligned rows
const ways = /** @type {const} */ ([
  { name: 'HTTP POST /v1/check',       door: 'http', connections: 64, inFlightPerConnection: 1,  openConnections: 256 },
  { name: 'CL.THROTTLE',               door: 'resp', connections: 50, inFlightPerConnection: 1,  openConnections: 50 },
  { name: 'CL.THROTTLE, 64 pipelined', door: 'resp', connections: 8,  inFlightPerConnection: 64, openConnections: 4 },
  { name: 'gRPC ShouldRateLimit',      door: 'grpc', connections: 4,  inFlightPerConnection: 16, openConnections: 4 },
]);

/** @param {import('../../run.mjs').Run} run */
export async function load({ print, progress }) {
  const sluice = await startSluice({ workers: 1 });
  const rows = [];
  try {
    for (const { name, door, connections, inFlightPerConnection, openConnections } of ways) {
      progress(`service, load, ${name}: the maximum`);
      const to = { port: sluice[door], question: questions[door] };
      const loop = /** @type {const} */ ({ kind: 'closed', inFlightPerConnection });
      const most = await generate({ ...to, connections, loop, durationMs: maximumMs, warmUpMs: 2000 });
      const perSecond = loadRatio * most.perSecond;
      progress(`service, load, ${name}: a minute at ${figure(perSecond)} per second`);
      const open = await generate({
        ...to,
        connections: openConnections,
        loop: { kind: 'open', perSecond },
        durationMs: minuteMs,
        warmUpMs: 1000,
      });
      rows.push({ name, maximumPerSecond: most.perSecond, scheduledPerSecond: perSecond, ...open });
    }
  } finally {
    await sluice.stop();
  }
  print(
    table(`open loop at ${100 * loadRatio} % of the maximum for 60 s; ${coresInWords}`, [
      [
        '',
        'maximum',
        'sent per second',
        'p50 ms',
        'p99 ms',
        'p99.9 ms',
        'max ms',
        'sent late p99 ms',
        'requests',
        'errors',
      ],
      ...rows.map((row) => [
        row.name,
        figure(row.maximumPerSecond),
        figure(row.scheduledPerSecond),
        figure(row.p50Ms),
        figure(row.p99Ms),
        figure(row.p999Ms),
        figure(row.maxMs),
        figure(row.sentLateP99Ms),
        figure(row.requests),
        String(row.errors),
      ]),
    ]),
  );
  const bars = rows.flatMap(({ name, p99Ms, errors }) => [
    { name: `${name}: p99 ms at ${100 * loadRatio} %`, reached: p99Ms, atMost: serviceBars.loadP99Ms },
    { name: `${name}: errors in a minute`, reached: errors, atMost: 0 },
  ]);
  return { rows, bars };
}
