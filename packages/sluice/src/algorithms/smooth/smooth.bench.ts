import { type Bench, calls, halfRateMs, perMinute, standardCases } from '../../../../../bench/cases.ts';
import { smooth } from './smooth.ts';

const bench: Bench = {
  name: 'smooth',
  cases: [
    // Without a longest delay it would never refuse.
    ...standardCases((rate) => smooth({ ...rate, maxDelay: 1 })),
    calls('check, 1 key, every call borrows', {
      policy: smooth(perMinute),
      clock: perMinute.window / perMinute.limit / 2,
      allowed: true,
    }),
    calls('check, 1 key, warm-up', {
      policy: smooth({ ...perMinute, warmup: '1m' }),
      clock: halfRateMs(perMinute),
      allowed: true,
    }),
  ],
};
export default bench;
