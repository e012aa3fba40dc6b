/** Checks per second and core, latencies and bytes of each kind of client, by the load generator against a service of its own. */
import type { LoadOrder, LoadReport } from '../../load/load-order.ts';
import { processUsage } from '../../load/process-usage.ts';
import { runGenerator } from '../../load/run-generator.ts';
import type { ServiceProcess } from '../../load/service-process.ts';
import type { ClientFigures, LatencyAtLoad, SpeedFigures } from '../plan-figures.ts';
import type { Client, PlanPolicy } from '../plan-question.ts';
import { dialogueOf, questionOf, usages } from './client-questions.ts';
import { type WireBytes, wireBytes } from './wire-bytes.ts';

export interface ClientOrder {
  readonly client: Client;
  readonly policy: PlanPolicy;
  readonly keyBytes: number;
  readonly seconds: number;
  progress(text: string): void;
}

const randomKeys = 100_000;
/** Of what was reached: busy enough that checks wait for each other, and not so busy that a neighbour on this machine decides. */
const loadRatio = 0.7;
const idleRatio = 0.02;

type To = Omit<LoadOrder, 'loop' | 'durationMs'>;

function ordersTo({ host, ports }: ServiceProcess, { client, policy, keyBytes }: ClientOrder): To {
  const question = questionOf(client, policy, keyBytes);
  const { connections } = usages[client];
  return {
    host,
    port: ports[question.protocol],
    question,
    connections,
    keys: randomKeys,
    keyOrder: 'random',
    warmUpMs: 0,
  };
}

export async function measureClient(service: ServiceProcess, order: ClientOrder): Promise<ClientFigures> {
  const { client, seconds, progress } = order;
  const to = ordersTo(service, order);
  const durationMs = 1000 * seconds;
  const bytes = await bytesOfCheck(service, order);
  const { atMost, errors } = await measureSpeed(service, order);
  const most = atMost[0]!.checksPerSecond;
  progress(`${client}: how long a check takes with little to do, and at ${100 * loadRatio} % of that`);
  const idle = await leastDisturbed(service, {
    ...to,
    loop: { kind: 'open', perSecond: rate(idleRatio * most) },
    durationMs,
  });
  const loop = { kind: 'open', perSecond: rate(loadRatio * most) } as const;
  const { report: loaded, processorUs } = await leastDisturbed(service, { ...to, loop, durationMs });
  return {
    client,
    atMost,
    atLoad: latencyAtLoad(loaded, processorUs),
    idleP50Ms: idle.report.p50Ms,
    ...bytes,
    errors: errors + idle.report.errors + loaded.errors,
  };
}

/** Rejects when the service does not decide. */
export function bytesOfCheck(service: ServiceProcess, order: ClientOrder): Promise<WireBytes> {
  const { host, port, question } = ordersTo(service, order);
  return wireBytes(dialogueOf(question, `${host}:${port}`), host, port);
}

export interface Speed {
  readonly atMost: readonly SpeedFigures[];
  readonly errors: number;
}

export async function measureSpeed(service: ServiceProcess, order: ClientOrder): Promise<Speed> {
  const { client, seconds, progress } = order;
  const to = ordersTo(service, order);
  const durationMs = 1000 * seconds;
  const atMost: SpeedFigures[] = [];
  let errors = 0;
  for (const pipelined of usages[client].pipelined) {
    progress(`${client}: how many it can do, ${pipelined} at once on a connection`);
    const loop = { kind: 'closed', inFlightPerConnection: pipelined } as const;
    // A run of its own: its processor time must not count for the checks of the next.
    await runGenerator({ ...to, loop, durationMs: Math.min(1000, durationMs) });
    const { report, processorUs } = await withProcessorTime(service, { ...to, loop, durationMs });
    atMost.push({ pipelined, checksPerSecond: report.perSecond, processorUs });
    errors += report.errors;
  }
  return { atMost, errors };
}

function rate(perSecond: number): number {
  return Math.max(1, perSecond);
}

function latencyAtLoad(report: LoadReport, processorUs: number): LatencyAtLoad {
  const { perSecond: checksPerSecond, p50Ms, p99Ms, sentLateP99Ms } = report;
  return { checksPerSecond, processorUs, p50Ms, p99Ms, sentLateP99Ms };
}

const rounds = 3;

/** Others on this machine can only make latencies longer: of a few shorter runs, the one with the shortest is nearest to the service's own. */
async function leastDisturbed(service: ServiceProcess, order: LoadOrder): Promise<Run> {
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round += 1) {
    runs.push(await withProcessorTime(service, { ...order, durationMs: Math.ceil(order.durationMs / rounds) }));
  }
  return runs.reduce((best, one) => (one.report.p99Ms < best.report.p99Ms ? one : best));
}

interface Run {
  readonly report: LoadReport;
  readonly processorUs: number;
}

async function withProcessorTime({ pid }: ServiceProcess, order: LoadOrder): Promise<Run> {
  const before = await processUsage(pid);
  const report = await runGenerator(order);
  const after = await processUsage(pid);
  const processorUs = (1000 * (after.processorMs - before.processorMs)) / Math.max(1, report.answered);
  return { report, processorUs };
}
