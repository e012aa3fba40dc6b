/** What `sluice bench` found out about this machine. `--json` writes it, and what a plan reads beside it (`plan-figures.ts`). */
import type { Protocol } from './load-order.ts';

/** Goes up when a field changes its meaning. */
export const figuresFormat = 1;

export interface MachineFigures {
  readonly kind: 'sluice-bench';
  readonly format: typeof figuresFormat;
  /** Of the service that was measured. */
  readonly version: string;
  /** ISO 8601, when it began. */
  readonly date: string;
  readonly machine: Machine;
  readonly settings: BenchSettings;
  readonly protocols: readonly ProtocolFigures[];
  readonly memory: MemoryFigures;
}

export interface Machine {
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly architecture: string;
  readonly nodeVersion: string;
}

export interface BenchSettings {
  readonly secondsPerMeasurement: number;
  /** Of the service. */
  readonly threads: number;
  /** The part of the maximum at which latencies are measured, 0 to 1. */
  readonly loadRatio: number;
}

export interface ProtocolFigures {
  readonly protocol: Protocol;
  /** Requests that a client sends without waiting for the answers before. */
  readonly pipelined: number;
  /** Of one thread of the service, clients waiting for their answers. */
  readonly checksPerSecondPerCore: number;
  /** Processor time of the service, all its threads. */
  readonly processorUsPerCheck: number;
  readonly atLoad: LatencyFigures;
  /** Of both measurements. */
  readonly errors: number;
  readonly firstError: string | undefined;
}

/** Requests at their times, whether or not earlier ones were answered; latency counts from then. */
export interface LatencyFigures {
  readonly checksPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** By how much the generator itself was late, which is part of the latencies. */
  readonly sentLateP99Ms: number;
}

export interface MemoryFigures {
  readonly keys: number;
  /** Of the whole process, with all keys. */
  readonly rssBytes: number;
  readonly rssBytesBefore: number;
  /** Absent where there were too few keys to tell. */
  readonly bytesPerKey?: number;
}
