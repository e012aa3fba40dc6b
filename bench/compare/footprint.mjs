// What one contender needs for so many keys, in a process of its own.
//
// Heap: `heapUsed` plus `external`, after a collection. Typed arrays lie outside of V8's heap; node counts them as
// `arrayBuffers`, which is part of `external`, so adding that too would count them twice.
// RSS: what the operating system has given the process, holes and pages not given back included.
//
// Both are the difference from before the first key. The bytes of all keys are there already then, and each key is decoded
// anew: a string that somebody keeps counts, one that nobody keeps is collected.
import { setTimeout as sleep } from 'node:timers/promises';
import { contenders } from './contender.mjs';
import { keyBuffer, settingOf, textOf } from './workloads.mjs';

const [name = '', count = ''] = process.argv.slice(2);
const keys = Number(count);
const contender = contenders[name];
if (!contender) throw new Error(`unknown contender: ${name}`);

const buffer = keyBuffer(keys);
// Compiled code and a young generation with all its pages are no key's: some keys of another instance, and all decodings,
// have made them before.
const other = contender.create(settingOf({ keys: 20_000, refused: true }));
await load(other, 20_000);
for (let i = 0; i < keys; i += 1) textOf(buffer, i);

const before = await usage();
const subject = contender.create(settingOf({ keys, refused: true }));
await load(subject, keys);
const after = await usage();

// Each key has spent its one call; one that may go again was forgotten. Asking also keeps both instances until here.
const samples = 1000;
for (const one of [other, subject]) {
  for (let i = 0; i < samples && !one.fill; i += 1) {
    const at = Math.floor((i / samples) * (one === other ? 20_000 : keys));
    if (await ask(one, textOf(buffer, at))) throw new Error(`${name} does not hold key ${at} any more`);
  }
}
process.send?.({
  keysHeld: subject.size?.() ?? keys,
  heapBytesPerKey: (after.heapBytes - before.heapBytes) / keys,
  rssBytesPerKey: (after.rssBytes - before.rssBytes) / keys,
});

/**
 * @param {import('./contender.mjs').Subject} subject
 * @param {number} many
 */
async function load(subject, many) {
  for (let i = 0; i < many; i += 1) {
    const key = textOf(buffer, i);
    if (subject.fill) subject.fill(key);
    // Only where there is a promise: waiting for a plain answer would make one.
    else if (subject.check) subject.check(key);
    else await subject.checkAsync?.(key);
  }
}

/**
 * @param {import('./contender.mjs').Subject} subject
 * @param {string} key
 */
function ask({ check, checkAsync }, key) {
  return check ? check(key) : checkAsync?.(key);
}

async function usage() {
  // Freed buffers and pages are given back by another thread, a moment later.
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.();
    await sleep(100);
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed + external, rssBytes: rss };
}
