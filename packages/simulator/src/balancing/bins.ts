/** As many balls as bins: how many are in the fullest? A bin is a member, a ball is a pick that is not done. */
import { random } from '../random.ts';
import type { MakeBalancer } from './queues.ts';

export interface BinsOptions {
  readonly bins: number;
  /** The average of so many times. */
  readonly times: number;
  readonly seed?: number;
}

/** The average of the fullest bins. */
export function fullestBin(make: MakeBalancer, { bins, times, seed = 1 }: BinsOptions): number {
  const source = random(seed);
  const members = Array.from({ length: bins }, (_, i) => `bin-${i}`);
  let sum = 0;
  for (let time = 0; time < times; time += 1) {
    const balancer = make(members, source.fork().uniform);
    for (let ball = 0; ball < bins; ball += 1) balancer.pick();
    sum += balancer.stats().reduce((most, { inFlight }) => Math.max(most, inFlight), 0);
  }
  return sum / times;
}
