// A plain service at different loads: the p99 that the model says, by the one that was measured at 70 %, and the one that it had.

import { runGenerator } from '../../../packages/server/dist/load/run-generator.js';
import { startServiceProcess } from '../../../packages/server/dist/load/service-process.js';
import { measuredLoad } from '../../../packages/server/dist/plan/cluster-size.js';
import { questionOf } from '../../../packages/server/dist/plan/measure/client-questions.js';
import { measureClient } from '../../../packages/server/dist/plan/measure/measure-clients.js';
import { serviceVariabilityOf, waitMs } from '../../../packages/server/dist/plan/queue.js';
import { figure, table } from '../../table.mjs';
import { keyBytes, keys, policy } from './question.mjs';

const seconds = 5;
const loads = [0.3, 0.5, 0.6, 0.8, 0.9];

/** @param {import('../../run.mjs').Run} run */
export async function latency({ rounds, print, progress }) {
  const service = await startServiceProcess({ workers: 1, maxKeys: 1_000_000, policy });
  try {
    const client = 'smart';
    const figures = await measureClient(service, {
      client,
      policy,
      keyBytes,
      seconds: 2 * seconds,
      progress: (text) => progress(`plan, latency: ${text}`),
    });
    const { atLoad, idleP50Ms } = figures;
    const serviceMs = atLoad.processorUs / 1000;
    const observedMs = Math.max(0, atLoad.p99Ms - atLoad.sentLateP99Ms - idleP50Ms);
    // The generator spaces its checks evenly.
    const arrivalVariability = 0;
    const found = { serviceMs, arrivalVariability, load: measuredLoad(atLoad), waitMs: observedMs };
    const queue = { serviceMs, arrivalVariability, serviceVariability: serviceVariabilityOf(found) };
    const rows = [];
    for (const load of loads) {
      progress(`plan, latency: at ${100 * load} %`);
      const perSecond = (load * 1e6) / atLoad.processorUs;
      /** @type {import('../../../packages/server/src/load/load-order.ts').LoadReport[]} */
      const reports = [];
      for (let round = 0; round < rounds; round += 1) {
        reports.push(
          await runGenerator({
            host: service.host,
            port: service.ports.resp,
            question: questionOf(client, policy, keyBytes),
            connections: 50,
            keys,
            keyOrder: 'random',
            loop: { kind: 'open', perSecond },
            durationMs: 1000 * seconds,
            warmUpMs: 0,
          }),
        );
      }
      // Others on the machine can only make it longer.
      const best = reports.reduce((a, b) => (b.p99Ms < a.p99Ms ? b : a));
      rows.push({ ...best, load, perSecond, predictedMs: idleP50Ms + waitMs(queue, load) });
    }
    print(
      table(
        `p99 of a check, by one at ${(100 * found.load).toFixed(0)} % with ${figure(observedMs)} ms of waiting: unevenness of serving ${figure(queue.serviceVariability)}`,
        [
          ['load', 'checks/s', 'predicted ms', 'measured ms', 'of it sent late', 'errors'],
          ...rows.map(({ load, perSecond, predictedMs, p99Ms, sentLateP99Ms, errors }) => [
            `${100 * load} %`,
            figure(perSecond),
            figure(predictedMs),
            figure(p99Ms),
            figure(sentLateP99Ms),
            String(errors),
          ]),
        ],
      ),
    );
    return { rows, bars: [] };
  } finally {
    await service.stop();
  }
}
