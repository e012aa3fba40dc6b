import { concurrency, gcra, leakyBucket, slidingLog, smooth } from 'sluice';
import { expect, test } from 'vitest';
import { random } from './random.ts';
import { replay } from './replay.ts';
import { burst, merge, poisson, steady, type Traffic, zipfKeys } from './traffic.ts';

const at = (...timesMs: number[]): Traffic => timesMs.map((atMs) => ({ atMs, key: 'a', cost: 1 }));
const answers = (...args: Parameters<typeof replay>) => replay(...args).history.map(({ decision }) => decision.allowed);

test('each arrival is decided at its own time', () => {
  const policy = slidingLog({ limit: 3, window: '10s' });
  expect(answers(policy, at(0, 1000, 2000, 3000, 11_000))).toEqual([true, true, true, false, true]);
});

test('keys do not share their limit, and are counted apart', () => {
  const traffic = merge(burst(5, { atMs: 0, key: 'a' }), burst(2, { atMs: 0, key: 'b' }));
  const { counts, countsByKey, refusals } = replay(gcra({ limit: 3, window: '1s' }), traffic);
  expect(counts).toMatchObject({ asked: 7, allowed: 5, refused: 2 });
  expect(countsByKey.get('a')).toMatchObject({ asked: 5, allowed: 3, refused: 2, retryAfterMsMax: 334 });
  expect(countsByKey.get('b')).toMatchObject({ asked: 2, allowed: 2, refused: 0 });
  expect(refusals.map(({ key }) => key)).toEqual(['a', 'a']);
});

test('a delayed call is granted when it goes', () => {
  const { grants, counts } = replay(leakyBucket({ limit: 1, window: '1s', burst: 2 }), at(0, 0, 0, 0));
  expect(grants).toEqual([0, 1000, 2000].map((atMs) => ({ atMs, cost: 1 })));
  expect(counts).toMatchObject({ asked: 4, allowed: 3, refused: 1, delayed: 2, delayMsMax: 2000 });
});

test('a call in flight gives its place back when its time is over, before whoever arrives then', () => {
  const policy = concurrency({ limit: 2, lease: '1m' });
  expect(answers(policy, at(0, 0, 0, 99, 100, 100, 100), { holdMs: 100 })).toEqual(
    // Two places; both are free again at 100.
    [true, true, false, false, true, true, false],
  );
});

test('calls in flight may each take their own time', () => {
  const policy = concurrency({ limit: 1, lease: '1m' });
  const holdMs = ({ atMs }: { atMs: number }) => (atMs === 0 ? 50 : 10);
  expect(answers(policy, at(0, 49, 50, 55, 60), { holdMs })).toEqual([true, false, true, false, true]);
});

test('without a hold time a place comes back when its lease ends', () => {
  expect(answers(concurrency({ limit: 1, lease: '1s' }), at(0, 999, 1000))).toEqual([true, false, true]);
});

test('the limiter begins with the traffic, whatever the real time', () => {
  const delays = (startMs: number) =>
    replay(smooth({ limit: 1, window: '1s', maxBurst: 5 }), at(startMs, startMs, startMs)).history.map(
      ({ decision }) => decision.delayMs,
    );
  // Nothing is stored yet: the second waits for the first, the third for both.
  expect(delays(0)).toEqual([0, 1000, 2000]);
  expect(delays(1_700_000_000_000)).toEqual([0, 1000, 2000]);
});

test('no traffic has an empty history', () => {
  expect(replay(gcra({ limit: 1, window: '1s' }), [])).toMatchObject({ history: [], grants: [], refusals: [] });
});

test('the same seed twice gives the identical history, another seed another', () => {
  const history = (seed: number) => {
    const traffic = zipfKeys(merge(poisson(200, { untilMs: 5000, seed }), steady(50, { untilMs: 5000 })), {
      count: 20,
      exponent: 1,
      seed,
    });
    const { exponential } = random(seed);
    return [
      replay(gcra({ limit: 10, window: '1s', burst: 5 }), traffic),
      replay(concurrency({ limit: 3 }), traffic, { holdMs: () => exponential(200) }),
    ];
  };
  expect(history(1)).toEqual(history(1));
  expect(history(1)).not.toEqual(history(2));
});
