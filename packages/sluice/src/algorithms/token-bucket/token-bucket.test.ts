import { expect, test } from 'vitest';
import { limiter } from '../../limit/limiter.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { gcra } from '../gcra/gcra.ts';
import { answersTo } from '../run-cases.test-support.ts';
import { cases } from './cases.ts';
import { type TokenBucketOptions, tokenBucket } from './token-bucket.ts';

for (const { name, policy, rows } of cases) {
  test(name, () => {
    const clock = new TestClock(rows[0]![0]);
    expect(answersTo(rows, clock, limiter(policy, { clock }))).toEqual(rows);
  });
}

test('the policy is plain data', () => {
  expect(tokenBucket({ limit: 10, window: '1m' })).toEqual({
    algorithm: 'token-bucket',
    limit: 10,
    window: 60_000,
    burst: 10,
  });
  expect(tokenBucket({ limit: 10, window: '1m', burst: 20, initial: 0, refill: 'interval' })).toEqual({
    algorithm: 'token-bucket',
    limit: 10,
    window: 60_000,
    burst: 20,
    initial: 0,
    refill: 'interval',
  });
});

test('a bucket of 500 at 100 per second lasts one second under 600 per second, and passes 600', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 100, window: '1s', burst: 500 }), { clock });
  const passed = { count: 0, firstRefusalMs: Number.POSITIVE_INFINITY };
  // Three calls every 5 ms.
  for (let atMs = 0; atMs <= 1000; atMs += 5) {
    clock.set(atMs);
    for (let call = 0; call < 3; call += 1) {
      if (subject.allow('key')) passed.count += 1;
      else passed.firstRefusalMs = Math.min(passed.firstRefusalMs, atMs);
    }
  }
  expect(passed).toEqual({ count: 600, firstRefusalMs: 995 });
});

test('under Poisson arrivals well above the rate the share that is dropped tends to 1 - rate / arrivals', () => {
  const random = seededRandom(600);
  const subject = limiter(tokenBucket({ limit: 100, window: '1s', burst: 500 }), { clock: new TestClock(0) });
  const arrivals = 200_000;
  let dropped = 0;
  let atMs = 0;
  for (let i = 0; i < arrivals; i += 1) {
    atMs += -Math.log(1 - random()) / 0.4; // 400 per second
    if (!subject.allow('key', { atMs })) dropped += 1;
  }
  expect(dropped / arrivals).toBeCloseTo(1 - 100 / 400, 2);
});

test('answers as gcra does, decision for decision, whatever is done to it', () => {
  const options = { limit: 3, window: 700, burst: 5 };
  const clock = new TestClock(1_700_000_000_000);
  const tokens = limiter(tokenBucket(options), { clock });
  const arrivals = limiter(gcra(options), { clock });
  const random = seededRandom(7);
  for (let step = 0; step < 5000; step += 1) {
    // Backwards too.
    clock.advance(Math.floor((random() - 0.2) * 500));
    const cost = random() < 0.7 ? Math.floor(random() * 4) : random() * 3;
    const operations = ['check', 'check', 'check', 'peek', 'take', 'penalize', 'reward', 'reset'] as const;
    const operation = operations[Math.floor(random() * operations.length)]!;
    const [one, other] = [tokens, arrivals].map((each) => ({ ...each[operation]('key', cost as never), policy: 0 }));
    expect({ step, operation, ...one }).toEqual({ step, operation, ...other });
  }
});

test('a clock that was ahead and stepped back frees nothing, although the bucket was seen full in between', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 1, window: '1s', burst: 10 }), { clock });
  expect(subject.check('key', 10).allowed).toBe(true);
  clock.set(20_000);
  expect(subject.check('key', 0).remaining).toBe(10);
  clock.set(1000);
  expect(subject.check('key', 10)).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 9000 });
});

test('a key that starts partly filled counts as new again a day after it filled up', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 10, window: '1s', initial: 3 }), { clock });
  expect(subject.check('key', 3).resetAfterMs).toBe(1000);
  clock.set(86_400_999);
  expect(subject.peek('key', 0).remaining).toBe(10);
  clock.set(86_401_000);
  expect(subject.peek('key', 0).remaining).toBe(3);
});

test('penalize takes more than there is, and the debt is waited for', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 10, window: '1s' }), { clock });
  expect(subject.penalize('key', 15).remaining).toBe(0);
  expect(subject.check('key').retryAfterMs).toBe(600);
  clock.set(600);
  expect(subject.allow('key')).toBe(true);
});

test('reward fills up, never over', () => {
  const subject = limiter(tokenBucket({ limit: 10, window: '1s' }), { clock: new TestClock(0) });
  expect(subject.check('key', 10).remaining).toBe(0);
  expect(subject.reward('key', 4).remaining).toBe(4);
  expect(subject.reward('key', 40)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
});

test('take grants the tokens that there are', () => {
  const subject = limiter(tokenBucket({ limit: 10, window: '1s', initial: 4 }), { clock: new TestClock(0) });
  expect(subject.take('key', 3)).toMatchObject({ allowed: true, granted: 3, remaining: 1 });
  expect(subject.take('key', 3)).toMatchObject({ allowed: true, granted: 1, remaining: 0 });
  expect(subject.take('key', 3)).toMatchObject({ allowed: false, granted: 0, retryAfterMs: 100 });
});

test('what others took while tokens were reserved stays taken', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 10, window: '1s', burst: 10 }), { clock });
  const reservation = subject.reserve('key', 10);
  clock.set(500);
  expect(subject.check('key', 5).allowed).toBe(true); // the five that came in since
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(5); // not ten: five of the reserved came back by themselves, and are spent
});

test('with refill "interval" what others took while tokens were reserved stays taken', () => {
  const clock = new TestClock(0);
  const subject = limiter(tokenBucket({ limit: 10, window: '1s', burst: 20, refill: 'interval' }), { clock });
  const reservation = subject.reserve('key', 15);
  clock.set(1000);
  expect(subject.check('key', 5).allowed).toBe(true);
  expect(reservation.cancel()).toBe(true);
  expect(subject.peek('key', 0).remaining).toBe(15); // five of the fifteen had not come back yet
});

test('with refill "interval" a reservation cancelled at once leaves no trace, whenever the first call was', () => {
  for (let startMs = 1_700_000_000_000; startMs < 1_700_000_000_200; startMs += 1) {
    const clock = new TestClock(startMs);
    const subject = limiter(tokenBucket({ limit: 7, window: '1m', burst: 20, refill: 'interval' }), { clock });
    expect(subject.reserve('key', 3).cancel()).toBe(true);
    expect({ startMs, remaining: subject.peek('key', 0).remaining }).toEqual({ startMs, remaining: 20 });
  }
});

const wrong: [options: unknown, message: string][] = [
  [{ limit: 0, window: '1s' }, 'limit must be a number above 0, got 0. To refuse everything use block().'],
  [{ limit: 1, window: 'soon' }, 'window must be a time above 0, got "soon". Give milliseconds as a number'],
  [{ limit: 1, window: '1s', burst: -1 }, 'burst must be a number above 0, got -1.'],
  [{ limit: 1, window: '1s', burst: 5, initial: 6 }, 'initial must be a number from 0 to 5, got 6.'],
  [{ limit: 1, window: '1s', initial: -1 }, 'initial must be a number from 0 to 1, got -1.'],
  [{ limit: 1, window: '1s', refill: 'hourly' }, 'refill must be one of "continuous", "interval", got "hourly".'],
  [
    { limit: 1, window: '1s', capacity: 5 },
    'tokenBucket has no field "capacity". It takes limit, window, burst, initial, refill.',
  ],
  [
    { limit: 7, window: '30d', burst: 1e7 },
    'limit, window and burst must be exact together, got [7,2592000000,10000000].',
  ],
];
test.each(wrong)('refuses %j when it is built', (options, message) => {
  expect(() => tokenBucket(options as TokenBucketOptions)).toThrow(message);
});
