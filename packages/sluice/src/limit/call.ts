import type { CallOptions } from '../algorithms/algorithm.ts';
import type { Check, Operation } from '../stores/store.ts';
import type { Answer } from '../vocabulary/answer.ts';
import type { Decision } from '../vocabulary/decision.ts';

/** Any operation on one key of a limiter: what its parts that take more than one call are made of. */
export type AnyCall = (
  operation: Operation,
  key: string,
  options?: CallOptions,
  extra?: Partial<Check>,
) => Answer<Decision>;
