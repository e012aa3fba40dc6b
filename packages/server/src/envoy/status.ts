/** What Envoy is told of each descriptor, and what it may add to its response. */
import type { Decision } from 'sluice';
import type { Asked, Limited } from './asked-descriptor.ts';
import { largestUint32 } from './load-limit.ts';
import type { DescriptorStatus, HeaderValue } from './rate-limit-message.ts';
import { secondsUntilNext } from './unit.ts';

const unmatched: DescriptorStatus = Object.freeze({ code: 'OK', limitRemaining: 0 });
const unlimited: DescriptorStatus = Object.freeze({ code: 'OK', limitRemaining: largestUint32 });

/** Where no store was asked. */
export function statusWithoutLimit({ kind }: Asked): DescriptorStatus {
  return kind === 'unlimited' ? unlimited : unmatched;
}

export function statusOf({ rate, limit }: Limited, decision: Decision, nowMs: number): DescriptorStatus {
  return {
    code: decision.allowed || limit?.isShadow ? 'OK' : 'OVER_LIMIT',
    currentLimit: rate.current,
    // Nothing, where these hits are too many: also where fewer of them would have passed.
    limitRemaining: decision.allowed ? Math.min(decision.remaining, largestUint32) : 0,
    durationUntilResetSeconds: secondsUntilReset(rate, decision, nowMs),
  };
}

/** A fixed window ends when it ends; elsewhere it is the wait until the hits would pass, or until all is as new. */
function secondsUntilReset({ unit, policy }: Limited['rate'], decision: Decision, nowMs: number): number {
  if (policy.algorithm === 'fixed-window') return secondsUntilNext(unit, nowMs);
  const { allowed, retryAfterMs, resetAfterMs } = decision;
  return Math.ceil((allowed || !Number.isFinite(retryAfterMs) ? resetAfterMs : retryAfterMs) / 1000);
}

/** Headers about the limit that is over, the last of several; else about the one with the least left, the first of several. */
export function headersOf(asked: readonly Asked[], statuses: readonly DescriptorStatus[]): HeaderValue[] {
  let tightest: DescriptorStatus | undefined;
  statuses.forEach((status, place) => {
    if (status.currentLimit === undefined) return;
    const one = asked[place]!;
    const isQuota = one.kind === 'limited' && one.limit?.isQuota;
    const isOver = status.code === 'OVER_LIMIT' && !isQuota;
    if (isOver || status.limitRemaining < (tightest?.limitRemaining ?? largestUint32)) tightest = status;
  });
  if (tightest === undefined) return [];
  const { currentLimit, limitRemaining, durationUntilResetSeconds } = tightest;
  return [
    { key: 'RateLimit-Limit', value: String(currentLimit!.requestsPerUnit) },
    { key: 'RateLimit-Remaining', value: String(limitRemaining) },
    { key: 'RateLimit-Reset', value: String(durationUntilResetSeconds) },
  ];
}

type Data = Readonly<Record<string, unknown>>;

/** The configured `metadata` of what is not over, under the name that Envoy configurations look for it. */
export function metadataOf(asked: readonly Asked[], statuses: readonly DescriptorStatus[]): Data | undefined {
  let merged: Data | undefined;
  asked.forEach((one, place) => {
    const own = one.kind === 'limited' && statuses[place]?.code === 'OK' ? one.limit?.metadata : undefined;
    if (own) merged = merged ? merge(merged, own) : own;
  });
  return merged && { metadata: merged };
}

/** What came first stays; maps of the same name are merged in turn. */
function merge(first: Data, second: Data): Data {
  const added = Object.entries(second).map(([name, value]): [string, unknown] => {
    if (!Object.hasOwn(first, name)) return [name, value];
    const known = first[name];
    return [name, isMap(known) && isMap(value) ? merge(known, value) : known];
  });
  return Object.fromEntries([...Object.entries(first), ...added]);
}

function isMap(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
