// Whether borrowed quotas keep the promise: two nodes, each with slices of its own, ask for the same keys far more often than
// is allowed, and the auditor reads what both were granted. In a process of its own.
import { limiter, SluiceError, slidingLog } from 'sluice';
import { audit } from 'sluice/testing';
import { leasedStore } from './contenders/redis.mjs';
import { keyText } from './redis-work.mjs';
import { orderOf } from './workloads.mjs';

const lastsMs = 3000;
const keys = 100;
const callersPerNode = 64;
const policy = slidingLog({ limit: 50, window: '1s' });

const [server = ''] = process.argv.slice(2);
/** @type {{ key: string, sentMs: number, receivedMs: number }[]} */
const grants = [];
let calls = 0;
let unanswered = 0;

const stores = await Promise.all([1, 2].map(() => leasedStore(JSON.parse(server), '100ms')));
const endMs = performance.now() + lastsMs;
await Promise.all(stores.map(ask));

const report = audit(grants, policy);
process.send?.({
  calls,
  unanswered,
  grants: grants.length,
  violations: report.violationCount,
  worst: report.worst,
  text: report.describe(),
});

/** @param {import('sluice').Store<'async'>} store @param {number} node */
async function ask(store, node) {
  const subject = limiter(policy, { store, name: 'hot' });
  const order = orderOf({ keys, order: 'uniform', calls: 2 ** 16 }, node + 1);
  let at = 0;
  async function caller() {
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      const key = keyText(order[at % order.length] ?? 0);
      at += 1;
      calls += 1;
      if (await mayGo(key)) grants.push({ key, sentMs, receivedMs: performance.now() });
      // Refusals are known here: without a turn of the event loop nothing would ever be borrowed again.
      if (at % 100 === 0)
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
    }
  }

  /** What is not answered in time is not granted: on a busy machine a trip may take longer than a lease. @param {string} key */
  async function mayGo(key) {
    try {
      return (await subject.check(key)).allowed;
    } catch (error) {
      if (!(error instanceof SluiceError && error.code === 'store-unavailable')) throw error;
      unanswered += 1;
      return false;
    }
  }

  await Promise.all(Array.from({ length: callersPerNode }, caller));
}
