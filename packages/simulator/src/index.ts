export { type Accuracy, type AccuracyOptions, accuracyOf, limitRefusing } from './accuracy.ts';
export { type BinsOptions, fullestBin } from './balancing/bins.ts';
export {
  balancedResponse,
  type MakeBalancer,
  oneQueueSimulated,
  type QueueOptions,
  type Response,
} from './balancing/queues.ts';
export { type Moved, ringSpread, type Spread, type SpreadOptions } from './balancing/spread.ts';
export {
  erlangC,
  expectedFullest,
  fullestAtRandom,
  fullestOfTwo,
  oneQueueResponse,
  randomResponse,
  randomResponseFixed,
  ringDeviation,
  roundRobinResponse,
  sharesAtRandom,
  sharesOfTwo,
  twoChoicesResponse,
} from './balancing/theory.ts';
export { type Cycle, cyclesOf } from './balancing/turns.ts';
export { simulatedClock } from './clock.ts';
export { type EventLoop, type EventLoopOptions, eventLoop } from './events.ts';
export { type Generator, type GeneratorState, generator, splitMix64, stateOf } from './generator.ts';
export { Heap } from './heap.ts';
export { byKey, type Counts, countsOf, dropRatio, grantsOf, untilFirstRefusal, worstWindow } from './measure.ts';
export type { Grant, Outcome } from './outcome.ts';
export { type Backend, type BackendCounts, type BackendOptions, backend } from './overload/backend.ts';
export {
  type ClientHistory,
  type ClientOptions,
  type OverloadOptions,
  type OverloadResult,
  overload,
} from './overload/overload.ts';
export { goodputOf, largestK, returnMs } from './overload/theory.ts';
export { type Random, random, type ZipfOptions } from './random.ts';
export { type Replay, type ReplayOptions, replay } from './replay.ts';
export {
  type ExpectationResult,
  type Measure,
  type ParseScenarioOptions,
  parseScenario,
  type RunScenarioOptions,
  runScenario,
  type Scenario,
  ScenarioError,
  type ScenarioResult,
  type Series,
  type SeriesKind,
  type Unit,
  type VariantResult,
} from './scenario/index.ts';
export {
  type Arrival,
  type AttackOptions,
  attack,
  type BurstOptions,
  burst,
  type Caller,
  type DiurnalOptions,
  diurnal,
  type FlashCrowdOptions,
  flashCrowd,
  type MovedOptions,
  merge,
  moved,
  type OnOffOptions,
  onOff,
  type Period,
  poisson,
  type RepeatedOptions,
  repeated,
  steady,
  type Traffic,
  zipfKeys,
} from './traffic.ts';
export { WindowMeter } from './window-meter.ts';
