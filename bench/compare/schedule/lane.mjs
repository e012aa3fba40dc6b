// One lap: prints operations per second.
import { orderedSets } from './ordered-sets.mjs';
import { queues } from './queues.mjs';

const [contender = '', workload = '', size = '0'] = process.argv.slice(2);
const waiting = 10_000;
const inFlight = 10;

const laps = { tasks, changes, fair };
console.log(await laps[/** @type {keyof typeof laps} */ (workload)]());

/** A queue that stays as long as it is: whoever ends is followed by another. */
async function tasks() {
  // Bottleneck sets a timer for each.
  const count = contender === 'bottleneck' ? 3000 : 100_000;
  const queue = queues[contender]?.(inFlight);
  if (queue === undefined) throw new Error(`there is no ${contender}`);
  const random = priorities();
  const warmUp = count / 5;
  let startedNs = 0n;
  let ended = 0;
  await new Promise((resolve) => {
    const task = async () => {
      ended += 1;
      if (ended === warmUp) startedNs = process.hrtime.bigint();
      if (ended === count) resolve(undefined);
      queue.add(task, random());
    };
    for (let i = 0; i < waiting + inFlight; i += 1) queue.add(task, random());
  });
  return (count - warmUp) / seconds(startedNs);
}

/** Of tasks that wait, chosen at random. */
async function changes() {
  const count = contender === 'p-queue' ? 5000 : 500_000;
  const queue = queues[contender]?.(1);
  if (queue?.change === undefined) throw new Error(`there is no ${contender} whose priorities change`);
  const random = priorities();
  // It never ends, so that the others wait.
  queue.add(() => new Promise(() => {}), 0);
  const ids = Array.from({ length: waiting }, () => queue.add(async () => {}, random()));
  const run = (/** @type {number} */ times) => {
    for (let i = 0; i < times; i += 1) queue.change?.(ids[(i * 7919) % waiting], random());
  };
  run(count / 10);
  const startedNs = process.hrtime.bigint();
  run(count);
  return count / seconds(startedNs);
}

async function fair() {
  const count = 1_000_000;
  const set = orderedSets[contender]?.();
  if (set === undefined) throw new Error(`there is no ${contender}`);
  const random = priorities();
  for (let id = 0; id < Number(size); id += 1) set.add({ id, runtime: id / 100, heapIndex: -1 });
  const run = (/** @type {number} */ times) => {
    for (let i = 0; i < times; i += 1) set.charge(set.first(), 1 + random());
  };
  run(count / 5);
  const startedNs = process.hrtime.bigint();
  run(count);
  return count / seconds(startedNs);
}

/** The same for everybody. */
function priorities() {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % 10;
  };
}

/** @param {bigint} startedNs */
function seconds(startedNs) {
  return Number(process.hrtime.bigint() - startedNs) / 1e9;
}

// Tasks that never end wait for nothing.
process.exit(0);
