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
  type Arrival,
  type BurstOptions,
  burst,
  type Caller,
  merge,
  type OnOffOptions,
  onOff,
  type Period,
  poisson,
  steady,
  type Traffic,
  zipfKeys,
} from './traffic.ts';
