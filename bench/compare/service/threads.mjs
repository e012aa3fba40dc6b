// Two threads beside one. Here the generator takes its share of the same cores, so nobody is tied to one.
import { figure, table } from '../../table.mjs';
import { serviceBars } from '../bars.mjs';
import { serverRace } from './race.mjs';
import { redisBenchmarkLane } from './redis-benchmark.mjs';
import { startSluice } from './server-process.mjs';

const pipelined = 64;
const generatorThreads = 2;
const command = ['CL.THROTTLE', 'key:__rand_int__', '100', '1000', '60'];

/** @param {import('../../run.mjs').Run} run */
export async function threads({ rounds, print, progress }) {
  progress(`service, threads: ${rounds} rounds`);
  const one = await startSluice({ workers: 1, isOnServerCore: false });
  const two = await startSluice({ workers: 2, isOnServerCore: false });
  try {
    const way = { pipelined, threads: generatorThreads, core: undefined };
    const lanes = [
      await redisBenchmarkLane({ pid: one.pid, port: one.resp }, '1 thread', command, way),
      await redisBenchmarkLane({ pid: two.pid, port: two.resp }, '2 threads', command, way),
    ];
    const results = await serverRace(lanes, rounds);
    const [first, second] = results;
    if (!first || !second) throw new Error('two servers were to race');
    const rows = results.map((result, i) => {
      const generatorUs = lanes[i]?.generatorUs() ?? Number.NaN;
      // What two cores can do that have to feed it as well.
      const { serverUs } = result;
      return { ...result, generatorUs, twoCoresPerSecond: 2e6 / (serverUs + generatorUs) };
    });
    print(
      table(`redis-benchmark -c 50 -P ${pipelined} --threads ${generatorThreads}, everybody on the same cores`, [
        ['', 'per second', 'slowest', 'fastest', 'x 1 thread', 'server us', 'generator us', 'most on 2 shared cores'],
        ...rows.map((row) => [
          row.name,
          figure(row.perSecond),
          figure(row.slowestPerSecond),
          figure(row.fastestPerSecond),
          figure(row.perSecond / first.perSecond),
          figure(row.serverUs),
          figure(row.generatorUs),
          row.name === '1 thread' ? '-' : figure(row.twoCoresPerSecond),
        ]),
      ]),
    );
    const bars = [
      { name: '2 threads, x 1 thread', reached: second.perSecond / first.perSecond, atLeast: serviceBars.twoThreads },
      {
        name: '2 threads, x 1 thread, by the processor time a check takes (cores of their own)',
        reached: (2 * first.serverUs) / second.serverUs,
        atLeast: serviceBars.twoThreads,
      },
    ];
    return { rows, bars };
  } finally {
    await one.stop();
    await two.stop();
  }
}
