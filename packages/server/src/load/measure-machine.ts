/** Measures a service on this machine: how much it can do behind each door, how long a check takes below that, what a key costs. */
import { availableParallelism, cpus, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { version } from '../version.ts';
import type { LoadOrder, LoadReport, Protocol, Question } from './load-order.ts';
import {
  figuresFormat,
  type LatencyFigures,
  type Machine,
  type MachineFigures,
  type MemoryFigures,
  type ProtocolFigures,
} from './machine-figures.ts';
import { processUsage } from './process-usage.ts';
import { runGenerator } from './run-generator.ts';
import { questions, type ServiceProcess, startServiceProcess } from './service-process.ts';

export interface MeasureOptions {
  readonly protocols: readonly Protocol[];
  /** Of each measurement; there are two for each protocol and way to use it. */
  readonly seconds: number;
  /** Held at once when memory is measured. */
  readonly keys: number;
  /** Told what comes next. */
  progress(text: string): void;
}

/** A way to use a protocol. */
interface Usage {
  readonly protocol: Protocol;
  readonly pipelined: number;
  readonly connections: number;
  /** Those of the open loop. Few where requests are pipelined: those that are due at the same moment share a write. */
  readonly openConnections: number;
}

const usages: readonly Usage[] = [
  { protocol: 'http', pipelined: 1, connections: 64, openConnections: 256 },
  { protocol: 'resp', pipelined: 1, connections: 50, openConnections: 50 },
  { protocol: 'resp', pipelined: 64, connections: 8, openConnections: 4 },
  { protocol: 'grpc', pipelined: 1, connections: 64, openConnections: 64 },
  { protocol: 'grpc', pipelined: 16, connections: 4, openConnections: 4 },
];

const threads = 1;
const loadRatio = 0.7;
const randomKeys = 100_000;
const leastMaxKeys = 1_000_000;

export async function measureMachine(options: MeasureOptions): Promise<MachineFigures> {
  const { seconds, keys, progress } = options;
  const date = new Date().toISOString();
  const protocols: ProtocolFigures[] = [];
  const chosen = usages.filter(({ protocol }) => options.protocols.includes(protocol));
  const maxKeys = Math.max(leastMaxKeys, keys);
  await withService(maxKeys, async (service) => {
    for (const usage of chosen) protocols.push(await measureUsage(service, usage, seconds, progress));
  });
  progress(`${keys.toLocaleString('en')} keys`);
  const memory = await withService(maxKeys, (service) => measureMemory(service, keys));
  return {
    kind: 'sluice-bench',
    format: figuresFormat,
    version,
    date,
    machine: thisMachine(),
    settings: { secondsPerMeasurement: seconds, threads, loadRatio },
    protocols,
    memory,
  };
}

export function thisMachine(): Machine {
  return {
    cpuModel: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    platform: process.platform,
    architecture: process.arch,
    nodeVersion: process.version,
  };
}

async function withService<T>(maxKeys: number, measure: (service: ServiceProcess) => Promise<T>): Promise<T> {
  const service = await startServiceProcess({ workers: threads, maxKeys });
  try {
    return await measure(service);
  } finally {
    await service.stop();
  }
}

async function measureUsage(
  service: ServiceProcess,
  { protocol, pipelined, connections, openConnections }: Usage,
  seconds: number,
  progress: (text: string) => void,
): Promise<ProtocolFigures> {
  const name = pipelined === 1 ? protocol : `${protocol}, ${pipelined} pipelined`;
  const common = { ...orderTo(service, questions[protocol]), keys: randomKeys, durationMs: 1000 * seconds };
  const warmUpMs = Math.min(1000, 500 * seconds);

  progress(`${name}: how many it can do`);
  const loop = { kind: 'closed', inFlightPerConnection: pipelined } as const;
  const asFastAsItGoes = { ...common, keyOrder: 'random', connections, loop, warmUpMs: 0 } as const;
  // A run of its own: its processor time must not count for the checks of the next.
  await runGenerator({ ...asFastAsItGoes, durationMs: warmUpMs });
  const before = await processUsage(service.pid);
  const closed = await runGenerator(asFastAsItGoes);
  const after = await processUsage(service.pid);

  const perSecond = Math.max(1, loadRatio * closed.perSecond);
  progress(`${name}: how long one takes at ${Math.round(perSecond).toLocaleString('en')} per second`);
  const open = await runGenerator({
    ...common,
    keyOrder: 'random',
    connections: openConnections,
    loop: { kind: 'open', perSecond },
    warmUpMs,
  });
  return {
    protocol,
    pipelined,
    checksPerSecondPerCore: closed.perSecond,
    processorUsPerCheck: (1000 * (after.processorMs - before.processorMs)) / Math.max(1, closed.answered),
    atLoad: latencies(open),
    errors: closed.errors + open.errors,
    firstError: closed.firstError ?? open.firstError,
  };
}

function latencies({ perSecond, p50Ms, p99Ms, p999Ms, maxMs, sentLateP99Ms }: LoadReport): LatencyFigures {
  return { checksPerSecond: perSecond, p50Ms, p99Ms, p999Ms, maxMs, sentLateP99Ms };
}

/** Before memory is measured: what compiled code, buffers and a young generation that has grown take belongs to no key. */
const settlingChecks = 200_000;

/** A process grows and shrinks by some megabytes whatever it holds: less than this tells nothing of its keys, and 0 says so. */
const leastGrownBytes = 8_000_000;

async function measureMemory(service: ServiceProcess, keys: number): Promise<MemoryFigures> {
  const check = (differentKeys: number, requests: number): Promise<LoadReport> =>
    runGenerator({
      ...orderTo(service, questions.lasting),
      keys: differentKeys,
      keyOrder: 'sequential',
      connections: 4,
      loop: { kind: 'closed', inFlightPerConnection: 64, requests },
      durationMs: 600_000,
      warmUpMs: 0,
    });
  const early = Math.ceil(keys / 100);
  await mustBeAnswered(check(early, settlingChecks));
  await settled();
  const rssBytesBefore = (await processUsage(service.pid)).rssBytes;
  await mustBeAnswered(check(keys, keys));
  await settled();
  const { rssBytes } = await processUsage(service.pid);
  const grownBytes = rssBytes - rssBytesBefore;
  const canTell = grownBytes >= leastGrownBytes;
  return { keys, rssBytes, rssBytesBefore, ...(canTell && { bytesPerKey: grownBytes / (keys - early) }) };
}

async function mustBeAnswered(filling: Promise<LoadReport>): Promise<void> {
  const { errors, firstError } = await filling;
  if (errors > 0) throw new Error(`The keys could not be filled in: ${errors} errors, the first one: ${firstError}`);
}

/** The collector gives memory back a moment later. */
async function settled(): Promise<void> {
  await sleep(500);
}

function orderTo({ host, ports }: ServiceProcess, question: Question): Pick<LoadOrder, 'host' | 'port' | 'question'> {
  return { host, port: ports[question.protocol], question };
}
