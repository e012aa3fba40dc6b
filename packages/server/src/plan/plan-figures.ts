/** What was measured on a machine for a plan: plain data, saved by `sluice plan --save` or `sluice bench --json` and read by `--figures`. */
import {
  exactly,
  type Fields,
  listOf,
  object,
  orAbsent,
  type Shape,
  text as someText,
} from '../cluster/peers/shape.ts';
import type { Machine, MachineFigures } from '../load/machine-figures.ts';
import { type Client, clients, type PlanPolicy } from './plan-question.ts';

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

/** What `sluice bench --json` writes. */
export interface BenchFile extends MachineFigures {
  readonly plan: PlanFigures;
}

/** With what it is instead: a file of figures is long, and edited by hand at times. */
function shown(shape: Shape): Shape {
  return (value) => {
    const wrong = shape(value);
    return wrong?.startsWith(' ') ? `${wrong}, got ${JSON.stringify(value)?.slice(0, 60) ?? 'nothing'}` : wrong;
  };
}

const numberThat =
  (isRight: (value: number) => boolean, mustBe: string): Shape =>
  (value) =>
    Number.isFinite(value) && isRight(value as number) ? undefined : ` must be ${mustBe}`;

const above0 = shown(numberThat((value) => value > 0, 'a number above 0'));
const from0 = shown(numberThat((value) => value >= 0, 'a number from 0 on'));
const word = shown(someText);
const fields = <T>(of: Fields<T>): Shape => shown(object<T>(of));
const some = (shape: Shape): Shape => {
  const list = listOf(shape);
  return shown((value) => (Array.isArray(value) && value.length === 0 ? ' must have an entry' : list(value)));
};

const policyShape = fields<PlanPolicy>({ algorithm: word, limit: above0, window: above0 });

const clientShape = fields<ClientFigures>({
  client: shown(exactly(...clients)),
  atMost: some(fields<SpeedFigures>({ pipelined: above0, checksPerSecond: above0, processorUs: above0 })),
  atLoad: fields<LatencyAtLoad>({
    checksPerSecond: above0,
    processorUs: above0,
    p50Ms: from0,
    p99Ms: from0,
    sentLateP99Ms: from0,
  }),
  idleP50Ms: from0,
  requestBytes: above0,
  replyBytes: above0,
  errors: from0,
});

const storeShape = fields<StoreFigures>({
  policy: policyShape,
  keyBytes: above0,
  keysPerStore: above0,
  checksPerKey: above0,
  stores: above0,
  bytesPerKey: above0,
  snapshotBytesPerKey: from0,
  snapshotUsPerKey: from0,
  restoreUsPerKey: from0,
  stepBytes: from0,
  stepOwnerUs: from0,
  stepStandbyUs: from0,
  entryBytes: from0,
  entryOwnerUs: from0,
  entryStandbyUs: from0,
});

const etcdShape = fields<EtcdFigures>({
  transactionP50Ms: from0,
  transactionP99Ms: from0,
  transactionsPerSecond: above0,
  recordsPerSecond: above0,
  ownedReadUs: from0,
  ownedCheckUs: from0,
});

const figuresShape = fields<PlanFigures>({
  kind: word,
  format: above0,
  version: word,
  date: word,
  machine: fields<Machine>({
    cpuModel: word,
    cores: above0,
    memoryBytes: above0,
    platform: word,
    architecture: word,
    nodeVersion: word,
  }),
  othersRatio: shown(numberThat((value) => value >= 0 && value <= 1, 'a number from 0 to 1')),
  policy: policyShape,
  keyBytes: above0,
  secondsPerMeasurement: above0,
  clients: shown(listOf(clientShape)),
  stores: shown(listOf(storeShape)),
  idleRssBytes: above0,
  startMs: above0,
  etcd: orAbsent(etcdShape),
});

/** The figures of a file, or why it has none. */
export function readPlanFigures(text: string): PlanFigures | string {
  let file: Partial<PlanFigures> | Partial<BenchFile> | null;
  try {
    file = JSON.parse(text) as typeof file;
  } catch (error) {
    return `it is not JSON: ${(error as Error).message}`;
  }
  const data = file?.kind === 'sluice-bench' ? file.plan : file;
  if (data === undefined)
    return 'it is of a "sluice bench" that did not measure what a plan reads; write it again with "sluice bench --json"';
  if (data?.kind !== 'sluice-plan')
    return 'it was written neither by "sluice plan --save" nor by "sluice bench --json"';
  if (data.format !== planFiguresFormat)
    return `its format is ${data.format}, and this version reads ${planFiguresFormat}`;
  const wrong = figuresShape(data);
  if (wrong !== undefined)
    return `${wrong.slice(1)}: what was measured is damaged; measure again, with "sluice plan --save" or "sluice bench --json"`;
  return data as PlanFigures;
}
