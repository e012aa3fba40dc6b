// One contender at one workload, in a process of its own: nobody's garbage is collected on somebody else's time. The parent
// says when a round is run, so that the contenders take turns.
import { contenders } from './contender.mjs';
import { keyBuffer, keyBytes, orderOf, workloads } from './workloads.mjs';

const [contenderName = '', workloadName = ''] = process.argv.slice(2);
const contender = contenders[contenderName];
const workload = workloads[workloadName];
if (!contender || !workload) throw new Error(`unknown contender or workload: ${contenderName}, ${workloadName}`);

// Refused: one call per key and ten days. Allowed: more than will ever be asked, by a limit under which keys stay for a while;
// ours is a thousand a day with a burst of as many.
const dayMs = 24 * 3_600_000;
const limits = workload.refused
  ? { limit: 1, perWindow: 1, windowMs: 10 * dayMs }
  : { limit: 1e9, perWindow: 1000, windowMs: dayMs };
const setting = { ...limits, maxKeys: Math.max(10_000, 2 * workload.keys) };
const subject = workload.rules ? contender.createRules?.(setting, workload.rules) : contender.create(setting);
if (!subject) throw new Error(`${contenderName} has no rules`);

const buffer = keyBuffer(workload.keys);
const text = (/** @type {number} */ i) => buffer.latin1Slice(i * keyBytes, (i + 1) * keyBytes);
/** @type {string[]} */
const strings = [];
if (workload.form === 'stable') for (let i = 0; i < workload.keys; i += 1) strings.push(text(i));
const order = orderOf(workload);

// Every key is there before the first round, and has spent its one call where all are to be refused.
for (let i = 0; i < workload.keys; i += 1) {
  const key = strings[i] ?? text(i);
  if (subject.fill) subject.fill(key);
  else if (subject.check) subject.check(key);
  else if (subject.checkAsync) await subject.checkAsync(key);
}

const rounds = { stable, fresh, bytes };

// A round ends after this long even if not all calls were made: what one peer does for a call grows with the calls before it.
const roundMs = 700;
const stride = 1000;
let calls = 0;

process.on('message', async () => {
  globalThis.gc?.();
  calls = 0;
  const startNs = process.hrtime.bigint();
  const allowed = await rounds[workload.form]();
  const ns = Number(process.hrtime.bigint() - startNs) / calls;
  // A fast wrong answer is no result.
  const expected = workload.refused && contenderName !== 'empty loop' ? 0 : calls;
  if (allowed !== expected) throw new Error(`${contenderName} allowed ${allowed} of ${calls}, not ${expected}`);
  process.send?.({ ns });
});
process.send?.({ ready: true });

function stable() {
  const { check, checkAsync } = subject;
  return check ? run((i) => check(strings[order[i]])) : runAsync((i) => checkAsync(strings[order[i]]));
}

function fresh() {
  const { check, checkAsync } = subject;
  return check ? run((i) => check(text(order[i]))) : runAsync((i) => checkAsync(text(order[i])));
}

function bytes() {
  const { checkBytes } = subject;
  return run((i) => checkBytes(buffer, order[i] * keyBytes, (order[i] + 1) * keyBytes));
}

/** @param {(i: number) => boolean} call */
function run(call) {
  const endMs = performance.now() + roundMs;
  let allowed = 0;
  while (calls < order.length && performance.now() < endMs) {
    const end = Math.min(calls + stride, order.length);
    for (let i = calls; i < end; i += 1) if (call(i)) allowed += 1;
    calls = end;
  }
  return allowed;
}

/** @param {(i: number) => Promise<boolean>} call */
async function runAsync(call) {
  const endMs = performance.now() + roundMs;
  let allowed = 0;
  while (calls < order.length && performance.now() < endMs) {
    const end = Math.min(calls + stride, order.length);
    for (let i = calls; i < end; i += 1) if (await call(i)) allowed += 1;
    calls = end;
  }
  return allowed;
}
