/** A plan for people: what is needed, where each figure comes from, and the calculation so that it can be checked by hand. */
import { mostShards as shards } from '../cluster/shards.ts';
import { asksAnyNode, clientFigures, ownedCostOf, readCostOf } from './check-cost.ts';
import { measuredLoad } from './cluster-size.ts';
import { renewEveryMs } from './etcd-load.ts';
import { refusedRatioOf } from './grants.ts';
import { checksPerWindow } from './memory-need.ts';
import type { Plan } from './plan.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanPolicy } from './plan-question.ts';
import { bytes, count, milliseconds, share, times } from './units.ts';

type Origin = 'given' | 'measured' | 'computed';
export type PlanRow = readonly [name: string, value: string, origin: Origin, detail?: string];

export interface PlanSection {
  readonly title: string;
  readonly rows: readonly PlanRow[];
}

export function planText(plan: Plan, figures: PlanFigures, store: StoreFigures): string {
  const { machine, date, version, secondsPerMeasurement } = figures;
  const head = [
    `A plan for ${count(plan.question.checksPerSecond)} checks/s of ${count(plan.question.users)} users.`,
    `Measured ${date.slice(0, 10)} by sluice ${version}, node ${machine.nodeVersion}, on ${machine.cores} cores of ${machine.cpuModel},`,
    `${share(figures.othersRatio)} of it busy with something else, ${secondsPerMeasurement} s for each figure. What the plan says of more than that is calculated.`,
  ];
  const sections = planSections(plan, figures, store).map(sectionText);
  const steps = planSteps(plan, figures, store).map((step, i) => wrapped(`${`${i + 1}.`.padEnd(4)}${step}`));
  const problems = plan.problems.map((problem) => wrapped(`!   ${problem}`));
  return [...head, '', ...sections, 'How it is calculated', ...steps, ...problems].join('\n');
}

export function planSections(plan: Plan, figures: PlanFigures, store: StoreFigures): readonly PlanSection[] {
  return [
    { title: 'Asked for', rows: askedRows(plan) },
    { title: 'Measured', rows: measuredRows(plan, figures, store) },
    { title: 'Needed', rows: neededRows(plan) },
    { title: 'Settings of a node, beyond the defaults', rows: settingRows(plan) },
    { title: 'When nodes fail', rows: failureRows(plan) },
    { title: 'A rolling restart', rows: restartRows(plan) },
  ];
}

function askedRows({ question: q }: Plan): PlanRow[] {
  const rows: PlanRow[] = [
    ['checks', `${count(q.checksPerSecond)}/s`, 'given'],
    ['users', count(q.users), 'given', `keys of ${q.keyBytes} bytes`],
    ['limit', `${count(q.policy.limit)} per ${milliseconds(q.policy.window)}`, 'given', q.policy.algorithm],
    [
      'p99 of a check',
      milliseconds(q.latencyMs),
      'given',
      `${milliseconds(q.roundTripMs)} there and back on the network`,
    ],
    ['load of a core, at most', share(q.load), 'given', `also with ${count(q.nodesPerFailure)} lost`],
    ['client', q.client, 'given', `${count(q.callers)} processes that ask, gathering for ${milliseconds(q.gatherMs)}`],
    ['ttl, grace', `${milliseconds(q.ttlMs)}, ${milliseconds(q.graceMs)}`, 'given'],
    ['ahead of the copy', q.unreplicated === 0 ? 'no copies' : count(q.unreplicated), 'given'],
    ['copies are told every', milliseconds(q.copyEveryMs), 'given'],
    q.refusedRatio === undefined
      ? ['refused by the limit', share(refusedRatioOf(q)), 'computed', 'what users ask beyond it']
      : ['refused by the limit', share(q.refusedRatio), 'given'],
    [
      'unevenness of arrivals',
      q.arrivalVariability.toFixed(2),
      'given',
      'squared coefficient of variation; 1: Poisson',
    ],
    ['failures', `${q.failuresPerNodePerYear} per node and year`, 'given'],
    ['cores of a machine', count(q.coresPerMachine), 'given'],
    ['etcd keeps what is old', milliseconds(q.etcdRetentionMs), 'given'],
  ];
  if (q.client === 'redis') rows.push(['sent to the wrong node first', share(q.movedRatio), 'given']);
  return rows;
}

function measuredRows({ question, serviceVariability }: Plan, figures: PlanFigures, store: StoreFigures): PlanRow[] {
  const asked = clientFigures(figures, question.client);
  const { atMost, atLoad, idleP50Ms, requestBytes, replyBytes } = asked;
  const speeds = atMost.map(
    ({ pipelined, checksPerSecond, processorUs }): PlanRow => [
      `a core, ${pipelined} at once`,
      `${count(checksPerSecond)}/s`,
      'measured',
      `${processorUs.toFixed(2)} us of processor for a check`,
    ],
  );
  const { perReadUs, perCheckUs } = ownedCostOf(question, figures);
  const owned: PlanRow = [
    'a node beyond a plain service',
    `${perCheckUs.toFixed(2)} us`,
    figures.etcd ? 'measured' : 'given',
    figures.etcd
      ? `for a check, and ${perReadUs.toFixed(2)} us for a read`
      : `for a check: ${times(question.ownedRatio)} of its checks, reading aside; no etcd was at hand`,
  ];
  const rows: PlanRow[] = [
    ...measuredWith(question.policy, figures.policy),
    ...speeds,
    owned,
    [
      'p99 at load',
      milliseconds(atLoad.p99Ms),
      'measured',
      `at ${share(measuredLoad(atLoad))}; the generator was late by ${milliseconds(atLoad.sentLateP99Ms)} of it`,
    ],
    ['a check that waits for nobody', milliseconds(idleP50Ms), 'measured'],
    [
      'unevenness of serving',
      serviceVariability.toFixed(1),
      question.serviceVariability === undefined ? 'computed' : 'given',
      question.serviceVariability === undefined ? 'what makes the model give the p99 that was measured' : '',
    ],
    [
      'a check on the wire',
      `${requestBytes.toFixed(0)} + ${replyBytes.toFixed(0)} bytes`,
      'measured',
      'request and reply',
    ],
    [
      'a key in memory',
      bytes(store.bytesPerKey),
      'measured',
      `${count(store.keysPerStore)} keys in a store, ${count(store.checksPerKey)} checks of each in a window`,
    ],
    [
      'a key that moves',
      bytes(store.snapshotBytesPerKey),
      'measured',
      `${(store.snapshotUsPerKey + store.restoreUsPerKey).toFixed(1)} us`,
    ],
    [
      'a grant that is copied',
      bytes(store.stepBytes),
      'measured',
      `${store.stepOwnerUs.toFixed(2)} us at the owner, ${store.stepStandbyUs.toFixed(2)} us at the copy`,
    ],
    ['an idle node', bytes(figures.idleRssBytes), 'measured', `${milliseconds(figures.startMs)} to start`],
  ];
  if (figures.etcd) {
    const { transactionP50Ms, transactionP99Ms, transactionsPerSecond, recordsPerSecond } = figures.etcd;
    rows.push([
      'an etcd transaction',
      milliseconds(transactionP50Ms),
      'measured',
      `p99 ${milliseconds(transactionP99Ms)}; ${count(transactionsPerSecond)}/s, reading ${count(recordsPerSecond)} records/s`,
    ]);
  }
  return rows;
}

/** A file may be of another limit than the one asked for: what a check costs is then that one's. */
function measuredWith(asked: PlanPolicy, { algorithm, limit, window }: PlanPolicy): PlanRow[] {
  if (algorithm === asked.algorithm && limit === asked.limit && window === asked.window) return [];
  return [
    ['checks of', `${count(limit)} per ${milliseconds(window)}`, 'measured', `${algorithm}, not the limit above`],
  ];
}

function neededRows(plan: Plan): PlanRow[] {
  const { size, machines, memory, network, etcd, hotKey } = plan;
  const { clusters, nodes, allUp, someLost } = size;
  const perCluster =
    clusters > 1 ? `${count(clusters)} clusters of ${count(nodes)}, each with an etcd of its own` : 'one cluster';
  return [
    ['nodes', count(clusters * nodes), 'computed', perCluster],
    ['cores', count(clusters * nodes), 'computed', 'a node is one process with one core'],
    ['machines', count(machines), 'computed'],
    [
      'the busiest node',
      `${count(allUp.checksPerSecond)}/s`,
      'computed',
      `load ${share(allUp.load)}, p99 ${milliseconds(allUp.latency.totalMs)}`,
    ],
    [
      'the same with nodes lost',
      `${count(someLost.checksPerSecond)}/s`,
      'computed',
      `load ${share(someLost.load)}, p99 ${milliseconds(someLost.latency.totalMs)}`,
    ],
    ['memory of a node', bytes(memory.bytesPerNode), 'computed', 'the fullest, with nodes lost'],
    [
      'memory in all',
      bytes(memory.bytesInAll),
      'computed',
      `${count(memory.liveKeys)} keys, kept ${memory.timesKept === 1 ? 'once' : 'twice'}`,
    ],
    [
      'network into a node',
      `${bytes(network.bytesInPerSecond)}/s`,
      'computed',
      `${count(network.packetsInPerSecond)} packets/s; copies are ${bytes(network.copyBytesPerSecond)}/s of it`,
    ],
    ['network out of a node', `${bytes(network.bytesOutPerSecond)}/s`, 'computed'],
    [
      'etcd writes',
      `${count(etcd.writesPerSecond)}/s`,
      'computed',
      `${bytes(etcd.writtenBytesPerSecond)}/s${clusters > 1 ? ', for each cluster' : ''}`,
    ],
    ['etcd reads', `${count(etcd.readsPerSecond)} records/s`, 'computed', `${bytes(etcd.readBytesPerSecond)}/s`],
    ['etcd database', bytes(etcd.databaseBytes), 'computed', `the slot table is ${bytes(etcd.slotTableBytes)}`],
    [
      'one hot key',
      `${count(hotKey.withinLoad)}/s`,
      'computed',
      `within the load asked for; ${count(hotKey.atMost)}/s before its node is full`,
    ],
  ];
}

function settingRows({ settings }: Plan): PlanRow[] {
  return settings.map(({ name, value, why }) => [name, value, why === '' ? 'given' : 'computed', why]);
}

function failureRows({ failover: f, question }: Plan): PlanRow[] {
  return [
    [
      'share of users concerned',
      share(f.shareOfTraffic),
      'computed',
      `${count(f.failuresPerYear)} failures in a year, over all nodes`,
    ],
    ['nobody decides for', milliseconds(f.unservedMs), 'computed', 'at most'],
    [
      'refused in one failure, no copy',
      count(f.refusedWithout),
      'computed',
      f.isDurable
        ? `then ${share(f.withoutRatio)} for ${milliseconds(f.quarantineMs)}: the window is in etcd, reserved ahead`
        : `then all are refused for ${milliseconds(f.quarantineMs)}`,
    ],
    [
      'refused in one failure, with copies',
      count(f.refusedWithCopy),
      'computed',
      `then ${share(f.tightRatio)} for as long: those within ${f.lag} of the limit`,
    ],
    [
      'refused in a year, no copy',
      share(f.refusedRatioPerYearWithout),
      'computed',
      question.unreplicated === 0 ? 'this plan' : '',
    ],
    [
      'refused in a year, with copies',
      share(f.refusedRatioPerYearWithCopy),
      'computed',
      question.unreplicated > 0 ? 'this plan' : '',
    ],
  ];
}

function restartRows({ restart: r }: Plan): PlanRow[] {
  return [
    ['takes', milliseconds(r.totalMs), 'computed', 'one node after the other'],
    ['moves', bytes(r.bytesMoved), 'computed', 'each key away and back'],
    [
      'a shard stands still for',
      milliseconds(r.frozenMs),
      'computed',
      'its checks wait and are answered then; nobody is refused',
    ],
    ['checks that wait so', count(r.delayedChecks), 'computed'],
  ];
}

export function planSteps(plan: Plan, figures: PlanFigures, store: StoreFigures): readonly string[] {
  const { question: q, size, memory, etcd, failover: f } = plan;
  const { clusters, nodes, allUp, someLost } = size;
  const { perReadUs, perCheckUs } = readCostOf(clientFigures(figures, q.client));
  const { cost, latency } = someLost;
  const owned = ownedCostOf(q, figures);
  const part = clusters > 1 ? ` / ${count(clusters)} clusters` : '';
  return [
    `A check costs ${perCheckUs.toFixed(2)} us and a read ${perReadUs.toFixed(2)} us: from the speeds at different depths. A caller has ${count(someLost.checksPerSecond)} / ${count(q.callers)} checks/s for a node, gathers for ${milliseconds(q.gatherMs)}, and so sends ${cost.batch.toFixed(2)} at once: ${(perCheckUs + perReadUs / cost.batch).toFixed(2)} us each, and ${(owned.perCheckUs + owned.perReadUs / cost.batch).toFixed(2)} us more because a node has more to do than a plain service${q.client === 'redis' ? `, and ${share(q.movedRatio)} are asked twice` : ''}: ${cost.askedUs.toFixed(2)} us.`,
    asksAnyNode(q.client)
      ? `Callers ask any node, so ${share(1 - 1 / someLost.nodes)} of checks go on to their owner, which costs two nodes what a smart client costs one: ${cost.forwardedUs.toFixed(2)} us.`
      : 'Callers know the owner, so nothing is forwarded.',
    `Copies cost ${cost.copiedUs.toFixed(2)} us: telling and doing again what was granted, with what a shard in a message and the message itself cost. In all a check costs ${cost.totalUs.toFixed(2)} us, and a core could do ${count(1e6 / cost.totalUs)}/s.`,
    `${shards} shards on ${count(someLost.nodes)} nodes: by the hash ring the fullest has ${count(someLost.share * shards)}, and by chance ${share(someLost.userSpread - 1)} more users than the mean. It gets ${count(q.checksPerSecond)}${part} * ${share(someLost.share)} * ${someLost.userSpread.toFixed(3)} = ${count(someLost.checksPerSecond)} checks/s: load ${share(someLost.load)}.`,
    `99 of 100 checks take at most ${milliseconds(latency.idleMs)} (idle) + ${milliseconds(latency.roundTripMs)} (network) + ${milliseconds(latency.gatherMs)} (gathering) + ${milliseconds(latency.waitMs)} (waiting) = ${milliseconds(latency.totalMs)}. Waiting: S * (ca + cs) / 2 / (1 - load) * ln(load / 0.01), with S = ${((cost.totalUs * cost.batch) / 1000).toFixed(4)} ms, ca = ${q.arrivalVariability.toFixed(2)}, cs = ${plan.serviceVariability.toFixed(1)} (Kingman; exponential tail).`,
    `${count(someLost.nodes)} nodes are the fewest that keep both; with ${count(q.nodesPerFailure)} more, so many may be lost: ${count(nodes)}${clusters > 1 ? ` in each of ${count(clusters)} clusters, which share the users between them: one has at most ${count(q.nodesPerCluster)} nodes` : ''}. With all of them the load is ${share(allUp.load)}.`,
    `A user is asked about ${checksPerWindow(q).toFixed(1)} times in a window, so ${count(memory.liveKeys)} keys are alive at once (at most: calls spread evenly). Each takes ${bytes(memory.bytesPerKey)}, ${memory.timesKept === 1 ? 'once' : 'twice: at its owner and as a copy'}.`,
    `Nodes renew every ${milliseconds(renewEveryMs(q.ttlMs))}: ${count(etcd.renewalsPerSecond)} writes/s of ${bytes(etcd.nodeRecordBytes)}, each reading the records of all ${count(nodes)} nodes. ${etcd.reservationsPerSecond > 0 ? `Windows this long are reserved ahead, a key's once in ${milliseconds(q.reserveEveryMs)} at most: ${count(etcd.reservationsPerSecond)} writes/s more, each of a record of ${bytes(etcd.reservation.bytes)} (${count(etcd.reservation.entries)} entries: what was reserved in a window, by sixtieths).` : 'Decisions write nothing: the window is shorter than what has to be durable.'} Crashes change the slot table ${count(etcd.tableChangesPerYear)} times a year.`,
    `A crash is noticed after ${milliseconds(f.unservedMs)}: the ttl with drift and margin, and two looks of those who watch. Then the new owner ${f.isDurable ? `reads from etcd what was reserved and counts it as used, by which ${share(f.withoutRatio)} are refused for ${milliseconds(f.quarantineMs)}` : `refuses for ${milliseconds(f.quarantineMs)}`}, or with a copy counts ${f.lag} of each key as used: of Poisson calls with mean ${checksPerWindow(q).toFixed(1)}, ${share(f.tightRatio)} are refused that would have passed. In a year: failures per node (${q.failuresPerNodePerYear}) * that time / a year, whatever the number of nodes.`,
    `A shard has ${count(memory.liveKeys / clusters / shards)} keys; writing and reading them takes ${(store.snapshotUsPerKey + store.restoreUsPerKey).toFixed(1)} us each, then the network${figures.etcd ? ' and one etcd transaction' : ' (no etcd was at hand to measure its transaction)'}.`,
  ];
}

function sectionText({ title, rows }: PlanSection): string {
  const [nameWidth, valueWidth] = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length))) as [
    number,
    number,
  ];
  const lines = rows.map(([name, value, origin, detail = '']) =>
    `  ${name.padEnd(nameWidth)}  ${value.padStart(valueWidth)}   ${origin.padEnd(8)}  ${detail}`.trimEnd(),
  );
  return `${title}\n${lines.join('\n')}\n`;
}

const lineWidth = 120;

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = `    ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
