/** Everything that a plan needs to know of a machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { thisMachine } from '../../load/measure-machine.ts';
import { processUsage } from '../../load/process-usage.ts';
import { startServiceProcess } from '../../load/service-process.ts';
import { programs } from '../../programs.ts';
import { version } from '../../version.ts';
import {
  type ClientFigures,
  type EtcdFigures,
  type PlanFigures,
  planFiguresFormat,
  type StoreFigures,
} from '../plan-figures.ts';
import type { Client, PlanPolicy } from '../plan-question.ts';
import { busyWithOthers } from './machine-use.ts';
import { measureClient } from './measure-clients.ts';
import { mustAnswer } from './measure-etcd.ts';
import { measureOwned } from './measure-owned.ts';
import type { StoreOrder } from './store-figures.ts';

export interface FiguresOrder {
  readonly clients: readonly Client[];
  readonly policy: PlanPolicy;
  readonly keyBytes: number;
  /** Undefined: no stores are measured, which takes knowing the limit of the plan and its users. */
  readonly store?: StoreOrder;
  readonly seconds: number;
  /** Members of etcd, e.g. `http://10.0.0.1:2379`; with them, a node of the owned cluster is measured too. */
  readonly etcd: readonly string[];
  /** Told what comes next. */
  progress(text: string): void;
}

const maxKeys = 1_000_000;

export async function measureFigures(order: FiguresOrder): Promise<PlanFigures> {
  const { policy, keyBytes, seconds, progress } = order;
  const date = new Date().toISOString();
  if (order.etcd.length > 0) await mustAnswer(order.etcd);
  const othersRatio = await busyWithOthers();
  const beginMs = performance.now();
  const service = await startServiceProcess({ workers: 1, maxKeys, policy });
  const startMs = performance.now() - beginMs;
  const clients: ClientFigures[] = [];
  let idleRssBytes: number;
  let etcd: EtcdFigures | undefined;
  try {
    idleRssBytes = (await processUsage(service.pid)).rssBytes;
    for (const client of order.clients) clients.push(await measureClient(service, { ...order, client }));
    if (order.etcd.length > 0) etcd = await measureOwned(order, service);
  } finally {
    await service.stop();
  }
  const stores = order.store === undefined ? [] : [await measureStoresApart(order.store, progress)];
  return {
    kind: 'sluice-plan',
    format: planFiguresFormat,
    version,
    date,
    machine: thisMachine(),
    othersRatio,
    policy,
    keyBytes,
    secondsPerMeasurement: seconds,
    clients,
    stores,
    idleRssBytes,
    startMs,
    etcd,
  };
}

const run = promisify(execFile);
const longestMs = 600_000;

export async function measureStoresApart(order: StoreOrder, progress: (text: string) => void): Promise<StoreFigures> {
  progress(`bytes of a key: ${order.policy.algorithm}, ${Math.round(order.checksPerKey)} checks of each in a window`);
  const args = ['--expose-gc', '--max-old-space-size=8192', programs.store, JSON.stringify(order)];
  const { stdout } = await run(process.execPath, args, { timeout: longestMs });
  return JSON.parse(stdout) as StoreFigures;
}
