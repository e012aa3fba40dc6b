// Traffic of an access log, read as `sluice tune` reads it.
import { basename } from 'node:path';
import { logReader, traceRecorder } from '@sluice/tuner';
import { readLog } from '../../../packages/server/dist/tune/log-file.js';

/**
 * @param {string} path
 * @returns {Promise<import('../accuracy.mjs').Named>}
 */
export async function trafficOfLog(path) {
  const recorder = traceRecorder();
  const reader = logReader({}, (line) => recorder.take(line));
  await readLog([path], (chunk) => reader.push(chunk));
  reader.end();
  const trace = recorder.finish();
  return {
    name: basename(path).replace(/\.(csv|log|jsonl?)?(\.gz)?$/, ''),
    traffic: { [Symbol.iterator]: () => callsOf(trace) },
  };
}

/** @param {import('../../../packages/tuner/src/index.ts').Trace} trace */
function* callsOf({ startMs, tickMs, length, atTicks, clients, calls, costs, clientList }) {
  for (let i = 0; i < length; i += 1) {
    const key = clientList.nameOf(/** @type {number} */ (clients[i]));
    const atMs = startMs + /** @type {number} */ (atTicks[i]) * tickMs;
    const count = /** @type {number} */ (calls[i]);
    for (let call = 0; call < count; call += 1) yield { atMs, key, cost: /** @type {number} */ (costs[i]) / count };
  }
}
