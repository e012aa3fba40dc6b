export { type Advice, type AdviceOptions, advise } from './analysis/advice.ts';
export { adviceYaml } from './analysis/advice-yaml.ts';
export {
  type BiggestBursts,
  type Burst,
  type BurstRate,
  burstsOf,
  type NeededBursts,
  neededBursts,
} from './analysis/bursts.ts';
export {
  type BusyClient,
  type Distribution,
  defaultWindowsMs,
  distributionOf,
  type WindowDistribution,
} from './analysis/distribution.ts';
export type { CountedName } from './analysis/heavy-names.ts';
export {
  checkLimitsOptions,
  type LimitRow,
  type Limits,
  type LimitsOptions,
  limitsFor,
  type NeverRefused,
  type RefuseShare,
} from './analysis/limits.ts';
export {
  type PolicyReplay,
  type PolicyReplayOptions,
  type PolicyReplayReport,
  policyReplay,
} from './analysis/policy-replay.ts';
export {
  type ClearSeparation,
  type ClientPeak,
  type NoSeparation,
  type Separation,
  separationOf,
} from './analysis/separation.ts';
export type { Bin, Quantiles } from './analysis/spread.ts';
export {
  type RefusalsOverTime,
  type RefusedClient,
  type WhatIf,
  type WhatIfOptions,
  whatIf,
} from './analysis/what-if.ts';
export {
  countedWords,
  countWords,
  durationText,
  percentWords,
  rateWords,
  spanText,
  windowWords,
} from './analysis/words.ts';
export {
  type FileReport,
  type FilesReader,
  type FilesReport,
  filesReader,
  type MalformedInFile,
} from './log/files-reader.ts';
export type { ByteRange, LogLine, TakeLine } from './log/log-line.ts';
export { type LogReader, logReader, type MalformedLine, type ReadFields, type ReadReport } from './log/log-reader.ts';
export type { LogFormat, LogReaderOptions } from './log/options.ts';
export { visibleText } from './log/visible.ts';
export { byClient, type ClientHistory, type ClientIndex } from './trace/by-client.ts';
export type { ClientList, Trace } from './trace/trace.ts';
export { type TraceRecorder, type TraceRecorderOptions, traceRecorder } from './trace/trace-recorder.ts';
export type { TraceReport } from './trace/trace-report.ts';
