import {
  type Bench,
  calls,
  crawlMs,
  halfRateMs,
  perMinute,
  perMonth,
  standardCases,
} from '../../../../../bench/cases.ts';
import { slidingLog } from './sliding-log.ts';

const limits = [100, 10_000];

const bench: Bench = {
  name: 'sliding-log',
  cases: [
    ...standardCases(slidingLog),
    // Half the limit is in the log all the time: one entry leaves for each that comes.
    ...limits.map((limit) =>
      calls(`check, 1 key, limit ${limit.toLocaleString('en')}`, {
        policy: slidingLog({ ...perMinute, limit }),
        clock: halfRateMs({ ...perMinute, limit }),
        allowed: true,
      }),
    ),
    ...limits.map((limit) =>
      calls(`check, refused, limit ${limit.toLocaleString('en')}`, {
        policy: slidingLog({ ...perMonth, limit }),
        clock: crawlMs,
        allowed: false,
      }),
    ),
    // Ten times the rate: more refusals than the ring has entries for, so that neighbours merge again and again.
    calls('check, refused and counted', {
      policy: slidingLog({ ...perMinute, countRejected: true }),
      clock: perMinute.window / perMinute.limit / 10,
      allowed: false,
    }),
  ],
};
export default bench;
