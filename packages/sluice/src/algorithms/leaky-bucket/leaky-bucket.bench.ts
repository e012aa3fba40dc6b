import { type Bench, calls, perMinute, standardCases } from '../../../../../bench/cases.ts';
import { leakyBucket } from './leaky-bucket.ts';

const bench: Bench = {
  name: 'leaky-bucket',
  cases: [
    ...standardCases(leakyBucket),
    // Calls come exactly at the rate, behind ten that still wait: the line never gets shorter.
    calls('check, 1 key, every call delayed', {
      policy: leakyBucket({ ...perMinute, burst: 100 }),
      clock: perMinute.window / perMinute.limit,
      debt: 10,
      allowed: true,
    }),
  ],
};
export default bench;
