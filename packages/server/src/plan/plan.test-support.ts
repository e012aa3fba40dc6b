/** A question and figures that are easy to calculate with. */
import { type PlanFigures, planFiguresFormat, type StoreFigures } from './plan-figures.ts';
import { gatherMsOf, type PlanQuestion, planDefaults } from './plan-question.ts';

export const someQuestion: PlanQuestion = {
  ...planDefaults,
  checksPerSecond: 5_000_000,
  users: 4_000_000,
  policy: { algorithm: 'sliding-log', limit: 100, window: 60_000 },
  gatherMs: gatherMsOf.smart,
  copyEveryMs: 1,
};

export const someStore: StoreFigures = {
  policy: someQuestion.policy,
  keyBytes: 20,
  keysPerStore: 4000,
  checksPerKey: 75,
  stores: 10,
  bytesPerKey: 2000,
  snapshotBytesPerKey: 1000,
  snapshotUsPerKey: 10,
  restoreUsPerKey: 15,
  stepBytes: 150,
  stepOwnerUs: 1,
  stepStandbyUs: 2,
  entryBytes: 80,
  entryOwnerUs: 0.5,
  entryStandbyUs: 0.5,
};

// biome-ignore format: aligned rows
export const someFigures: PlanFigures = {
  kind: 'sluice-plan',
  format: planFiguresFormat,
  version: '0.0.0',
  date: '2026-01-01T00:00:00.000Z',
  machine: { cpuModel: 'some processor', cores: 2, memoryBytes: 8e9, platform: 'linux', architecture: 'x64', nodeVersion: 'v20.0.0' },
  othersRatio: 0,
  policy: someQuestion.policy,
  keyBytes: 20,
  secondsPerMeasurement: 1,
  clients: [
    { client: 'smart', ...speeds(10, 2),  idleP50Ms: 0.1, requestBytes: 180, replyBytes: 40,  errors: 0 },
    { client: 'redis', ...speeds(9, 1.5), idleP50Ms: 0.1, requestBytes: 60,  replyBytes: 45,  errors: 0 },
    { client: 'http',  ...speeds(20),     idleP50Ms: 0.2, requestBytes: 150, replyBytes: 700, errors: 0 },
    { client: 'grpc',  ...speeds(45, 40), idleP50Ms: 0.3, requestBytes: 60,  replyBytes: 60,  errors: 0 },
  ],
  stores: [someStore],
  idleRssBytes: 90e6,
  startMs: 400,
};

/** Of a core that is quick to answer: at 70 % load, 99 of 100 wait for half a millisecond. */
function speeds(singleUs: number, deepUs?: number) {
  const at = (pipelined: number, processorUs: number) => ({
    pipelined,
    processorUs,
    checksPerSecond: 1e6 / processorUs,
  });
  return {
    atMost: deepUs === undefined ? [at(1, singleUs)] : [at(1, singleUs), at(64, deepUs)],
    atLoad: { checksPerSecond: 0.7e6 / singleUs, processorUs: singleUs, p50Ms: 0.1, p99Ms: 0.8, sentLateP99Ms: 0.1 },
  };
}
