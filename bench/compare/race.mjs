// Runs contenders at a workload in turns and says how long each took.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const lane = fileURLToPath(new URL('./lane.mjs', import.meta.url));

/**
 * @typedef {{ contender: string, medianNs: number, fastestNs: number, slowestNs: number }} Place
 * @typedef {{ contender: string, failure: string }} Failure
 */

/**
 * @param {string} workload
 * @param {readonly string[]} names
 * @param {number} rounds
 * @returns {Promise<(Place | Failure)[]>} in the order of the names
 */
export async function race(workload, names, rounds) {
  const lanes = [];
  for (const contender of names) lanes.push(await start(contender, workload));
  for (let round = 0; round < rounds; round += 1) {
    // There and back: who comes first is not always the same.
    const turn = round % 2 === 0 ? lanes : [...lanes].reverse();
    for (const one of turn) if (!one.failure) await runRound(one);
  }
  return lanes.map(({ contender, child, times, failure }) => {
    child.kill();
    if (failure) return { contender, failure };
    times.sort((a, b) => a - b);
    return {
      contender,
      medianNs: times[times.length >> 1] ?? Number.NaN,
      fastestNs: times[0] ?? Number.NaN,
      slowestNs: times.at(-1) ?? Number.NaN,
    };
  });
}

/** @typedef {Awaited<ReturnType<typeof start>>} Lane */

/**
 * @param {string} contender
 * @param {string} workload
 */
async function start(contender, workload) {
  const child = fork(lane, [contender, workload], {
    execArgv: ['--expose-gc', '--max-old-space-size=12000'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  /** @type {{ contender: string, child: typeof child, times: number[], failure: string, errors(): string }} */
  const one = { contender, child, times: [], failure: '', errors: () => errors };
  await next(one);
  // Warm-up: the compiler has seen the loop.
  if (!one.failure) await runRound(one);
  one.times.length = 0;
  return one;
}

/** @param {Lane} one */
async function runRound(one) {
  one.child.send('round');
  const message = await next(one);
  if (message?.ns) one.times.push(message.ns);
}

/**
 * @param {Lane} one
 * @returns {Promise<{ ns?: number } | undefined>}
 */
async function next(one) {
  const [message] = await Promise.race([once(one.child, 'message'), once(one.child, 'exit').then(() => [undefined])]);
  if (message === undefined) one.failure = reasonOf(one.errors());
  return message;
}

/** @param {string} errors */
function reasonOf(errors) {
  const line = errors.split('\n').find((text) => /error|fatal/i.test(text)) ?? 'it stopped';
  return line.trim().slice(0, 100);
}
