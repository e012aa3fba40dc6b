// What a key costs, how long a check can take while the table grows, and how many keys there can be.
import { figure, median, table } from '../table.mjs';
import { memoryBars } from './bars.mjs';
import { answerOf } from './child.mjs';
import { peerNames } from './contender.mjs';
import { runPieces } from './pieces.mjs';

const million = 1_000_000;
const keysGrownTo = 10 * million;
const keysAtMost = 17 * million;

const exact = 'sluice allow';
const fingerprint = 'sluice allow, fingerprint';
/** By the names under which they are known elsewhere, what they are here. @type {Record<string, string>} */
const names = {
  [exact]: 'sluice, exact',
  [fingerprint]: 'sluice, fingerprint',
  'Map.get': 'Map<string, number>',
  'empty loop': 'nothing',
};

/** @typedef {import('../run.mjs').Run} Run */

/** @param {Run} run */
export function memory(run) {
  return runPieces({ bytes, pause, most }, run);
}

/** @typedef {{ contender: string, keysHeld: number, heapBytesPerKey: number, rssBytesPerKey: number, failure?: string }} Footprint */

/** @param {Run} run */
async function bytes({ print, progress }) {
  const contenders = [exact, fingerprint, ...peerNames, 'Map.get'];
  /** @type {Footprint[]} */
  const rows = [];
  for (const [i, contender] of contenders.entries()) {
    progress(`memory, bytes per key, ${i + 1} of ${contenders.length}: ${nameOf(contender)}`);
    rows.push(await footprint(contender, million));
  }
  const ours = rows.find(({ contender }) => contender === fingerprint);
  const heapOf = (/** @type {string} */ name) =>
    rows.find((row) => row.contender === name)?.heapBytesPerKey ?? Number.NaN;
  print(
    table('bytes per key at 1 million keys of 16 characters', [
      ['', 'heap', 'x ours, fingerprint', 'RSS', 'x ours, fingerprint'],
      ...rows.map(({ contender, heapBytesPerKey, rssBytesPerKey, failure }) =>
        failure
          ? [nameOf(contender), failure]
          : [
              nameOf(contender),
              heapBytesPerKey.toFixed(1),
              (heapBytesPerKey / (ours?.heapBytesPerKey ?? Number.NaN)).toFixed(2),
              rssBytesPerKey.toFixed(1),
              (rssBytesPerKey / (ours?.rssBytesPerKey ?? Number.NaN)).toFixed(2),
            ],
      ),
    ]),
  );
  const bars = [
    { name: 'bytes per key, fingerprint', reached: heapOf(fingerprint), atMost: memoryBars.fingerprintBytesPerKey },
    {
      name: 'bytes per key, fingerprint, moonshot',
      reached: heapOf(fingerprint),
      atMost: memoryBars.fingerprintBytesPerKeyMoonshot,
    },
    { name: 'bytes per key, exact', reached: heapOf(exact), atMost: memoryBars.exactBytesPerKey },
  ];
  return { rows, bars };
}

/** @typedef {{ longestMs: number, longestTurnMs: number, p9999Ms: number, overOneMs: number }} Growth */

/**
 * The longest of ten million is as much the machine's as ours: in turns with a check that does nothing, the median of rounds.
 * @param {Run} run
 */
async function pause({ rounds, print, progress }) {
  const contenders = [fingerprint, exact, 'empty loop'];
  const growths = contenders.map((contender) => ({
    contender,
    answers: /** @type {Growth[]} */ ([]),
    failure: '',
  }));
  for (let round = 0; round < rounds; round += 1) {
    progress(`memory, growing to 10 million keys, round ${round + 1} of ${rounds}`);
    for (const growth of growths) {
      // Half a minute each, for a figure that is the collector's more than ours.
      if (growth.contender === exact && round > 0) continue;
      const answer = await answerOf('growth.mjs', [growth.contender, String(keysGrownTo)]);
      if (answer.failure) growth.failure = answer.failure;
      else growth.answers.push(answer);
    }
  }
  const rows = growths.map(({ contender, answers, failure }) => {
    const medianOf = (/** @type {keyof Growth} */ field) => median(answers.map((answer) => answer[field]));
    return {
      contender,
      failure,
      longestMs: medianOf('longestMs'),
      longestTurnMs: medianOf('longestTurnMs'),
      p9999Ms: medianOf('p9999Ms'),
      overOneMs: medianOf('overOneMs'),
      rounds: answers,
    };
  });
  print(
    table('growing from nothing to 10 million keys', [
      ['', 'longest check', 'of each round', 'p99.99', 'checks over 1 ms', 'longest with its decoding'],
      ...rows.map((row) =>
        row.failure
          ? [nameOf(row.contender), row.failure]
          : [
              nameOf(row.contender),
              `${figure(row.longestMs)} ms`,
              row.rounds.map(({ longestMs }) => figure(longestMs)).join(' '),
              `${row.p9999Ms.toFixed(3)} ms`,
              String(row.overOneMs),
              `${figure(row.longestTurnMs)} ms`,
            ],
      ),
    ]),
  );
  const reached = rows[0]?.longestMs ?? Number.NaN;
  const bars = [{ name: 'longest check, fingerprint, ms', reached, atMost: memoryBars.fingerprintLongestCheckMs }];
  return { rows, bars };
}

/** @param {Run} run */
async function most({ print, progress }) {
  /** @type {Footprint[]} */
  const rows = [];
  for (const contender of [fingerprint, 'Map.get']) {
    progress(`memory, 17 million keys: ${nameOf(contender)}`);
    rows.push(await footprint(contender, keysAtMost));
  }
  print(
    table('17 million keys', [
      ['', 'keys held', 'heap bytes per key', 'RSS bytes per key'],
      ...rows.map(({ contender, keysHeld, heapBytesPerKey, rssBytesPerKey, failure }) =>
        failure
          ? [nameOf(contender), failure]
          : [nameOf(contender), keysHeld.toLocaleString('en'), heapBytesPerKey.toFixed(1), rssBytesPerKey.toFixed(1)],
      ),
    ]),
  );
  const bars = [{ name: 'keys held, fingerprint', reached: rows[0]?.keysHeld ?? 0, atLeast: memoryBars.keysHeld }];
  return { rows, bars };
}

/**
 * @param {string} contender
 * @param {number} keys
 * @returns {Promise<Footprint>}
 */
async function footprint(contender, keys) {
  // A young generation of a fixed size: one that grows meanwhile is tens of megabytes of RSS that belong to no key.
  const youngGeneration = ['--min-semi-space-size=16', '--max-semi-space-size=16'];
  return { contender, ...(await answerOf('footprint.mjs', [contender, String(keys)], youngGeneration)) };
}

/** @param {string} contender */
function nameOf(contender) {
  return names[contender] ?? contender;
}
