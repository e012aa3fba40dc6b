// Balancers: picks per second of each, by how many members there are; beside an index that goes round an array, and the ring that people use.
import { figure, median, table } from '../table.mjs';
import { answerOf } from './child.mjs';
import { runPieces } from './pieces.mjs';

/** Names of balance/contenders.mjs. */
const floor = 'array index';
const peer = 'hashring';
const sameAsPeer = 'hashRing, ketama';
const names = [
  floor,
  'roundRobin',
  'smoothWeighted',
  'leastConnections',
  'twoChoices',
  'randomPick',
  'shortestQueue',
  'peakEwma',
  'hashRing',
  'hashRing, bounded',
  sameAsPeer,
  peer,
];
const sizes = [10, 100, 10_000];

// The same points for the same keys: no reason to be slower.
const ofPeerAtLeast = 1;

/** @param {import('../run.mjs').Run} run */
export function balance(run) {
  return runPieces({ picks }, run);
}

/**
 * @typedef {{ name: string, members: number, perSecond: number, slowest: number, fastest: number, failure?: string }} Row
 *
 * @param {import('../run.mjs').Run} run
 */
async function picks({ rounds, print, progress }) {
  /** @type {Row[]} */
  const rows = [];
  for (const members of sizes) {
    progress(`balance, ${members.toLocaleString('en')} members: ${rounds} rounds`);
    rows.push(...(await inTurns(members, rounds)));
  }
  print(picksTable(rows));
  const bars = sizes.map((members) => ({
    name: `${sameAsPeer}, ${members.toLocaleString('en')} members, x ${peer}`,
    reached: speedOf(rows, sameAsPeer, members) / speedOf(rows, peer, members),
    atLeast: ofPeerAtLeast,
  }));
  return { rows, bars };
}

/**
 * Each lap in a process of its own, so that nobody's garbage is another's.
 * @param {number} members
 * @param {number} rounds
 * @returns {Promise<Row[]>}
 */
async function inTurns(members, rounds) {
  const lanes = names.map((name) => ({ name, speeds: /** @type {number[]} */ ([]), failure: '' }));
  for (let round = 0; round < rounds; round += 1) {
    // There and back: who comes first is not always the same.
    for (const lane of round % 2 === 0 ? lanes : [...lanes].reverse()) {
      if (lane.failure) continue;
      const { perSecond, failure } = await answerOf('balance/lane.mjs', [lane.name, String(members)]);
      if (failure) lane.failure = failure;
      else lane.speeds.push(perSecond);
    }
  }
  return lanes.map(({ name, speeds, failure }) => ({
    name,
    members,
    perSecond: failure ? Number.NaN : median(speeds),
    slowest: Math.min(...speeds),
    fastest: Math.max(...speeds),
    ...(failure && { failure }),
  }));
}

/** @param {readonly Row[]} rows @param {string} name @param {number} members */
function speedOf(rows, name, members) {
  return rows.find((row) => row.name === name && row.members === members)?.perSecond ?? Number.NaN;
}

/** @param {readonly Row[]} rows */
function picksTable(rows) {
  const failures = rows.flatMap(({ name, members, failure }) => (failure ? [[`${name}, ${members}`, failure]] : []));
  return table('picks per second, each given back, 100 under way; and the slowest and fastest of 10,000 members', [
    ['', ...sizes.map((members) => `${members.toLocaleString('en')} members`), 'slowest', 'fastest'],
    ...names.map((name) => {
      const last = rows.find((row) => row.name === name && row.members === sizes.at(-1));
      const range = [last?.slowest ?? Number.NaN, last?.fastest ?? Number.NaN];
      return [name, ...[...sizes.map((members) => speedOf(rows, name, members)), ...range].map(figure)];
    }),
    ...failures,
  ]);
}
