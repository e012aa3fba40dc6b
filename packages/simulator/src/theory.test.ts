/**
 * What the theory says, reproduced. Every seed is fixed, so nothing here fails by chance; where a number is random, the
 * tolerance is derived beside it, wide enough that nearly every other seed would pass too.
 */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  limiter,
  type Policy,
  slidingLog,
  slidingSlots,
  slidingWindow,
  tokenBucket,
} from 'sluice';
import { describe, expect, test } from 'vitest';
import { simulatedClock } from './clock.ts';
import { eventLoop } from './events.ts';
import { dropRatio, untilFirstRefusal, worstWindow } from './measure.ts';
import { type Random, random } from './random.ts';
import { replay } from './replay.ts';
import { burst, merge, onOff, poisson, steady, type Traffic, zipfKeys } from './traffic.ts';

describe('a full token bucket under arrivals at R > r lasts B / (R - r)', () => {
  const rows: [r: number, B: number, R: number, lastsMs: number, passes: number][] = [
    // per s   size  per s  B / (R - r)  R * B / (R - r)
    [100, 500, 600, 1_000, 600],
    [100, 400, 500, 1_000, 500],
    [10, 50, 20, 5_000, 100],
    [1, 30, 4, 10_000, 40],
  ];
  test.each(rows)('r = %d/s, B = %d, R = %d/s lasts %d ms and passes %d', (r, B, R, lastsMs, passes) => {
    const { history } = replay(tokenBucket({ limit: r, window: '1s', burst: B }), steady(R, { untilMs: 10 * lastsMs }));
    const good = untilFirstRefusal(history);
    // The theory's traffic is a fluid; calls are whole, so both are exact up to one arrival.
    expect(Math.abs(good!.durationMs - lastsMs)).toBeLessThanOrEqual(1000 / R + 1e-6);
    expect(Math.abs(good!.passed - passes)).toBeLessThanOrEqual(1);
  });
});

describe('for Poisson arrivals well above r the drop share tends to 1 - r/lambda', () => {
  const ratePerSecond = 100;
  const size = 50;
  const untilMs = 60_000;
  const policy = tokenBucket({ limit: ratePerSecond, window: '1s', burst: size });

  test.each([200, 400, 800, 1600])('lambda = %d/s', (lambda) => {
    const expected = 1 - ratePerSecond / lambda;
    const arrivals = (lambda * untilMs) / 1000;
    // The bucket is full only at the start: `size` more than the rate pass, once. Besides, the number of arrivals varies
    // by its square root, and the share that passes with it; four times that.
    const tolerance = size / arrivals + (4 * (1 - expected)) / Math.sqrt(arrivals);
    for (const seed of [1, 2, 3]) {
      const { history } = replay(policy, poisson(lambda, { untilMs, seed }));
      expect(Math.abs(dropRatio(history) - expected)).toBeLessThan(tolerance);
    }
  });

  test('well below r nothing is dropped', () => {
    // A burst of 50 more than the refill is dozens of standard deviations away.
    expect(dropRatio(replay(policy, poisson(50, { untilMs, seed: 1 })).history)).toBe(0);
  });
});

// The policies whose promise is measured: all 100 per minute.
const rate = { limit: 100, window: '1m' } as const;
const windowMs = 60_000;

/** Everything in the last millisecond before a boundary of windows, and everything again at the boundary. */
const aroundTheBoundary = merge(burst(200, { atMs: windowMs - 1 }), burst(200, { atMs: windowMs }));
/** All of the burst, and then each unit in the moment it comes back, 600 ms after the last. */
const burstAndRefill = merge(burst(200, { atMs: 0 }), steady(1 / 0.6, { untilMs: 2 * windowMs }));
/** A whole window's worth at the end of one window, then each unit as its weight in the next one fades. */
const weightFades = merge(
  burst(200, { atMs: windowMs - 1 }),
  steady(1 / 0.6, { fromMs: windowMs, untilMs: 3 * windowMs }),
);

describe('the most that passes in any 60 s at 100 per minute', () => {
  interface Row {
    readonly policy: Policy;
    readonly worst: number;
    /** Traffic that reaches it. */
    readonly adversary: Traffic;
  }
  const rows: Row[] = [
    // The count starts again at the boundary, whatever came just before.
    { policy: fixedWindow(rate), worst: 200, adversary: aroundTheBoundary },
    // The whole limit, then what its fading weight makes room for; the last of it fades only when the first has left.
    { policy: slidingWindow(rate), worst: 199, adversary: weightFades },
    // The burst of 100, then one each 600 ms; the hundredth comes back when the burst has just left.
    { policy: tokenBucket(rate), worst: 199, adversary: burstAndRefill },
    { policy: gcra(rate), worst: 199, adversary: burstAndRefill },
    { policy: leakyBucket({ ...rate, burst: 99, delay: 'none' }), worst: 199, adversary: burstAndRefill },
    // A smaller burst is the way to promise less.
    { policy: gcra({ ...rate, burst: 1 }), worst: 100, adversary: burstAndRefill },
    // Strict: the promise is the limit, and traffic that tries harder gets no more.
    { policy: slidingLog(rate), worst: 100, adversary: weightFades },
    { policy: slidingSlots(rate), worst: 100, adversary: weightFades },
    { policy: slidingSlots({ ...rate, slots: 7 }), worst: 100, adversary: aroundTheBoundary },
  ];
  const titled = rows.map((row) => ({ ...row, title: titleOf(row.policy) }));

  test.each(titled)('is $worst for $title', ({ policy, worst, adversary }) => {
    expect(worstWindow(replay(policy, adversary).grants, windowMs)).toBe(worst);
  });

  test.each(titled)('is never above $worst for $title, whatever the traffic', ({ policy, worst }) => {
    for (const adversary of [aroundTheBoundary, burstAndRefill, weightFades]) {
      expect(worstWindow(replay(policy, adversary).grants, windowMs)).toBeLessThanOrEqual(worst);
    }
    for (let seed = 0; seed < 40; seed += 1) {
      const found = worstWindow(replay(policy, hostileTraffic(seed)).grants, windowMs);
      expect(found, `seed ${seed}`).toBeLessThanOrEqual(worst);
    }
  });

  test('is 100 for a leaky bucket that delays: what would pass at once goes one each 600 ms', () => {
    const policy = leakyBucket({ ...rate, burst: 99, delay: 'all' });
    expect(worstWindow(replay(policy, burstAndRefill).grants, windowMs)).toBe(100);
    for (let seed = 0; seed < 40; seed += 1) {
      // A call of a larger cost goes in one piece, so this holds for single costs only. The moment of going is a sum of
      // fractions and rounds; the hundred-and-first may seem to go that much too early.
      const { grants } = replay(policy, hostileTraffic(seed, [1]));
      expect(worstWindow(grants, windowMs - 1e-6), `seed ${seed}`).toBeLessThanOrEqual(100);
    }
  });

  test('the flaw of the fixed window is one of position: away from the boundary the limit holds', () => {
    const { grants } = replay(fixedWindow(rate), merge(burst(200, { atMs: 1 }), burst(200, { atMs: 30_000 })));
    expect(worstWindow(grants, windowMs)).toBe(100);
  });
});

/** `gcra` of the plain rate; `gcra burst=1` where the policy says more. */
function titleOf({ algorithm, limit, window, ...more }: Policy): string {
  const extras = Object.entries(more).filter(([, value]) => value !== limit);
  return [algorithm, ...extras.map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** Four minutes of a random mixture that favours what hurts: bursts near boundaries, and rates near the limit. */
function hostileTraffic(seed: number, costs: readonly number[] = [1, 1, 1, 2, 7]): Traffic {
  const source = random(seed);
  const pieces = Array.from({ length: 1 + source.integer(6) }, () => hostilePiece(source, source.pick(costs)));
  return merge(...pieces);
}

function hostilePiece(source: Random, cost: number): Traffic {
  const { uniform, integer, pick } = source;
  // Whole milliseconds are where the boundaries are, fractions where the rounding errors are.
  const jitterMs = pick([0, -1, 1, uniform(), -uniform(), 600 * uniform(), 30_000 * uniform()]);
  const atMs = Math.max(0, integer(4) * windowMs + jitterMs);
  const untilMs = 4 * windowMs;
  const ratePerSecond = (100 / 60) * pick([0.5, 1, 1, 1.001, 1.5, 2, 10]);
  const pieces: readonly (() => Traffic)[] = [
    () => burst(1 + integer(250), { atMs, cost, spacingMs: pick([0, 0, 1, uniform(), 600]) }),
    () => steady(ratePerSecond, { fromMs: atMs, untilMs, cost }),
    () => poisson(ratePerSecond, { fromMs: atMs, untilMs, cost, seed: integer(1_000_000) }),
    () =>
      onOff(steady(20 * uniform() + 1, { fromMs: atMs, untilMs, cost }), {
        onMs: 100 + integer(20_000),
        offMs: 100 + integer(60_000),
      }),
  ];
  return pick(pieces)();
}

test('the same seed twice gives the identical history, also for those who wait in line', async () => {
  async function history(seed: number): Promise<string[]> {
    const loop = eventLoop({ seed });
    const limit = limiter(gcra({ limit: 20, window: '1s', burst: 3 }), { clock: simulatedClock(loop) });
    const seen: string[] = [];
    const arrivals = zipfKeys(poisson(60, { untilMs: 3000, seed }), { count: 4, exponent: 1, seed: seed + 1 });
    for (const { atMs, key } of arrivals) {
      loop.at(atMs, async () => {
        const { allowed, remaining } = await limit.wait(key, { maxWaitMs: 200 + loop.random.integer(200) });
        seen.push(`${key} ${atMs} ${loop.nowMs} ${allowed} ${remaining}`);
      });
    }
    await loop.run();
    return seen;
  }
  const first = await history(1);
  expect(first.some((line) => line.includes('true'))).toBe(true);
  expect(first.some((line) => line.includes('false'))).toBe(true);
  expect(await history(1)).toEqual(first);
  expect(await history(2)).not.toEqual(first);
});
