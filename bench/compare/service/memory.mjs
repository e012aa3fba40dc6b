// What a million keys take of the whole process, all of them alive: none is as new again before the measurement is over.
import { setTimeout as sleep } from 'node:timers/promises';
import { figure, table } from '../../table.mjs';
import { serviceBars } from '../bars.mjs';
import { generate, questions } from './generator.mjs';
import { rssBytes } from './process-usage.mjs';
import { startSluice } from './server-process.mjs';

const million = 1_000_000;
const megabyte = 1e6;

/** One check each, after which a key is as new in a day, or in half an hour. */
const ways = {
  'CL.THROTTLE': {
    door: /** @type {const} */ ('resp'),
    question: /** @type {const} */ ({ protocol: 'resp', words: ['CL.THROTTLE', 'key:{key}', '1', '1', '86400'] }),
    connections: 4,
    inFlightPerConnection: 64,
  },
  'a rule, over HTTP': {
    door: /** @type {const} */ ('http'),
    question: questions.http,
    connections: 64,
    inFlightPerConnection: 1,
  },
};

/** @param {import('../../run.mjs').Run} run */
export async function memory({ print, progress }) {
  const rows = [];
  for (const [name, { door, question, connections, inFlightPerConnection }] of Object.entries(ways)) {
    progress(`service, memory: 1 million keys by ${name}`);
    const sluice = await startSluice({ workers: 1, isRuleLasting: true });
    try {
      const startBytes = rssBytes(sluice.pid);
      const report = await generate({
        port: sluice[door],
        question,
        connections,
        keys: million,
        keyOrder: 'sequential',
        loop: { kind: 'closed', inFlightPerConnection, requests: million },
        durationMs: 300_000,
      });
      if (report.errors > 0 || report.answered < million)
        throw new Error(`not all keys were filled in: ${report.firstError}`);
      const fullBytes = rssBytes(sluice.pid);
      // What the collector gives back by itself.
      await sleep(2000);
      rows.push({ name, keys: await keysHeld(sluice.http), startBytes, fullBytes, restedBytes: rssBytes(sluice.pid) });
    } finally {
      await sluice.stop();
    }
  }
  print(
    table('1 million live keys: MB resident, the whole process', [
      ['', 'keys held', 'before', 'just after', '2 s later', 'bytes per key'],
      ...rows.map(({ name, keys, startBytes, fullBytes, restedBytes }) => [
        name,
        figure(keys),
        figure(startBytes / megabyte),
        figure(fullBytes / megabyte),
        figure(restedBytes / megabyte),
        figure((restedBytes - startBytes) / keys),
      ]),
    ]),
  );
  const bars = rows.map(({ name, restedBytes }) => ({
    name: `1 million keys by ${name}: MB resident`,
    reached: restedBytes / megabyte,
    atMost: serviceBars.millionKeysMegabytes,
  }));
  return { rows, bars };
}

/** As the service itself counts them. @param {number} port */
async function keysHeld(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = Array.from(text.matchAll(/^sluice_keys\{[^}]*\} (\d+)/gm), ([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}
