/** The nine algorithms, and which policy the settings make of each. One set of options makes the policy, its code and its YAML, so that they cannot disagree. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingSlots,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'sluice';
import type { Settings } from './settings.ts';
import { durationText, policyDuration } from './time-text.ts';

export const algorithmNames = [
  'token-bucket',
  'gcra',
  'leaky-bucket',
  'fixed-window',
  'sliding-log',
  'sliding-slots',
  'sliding-window',
  'smooth',
  'concurrency',
] as const;

export type AlgorithmName = (typeof algorithmNames)[number];

export type PolicyOptions = Readonly<Record<string, string | number>>;

export interface AlgorithmWords {
  readonly title: string;
  /** The factory's name in code: a minified function has lost its own. */
  readonly factoryName: string;
  readonly factory: (options: never) => Policy;
  readonly options: (settings: Settings) => PolicyOptions;
  /** What the line in its lane is. */
  readonly gauge: (settings: Settings) => string;
}

const rate = ({ limit, windowMs }: Settings) => ({ limit, window: policyDuration(windowMs) });
const ofLast = ({ windowMs }: Settings) => `the last ${durationText(windowMs)}`;

export const algorithms: Readonly<Record<AlgorithmName, AlgorithmWords>> = {
  'token-bucket': {
    title: 'Token bucket',
    factoryName: 'tokenBucket',
    factory: tokenBucket,
    options: (settings) => ({ ...rate(settings), burst: settings.burst }),
    gauge: () => 'tokens taken',
  },
  gcra: {
    title: 'GCRA',
    factoryName: 'gcra',
    factory: gcra,
    options: (settings) => ({ ...rate(settings), burst: settings.burst }),
    gauge: () => 'calls ahead of the pace',
  },
  'leaky-bucket': {
    title: 'Leaky bucket',
    factoryName: 'leakyBucket',
    factory: leakyBucket,
    options: (settings) => ({ ...rate(settings), burst: settings.burst }),
    gauge: () => 'calls in line',
  },
  'fixed-window': {
    title: 'Fixed window',
    factoryName: 'fixedWindow',
    factory: fixedWindow,
    options: rate,
    gauge: () => 'calls since the boundary',
  },
  'sliding-log': {
    title: 'Sliding log',
    factoryName: 'slidingLog',
    factory: slidingLog,
    options: rate,
    gauge: (settings) => `calls in ${ofLast(settings)}`,
  },
  'sliding-slots': {
    title: 'Sliding slots',
    factoryName: 'slidingSlots',
    factory: slidingSlots,
    options: (settings) => ({ ...rate(settings), slots: settings.slots }),
    gauge: ({ slots }) => `calls in ${slots} + 1 slots`,
  },
  'sliding-window': {
    title: 'Sliding window',
    factoryName: 'slidingWindow',
    factory: slidingWindow,
    options: rate,
    gauge: (settings) => `estimate of ${ofLast(settings)}`,
  },
  smooth: {
    title: 'Smooth',
    factoryName: 'smooth',
    factory: smooth,
    options: (settings) => ({ ...rate(settings), maxBurst: 1, maxDelay: policyDuration(settings.maxDelayMs) }),
    gauge: () => 'permits borrowed',
  },
  concurrency: {
    title: 'Concurrency',
    factoryName: 'concurrency',
    factory: concurrency,
    options: ({ inFlight }) => ({ limit: inFlight }),
    gauge: ({ holdMs }) => `in flight, ${durationText(holdMs)} each`,
  },
};

export function policyOf(name: AlgorithmName, settings: Settings): Policy {
  const { factory, options } = algorithms[name];
  return factory(options(settings) as never);
}
