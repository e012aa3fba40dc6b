/**
 * Which policies are tried for a limit per window: every algorithm that limits a rate, and those that have a burst also with a small one.
 *
 * What decides between them cannot be read off a limit alone, so each says what it is for.
 */
import { gcra, leakyBucket, type Policy, parsePolicy } from 'sluice';

export interface LimitCandidate {
  readonly algorithm: string;
  /** What is special about it; empty where nothing is. */
  readonly variant: string;
  /** Its limit over a longer window is the same rate in other words: one window says it all. */
  readonly isOfRate?: true;
  policyFor(limit: number, windowMs: number): Policy;
}

/** Of a small burst, this part of the limit passes at once. */
const smallBurstRatio = 0.1;
/** Callers of the leaky bucket wait in line no longer than this. */
const longestDelayMs = 1000;

const plain = (algorithm: string, variant = ''): LimitCandidate => ({
  algorithm,
  variant,
  policyFor: (limit, window) => parsePolicy({ algorithm, limit, window } as never),
});

export const limitCandidates: readonly LimitCandidate[] = [
  plain('sliding-log'),
  plain('sliding-slots'),
  plain('sliding-window'),
  plain('fixed-window'),
  plain('gcra', 'burst as the limit'),
  plain('token-bucket', 'burst as the limit'),
  {
    algorithm: 'gcra',
    variant: 'burst a tenth',
    policyFor: (limit, window) => gcra({ limit, window, burst: Math.max(1, Math.floor(limit * smallBurstRatio)) }),
  },
  {
    algorithm: 'leaky-bucket',
    variant: 'waits up to 1s',
    isOfRate: true,
    policyFor: (limit, window) =>
      leakyBucket({ limit, window, burst: Math.floor((limit * longestDelayMs) / window), delay: 'all' }),
  },
];

/** Those that are not tried, and why. */
export const notTried: readonly { readonly algorithm: string; readonly reason: string }[] = [
  { algorithm: 'smooth', reason: 'it delays calls and refuses none, unless maxDelay is given' },
  { algorithm: 'concurrency', reason: 'it limits calls in flight, and a log does not say how long they took' },
];
