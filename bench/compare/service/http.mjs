// POST /v1/check, one rule by user, beside a bare node:http server, fastify with its rate limit, and nginx with limit_req.
import { serviceBars } from '../bars.mjs';
import { answerOfCheck } from './answer-of-check.mjs';
import { coresInWords } from './cores.mjs';
import { startNginx } from './nginx.mjs';
import { raceTable, serverRace, speedRatio } from './race.mjs';
import { startContender, startSluice } from './server-process.mjs';
import { connections, getCheck, postCheck, users, wrkLane } from './wrk.mjs';

const ours = 'sluice POST /v1/check';
const bare = 'node:http, a constant';
const bareAfterBody = 'node:http, a constant after the body';
const fastify = 'fastify, @fastify/rate-limit';
const nginx = 'nginx, limit_req (GET)';

/** @param {import('../../run.mjs').Run} run */
export async function http({ rounds, print, progress }) {
  progress(`service, http: ${rounds} rounds`);
  const sluice = await startSluice({ workers: 1 });
  /** @type {{ stop(): Promise<void> }[]} */
  const servers = [sluice];
  const start = async (/** @type {Promise<{ pid: number, port: number, stop(): Promise<void> }>} */ starting) => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    const { headers, body } = await answerOfCheck(sluice.http);
    const constant = (/** @type {boolean} */ isBodyRead) =>
      start(startContender('node-http.mjs', [JSON.stringify({ headers, body, isBodyRead })]));
    const lanes = [
      await wrkLane(ours, { pid: sluice.pid, port: sluice.http }, postCheck),
      await wrkLane(bare, await constant(false), postCheck),
      await wrkLane(bareAfterBody, await constant(true), postCheck),
      await wrkLane(fastify, await start(startContender('fastify.mjs', [JSON.stringify({ body, users })])), postCheck),
      await wrkLane(nginx, await start(startNginx(body)), getCheck),
    ];
    const rows = await serverRace(lanes, rounds);
    print(
      raceTable(`wrk, ${connections} connections, ${users.toLocaleString('en')} users; ${coresInWords}`, rows, [
        bare,
        fastify,
      ]),
    );
    const bars = [
      { name: `${ours}, x ${bare}`, reached: speedRatio(rows, ours, bare), atLeast: serviceBars.http.ofBare },
      { name: `${ours}, x ${fastify}`, reached: speedRatio(rows, ours, fastify), atLeast: serviceBars.http.ofFastify },
      { name: `${ours}: errors`, reached: rows[0]?.errors ?? Number.NaN, atMost: 0 },
    ];
    return { rows, bars };
  } finally {
    for (const { stop } of servers) await stop();
  }
}
