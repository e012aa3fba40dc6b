// How long a check takes, beside every peer: who, at what work, how many times as fast.
import { figure, table } from '../table.mjs';
import { barsTable, fastestPeer, isMet, speedBars } from './bars.mjs';
import { peerNames } from './contender.mjs';
import { race } from './race.mjs';
import { workloads } from './workloads.mjs';

const perCall = ['sluice check', 'sluice allow', 'sluice check, fingerprint', 'sluice allow, fingerprint'];
const perTick = [
  'sluice check, tick clock',
  'sluice check, fingerprint, tick clock',
  'sluice allow, fingerprint, tick clock',
];
const all = [...perCall, ...perTick, ...peerNames, 'Map.get', 'Map.get and clock', 'empty loop'];
const withBytes = [
  'sluice allow',
  'sluice allow, fingerprint',
  'sluice allow, fingerprint, tick clock',
  'hash and one touch',
  'empty loop',
];
const refusing = [...perCall, 'sluice check, tick clock', ...peerNames];
const withRules = ['sluice check', 'sluice check, fingerprint', 'sluice check, tick clock', ...peerNames];
// Ten million keys take gigabytes and minutes to load: beside ours, the peer that most people use and the fastest one.
const large = [
  'sluice check',
  'sluice allow, fingerprint',
  'sluice allow, fingerprint, tick clock',
  'rate-limiter-flexible',
  '@fastify/rate-limit',
  'Map.get',
];

/**
 * What is compared with one another runs in turns: workloads on one line take theirs together.
 * @type {Record<string, readonly string[]>[]}
 */
const heats = [
  { hot: all },
  { zipf: all },
  { 'million-stable': all },
  { 'million-fresh': all },
  { 'million-bytes': withBytes },
  { allowed: refusing, refused: refusing },
  { 'one-rule': withRules, 'four-rules': withRules },
  { 'ten-million-fresh': large },
  { 'ten-million-bytes': withBytes.filter((name) => name !== 'sluice allow') },
];

/**
 * @typedef {import('./race.mjs').Place} Place
 * @typedef {{ workload: string, name: string, places: Place[] }} Result
 */

/** @param {import('../run.mjs').Run} run */
export async function core({ rounds, filter, print, progress, fail }) {
  const chosen = heats.filter((heat) => Object.keys(heat).some((workload) => workload.includes(filter)));
  if (chosen.length === 0) fail(`no workload has "${filter}" in its name: ${Object.keys(workloads).join(', ')}`);
  /** @type {Result[]} */
  const results = [];
  for (const [i, heat] of chosen.entries()) {
    const names = Object.keys(heat);
    progress(`core ${i + 1} of ${chosen.length}: ${names.map(nameOf).join('; ')}`);
    const entries = names.flatMap((workload) => (heat[workload] ?? []).map((contender) => ({ contender, workload })));
    const places = await race(entries, rounds);
    for (const workload of names) {
      const result = {
        workload,
        name: nameOf(workload),
        places: places.filter((place) => place.workload === workload),
      };
      results.push(result);
      print(resultTable(result));
    }
  }
  const bars = barsOf(results);
  if (bars.length > 0) print(barsTable(bars));
  return { results, bars: bars.map((bar) => ({ ...bar, isMet: isMet(bar) })) };
}

/** @param {string} workload */
function nameOf(workload) {
  return workloads[workload]?.name ?? workload;
}

/** The bars of which both sides were measured. @param {readonly Result[]} results */
function barsOf(results) {
  return speedBars.flatMap(({ workload, contender, reference, atLeast }) => {
    const result = results.find((result) => result.workload === workload);
    const other = results.find((result) => result.workload === reference);
    if (!result) return [];
    const rival = other ? contender : reference === fastestPeer ? fastestPeerAt(result) : reference;
    const reached = nsOf(other ?? result, rival) / nsOf(result, contender);
    const against = other ? other.name : rival === reference ? reference : `${rival}, the ${reference}`;
    return [{ name: `${result.name}: ${contender}, x ${against}`, reached, atLeast }];
  });
}

/** @param {Result} result */
function fastestPeerAt(result) {
  const byTime = [...peerNames].filter((name) => nsOf(result, name) > 0);
  return byTime.sort((a, b) => nsOf(result, a) - nsOf(result, b))[0] ?? '';
}

/** @param {Result} result @param {string} contender */
function nsOf({ places }, contender) {
  const place = places.find((place) => place.contender === contender);
  return place && 'medianNs' in place ? place.medianNs : Number.NaN;
}

/** @param {Result} result */
function resultTable(result) {
  const candidates = [
    'rate-limiter-flexible',
    fastestPeerAt(result),
    'Map.get',
    'Map.get and clock',
    'hash and one touch',
  ];
  const references = [...new Set(candidates)].filter((name) => nsOf(result, name) > 0);
  const head = ['', 'ns', 'fastest', 'slowest', ...references.map((name) => `x ${name}`)];
  const rows = result.places.map((place) => {
    if ('failure' in place) return [place.contender, place.failure];
    const { contender, medianNs, fastestNs, slowestNs } = place;
    const ratios = references.map((name) => (nsOf(result, name) / medianNs).toFixed(2));
    return [contender, ...[medianNs, fastestNs, slowestNs].map(figure), ...ratios];
  });
  return table(result.name, [head, ...rows]);
}
