// What every run() does alike, whichever protection it is of.
import { describe, expect, it } from 'vitest';
import { SluiceError } from '../vocabulary/errors.ts';
import {
  adaptiveConcurrency,
  adaptiveThrottle,
  bulkhead,
  circuitBreaker,
  type Ended,
  fallback,
  pacer,
  retry,
  timeout,
  wrap,
} from './index.ts';

/** Runs what it is given, and counts what the protection has made of it. */
type Subject = readonly [name: string, begin: () => { run(call: never): Promise<unknown>; counted(): unknown }];

const subjects: readonly Subject[] = [
  [
    'circuitBreaker',
    () => {
      const breaker = circuitBreaker({ consecutiveFailures: 1 });
      return { run: (call) => breaker.run(call), counted: () => [breaker.state, breaker.stats().calls] };
    },
  ],
  [
    'adaptiveThrottle',
    () => {
      const throttle = adaptiveThrottle();
      return { run: (call) => throttle.run(call), counted: () => throttle.stats().requests };
    },
  ],
  [
    'bulkhead',
    () => {
      const full = bulkhead({ limit: 1 });
      let ended = 0;
      full.on('ended', () => {
        ended += 1;
      });
      return { run: (call) => full.run(call), counted: () => [full.stats().inFlight, ended] };
    },
  ],
  [
    'adaptiveConcurrency',
    () => {
      const adaptive = adaptiveConcurrency({ algorithm: 'aimd' });
      let ended = 0;
      adaptive.on('ended', () => {
        ended += 1;
      });
      return { run: (call) => adaptive.run(call), counted: () => [adaptive.stats().inFlight, ended] };
    },
  ],
  [
    'pacer',
    () => {
      const paced = pacer();
      return { run: (call) => paced.run('key', call), counted: () => paced.stats() };
    },
  ],
  [
    'pacer.of',
    () => {
      const paced = pacer();
      return { run: (call) => paced.of('key').run(call), counted: () => paced.stats() };
    },
  ],
  [
    'retry',
    () => {
      const again = retry({ isRetryable: () => true });
      const seen: Ended[] = [];
      again.on('retry', ({ ended }) => seen.push(ended));
      return { run: (call) => again.run(call), counted: () => seen.length };
    },
  ],
  ['timeout', () => ({ run: (call) => timeout('1s').run(call), counted: () => undefined })],
  ['fallback', () => ({ run: (call) => fallback('instead').run(call), counted: () => undefined })],
  [
    'wrap',
    () => {
      const breaker = circuitBreaker({ consecutiveFailures: 1 });
      const all = wrap(fallback('instead'), retry(), breaker);
      return { run: (call) => all.run(call), counted: () => [breaker.state, breaker.stats().calls] };
    },
  ],
];

describe.each(subjects)('%s', (_, begin) => {
  it.each([
    ['a promise', Promise.resolve('answered')],
    ['nothing', undefined],
    ['what it came to', 'answered'],
  ])('refuses %s instead of a call, which is nobody else’s fault', async (_what, call) => {
    const { run, counted } = begin();
    const before = counted();
    const error = await run(call as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({
      code: 'invalid-option',
      message: expect.stringMatching(
        /^call must be a function, got .*\. Give \(\) => fetch\(url\), not fetch\(url\)\.$/,
      ),
    });
    expect(counted()).toEqual(before);
  });
});
