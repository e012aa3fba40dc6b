// `npm run bench`: the comparisons with the peers, then the library's own benchmark files.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, installDependencies, root } from '../scripts/set-up.mjs';

const help = `npm run bench [-- [part] [filter] [options]]

  core [filter]    what a check takes, beside every peer; of the workloads with this word in their name, e.g. core zipf
  memory [filter]  bytes per key, and the longest check while the table grows: bytes, pause, most
  shared [filter]  two threads against one, and that no grant is lost between them: speed, grants
  redis [filter]   over a real Redis, beside every peer: one-rule, four-rules, bytes, denied, leases
  http [filter]    what the middleware adds to a request, beside what others use: node, express, fastify, hono, koa, nest, fetch
  service [filter] the service beside Redis, node:http, fastify, nginx and grpc-js: resp, threads, http, grpc, memory, load
  balance [filter] picks per second of each balancer, beside an array index and hashring: picks
  schedule [filter] the schedulers beside p-queue and bottleneck, the heap beside ordered trees: tasks, changes, fair
  gateway [filter] the gateway beside nginx, http-proxy, fast-proxy and undici: small, large
  cluster [filter] three nodes beside one, and the ways to limit across machines: throughput, load, modes
  plan [filter]    \`sluice plan\` for 50 million checks/s, and its model against clusters of 1, 2 and 3 nodes: choices, throughput, latency
  tune [filter]    \`sluice tune\` on a generated log, lines a second on one core: reading, whole
  accuracy [filter] how far each algorithm is from an exact window, on generated traffic and on logs: generated, logs
  <filter>         the library's benchmark files with this word in their name, e.g. gcra
                   without any of these: all of it, which takes about 40 minutes

  --log <file>     traffic for accuracy: an access log, as \`sluice tune\` reads them; may be given several times
  --rounds <n>     the median of so many counts (default 3 in the comparisons, which take no fewer; 11 in the files)
  --json           print JSON, and nothing else, on stdout; npm's own lines go with \`npm run -s bench\`
  --help           print this
`;

/**
 * What a part is told: how many rounds, which of its pieces, where its tables and its progress go, and how to end the command
 * with a sentence about how it was called.
 * @typedef {{
 *   rounds: number, filter: string, logs: readonly string[], print(text: string): void, progress(text: string): void, fail(message: string): never,
 * }} Run
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    log: { type: 'string', multiple: true },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (options.help) {
  console.log(help);
  process.exit(0);
}
const rounds = options.rounds === undefined ? undefined : Number(options.rounds);
if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1)) {
  fail(`--rounds must be a whole number of at least 1, got ${options.rounds}`);
}

const logs = options.log ?? [];

// Imported when they are run: on a fresh clone, what they import has only just been built.
const comparisons = {
  core: async () => (await import('./compare/core.mjs')).core,
  memory: async () => (await import('./compare/memory.mjs')).memory,
  shared: async () => (await import('./compare/shared.mjs')).shared,
  redis: async () => (await import('./compare/redis.mjs')).redis,
  http: async () => (await import('./compare/http.mjs')).http,
  service: async () => (await import('./compare/service.mjs')).service,
  balance: async () => (await import('./compare/balance.mjs')).balance,
  schedule: async () => (await import('./compare/schedule.mjs')).schedule,
  gateway: async () => (await import('./compare/gateway.mjs')).gateway,
  cluster: async () => (await import('./compare/cluster.mjs')).cluster,
  plan: async () => (await import('./compare/plan.mjs')).plan,
  tune: async () => (await import('./compare/tune.mjs')).tune,
  accuracy: async () => (await import('./compare/accuracy.mjs')).accuracy,
};
const [first = '', second = '', ...rest] = positionals;
const isComparison = Object.hasOwn(comparisons, first);
if (rest.length > 0 || (second && !isComparison)) fail(`one part and one filter, got ${positionals.join(' ')}`);
const chosen = Object.entries(comparisons).filter(([name]) => first === '' || name === first);

if (!installDependencies()) process.exit(1);
if (chosen.length > 0 && !(build() && installDependencies(join(root, 'bench/peers')))) process.exit(1);

const print = options.json ? () => {} : (/** @type {string} */ text) => console.log(text);
const progress = (/** @type {string} */ text) => console.error(text);
/** @type {Record<string, unknown>} */
const report = {};
for (const [name, load] of chosen) {
  const part = await load();
  report[name] = await part({ rounds: Math.max(3, rounds ?? 3), filter: second, logs, print, progress, fail });
}
if (!isComparison) {
  const { suites } = await import('./suites.mjs');
  report.suites = await suites({ rounds: rounds ?? 11, filter: first, logs, print, progress, fail });
}
if (options.json) console.log(JSON.stringify(report, null, 2));

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message);
  process.exit(2);
}
