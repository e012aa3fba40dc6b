// What a limiter adds to a request: a few microseconds, on a machine whose speed changes by more than that from second to second. So laps
// are short, all contenders take their turn before anybody's next, and a limiter is compared with the bare framework of the same turn:
//
//      turn 1: bare, ours, theirs   turn 2: theirs, ours, bare   turn 3: ...      added = median over the turns of (limited - bare)
//
// After some turns all of them are started anew: what the compiler makes of a program, and the collector of its memory, is not the same each
// time. The first turns after a start are for the compiler; it learns from them what will be asked for, pauses included. What counts is
// processor time of the whole process, collector and all, and not how long it had to wait for a core.
import { figure, median, table } from '../../table.mjs';

const warmUpTurns = { fewest: 3, most: 12, untilMs: 300 };
// Enough that a lap has its share of every kind of garbage collection: Express is due for a large one every few thousand requests.
const lapRequests = 2500;

/**
 * @typedef {import('./lane.mjs').Lane} Lane
 * @typedef {import('./lane.mjs').Lap} Lap
 *
 * `middleHalfUs`: half of the turns lie within. `cheaperTurns`: those in which it took less than the usual limiter.
 * @typedef {{
 *   name: string, us: number, addedUs: number, middleHalfUs: [number, number], cheaperTurns: number, turns: number, perSecond: number,
 * }} Row
 */

/**
 * @param {{ startLanes(): Promise<Lane[]>, starts: number, turns: number }} race the bare lane first, the usual limiter's last
 * @returns {Promise<Row[]>}
 */
export async function overheadRace({ startLanes, starts, turns }) {
  /** @type {{ name: string, laps: Lap[] }[]} */
  let entries = [];
  for (let start = 0; start < starts; start += 1) {
    const lanes = await startLanes();
    if (start === 0) entries = lanes.map(({ name }) => ({ name, laps: [] }));
    try {
      const raced = await inTurns(lanes, turns);
      entries.forEach(({ laps }, lane) => {
        laps.push(...(raced[lane] ?? []));
      });
    } finally {
      for (const { stop } of lanes) await stop();
    }
  }
  const bare = entries[0]?.laps ?? [];
  const usual = entries.at(-1)?.laps ?? [];
  return entries.map(({ name, laps }) => {
    const added = laps.map(({ us }, turn) => us - (bare[turn]?.us ?? Number.NaN)).sort((a, b) => a - b);
    const quarter = added.length >> 2;
    return {
      name,
      us: median(laps.map(({ us }) => us)),
      addedUs: median(added),
      middleHalfUs: [added[quarter] ?? Number.NaN, added[added.length - 1 - quarter] ?? Number.NaN],
      cheaperTurns: laps.filter(({ us }, turn) => us < (usual[turn]?.us ?? Number.NaN)).length,
      turns: laps.length,
      perSecond: median(laps.map(({ perSecond }) => perSecond)),
    };
  });
}

/**
 * @param {readonly Lane[]} lanes
 * @param {number} turns
 * @returns {Promise<Lap[][]>} of each lane
 */
async function inTurns(lanes, turns) {
  const entries = lanes.map((lane) => ({ lane, laps: /** @type {Lap[]} */ ([]) }));
  const { fewest, most, untilMs } = warmUpTurns;
  for (let turn = 0, ms = 0; turn < fewest || (turn < most && ms < untilMs); turn += 1) {
    for (const { lane } of entries) ms += (await lane.warmUp(lapRequests)) / lanes.length;
  }
  for (let turn = 0; turn < turns; turn += 1) {
    // There and back: who comes first is not always the same.
    const inOrder = turn % 2 === 0 ? entries : [...entries].reverse();
    for (const { lane, laps } of inOrder) laps.push(await lane.lap(lapRequests));
  }
  return entries.map(({ laps }) => laps);
}

// A median of such differences tells no less than this.
const leastUs = 0.1;

/**
 * How many times as much the usual limiter adds.
 * @param {readonly Row[]} rows
 * @param {string} name
 */
export function addedRatio(rows, name) {
  const own = rows.find((row) => row.name === name)?.addedUs ?? Number.NaN;
  return (rows.at(-1)?.addedUs ?? Number.NaN) / Math.max(leastUs, own);
}

/** @param {string} title @param {readonly Row[]} rows */
export function overheadTable(title, rows) {
  const usual = rows.at(-1)?.name;
  return table(title, [
    ['', 'us a request', 'added us', 'middle half', `${usual}, x this`, 'cheaper in turns', 'per second'],
    ...rows.map(({ name, us, addedUs, middleHalfUs, cheaperTurns, turns, perSecond }, i) => [
      name,
      figure(us),
      ...(i === 0
        ? ['-', '-', '-']
        : [figure(addedUs), middleHalfUs.map(figure).join(' to '), figure(addedRatio(rows, name))]),
      i === 0 || name === usual ? '-' : `${cheaperTurns} of ${turns}`,
      figure(perSecond),
    ]),
  ]);
}
