/** One use in a history. When exactly it happened may be known, or only between which two moments. */
import { checkTime } from '../../vocabulary/clock.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { checkCost } from '../../vocabulary/policy.ts';

export interface GrantedUse {
  readonly key: string;
  /** Default 1. */
  readonly cost?: number;
  /** When the place was given back (or its lease ended). Only for `concurrency`, and there it must be known. */
  readonly endMs?: number;
}

/** A use at a known moment. */
export interface GrantAt extends GrantedUse {
  readonly atMs: number;
  readonly sentMs?: undefined;
  readonly receivedMs?: undefined;
}

/** A use at some moment from `sentMs` to `receivedMs`: all that whoever asked over a network can say. */
export interface GrantBetween extends GrantedUse {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly atMs?: undefined;
}

export type Grant = GrantAt | GrantBetween;

/** The earliest moment of a use. */
export function earliestMs({ atMs, sentMs }: Grant): number {
  return checkTime((atMs ?? sentMs) as number, atMs === undefined ? 'sentMs' : 'atMs');
}

/** The latest moment of a use. */
export function latestMs(grant: Grant): number {
  if (grant.atMs !== undefined) return grant.atMs;
  const { sentMs, receivedMs } = grant;
  if (checkTime(receivedMs, 'receivedMs') < sentMs)
    throw invalid('receivedMs', `no earlier than sentMs (${sentMs})`, receivedMs);
  return receivedMs;
}

export function costOf({ cost = 1 }: Grant): number {
  return checkCost(cost);
}
