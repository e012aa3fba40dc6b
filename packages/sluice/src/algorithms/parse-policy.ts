/** Every algorithm by name: the path from plain data to a policy. Factories are imported one by one, so bundlers drop the rest. */
import { invalid } from '../vocabulary/errors.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { concurrency } from './concurrency/concurrency.ts';
import { fixedWindow } from './fixed-window/fixed-window.ts';
import { gcra } from './gcra/gcra.ts';
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts';
import { slidingLog } from './sliding-log/sliding-log.ts';
import { slidingSlots } from './sliding-slots/sliding-slots.ts';
import { slidingWindow } from './sliding-window/sliding-window.ts';
import { smooth } from './smooth/smooth.ts';
import { tokenBucket } from './token-bucket/token-bucket.ts';

const factories: Record<string, (options: never) => Policy> = {
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
  'fixed-window': fixedWindow,
  'sliding-log': slidingLog,
  'sliding-slots': slidingSlots,
  'sliding-window': slidingWindow,
  smooth,
  concurrency,
};

/** The names `parsePolicy` knows. */
export const algorithmNames: readonly string[] = Object.keys(factories);

/** A policy from plain data such as JSON or YAML: `{ algorithm: 'gcra', limit: 100, window: '1m' }`. */
export function parsePolicy(data: unknown): Policy {
  if (typeof data !== 'object' || data === null) throw invalid('policy', 'an object', data);
  const { algorithm, ...options } = data as { algorithm?: string };
  const factory =
    typeof algorithm === 'string' && Object.hasOwn(factories, algorithm) ? factories[algorithm] : undefined;
  if (factory === undefined) throw invalid('algorithm', `one of ${algorithmNames.join(', ')}`, algorithm);
  return factory(options as never);
}
