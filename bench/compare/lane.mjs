// One contender at one workload, in a process of its own. The parent says when a round is run, so that the contenders take
// turns.
import { contenders } from './contender.mjs';
import { keyBuffer, keyBytes, orderOf, settingOf, textOf, workloads } from './workloads.mjs';

const [contenderName = '', workloadName = ''] = process.argv.slice(2);
const contender = contenders[contenderName];
const workload = workloads[workloadName];
if (!contender || !workload) throw new Error(`unknown contender or workload: ${contenderName}, ${workloadName}`);

const setting = settingOf(workload);
const subject = workload.rules ? contender.createRules?.(setting, workload.rules) : contender.create(setting);
if (!subject) throw new Error(`${contenderName} has no rules`);

const buffer = keyBuffer(workload.keys);
/** @type {string[]} */
const strings = [];
if (workload.form === 'stable') for (let i = 0; i < workload.keys; i += 1) strings.push(textOf(buffer, i));
const order = orderOf(workload);

// Every key is there before the first round, and has spent its one call where all are to be refused.
for (let i = 0; i < workload.keys; i += 1) {
  const key = strings[i] ?? textOf(buffer, i);
  if (subject.fill) subject.fill(key);
  else if (subject.check) subject.check(key);
  else if (subject.checkAsync) await subject.checkAsync(key);
}

// A round ends after this long even if not all calls were made: what one peer does for a call grows with the calls before it.
const roundMs = 300;
// Before it comes a run-up that is not measured. Meanwhile others had the caches and, where there are millions of keys, even
// the pages have grown cold.
const runUpMs = 500;
const runUpCalls = Math.max(10_000, workload.keys / 10);
const callsPerLook = 1000;
const round = roundOf(workload.form, subject);
let calls = 0;

process.on('message', async () => {
  globalThis.gc?.();
  await round(runUpCalls, runUpMs);
  const startNs = process.hrtime.bigint();
  const allowed = await round(order.length, roundMs);
  const ns = Number(process.hrtime.bigint() - startNs) / calls;
  // A fast wrong answer is no result.
  const expected = workload.refused && contenderName !== 'empty loop' ? 0 : calls;
  if (allowed !== expected) throw new Error(`${contenderName} allowed ${allowed} of ${calls}, not ${expected}`);
  process.send?.({ ns });
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });

/**
 * The closures are made once, so that the compiler can take them into the loop.
 * @param {import('./workloads.mjs').Workload['form']} form
 * @param {import('./contender.mjs').Subject} subject
 * @returns {(most: number, ms: number) => number | Promise<number>}
 */
function roundOf(form, { check, checkAsync, checkBytes }) {
  const numberAt = (/** @type {number} */ i) => /** @type {number} */ (order[i]);
  const stable = (/** @type {number} */ i) => /** @type {string} */ (strings[numberAt(i)]);
  const fresh = (/** @type {number} */ i) => textOf(buffer, numberAt(i));
  const keyAt = form === 'fresh' ? fresh : stable;
  if (form === 'bytes' && checkBytes) {
    const call = (/** @type {number} */ i) => {
      const start = numberAt(i) * keyBytes;
      return checkBytes(buffer, start, start + keyBytes);
    };
    return (most, ms) => run(call, most, ms);
  }
  if (form !== 'bytes' && check) {
    const call = (/** @type {number} */ i) => check(keyAt(i));
    return (most, ms) => run(call, most, ms);
  }
  if (form !== 'bytes' && checkAsync) {
    const call = (/** @type {number} */ i) => checkAsync(keyAt(i));
    return (most, ms) => runAsync(call, most, ms);
  }
  throw new Error(`${contenderName} takes no ${form} keys`);
}

/**
 * @param {(i: number) => boolean} call
 * @param {number} most
 * @param {number} ms
 */
function run(call, most, ms) {
  const endMs = performance.now() + ms;
  calls = 0;
  let allowed = 0;
  while (calls < most && performance.now() < endMs) {
    const end = Math.min(calls + callsPerLook, most);
    for (let i = calls; i < end; i += 1) if (call(i)) allowed += 1;
    calls = end;
  }
  return allowed;
}

/**
 * @param {(i: number) => Promise<boolean>} call
 * @param {number} most
 * @param {number} ms
 */
async function runAsync(call, most, ms) {
  const endMs = performance.now() + ms;
  calls = 0;
  let allowed = 0;
  while (calls < most && performance.now() < endMs) {
    const end = Math.min(calls + callsPerLook, most);
    for (let i = calls; i < end; i += 1) if (await call(i)) allowed += 1;
    calls = end;
  }
  return allowed;
}
