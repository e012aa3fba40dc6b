/** A thread that hammers keys of a shared store, and may be told to stop dead somewhere inside. Bundled by the test. */
import { parentPort, workerData } from 'node:worker_threads';
import { parsePolicy } from '../../algorithms/parse-policy.ts';
import { limiter } from '../../limit/limiter.ts';
import { sharedMemoryStore } from './shared-memory-store.ts';

export interface HammerOrders {
  readonly buffer: SharedArrayBuffer;
  readonly lockPatienceMs: number;
  readonly policy: { readonly algorithm: string };
  readonly keys: readonly string[];
  readonly calls: number;
  /** Word 0: go. Word 1: stopped inside. From word 2 on: what was granted, by key. */
  readonly signals: Int32Array;
  /** After so many steps of arithmetic inside the store it stops for good, as a thread does that is killed there. */
  readonly stopAfter?: number;
}

const { buffer, lockPatienceMs, policy, keys, calls, signals, stopAfter }: HammerOrders = workerData;
const subject = limiter(parsePolicy(policy), {
  store: sharedMemoryStore({ buffer, lockPatienceMs }),
  name: 'hammered',
});

let steps = 0;

/** Counts the calls of one function of the engine that the store makes while it holds locks. */
function countCalls<Args extends unknown[], Result>(original: (...args: Args) => Result): (...args: Args) => Result {
  return (...args) => {
    steps += 1;
    if (steps === stopAfter) {
      Atomics.store(signals, 1, 1);
      Atomics.notify(signals, 1);
      // Never woken: the rest of this call does not happen.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
    return original(...args);
  };
}

if (stopAfter !== undefined) {
  Math.max = countCalls(Math.max);
  Math.imul = countCalls(Math.imul);
  Atomics.compareExchange = countCalls(Atomics.compareExchange as never) as never;
}

parentPort?.postMessage('ready');
Atomics.wait(signals, 0, 0);
for (let i = 0; i < calls; i += 1) {
  const at = i % keys.length;
  // Counted only when the answer has arrived: a thread that dies inside has been granted nothing.
  if (subject.allow(keys[at] as string)) Atomics.add(signals, 2 + at, 1);
}
parentPort?.postMessage('done');
