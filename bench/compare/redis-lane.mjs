// One contender over Redis, in a process of its own. The parent says when a lap is run, so that the contenders take turns.
import { redisContenders } from './contenders/redis.mjs';
import { keyText, redisSettingOf } from './redis-work.mjs';
import { orderOf } from './workloads.mjs';

const [contenderName = '', server = '', work = ''] = process.argv.slice(2);
/** @type {import('./redis-work.mjs').RedisWorkload} */
const workload = JSON.parse(work);
const create = redisContenders[contenderName];
if (!create) throw new Error(`unknown contender: ${contenderName}`);

const ask = await create(redisSettingOf(workload, JSON.parse(server)));
const keys = Array.from({ length: workload.keys }, (_, i) => keyText(i));
const order = orderOf({ keys: keys.length, order: 'uniform', calls: 2 ** 18 });
// More than are answered in a lap by anybody who asks a server; who answers at once writes over the first.
const mostLatencies = 2 ** 21;
// Written to once, else the first touch of each page would be the kernel's time.
const latenciesMs = new Float32Array(mostLatencies).fill(1);

// Every key is there before the first lap, and has spent its one call where all are to be refused.
for (let i = 0; i < keys.length; i += 100) await Promise.all(keys.slice(i, i + 100).map(ask));

process.on('message', async (/** @type {{ ms: number }} */ { ms }) => {
  globalThis.gc?.();
  process.send?.(await lap(ms).catch((error) => ({ failure: String(error) })));
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });

/**
 * @typedef {{ calls: number, ms: number, p50Ms: number, p99Ms: number, clientUs: number }} Lap
 * @param {number} ms
 * @returns {Promise<Lap>}
 */
async function lap(ms) {
  let calls = 0;
  let allowed = 0;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const endMs = startMs + ms;

  async function caller() {
    for (let sentMs = performance.now(); sentMs < endMs; ) {
      const at = calls;
      calls += 1;
      const isAllowed = await ask(/** @type {string} */ (keys[order[at % order.length] ?? 0]));
      const answeredMs = performance.now();
      latenciesMs[at % mostLatencies] = answeredMs - sentMs;
      if (isAllowed) allowed += 1;
      const turn = nextTurn();
      if (turn) await turn;
      sentMs = turn ? performance.now() : answeredMs;
    }
  }

  await Promise.all(Array.from({ length: workload.concurrency }, caller));
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  // A fast wrong answer is no result.
  const expected = workload.refused && contenderName !== 'nothing' ? 0 : calls;
  if (allowed !== expected) throw new Error(`${contenderName} allowed ${allowed} of ${calls}, not ${expected}`);
  const sorted = latenciesMs.slice(0, Math.min(calls, mostLatencies)).sort();
  const at = (/** @type {number} */ share) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN;
  return { calls, ms: tookMs, p50Ms: at(0.5), p99Ms: at(0.99), clientUs: (user + system) / calls };
}

// Who is answered without a trip would never let the event loop turn: no socket would be read and no timer fire, which no
// server does. More calls in one turn than anybody gets who asks Redis wait for the next one.
const mostCallsPerTurn = 1000;
let callsInTurn = 0;
/** @type {Promise<void> | undefined} */
let turn;

function nextTurn() {
  callsInTurn += 1;
  if (callsInTurn === 1)
    setImmediate(() => {
      callsInTurn = 0;
      turn = undefined;
    });
  if (callsInTurn <= mostCallsPerTurn) return undefined;
  turn ??= new Promise((resolve) => {
    setImmediate(resolve);
  });
  return turn;
}
