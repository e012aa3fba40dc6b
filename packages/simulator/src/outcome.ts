import type { Decision } from 'sluice';
import type { Arrival } from './traffic.ts';

/** An arrival, and what the limiter said to it. */
export interface Outcome extends Arrival {
  readonly decision: Decision;
}

/** Something that was let through, at the moment it goes: a delayed call goes after its delay. */
export interface Grant {
  readonly atMs: number;
  readonly cost: number;
}
