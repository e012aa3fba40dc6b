import { type Bench, calls, halfRateMs, manyKeys, perMinute, standardCases } from '../../../../../bench/cases.ts';
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
    // Whoever is as good as new at each call should not be forgotten and added again each time.
    calls('check, 500 keys, each twice a second, far below the limit', {
      policy: gcra({ limit: 1_000_000, window: '1s' }),
      keys: manyKeys.slice(0, 500),
      clock: 1,
      allowed: true,
    }),
    calls('check, 10,000 keys, each twice a second, far below the limit', {
      policy: gcra({ limit: 1_000_000, window: '1s' }),
      keys: manyKeys,
      clock: 0.05,
      allowed: true,
    }),
  ],
};
export default bench;
