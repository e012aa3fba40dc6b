/**
 * A rule to begin with, and why.
 *
 *      few clients far above the rest?  ──► yes: a limit between them
 *                                      └──► no:  the limit that refuses no more than was allowed for
 *      then the burst: no more than those need who are to pass; and what all of it would have refused, by the library itself
 *
 * It is what the log says, not what is right: a log knows who called, not who should have.
 */
import { type GcraPolicy, gcra } from 'sluice';
import type { Trace } from '../trace/trace.ts';
import { neededBurstsByClient } from './bursts.ts';
import { clientRuns } from './client-runs.ts';
import type { Distribution } from './distribution.ts';
import { largestLimit } from './limit-steps.ts';
import { limitsFor, type RefuseShare } from './limits.ts';
import { roundUp } from './round-up.ts';
import type { Separation } from './separation.ts';
import { type WhatIf, whatIf } from './what-if.ts';
import { countedWords, countWords, percentWords, rateWords, spanText, windowWords } from './words.ts';

export interface AdviceOptions {
  /** What the log was read by: `'ip'`, `'user'`, `'all'`, `'user+route'`, ... Default `'ip'`. */
  readonly key?: string | undefined;
  /** The field that `route` stands for in the key, where the log was read by another than method and path. */
  readonly route?: string | undefined;
  /** What the costs are of: the field that they were read from. Default: each call costs 1. */
  readonly cost?: string | undefined;
  /** By networks of so many bits the log was read. Default 56, as rules do it. */
  readonly ipv6Subnet?: number | undefined;
  /** Where nothing separates the clients: what may be refused. Default a thousandth of the calls. */
  readonly refuse?: RefuseShare | undefined;
  /** Default: that of the separation, else a minute, or less where the log is short. */
  readonly windowMs?: number | undefined;
}

export interface Advice {
  readonly name: string;
  /** As rules have it. */
  readonly key: string | readonly string[];
  /** Undefined: each call costs 1. Otherwise what each check has to bring as its cost. */
  readonly cost: string | undefined;
  /** What the configuration must say beside the rule; undefined: nothing, its default is right. */
  readonly ipv6Subnet: number | undefined;
  readonly policy: GcraPolicy;
  readonly basis: 'separation' | 'share';
  /** Sentences. */
  readonly reasons: readonly string[];
  /** What to keep in mind; sentences. */
  readonly warnings: readonly string[];
  /** What the rule would have refused. */
  readonly refuses: WhatIf;
}

const usualShare: RefuseShare = { share: 0.001, of: 'calls' };
const usualSubnet = 56;

/** ` of bytes`, behind a number of them; nothing where it is calls that are counted. */
function unitWords(cost: string | undefined): string {
  return cost === undefined ? '' : ` of ${cost}`;
}

export function advise(
  trace: Trace,
  distribution: Distribution,
  separation: Separation,
  options: AdviceOptions = {},
): Advice {
  const { key = 'ip', route, cost, ipv6Subnet = usualSubnet } = options;
  const found = limitOf(trace, distribution, separation, options);
  const { policy, refuses, reason } = withBurst(trace, found, options.refuse ?? usualShare, unitWords(cost));
  const reasons = [
    ...found.reasons,
    reason,
    'gcra, because it is exact, lets an idle client burst and then keeps an even pace, and takes two numbers per client.',
  ];
  return {
    name: `per-${key.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'client'}`,
    key: keyOf(key, route),
    cost,
    ipv6Subnet: ipv6Subnet === usualSubnet ? undefined : ipv6Subnet,
    policy,
    basis: found.basis,
    reasons,
    warnings: warningsOf(trace, distribution, found.windowMs),
    refuses,
  };
}

interface FoundLimit {
  readonly limit: number;
  readonly windowMs: number;
  readonly basis: Advice['basis'];
  readonly reasons: readonly string[];
}

function limitOf(trace: Trace, distribution: Distribution, separation: Separation, options: AdviceOptions): FoundLimit {
  // The gap is one of calls; where calls have costs, a limit is about those.
  if (separation.isClear && isOfCalls(trace) && (options.windowMs ?? separation.windowMs) === separation.windowMs) {
    const { windowMs, limit, above, below, clientsAbove, clientsAboveRatio, callsAboveRatio, ratio } = separation;
    const who = `${countedWords(clientsAbove, 'client')} ${clientsAbove === 1 ? 'stands' : 'stand'}`;
    return {
      limit,
      windowMs,
      basis: 'separation',
      reasons: [
        `${who} out (${percentWords(clientsAboveRatio)} of the clients, ${percentWords(callsAboveRatio)} of the calls): at least ${rateWords(above.peak, windowMs)} at their busiest.`,
        `All others stay at or below ${rateWords(below.peak, windowMs)}, ${ratio.toFixed(1)} times less. The limit is between the two.`,
      ],
    };
  }
  const { refuse = usualShare } = options;
  const windowMs = options.windowMs ?? fittingWindowMs(trace, distribution);
  const [row] = limitsFor(trace, { windowsMs: [windowMs], refuse, algorithms: ['token-bucket'] }).rows;
  const limit = row === undefined ? largestLimit : roundUp(row.limit);
  const rounded = limit === row?.limit ? '' : `; rounded up, ${countWords(limit)}`;
  const rate = rateWords(row?.limit ?? limit, windowMs, unitWords(options.cost));
  const share = `at most ${percentWords(refuse.share)} of the ${refuse.of}`;
  const reason = separation.isClear
    ? ''
    : `${separation.reason.replace(/\.$/, '')}, so the limit follows from what may be refused.`;
  return {
    limit,
    windowMs,
    basis: 'share',
    reasons: [
      ...(reason === '' ? [] : [reason]),
      row === undefined
        ? `No limit refuses ${share}: ${rate} is the largest that there is, and refuses more.`
        : `${rate} is the smallest limit that refuses ${share}${rounded}.`,
    ],
  };
}

function isOfCalls({ length, calls, costs }: Trace): boolean {
  for (let entry = 0; entry < length; entry += 1) if (costs[entry] !== calls[entry]) return false;
  return true;
}

const minuteMs = 60_000;

/** A window that the log holds several of, and that its clock can tell. */
function fittingWindowMs({ tickMs }: Trace, { spanMs }: Distribution): number {
  const windowMs = [minuteMs, 10_000, 1000].find((ms) => ms * 5 <= spanMs) ?? 1000;
  return Math.max(windowMs, tickMs > 1000 ? tickMs * 10 : 0);
}

/** A log is one day of many. */
const burstHeadroom = 2;

/**
 * Those who stay within the limit in every window are to pass: twice what the neediest of them needs, and more where those above the limit would
 * otherwise be refused more often than was allowed for.
 */
function withBurst(trace: Trace, { limit, windowMs, basis }: FoundLimit, refuse: RefuseShare, unit: string) {
  const needed = neededBurst(trace, limit, windowMs);
  const first = Math.min(limit, roundUp(burstHeadroom * (needed ?? largestCost(trace))));
  for (let burst = first; ; burst = Math.min(limit, roundUp(2 * burst))) {
    const policy = gcra({ limit, window: windowMs, burst });
    const refuses = whatIf(trace, policy);
    const refused = refuse.of === 'calls' ? refuses.refusedCallRatio : refuses.refusedClientRatio;
    const isEnough = basis !== 'share' || refused <= refuse.share;
    if (burst < limit && !isEnough) continue;
    return { policy, refuses, reason: burstReason(needed, { burst, first, limit, unit, isEnough }) };
  }
}

interface Bursts {
  readonly burst: number;
  readonly first: number;
  readonly limit: number;
  readonly unit: string;
  /** With it, no more is refused than was allowed for. */
  readonly isEnough: boolean;
}

function burstReason(needed: number | undefined, { burst, first, limit, unit, isEnough }: Bursts): string {
  if (needed === undefined && !isEnough)
    return 'Every client is above the limit in some window; the burst is the limit.';
  if (needed === undefined)
    return 'Every client is above the limit in some window. What it left unused before makes up for that: with this burst no more is refused than was allowed for.';
  if (first === limit) return 'Those who stay within the limit need so much of it at once that the burst is the limit.';
  if (burst === limit) return 'A burst smaller than the limit would refuse more than that, so the burst is the limit.';
  const enough = `At that pace, none of those who stay within the limit needed more than ${countWords(needed)}${unit} at once`;
  if (burst === first) return `${enough}; the burst is twice that, rounded up.`;
  return `${enough}; the burst is larger, so that the others are not refused more often than that.`;
}

/** What the neediest of those who stay within the limit needs at once; undefined where there is nobody. */
function neededBurst(trace: Trace, limit: number, windowMs: number): number | undefined {
  const peaks = clientRuns(trace).peaks(windowMs);
  const needed = neededBurstsByClient(trace, { limit, windowMs });
  let most: number | undefined;
  for (const [client, peak] of peaks.entries()) if (peak <= limit) most = Math.max(most ?? 1, needed[client]!);
  return most;
}

function largestCost({ length, calls, costs }: Trace): number {
  let largest = 1;
  for (let entry = 0; entry < length; entry += 1) largest = Math.max(largest, costs[entry]! / calls[entry]!);
  return largest;
}

function keyOf(key: string, route: string | undefined): string | readonly string[] {
  const routeFields = route === undefined ? ['method', 'path'] : [route];
  const fields = key.split('+').flatMap((part) => (part.trim() === 'route' ? routeFields : [part.trim()]));
  return fields.length === 1 ? fields[0]! : fields;
}

function warningsOf({ tickMs, clientList }: Trace, { spanMs, clients }: Distribution, windowMs: number): string[] {
  const warnings: string[] = [];
  if (spanMs < 10 * windowMs)
    warnings.push(`The log covers only ${spanText(spanMs)}: what a day or a week brings is not in it.`);
  if (tickMs >= 1000)
    warnings.push(
      `Its calls are known to ${windowWords(tickMs)}: calls within one count as if they came at once, and need more burst than they did.`,
    );
  if (clients > clientList.count)
    warnings.push('The log did not fit: of clients that call little, some stand for the others.');
  return warnings;
}
