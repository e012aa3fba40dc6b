import { type Bench, calls, halfRateMs, perMinute, standardCases } from '../../../../../bench/cases.ts';
import { gcra } from './gcra.ts';

const bench: Bench = {
  name: 'gcra',
  cases: [
    ...standardCases(gcra),
    calls('check, 1 key, 10 million per second', {
      policy: gcra({ limit: 10_000_000, window: '1s', burst: 100 }),
      clock: halfRateMs(perMinute),
      allowed: true,
    }),
  ],
};
export default bench;
