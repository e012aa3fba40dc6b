import {
  type Bench,
  calls,
  crawlMs,
  halfRateMs,
  perMinute,
  perMonth,
  standardCases,
} from '../../../../../bench/cases.ts';
import { tokenBucket } from './token-bucket.ts';

const bench: Bench = {
  name: 'token-bucket',
  cases: [
    ...standardCases(tokenBucket),
    calls('check, 1 key, interval refill', {
      policy: tokenBucket({ ...perMinute, refill: 'interval' }),
      clock: halfRateMs(perMinute),
      allowed: true,
    }),
    calls('check, refused, interval refill', {
      policy: tokenBucket({ ...perMonth, refill: 'interval' }),
      clock: crawlMs,
      allowed: false,
    }),
  ],
};
export default bench;
