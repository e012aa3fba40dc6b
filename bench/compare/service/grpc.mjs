// ShouldRateLimit beside a bare unary echo of @grpc/grpc-js, which neither decodes a message nor decides anything.
import { serviceBars } from '../bars.mjs';
import { coresInWords } from './cores.mjs';
import { generate, questions } from './generator.mjs';
import { raceTable, serverRace, speedRatio } from './race.mjs';
import { startContender, startSluice } from './server-process.mjs';

const ours = 'sluice ShouldRateLimit';
const echo = '@grpc/grpc-js, echo';
const connections = 4;
const inFlightPerConnection = 16;

/** @param {import('../../run.mjs').Run} run */
export async function grpc({ rounds, print, progress }) {
  progress(`service, grpc: ${rounds} rounds`);
  const sluice = await startSluice({ workers: 1 });
  const bare = await startContender('grpc-echo.mjs');
  try {
    const rows = await serverRace([lane(ours, { pid: sluice.pid, port: sluice.grpc }), lane(echo, bare)], rounds);
    const title = `gRPC, ${connections} connections, ${inFlightPerConnection} calls under way on each; ${coresInWords}`;
    print(raceTable(title, rows, [echo]));
    const bars = [
      { name: `${ours}, x ${echo}`, reached: speedRatio(rows, ours, echo), atLeast: serviceBars.grpc.ofEcho },
      { name: `${ours}: errors`, reached: rows[0]?.errors ?? Number.NaN, atMost: 0 },
    ];
    return { rows, bars };
  } finally {
    await sluice.stop();
    await bare.stop();
  }
}

/**
 * @param {string} name
 * @param {{ pid: number, port: number }} server
 * @returns {import('./race.mjs').Lane}
 */
function lane(name, { pid, port }) {
  return {
    name,
    pid,
    async lap(durationMs) {
      const loop = /** @type {const} */ ({ kind: 'closed', inFlightPerConnection });
      const report = await generate({ port, question: questions.grpc, connections, loop, durationMs });
      const { answered, elapsedMs, p50Ms, p99Ms, errors } = report;
      return { requests: answered, ms: elapsedMs, p50Ms, p99Ms, errors };
    },
  };
}
