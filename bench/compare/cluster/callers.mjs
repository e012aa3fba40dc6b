// Callers of one store, or of several instances of it in turns, in a process of their own. The parent says when a lap is run, so that the
// contenders take turns.
import { parsePolicy } from 'sluice';
import { closedLoop, openLoop } from '../../../packages/server/dist/load/loops.js';
import { machinePace } from '../../../packages/server/dist/load/pace.js';
import { keyText } from '../redis-work.mjs';
import { moveToGeneratorCore } from '../service/cores.mjs';
import { orderOf } from '../workloads.mjs';
import { stores } from './stores.mjs';
import { keys as keyCount } from './work.mjs';

/**
 * @typedef {{ kind: 'closed', callers: number, ms: number } | { kind: 'open', perSecond: number, ms: number }} Lap
 * `late`: answered later than the cluster's own clients would have taken it for an answer.
 * @typedef {import('../../../packages/server/src/load/load-order.ts').LoadReport & { clientUs: number, late: number }} LapReport
 */

// What is older when it comes, a client with the default settings takes for a refusal.
const graceMs = 10;
// Who is answered without a trip would never let the event loop turn, which no server does.
const mostAnswersPerTurn = 1000;

/** @type {import('./work.mjs').Setting} */
const setting = JSON.parse(process.argv[2] ?? '');
moveToGeneratorCore(process.pid);
const policy = parsePolicy(setting.policy);
const instances = await Promise.all(Array.from({ length: setting.instances }, () => stores[setting.mode](setting)));
const keys = Array.from({ length: keyCount }, (_, i) => keyText(i));
const order = orderOf({ keys: keyCount, order: setting.order, calls: 2 ** 20 });
let asked = 0;

process.on('message', async (/** @type {Lap} */ lap) => {
  globalThis.gc?.();
  process.send?.(await run(lap).catch((error) => ({ failure: String(error) })));
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });

/**
 * @param {Lap} lap
 * @returns {Promise<LapReport>}
 */
async function run(lap) {
  const counts = { late: 0 };
  const cpu = process.cpuUsage();
  const report =
    lap.kind === 'open'
      ? await openLoop(openAsker(counts), machinePace, { perSecond: lap.perSecond, durationMs: lap.ms })
      : await closedLoop(openAsker(counts), machinePace, { inFlight: lap.callers, durationMs: lap.ms });
  const { user, system } = process.cpuUsage(cpu);
  return { ...report, clientUs: (user + system) / report.answered, ...counts };
}

/**
 * @param {{ late: number }} counts
 * @returns {import('../../../packages/server/src/load/loops.ts').OpenAsker}
 */
function openAsker(counts) {
  return async ({ answered }) => {
    let answersInTurn = 0;

    /** @param {number} request @param {string} [problem] */
    function answer(request, problem) {
      answersInTurn += 1;
      if (answersInTurn === 1) {
        setImmediate(() => {
          answersInTurn = 0;
        });
      }
      if (answersInTurn <= mostAnswersPerTurn) answered(request, problem);
      else setImmediate(answered, request, problem);
    }

    return {
      ask(request) {
        const askedMs = performance.now();
        decide().then(
          ([decision]) => {
            if (performance.now() - askedMs > graceMs) counts.late += 1;
            // A fast wrong answer is no result.
            answer(request, decision?.allowed === true && !decision.degraded ? undefined : 'refused');
          },
          (error) => answer(request, String(error)),
        );
        return true;
      },
      flush() {},
      failure: () => undefined,
      close() {},
    };
  };
}

/** @returns {Promise<import('sluice').Decision[]>} */
async function decide() {
  const key = /** @type {string} */ (keys[/** @type {number} */ (order[asked % order.length])]);
  const store = /** @type {import('sluice').Store} */ (instances[asked % instances.length]);
  asked += 1;
  return store.apply([{ name: 'bench', key, policy, cost: 1 }]);
}
