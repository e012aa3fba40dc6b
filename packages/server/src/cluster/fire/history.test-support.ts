/**
 * What callers saw: every call, when it was sent, when its answer came, and what became of it. The judgements that are made of it know
 * nothing of the cluster.
 */
import type { Policy } from 'sluice';
import { type AuditReport, audit, type Verdict } from 'sluice/testing';

/**
 * `failed`: no answer in time, or an error; whoever asked must take it for a refusal. `late`: after such a failure it was granted after all; nobody used
 * it, but it is spent.
 */
export type CallOutcome = 'granted' | 'refused' | 'failed' | 'late';

export interface RecordedCall {
  readonly key: string;
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly outcome: CallOutcome;
}

export interface Judgement {
  readonly calls: number;
  readonly grants: number;
  readonly violations: number;
  /** Refused, or not answered, though the key had budget left as far as its callers know. */
  readonly wronglyRefused: number;
  /** Of these, those that were not answered in time, or with an error. */
  readonly failed: number;
  /** Of what could have been granted. */
  readonly wronglyRefusedRatio: number;
  /** The longest that any of the keys with budget left was not granted anything. */
  readonly withoutServiceMs: number;
  /** The same of the key in the middle. */
  readonly withoutServiceMsMedian: number;
}

export interface Scope {
  readonly policy: Policy;
  readonly graceMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** By which the time without service is told: they are asked about less than their limit allows. */
  readonly keys: readonly string[];
}

/** By the interval in which the use must lie, and by the moment of the answer, which is when the callers really used it. */
export function audits(calls: readonly RecordedCall[], policy: Policy): Record<'between' | 'atReceipt', AuditReport> {
  const granted = calls.filter(({ outcome }) => outcome === 'granted');
  const verdict: Verdict = 'certain';
  return {
    between: audit(granted, policy, { verdict }),
    atReceipt: audit(
      granted.map(({ key, receivedMs }) => ({ key, atMs: receivedMs })),
      policy,
      { verdict },
    ),
  };
}

interface Span {
  /** For how long a grant counts. */
  readonly spanMs: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export function judge(calls: readonly RecordedCall[], scope: Scope): Judgement {
  const { fromMs, toMs, keys, policy } = scope;
  const spanMs = (policy.window ?? 0) + 2 * scope.graceMs;
  const inScope = calls.filter(({ sentMs, outcome }) => outcome !== 'late' && sentMs >= fromMs && sentMs < toMs);
  const byKey = groupedByKey(calls);
  const stretches: number[] = [];
  let wronglyRefused = 0;
  let failed = 0;
  for (const [key, own] of byKey) {
    const { wrong, wronglyFailed, longestMs } = reckon(own, policy.limit, { spanMs, fromMs, toMs });
    wronglyRefused += wrong;
    failed += wronglyFailed;
    if (keys.includes(key)) stretches.push(longestMs);
  }
  stretches.sort((a, b) => a - b);
  const { between, atReceipt } = audits(calls, policy);
  const grants = inScope.filter(({ outcome }) => outcome === 'granted').length;
  return {
    calls: inScope.length,
    grants,
    violations: Math.max(between.violationCount, atReceipt.violationCount),
    wronglyRefused,
    failed,
    wronglyRefusedRatio: wronglyRefused / Math.max(1, grants + wronglyRefused),
    withoutServiceMs: stretches.at(-1) ?? 0,
    withoutServiceMsMedian: stretches[Math.floor(stretches.length / 2)] ?? 0,
  };
}

function groupedByKey(calls: readonly RecordedCall[]): Map<string, RecordedCall[]> {
  const groups = new Map<string, RecordedCall[]>();
  for (const call of calls) {
    const group = groups.get(call.key);
    if (group) group.push(call);
    else groups.set(call.key, [call]);
  }
  for (const group of groups.values()) group.sort((a, b) => a.receivedMs - b.receivedMs);
  return groups;
}

/**
 * One key. A call was refused wrongly if fewer than `limit` were used in the time before it; as it would have been used, it counts like a grant from
 * then on, so that each unit of lost budget is counted once, however often it was asked for.
 */
function reckon(calls: readonly RecordedCall[], limit: number, { spanMs, fromMs, toMs }: Span) {
  const used = new Recent(spanMs);
  const due = new Recent(spanMs);
  let wrong = 0;
  let wronglyFailed = 0;
  let longestMs = 0;
  let sinceMs: number | undefined;
  for (const { sentMs, receivedMs, outcome } of calls) {
    if (outcome === 'granted' || outcome === 'late') {
      used.add(receivedMs);
      // What came late counts since it failed.
      if (outcome === 'granted') due.add(receivedMs);
      if (outcome === 'granted' && sinceMs !== undefined) {
        longestMs = Math.max(longestMs, receivedMs - sinceMs);
        sinceMs = undefined;
      }
      continue;
    }
    if (used.countAt(sentMs) >= limit) sinceMs = undefined;
    else if (sentMs >= fromMs && sentMs < toMs) sinceMs ??= sentMs;
    if (due.countAt(sentMs) >= limit || sentMs < fromMs || sentMs >= toMs) continue;
    due.add(receivedMs);
    wrong += 1;
    if (outcome === 'failed') wronglyFailed += 1;
  }
  // Not served again until the end of the history.
  const last = calls.at(-1);
  if (sinceMs !== undefined && last) longestMs = Math.max(longestMs, last.receivedMs - sinceMs);
  return { wrong, wronglyFailed, longestMs };
}

/** Moments, for as long as they matter. */
class Recent {
  private readonly spanMs: number;
  private readonly moments: number[] = [];

  constructor(spanMs: number) {
    this.spanMs = spanMs;
  }

  add(atMs: number): void {
    this.moments.push(atMs);
  }

  countAt(nowMs: number): number {
    while (this.moments[0] !== undefined && this.moments[0] <= nowMs - this.spanMs) this.moments.shift();
    return this.moments.length;
  }
}
