// The gateway beside what else stands before a service: nginx with proxy_pass, and proxies that are written in JavaScript.
import { gatewayBars } from './bars.mjs';
import { startContenders } from './gateway/contenders.mjs';
import { startNginx } from './nginx.mjs';
import { runPieces } from './pieces.mjs';
import { coresInWords, generatorCore } from './service/cores.mjs';
import { raceTable, serverRace, speedRatio } from './service/race.mjs';
import { connections, wrkLane } from './service/wrk.mjs';

const ours = 'sluice gateway';
const nginx = 'nginx, proxy_pass';
const inJavaScript = ['http-proxy', 'fast-proxy', 'node:http and undici'];

/** @param {import('../run.mjs').Run} run */
export function gateway(run) {
  return runPieces({ small: answersOf(100), large: answersOf(10_000) }, run);
}

/**
 * GET, answered with so many bytes. The upstream is nginx, on the generator's core: fast enough that the proxy is what is measured. Where
 * "busy" is below 1 it is not, and the ratio by processor time says more.
 * @param {number} bytes
 */
function answersOf(bytes) {
  return async (/** @type {import('../run.mjs').Run} */ { rounds, print, progress }) => {
    progress(`gateway, answers of ${bytes} bytes: ${rounds} rounds`);
    const upstream = await startNginx(
      (folder, port) => `
        open_file_cache max=10;
        server { listen 127.0.0.1:${port}; location = /item { default_type text/plain; alias ${folder}/answer; } }`,
      { core: generatorCore, files: { answer: 'x'.repeat(bytes) } },
    );
    const contenders = await startContenders(upstream.port);
    try {
      const lanes = await Promise.all(contenders.map((one) => wrkLane(one.name, one, get)));
      const rows = await serverRace(lanes, rounds);
      print(
        raceTable(
          `GET, ${bytes.toLocaleString('en')} bytes, wrk with ${connections} connections; ${coresInWords}, beside the upstream`,
          rows,
          [nginx, ...inJavaScript],
        ),
      );
      const best = Math.min(...inJavaScript.map((name) => speedRatio(rows, ours, name)));
      const errors = rows.reduce((sum, row) => sum + (row.name.startsWith(ours) ? row.errors : 0), 0);
      return {
        rows,
        bars: [
          {
            name: `${bytes} bytes: ${ours}, x the best in JavaScript`,
            reached: best,
            atLeast: gatewayBars.ofJavaScript,
          },
          { name: `${bytes} bytes: errors of ours`, reached: errors, atMost: 0 },
        ],
      };
    } finally {
      for (const { stop } of [...contenders, upstream]) await stop();
    }
  };
}

/** @param {number} port @returns {import('./service/wrk.mjs').Request} */
function get(port) {
  return [
    'GET /item?id=',
    ` HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: wrk\r\nAccept: */*\r\nX-User: 42\r\n\r\n`,
  ];
}
