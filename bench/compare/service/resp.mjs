// CL.THROTTLE of one thread beside Redis itself: the same limit as a script, and the least that a counter can be.
import { readFileSync } from 'node:fs';
import { startRedis } from '@sluice/test-servers';
import { serviceBars } from '../bars.mjs';
import { coresInWords, generatorCore, moveToServerCore } from './cores.mjs';
import { raceTable, serverRace, speedRatio } from './race.mjs';
import { connections, keys, redisBenchmarkLane } from './redis-benchmark.mjs';
import { startSluice } from './server-process.mjs';

/** @typedef {import('../../run.mjs').Run} Run */

const ours = 'sluice CL.THROTTLE';
const script = 'redis EVALSHA';
const counter = 'redis INCR';

const key = 'key:__rand_int__';
// At most 101 at once, 1000 a minute.
const limit = ['100', '1000', '60'];

/** @param {Run} run */
export async function resp({ rounds, print, progress }) {
  const redis = await startRedis();
  moveToServerCore(redis.pid);
  const sluice = await startSluice({ workers: 1 });
  const rows = [];
  const bars = [];
  try {
    const sha = String(await redis.call('SCRIPT', 'LOAD', readFileSync(new URL('gcra.lua', import.meta.url), 'utf8')));
    for (const pipelined of /** @type {const} */ ([1, 16, 64])) {
      const what = pipelined === 1 ? 'no pipelining' : `-P ${pipelined}`;
      progress(`service, resp, ${what}: ${rounds} rounds`);
      const way = { pipelined, core: generatorCore };
      const results = await serverRace(
        [
          await redisBenchmarkLane({ pid: sluice.pid, port: sluice.resp }, ours, ['CL.THROTTLE', key, ...limit], way),
          await redisBenchmarkLane(redis, script, ['EVALSHA', sha, '1', key, ...limit, '1'], way),
          await redisBenchmarkLane(redis, counter, ['INCR', key], way),
        ],
        rounds,
      );
      const title = `redis-benchmark -c ${connections} -r ${keys}, ${what}; ${coresInWords}`;
      print(raceTable(title, results, [script, counter]));
      rows.push({ pipelined, results });
      for (const reference of [script, counter]) {
        const bar = serviceBars.resp[reference === script ? 'ofScript' : 'ofCounter'];
        const atLeast = bar[/** @type {keyof typeof bar} */ (pipelined)];
        if (atLeast === undefined) continue;
        bars.push({ name: `${what}: ${ours}, x ${reference}`, reached: speedRatio(results, ours, reference), atLeast });
      }
    }
  } finally {
    await sluice.stop();
    await redis.stop();
  }
  return { rows, bars };
}
