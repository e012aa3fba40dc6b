// Whether the promise is kept: two instances ask for the same few keys far more often than is allowed, and the auditor reads what both were granted. In a
// process of its own.
import { limiter, SluiceError, slidingLog } from 'sluice';
import { audit } from 'sluice/testing';
import { keyText } from '../redis-work.mjs';
import { moveToGeneratorCore } from '../service/cores.mjs';
import { orderOf } from '../workloads.mjs';
import { stores } from './stores.mjs';

const keys = 100;
const callersPerInstance = 32;
const limit = 50;
// Ten times what is allowed, of both instances together; whoever asks the servers waits for them besides.
const pauseMs = (1000 * 2 * callersPerInstance) / (10 * limit * keys);
const policy = slidingLog({ limit, window: '1s' });

/** @type {{ mode: keyof typeof stores, servers: string[], ms: number }} */
const { mode, servers, ms } = JSON.parse(process.argv[2] ?? '');
moveToGeneratorCore(process.pid);
/** @type {{ key: string, sentMs: number, receivedMs: number }[]} */
const grants = [];
let calls = 0;
let unanswered = 0;

const instances = await Promise.all([1, 2].map(() => stores[mode]({ servers })));
const endMs = performance.now() + ms;
await Promise.all(instances.map(ask));

const { worst, violationCount } = audit(grants, policy);
process.send?.({ calls, unanswered, grants: grants.length, limit, most: worst?.used ?? 0, violations: violationCount });

/** @param {import('sluice').Store} store @param {number} instance */
async function ask(store, instance) {
  const subject = limiter(policy, { store, name: 'hot' });
  const order = orderOf({ keys, order: 'uniform', calls: 2 ** 16 }, instance + 1);
  let at = 0;

  async function caller() {
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      const key = keyText(order[at % order.length] ?? 0);
      at += 1;
      calls += 1;
      if (await mayGo(key)) grants.push({ key, sentMs, receivedMs: performance.now() });
      // Also where all is known here: without a turn of the event loop nothing would ever be heard or borrowed again.
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    }
  }

  /** What is not answered in time is not granted. @param {string} key */
  async function mayGo(key) {
    try {
      return (await subject.check(key)).allowed;
    } catch (error) {
      if (!(error instanceof SluiceError && error.code === 'store-unavailable')) throw error;
      unanswered += 1;
      return false;
    }
  }

  await Promise.all(Array.from({ length: callersPerInstance }, caller));
}
