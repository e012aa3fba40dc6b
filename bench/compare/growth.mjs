// How long single checks take while a table grows from nothing to so many keys, in a process of its own.
//
// Two clocks: around the check alone, and from one check to the next, which has the decoding of the key in it and whatever the
// collector does meanwhile. Whoever else runs on the machine is in both; `nothing` measures that, by a check that does nothing.
import { contenders } from './contender.mjs';
import { keyBuffer, settingOf, textOf } from './workloads.mjs';

const [name = '', count = ''] = process.argv.slice(2);
const keys = Number(count);
const subject = contenders[name]?.create(settingOf({ keys }));
const check = subject?.check;
if (!check) throw new Error(`unknown contender, or not a synchronous one: ${name}`);

const buffer = keyBuffer(keys);
// Written to once, else the first touch of each page would be the kernel's time.
const checksMs = new Float32Array(keys).fill(1);
let longestTurnMs = 0;
let endMs = performance.now();
for (let i = 0; i < keys; i += 1) {
  const turnMs = endMs;
  const key = textOf(buffer, i);
  const startMs = performance.now();
  const isAllowed = check(key);
  endMs = performance.now();
  checksMs[i] = endMs - startMs;
  if (endMs - turnMs > longestTurnMs) longestTurnMs = endMs - turnMs;
  if (!isAllowed) throw new Error(`${name} refused key ${i}`);
}

const keysHeld = subject.size?.();
checksMs.sort();
process.send?.({
  keysHeld,
  longestMs: checksMs[keys - 1],
  p9999Ms: checksMs[Math.floor(0.9999 * keys)],
  overOneMs: checksMs.reduce((many, ms) => (ms > 1 ? many + 1 : many), 0),
  longestTurnMs,
});
