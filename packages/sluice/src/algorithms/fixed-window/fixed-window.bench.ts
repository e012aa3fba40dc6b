import { type Bench, calls, halfRateMs, perMinute, standardCases } from '../../../../../bench/cases.ts';
import { fixedWindow } from './fixed-window.ts';

const bench: Bench = {
  name: 'fixed-window',
  cases: [
    ...standardCases(fixedWindow),
    calls('check, 1 key, windows from the first call', {
      policy: fixedWindow({ ...perMinute, align: 'first' }),
      clock: halfRateMs(perMinute),
      allowed: true,
    }),
    calls('check, 1 key, callers may wait', {
      policy: fixedWindow({ ...perMinute, wait: '1m' }),
      clock: halfRateMs(perMinute),
      allowed: true,
    }),
  ],
};
export default bench;
