// How long a check takes, beside every peer: who, at what work, how many times as fast.
import { peerNames } from './contender.mjs';
import { race } from './race.mjs';
import { workloads } from './workloads.mjs';

const ours = ['sluice check', 'sluice allow', 'sluice check, fingerprint', 'sluice allow, fingerprint'];
const oursPerTick = ['sluice check, tick clock', 'sluice check, fingerprint, tick clock', 'sluice allow, fingerprint, tick clock'];
const bytes = ['sluice allow', 'sluice allow, fingerprint', 'sluice allow, fingerprint, tick clock', 'hash and one touch', 'empty loop'];
const rules = ['sluice check', 'sluice check, fingerprint', 'sluice check, tick clock', ...peerNames, 'empty loop'];
const all = [...ours, ...oursPerTick, ...peerNames, 'Map.get', 'Map.get and clock', 'empty loop'];
// 10 million keys are more than most have room for: those that come near.
const large = ['sluice check', 'sluice check, fingerprint', 'sluice allow, fingerprint, tick clock', 'rate-limiter-flexible', '@fastify/rate-limit', 'limiter', 'Map.get'];

/** @type {Record<string, readonly string[]>} */
const programme = {
  hot: all,
  zipf: all,
  'million-stable': all,
  'million-fresh': all,
  'million-bytes': bytes,
  allowed: [...ours, 'sluice check, tick clock', 'rate-limiter-flexible'],
  refused: [...ours, 'sluice check, tick clock', ...peerNames, 'empty loop'],
  'one-rule': rules,
  'four-rules': rules,
  'ten-million-fresh': large,
  'ten-million-bytes': bytes,
};

/**
 * @param {{ rounds: number, filter?: string, onResult(result: Result): void }} options
 * @typedef {{ workload: string, name: string, places: Awaited<ReturnType<typeof race>> }} Result
 */
export async function core({ rounds, filter = '', onResult }) {
  for (const [workload, names] of Object.entries(programme)) {
    if (!workload.includes(filter)) continue;
    const places = await race(workload, names, rounds);
    onResult({ workload, name: workloads[workload]?.name ?? workload, places });
  }
}

/** How many times as fast the first is as the second. @param {Result} result @param {string} a @param {string} b */
export function ratio({ places }, a, b) {
  const ns = (/** @type {string} */ name) => {
    const place = places.find(({ contender }) => contender === name);
    return place && 'medianNs' in place ? place.medianNs : Number.NaN;
  };
  return ns(b) / ns(a);
}

/** The peer with the shortest median. @param {Result} result */
export function fastestPeer({ places }) {
  const finished = places.flatMap((place) =>
    'medianNs' in place && peerNames.includes(place.contender) ? [place] : [],
  );
  return finished.sort((a, b) => a.medianNs - b.medianNs)[0]?.contender;
}

/** @param {Result} result */
export function drawn(result) {
  const peer = fastestPeer(result);
  const references = ['rate-limiter-flexible', peer, 'Map.get', 'hash and one touch'].filter(
    (name, i, names) => name && names.indexOf(name) === i && Number.isFinite(ratio(result, name, name)),
  );
  const head = ['', 'ns', 'fastest', 'slowest', ...references.map((name) => `x ${name}`)];
  const rows = result.places.map((place) =>
    'failure' in place
      ? [place.contender, place.failure]
      : [
          place.contender,
          place.medianNs.toFixed(1),
          place.fastestNs.toFixed(1),
          place.slowestNs.toFixed(1),
          ...references.map((name) => ratio(result, place.contender, name ?? '').toFixed(2)),
        ],
  );
  return `${result.name}\n${aligned([head, ...rows])}\n`;
}

/** @param {string[][]} rows */
export function aligned(rows) {
  const width = (/** @type {number} */ column) => Math.max(...rows.map((row) => (row.length > 2 ? (row[column]?.length ?? 0) : 0)));
  return rows
    .map((row) => `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(width(0)) : cell.padStart(width(i)))).join('  ')}`)
    .join('\n');
}
