/** The report as people read it: within 100 columns, and with nothing from the log that a terminal would act on. */
import {
  type Bin,
  countedWords,
  countWords,
  durationText,
  type LimitRow,
  type PolicyReplayReport,
  percentWords,
  rateWords,
  spanText,
  visibleText,
  type WhatIf,
  windowWords,
} from '@sluice/tuner';
import { policyWords } from '../config/policy-words.ts';
import { type Row, shortened, tableLines, wrapped } from '../terminal/words.ts';
import type { AskedReport, TuneReport } from './tune.ts';

const columns = 100;
const indent = '  ';
const barColumns = 48;
const nameColumns = 46;

export function tuneText(report: TuneReport, top: number): string {
  const sections: [title: string, lines: string[]][] = [
    [titleOf(report), readLines(report)],
    ['How often clients call, at their busiest', distributionLines(report)],
    ['The most at once', burstLines(report, Math.min(top, 5))],
    ['Who stands out', separationLines(report, top)],
    ...(report.asked ? [askedSection(report.asked, aboutIn(report), top)] : []),
    [limitsTitle(report), limitLines(report)],
    ['Advice', adviceLines(report)],
  ];
  const text = sections.map(([title, lines]) => [
    title,
    ...lines.map((line) => (line === '' ? '' : `${indent}${line}`)),
  ]);
  // The reasons were given already.
  const yaml = report.yaml.replace(/^(#.*\n)+/, '');
  return `${text.map((lines) => lines.join('\n')).join('\n\n')}\n\n${yaml}`;
}

function paragraph(text: string): string[] {
  return wrapped(text, columns - indent.length);
}

/** Names come from whoever called. */
function nameText(name: string, width = nameColumns): string {
  return shortened(visibleText(name), width);
}

const yearMs = 365 * 86_400_000;

function momentText(atMs: number): string {
  // A log may count from its first line, or from what no calendar has.
  if (Math.abs(atMs) < yearMs || Number.isNaN(new Date(atMs).getTime())) return atMs === 0 ? '0s' : spanText(atMs);
  return new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
}

function titleOf({ logs, read, key }: TuneReport): string {
  const [first = '', ...others] = logs.map((log) => (log === '-' ? 'standard input' : log));
  const files = others.length === 0 ? nameText(first, 50) : `${nameText(first, 50)} and ${others.length} more`;
  const formats = [...new Set(read.files.flatMap(({ format }) => format ?? []))].join(' and ');
  return `${files}: ${countedWords(read.lines, 'line')} of ${formats}, by ${nameText(key, 20)}`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function readLines({ logs, read, cutOff, trace, readingSeconds }: TuneReport): string[] {
  const rows: [name: string, text: string][] = [
    [
      'time',
      `${momentText(trace.firstMs)} to ${momentText(trace.lastMs)}${trace.firstMs < yearMs ? '' : ' UTC'}, ${spanText(trace.spanMs)}`,
    ],
    ['calls', countWords(read.read)],
    ['clients', clientsText(trace)],
    [
      'read',
      `${megabytes(read.bytes)} in ${readingSeconds.toFixed(1)} s, ${countWords(Math.round(read.lines / readingSeconds))} lines/s`,
    ],
  ];
  for (const { file, bytes } of cutOff)
    rows.push(['cut off', `${nameText(file)}, gzipped: what is left of it was read, ${megabytes(bytes)} unpacked`]);
  if (read.withoutKey > 0)
    rows.push(['no key', `${countedWords(read.withoutKey, 'line')}, which a rule with this key would not count`]);
  if (read.skipped > 0) rows.push(['skipped', `${countedWords(read.skipped, 'line')}: blank, comment or heading`]);
  if (trace.lateLines > 0)
    rows.push([
      'order',
      `${countedWords(trace.lateLines, 'line')} came late, by up to ${windowWords(trace.lateMsMax)}; each counts at its own time`,
    ]);
  if (trace.stepsBack > 0)
    rows.push([
      'clock',
      `went back ${countedWords(trace.stepsBack, 'time')}, by up to ${windowWords(trace.stepBackMsMax)}: logs that overlap, or a clock that was set?`,
    ]);
  if (trace.tickMs > 1)
    rows.push([
      'tick',
      `${windowWords(trace.tickMs)}${trace.isCoarse ? ', coarser than the log, which did not fit' : ": the log's own clock"}`,
    ]);
  if (trace.hasAveragedCosts)
    rows.push(['costs', "of a client's calls in one tick are their mean: the log did not fit otherwise"]);
  if (trace.thinnedTo > 1)
    rows.push([
      'thinned',
      `of clients with less than ${countWords(trace.keptFromCalls)} calls one in ${trace.thinnedTo} was kept, and stands for the rest`,
    ]);
  if (trace.clientsKeptLate > 0)
    rows.push([
      'late',
      `${countedWords(trace.clientsKeptLate, 'client')} became busy later: the first calls are missing, and the others stand for them`,
    ]);
  const lines = rows.map(([name, text]) => `${name.padEnd(9)}${text}`);
  if (read.malformed === 0) return lines;
  lines.push(`malformed ${countedWords(read.malformed, 'line')}, the first:`);
  for (const { file, line, problem, text } of read.firstMalformed)
    lines.push(
      ...[`  ${logs.length === 1 ? '' : `${nameText(file)}, `}line ${line} ${problem}`, `    ${text}`].map((each) =>
        shortened(each, columns - indent.length),
      ),
    );
  return lines;
}

/** Before a number that some clients tell for others. */
function aboutIn({ trace }: TuneReport): string {
  return trace.thinnedTo > 1 ? 'about ' : '';
}

function clientsText({ clients, clientsErrorRatio, clientsKept }: TuneReport['trace']): string {
  if (clientsErrorRatio === 0) return countWords(clients);
  return `about ${countWords(Math.round(clients))} (±${percentWords(clientsErrorRatio)}), ${countWords(clientsKept)} of them looked at`;
}

function distributionLines({ distribution, limits, trace }: TuneReport): string[] {
  const rows: Row[] = [['calls in any', 'half of them', '90%', '99%', '99.9%', 'busiest']];
  for (const { windowMs, calls, isCoarse } of distribution.windows) {
    if (windowMs > 2 * Math.max(trace.spanMs, 1000)) continue;
    const { p50, p90, p99, p999, max } = calls;
    rows.push([`${durationText(windowMs)}${isCoarse ? ' *' : ''}`, ...[p50, p90, p99, p999, max].map(countWords)]);
  }
  const lines = tableLines(rows);
  if (distribution.windows.some(({ isCoarse }) => isCoarse)) lines.push('* shorter than the tick: counted by the tick');
  const shownMs = limits.neverRefused[0]?.windowMs;
  const shown = distribution.windows.find(({ windowMs }) => windowMs === shownMs);
  if (shown === undefined || shown.bins.length < 2) return lines;
  return [...lines, '', `Clients by their most calls in ${windowWords(shown.windowMs)}`, ...histogramLines(shown.bins)];
}

/** Few clients among many are still to be seen: a bar is as long as the root of what it stands for. */
function histogramLines(all: readonly Bin[]): string[] {
  const bins = withoutGaps(all);
  const most = Math.max(...bins.map(({ clients }) => clients));
  const barOf = (clients: number) => '█'.repeat(Math.ceil(barColumns * Math.sqrt(clients / most)));
  const rangeOf = ({ from, below }: Bin) =>
    below - from <= 1 ? countWords(from) : `${countWords(from)} to ${countWords(below - 1)}`;
  const [ranges, counts] = [bins.map(rangeOf), bins.map(({ clients }) => countWords(Math.round(clients)))];
  const widths = [ranges, counts].map((texts) => Math.max(...texts.map(({ length }) => length)));
  return bins.map((bin, i) =>
    `${ranges[i]!.padStart(widths[0]!)}  ${counts[i]!.padStart(widths[1]!)} ${barOf(bin.clients)}`.trimEnd(),
  );
}

/** Bins without anybody, side by side, are one. */
function withoutGaps(bins: readonly Bin[]): Bin[] {
  const joined: Bin[] = [];
  for (const bin of bins) {
    const last = joined.at(-1);
    if (last?.clients === 0 && bin.clients === 0) joined[joined.length - 1] = { ...last, below: bin.below };
    else joined.push(bin);
  }
  return joined;
}

function burstLines({ bursts }: TuneReport, top: number): string[] {
  return bursts.flatMap(({ windowMs, bursts: found }, i) => {
    const rows: Row[] = [[`in ${windowWords(windowMs)}`, 'calls', 'at', 'after silence of']];
    for (const { client, calls, startMs, silenceMs } of found.slice(0, top)) {
      const silence = silenceMs === undefined ? 'its first' : spanText(silenceMs);
      rows.push([nameText(client), countWords(calls), momentText(startMs), silence]);
    }
    return [...(i === 0 ? [] : ['']), ...tableLines(rows)];
  });
}

function separationLines({ separation }: TuneReport, top: number): string[] {
  if (!separation.isClear) return paragraph(separation.reason);
  const { windowMs, above, below, ratio, limit, clientsAbove, clientsAboveRatio, callsAboveRatio, abusers } =
    separation;
  const who = countedWords(clientsAbove, 'client');
  const rows: Row[] = [
    ['client', `most in ${windowWords(windowMs)}`, 'calls'],
    ...abusers.slice(0, top).map(({ client, peak, calls }) => [nameText(client), countWords(peak), countWords(calls)]),
  ];
  return [
    ...paragraph(
      `${who} (${percentWords(clientsAboveRatio)} of all, with ${percentWords(callsAboveRatio)} of the calls) ${clientsAbove === 1 ? 'makes' : 'make'} at least ` +
        `${rateWords(above.peak, windowMs)} at the busiest; all others at most ${rateWords(below.peak, windowMs)}, ` +
        `${ratio.toFixed(1)} times less. A limit of ${rateWords(limit, windowMs)} is between them.`,
    ),
    ...tableLines(rows),
  ];
}

function askedSection(
  { whatIf, replay, replayNote, notes }: AskedReport,
  about: string,
  top: number,
): [title: string, lines: string[]] {
  const { policy } = whatIf;
  const lines = [...outcomeLines(whatIf, about), ...notes.flatMap(paragraph)];
  if (whatIf.mostRefused.length > 0) lines.push('', ...tableLines(refusedRows(whatIf, top)));
  if (replayNote !== undefined) lines.push('', ...paragraph(replayNote));
  if (replay !== undefined) lines.push(...routeLines(replay, replayNote === undefined, top));
  return [`What ${policy.algorithm}, ${policyWords(policy)}, would have refused`, lines];
}

/** `isSame`: the lines say what the trace says. Otherwise counts would contradict those above, and only shares are told. */
function routeLines({ refusedCalls, routes, statuses }: PolicyReplayReport, isSame: boolean, top: number): string[] {
  const lines: string[] = [];
  const shareOf = (count: number) => percentWords(count / Math.max(1, refusedCalls));
  if (routes.length > 0) {
    const rows = routes.slice(0, top).map(({ name, count, error }): Row => {
      const [counted, share] = [countWords(count), shareOf(count)].map((text) =>
        error > 0 ? `at most ${text}` : text,
      );
      return [nameText(name, 60), ...(isSame ? [counted!] : []), share!];
    });
    const heads = ['route', ...(isSame ? ['refused'] : []), 'of all refused'];
    lines.push('', ...tableLines([heads, ...rows]));
  }
  const known = statuses.filter(({ status }) => status > 0).slice(0, top);
  if (known.length > 0) {
    const texts = known.map((each) => `${each.status} ${shareOf(each.refusedCalls)}`);
    lines.push('', ...paragraph(`What the log says of them: ${texts.join(', ')}.`));
  }
  return lines;
}

function outcomeLines(found: WhatIf, about: string): string[] {
  const { refusedCalls, calls, refusedCallRatio, refusedClients, clients, refusedClientRatio, worstWindow } = found;
  const whole = (count: number) => countWords(Math.round(count));
  const lines = [
    `calls    ${about}${whole(refusedCalls)} of ${whole(calls)}, ${percentWords(refusedCallRatio)}`,
    `clients  ${about}${countWords(refusedClients)} of ${countWords(clients)}, ${percentWords(refusedClientRatio)}`,
  ];
  // Sums of what stands for more than itself round.
  if (Math.abs(found.cost - calls) > 1e-9 * calls)
    lines.push(
      `cost     ${about}${countWords(found.refusedCost)} of ${countWords(found.cost)}, ${percentWords(found.refusedCostRatio)}`,
    );
  if (found.delayedCalls > 0)
    lines.push(
      `delayed  ${about}${countedWords(Math.round(found.delayedCalls), 'call')}, by up to ${windowWords(Math.ceil(found.delayMsMax))}`,
    );
  lines.push(
    `passed   at most ${countWords(worstWindow.cost)} of one client in any ${durationText(found.policy.window ?? 1)}, where the limit is ${countWords(worstWindow.limit)}`,
  );
  if (refusedCalls > 0) lines.push(`when     ${sparkline(found)}  ${momentText(found.overTime.startMs)} on`);
  return lines;
}

const levels = ' ▁▂▃▄▅▆▇█';

/** Refusals over time; the fullest slice is a full block, and whatever is not 0 is seen. */
function sparkline({ overTime: { refusedCalls } }: WhatIf): string {
  const most = Math.max(...refusedCalls);
  return Array.from(refusedCalls, (count) => levels[Math.ceil((count / most) * (levels.length - 1))]).join('');
}

function refusedRows({ mostRefused }: WhatIf, top: number): Row[] {
  const rows = mostRefused
    .slice(0, top)
    .map(
      (client): Row => [
        nameText(client.name),
        countWords(client.refusedCalls),
        countWords(client.calls),
        momentText(client.firstRefusedMs).replace(/^\d{4}-/, ''),
        client.blockedMsMax === 0 ? '-' : spanText(client.blockedMsMax),
      ],
    );
  return [['client', 'refused', 'of its calls', 'first', 'blocked for'], ...rows];
}

function limitsTitle({ limits: { refuse } }: TuneReport): string {
  return `The smallest limits that refuse at most ${percentWords(refuse.share)} of the ${refuse.of}`;
}

function nameOfLimit({ algorithm, variant }: Pick<LimitRow, 'algorithm' | 'variant'>): string {
  return variant === '' ? algorithm : `${algorithm}, ${variant}`;
}

function limitLines({ limits }: TuneReport): string[] {
  const rows: Row[] = [['algorithm', 'limit', 'calls refused', 'clients refused', 'calls delayed']];
  const rowOf = (row: LimitRow): Row => [
    nameOfLimit(row),
    `${countWords(row.limit)}/${durationText(row.windowMs)}`,
    percentWords(row.refusedCallRatio),
    percentWords(row.refusedClientRatio),
    row.delayedCallRatio > 0 ? percentWords(row.delayedCallRatio) : '',
  ];
  let windowMs = limits.rows[0]?.windowMs;
  for (const row of limits.rows) {
    if (row.windowMs !== windowMs) rows.push(rows[0]!.map(() => ''));
    windowMs = row.windowMs;
    rows.push(rowOf(row));
  }
  const lines = limits.rows.length === 0 ? [] : tableLines(rows);
  if (limits.withoutLimit.length > 0) {
    const none = limits.withoutLimit.map((each) => `${nameOfLimit(each)}, in ${windowWords(each.windowMs)}`);
    lines.push(...paragraph(`No limit does, however large, of ${none.join('; ')}.`));
  }
  for (const { windowMs: ms, quantiles } of limits.neverRefused) {
    const enough = quantiles.map(
      ({ ratio, limit }) => `${countWords(limit)} for ${ratio === 1 ? 'all' : percentWords(ratio)}`,
    );
    lines.push(
      ...paragraph(`Never refused in ${windowWords(ms)} by an exact log: ${enough.join(', ')} of the clients.`),
    );
  }
  const { clients, ofClients, oneIn } = limits.sample;
  if (oneIn > 1)
    lines.push(
      ...paragraph(
        `Looked for with ${countWords(clients)} of ${countWords(ofClients)} clients: the busiest, and one in ${oneIn} of the others.`,
      ),
    );
  lines.push(
    ...paragraph(
      `Not tried: ${limits.notTried.map(({ algorithm, reason }) => `${algorithm} (${reason})`).join(', ')}.`,
    ),
  );
  return lines;
}

function adviceLines(report: TuneReport): string[] {
  const { policy, reasons, warnings, refuses } = report.advice;
  return [
    `${policy.algorithm}, ${policyWords(policy)}`,
    ...reasons.flatMap(paragraph),
    ...paragraph(
      `On this log it would have refused ${aboutIn(report)}${percentWords(refuses.refusedCallRatio)} of the calls and ${percentWords(refuses.refusedClientRatio)} of the clients.`,
    ),
    ...warnings.flatMap((warning) => paragraph(`Mind: ${warning}`)),
  ];
}
