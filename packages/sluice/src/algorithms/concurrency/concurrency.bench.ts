import { limiter } from 'sluice';
import {
  type Bench,
  type BenchCase,
  halfRateMs,
  hotKey,
  manyKeys,
  perMinute,
  SteppingClock,
  standardCases,
} from '../../../../../bench/cases.ts';
import { concurrency } from './concurrency.ts';

/** Takes a place and gives it back, with so many others in flight on every key. */
function acquireAndRelease(name: string, keys: readonly string[], inFlight: number): BenchCase {
  const places = limiter(concurrency({ limit: inFlight + 1, lease: '1d' }), {
    clock: new SteppingClock(halfRateMs(perMinute, keys)),
  });
  for (const key of keys) for (let i = 0; i < inFlight; i++) places.acquire(key);
  let turn = 0;
  return {
    name,
    run(iterations) {
      for (let i = 0; i < iterations; i++) {
        turn = turn + 1 < keys.length ? turn + 1 : 0;
        if (!places.acquire(keys[turn] as string).release()) throw new Error(`${name}: there was no place`);
      }
    },
  };
}

const bench: Bench = {
  name: 'concurrency',
  cases: [
    // A place that `check` takes comes back when its lease ends: half the limit is held all the time.
    ...standardCases(({ limit, window }) => concurrency({ limit, lease: window })),
    acquireAndRelease('acquire and release, 1 key', hotKey, 0),
    acquireAndRelease('acquire and release, 1 key, 10,000 in flight', hotKey, 10_000),
    // A key that nobody holds is soon forgotten: most of these calls are newcomers.
    acquireAndRelease('acquire and release, 10,000 keys', manyKeys, 0),
  ],
};
export default bench;
