/** What was measured on a machine for a plan: plain data, saved by `sluice plan --save` and read by `--figures`. */
import type { Machine } from '../load/machine-figures.ts';
import type { Client, PlanPolicy } from './plan-question.ts';

/** Goes up when a field changes its meaning. */
export const planFiguresFormat = 2;

export interface PlanFigures {
  readonly kind: 'sluice-plan';
  readonly format: typeof planFiguresFormat;
  readonly version: string;
  /** ISO 8601, when it began. */
  readonly date: string;
  readonly machine: Machine;
  /** The share of the machine, 0 to 1, that others used before it began: what was measured then is worse than it need be. */
  readonly othersRatio: number;
  /** What the service was asked to decide. */
  readonly policy: PlanPolicy;
  readonly keyBytes: number;
  readonly secondsPerMeasurement: number;
  readonly clients: readonly ClientFigures[];
  readonly stores: readonly StoreFigures[];
  /** Of a service with no keys yet. */
  readonly idleRssBytes: number;
  /** From the start of its process until it listens. */
  readonly startMs: number;
  readonly etcd?: EtcdFigures | undefined;
}

export interface ClientFigures {
  readonly client: Client;
  /** As fast as it goes, by how many checks a connection has under way: from one on. */
  readonly atMost: readonly SpeedFigures[];
  /** One check under way for each connection, evenly spaced, at a part of what was reached. */
  readonly atLoad: LatencyAtLoad;
  /** The same with hardly anything to do: what a check takes that never waits for another. */
  readonly idleP50Ms: number;
  /** Of one check, without the headers of packets. */
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly errors: number;
}

export interface SpeedFigures {
  readonly pipelined: number;
  readonly checksPerSecond: number;
  /** Of the service, all its threads, for one check. */
  readonly processorUs: number;
}

export interface LatencyAtLoad {
  readonly checksPerSecond: number;
  readonly processorUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** By how much the generator itself was late: no part of what the service took. */
  readonly sentLateP99Ms: number;
}

/** Stores as a node keeps them, one for each shard, filled with keys that have been asked about as often as in the plan. */
export interface StoreFigures {
  readonly policy: PlanPolicy;
  readonly keyBytes: number;
  readonly keysPerStore: number;
  readonly checksPerKey: number;
  readonly stores: number;
  readonly bytesPerKey: number;
  /** Of a hand-over: its text, and the time to write and to read it. */
  readonly snapshotBytesPerKey: number;
  readonly snapshotUsPerKey: number;
  readonly restoreUsPerKey: number;
  /** Of one grant that is told to a copy: its text, and the time it takes the owner and the copy. */
  readonly stepBytes: number;
  readonly stepOwnerUs: number;
  readonly stepStandbyUs: number;
  /** Of each shard that such a message is about, beside its grants. */
  readonly entryBytes: number;
  readonly entryOwnerUs: number;
  readonly entryStandbyUs: number;
}

export interface EtcdFigures {
  /** Of a transaction as a renewal is one, one after the other. */
  readonly transactionP50Ms: number;
  readonly transactionP99Ms: number;
  /** Many under way. */
  readonly transactionsPerSecond: number;
  /** Records that such transactions read, many at a time. */
  readonly recordsPerSecond: number;
  /** What a node of a cluster spends beyond a plain service, on a read of the smart client's and on each check in it. */
  readonly ownedReadUs: number;
  readonly ownedCheckUs: number;
}

/** The figures of a file, or why it has none. */
export function readPlanFigures(text: string): PlanFigures | string {
  let data: Partial<PlanFigures> | null;
  try {
    data = JSON.parse(text) as Partial<PlanFigures> | null;
  } catch (error) {
    return `it is not JSON: ${(error as Error).message}`;
  }
  if (data?.kind !== 'sluice-plan') return 'it was not written by "sluice plan --save"';
  if (data.format !== planFiguresFormat)
    return `its format is ${data.format}, and this version reads ${planFiguresFormat}`;
  if (!Array.isArray(data.clients) || !Array.isArray(data.stores) || data.policy === undefined)
    return 'a part is missing';
  return data as PlanFigures;
}
