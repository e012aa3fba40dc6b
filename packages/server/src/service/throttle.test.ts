import fc from 'fast-check';
import { memoryStore, sharedMemoryStore } from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import type { ThrottleNumbers, ThrottleReply } from './service.ts';
import { Throttle, ThrottleError } from './throttle.ts';

type Row = [
  atMs: number,
  quantity: number,
  limited: 0 | 1,
  limit: number,
  remaining: number,
  retry: number,
  reset: number,
];

const first = (quantity: number, remaining: number): Row => [0, quantity, 0, 5, remaining, -1, 5 - remaining];

/** Traces published with redis-cell, throttled (Go) and governor (Rust): `max_burst count period`, then the calls. */
const published: Record<string, { numbers: string; rows: Row[] }> = {
  'redis-cell: rate limits, and throttled: a request larger than the burst after a full reset': {
    numbers: '4 1 1',
    rows: [
      [0, 6, 1, 5, 5, -1, 0], // larger than the bucket: never
      first(1, 4),
      first(1, 3),
      first(1, 2),
      first(1, 1),
      first(1, 0),
      [0, 1, 1, 5, 0, 1, 5],
      [3000, 1, 0, 5, 2, -1, 3],
      [3100, 1, 0, 5, 1, -1, 4], // 3.9 s
      [4000, 1, 0, 5, 1, -1, 4],
      [8000, 1, 0, 5, 4, -1, 1],
      [9500, 1, 0, 5, 4, -1, 1],
      [9500, 0, 0, 5, 4, -1, 1], // a question only
      [9500, 2, 0, 5, 2, -1, 3],
      [9500, 5, 1, 5, 2, 3, 3],
      [15_000, 6, 1, 5, 5, -1, 0],
    ],
  },
  'redis-cell: the README': { numbers: '15 30 60', rows: [[0, 1, 0, 16, 15, -1, 2]] },
  'redis-cell: end to end': {
    numbers: '0 1 2',
    rows: [
      [0, 1, 0, 1, 0, -1, 2],
      [0, 1, 1, 1, 0, 2, 2],
      [2000, 1, 0, 1, 0, -1, 2],
    ],
  },
  'governor: accepts the first cell': { numbers: '4 5 1', rows: [[0, 1, 0, 5, 4, -1, 1]] },
  'governor: rejects too many': {
    numbers: '1 2 1',
    rows: [
      [0, 1, 0, 2, 1, -1, 1],
      [1, 1, 0, 2, 0, -1, 1],
      [2, 1, 1, 2, 0, 1, 1],
      [1002, 1, 0, 2, 1, -1, 1],
      [1003, 1, 0, 2, 0, -1, 1],
      [1004, 1, 1, 2, 0, 1, 1],
    ],
  },
  'governor: no extra cell after a longer interval': {
    numbers: '4 5 1',
    rows: [0, 2000].flatMap((atMs): Row[] => [
      [atMs, 1, 0, 5, 4, -1, 1],
      [atMs, 1, 0, 5, 3, -1, 1],
      [atMs, 1, 0, 5, 2, -1, 1],
      [atMs, 1, 0, 5, 1, -1, 1],
      [atMs, 1, 0, 5, 0, -1, 1],
      [atMs, 1, 1, 5, 0, 1, 1],
    ]),
  },
  'governor: never more than the capacity, several at once': {
    numbers: '3 4 1',
    rows: [
      [0, 2, 0, 4, 2, -1, 1],
      [0, 2, 0, 4, 0, -1, 1],
      [1, 2, 1, 4, 0, 1, 1],
      [1001, 2, 0, 4, 2, -1, 1],
      [1002, 2, 0, 4, 0, -1, 1],
      [1003, 2, 1, 4, 0, 1, 1],
    ],
  },
  'governor: rejects too many at once': {
    numbers: '4 5 1',
    rows: [
      [0, 15, 1, 5, 5, -1, 0],
      [3000, 15, 1, 5, 5, -1, 0],
    ],
  },
  'governor: excess is rejected, the capacity is not': {
    numbers: '4 5 1',
    rows: [
      [0, 15, 1, 5, 5, -1, 0],
      [0, 7, 1, 5, 5, -1, 0],
      [0, 6, 1, 5, 5, -1, 0],
      [0, 5, 0, 5, 0, -1, 1],
    ],
  },
  'governor: twenty at once': {
    numbers: '19 20 1',
    rows: [
      ...Array.from({ length: 20 }, (_, i): Row => [0, 1, 0, 20, 19 - i, -1, 1]),
      [2, 1, 1, 20, 0, 1, 1],
      [1000, 1, 0, 20, 19, -1, 1],
    ],
  },
};

function numbersOf(text: string): ThrottleNumbers {
  const [maxBurst, count, periodSeconds] = text.split(' ').map(Number) as [number, number, number];
  return { maxBurst, count, periodSeconds };
}

function caller(clock: TestClock, throttle = new Throttle(memoryStore({ clock, keys: 'fingerprint' }))) {
  return (numbers: string, quantity = 1, key = 'user123'): number[] => {
    const bytes = Buffer.from(`<${key}>`);
    const reply = throttle.check(bytes, 1, bytes.length - 1, numbersOf(numbers), quantity) as ThrottleReply;
    return [reply.limited, reply.limit, reply.remaining, reply.retryAfterSeconds, reply.resetAfterSeconds];
  };
}

const originMs = 1_700_000_000_000;

describe('CL.THROTTLE', () => {
  for (const [name, { numbers, rows }] of Object.entries(published)) {
    for (const kind of ['memory', 'shared memory']) {
      it(`answers as published (${kind}): ${name}`, () => {
        const clock = new TestClock(originMs);
        const store = kind === 'memory' ? memoryStore({ clock }) : sharedMemoryStore({ clock, maxKeys: 100 });
        const call = caller(clock, new Throttle(store));
        for (const [atMs, quantity, ...reply] of rows) {
          clock.set(originMs + atMs);
          expect(call(numbers, quantity), `${quantity} at ${atMs} ms`).toEqual(reply);
        }
      });
    }
  }

  it('keeps what was used when the burst becomes smaller, and says so to a question', () => {
    const call = caller(new TestClock(originMs));
    call('4 1 1', 5);
    expect(call('1 1 1', 0)).toEqual([1, 2, 0, 3, 5]);
  });

  it('keeps the time to drain when the rate changes, as redis-cell does', () => {
    const call = caller(new TestClock(originMs));
    expect(call('9 1 1', 10)).toEqual([0, 10, 0, -1, 10]);
    // Ten seconds are left, which at ten per second are a hundred.
    expect(call('199 10 1', 1)).toEqual([0, 200, 99, -1, 11]);
  });

  it('drops what is left below a millisecond', () => {
    const clock = new TestClock(originMs);
    const call = caller(clock);
    call('0 1 1');
    clock.advance(999.5);
    expect(call('0 1 1')).toEqual([1, 1, 0, 0, 0]);
  });

  it('gives back with a negative quantity', () => {
    const call = caller(new TestClock(originMs));
    call('4 1 1', 5);
    expect(call('4 1 1', -2)).toEqual([0, 5, 2, -1, 3]);
  });

  it('limits what is slower than nanoseconds can count', () => {
    const clock = new TestClock(originMs);
    const call = caller(clock);
    const yearly = '0 1 31536000';
    expect(call(yearly)).toEqual([0, 1, 0, -1, 31_536_000]);
    clock.advance(31_535_999_000);
    expect(call(yearly)).toEqual([1, 1, 0, 1, 1]);
    clock.advance(1000);
    expect(call(yearly)).toEqual([0, 1, 0, -1, 31_536_000]);
  });

  it('counts a key apart where its numbers are slower than that, as the guide says, and finds it again', () => {
    const call = caller(new TestClock(originMs));
    expect(call('0 1 1000000')).toEqual([0, 1, 0, -1, 1_000_000]);
    expect(call('1 1 1000000')).toEqual([0, 2, 1, -1, 1_000_000]); // redis-cell would have 0 left
    expect(call('0 1 1000000')).toEqual([1, 1, 0, 1_000_000, 1_000_000]);
    // The last that is counted in nanoseconds, and the first that is not.
    const near = (period: number) => call(`0 1 ${period}`, 1, 'near')[0];
    expect([1_125_899, 1_125_899, 1_125_900, 1_125_900].map(near)).toEqual([0, 1, 0, 1]);
  });

  it('lets nothing pass with a negative burst', () => {
    expect(caller(new TestClock(originMs))('-1 1 1')).toEqual([1, 0, 0, -1, 0]);
  });

  it.each([
    ['4 0 1', 'Cell error: Zero rates are not supported'],
    ['4 1 0', 'Cell error: Zero rates are not supported'],
    ['4 2000000000 1', 'Cell error: Zero rates are not supported'],
    ['4 -1 1', 'Cell error: Negative rates are not supported'],
    ['9007199254740991 1 86400', 'Cell error: A burst that takes more than 35 years to drain is not supported'],
  ])('refuses the numbers %s', (numbers, message) => {
    const call = caller(new TestClock(originMs));
    expect(() => call(numbers)).toThrow(ThrottleError);
    expect(() => call(numbers)).toThrow(message);
  });

  it('equals the published arithmetic on any trace, with numbers that change from call to call', () => {
    const call = fc.record({
      afterQuarterMs: fc.oneof(fc.nat(8), fc.nat(40_000)),
      numbers: fc.record({
        maxBurst: fc.nat(20),
        count: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 100_000 })),
        periodSeconds: fc.integer({ min: 1, max: 100 }),
      }),
      isSame: fc.boolean(),
      quantity: fc.oneof(fc.constant(1), fc.nat(25)),
    });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 40 }), (calls) => {
        const clock = new TestClock(originMs);
        const ours = caller(clock);
        let arrivalNs: bigint | undefined;
        let nowNs = 0n;
        let current = calls[0]!.numbers;
        for (const { afterQuarterMs, numbers, isSame, quantity } of calls) {
          clock.advance(afterQuarterMs / 4);
          nowNs += BigInt(afterQuarterMs) * 250_000n;
          if (!isSame) current = numbers;
          const intervalNs = (BigInt(current.periodSeconds) * 1_000_000_000n) / BigInt(current.count);
          const toleranceNs = intervalNs * BigInt(current.maxBurst + 1);
          const before = arrivalNs ?? nowNs;
          const next = (before > nowNs ? before : nowNs) + intervalNs * BigInt(quantity);
          const spareNs = nowNs - (next - toleranceNs);
          const isLimited = spareNs < 0n;
          let resetNs = before - nowNs;
          if (!isLimited) {
            arrivalNs = next;
            resetNs = next - nowNs;
          }
          if (resetNs < 0n) resetNs = 0n;
          const left = toleranceNs - resetNs;
          const expected = [
            isLimited ? 1 : 0,
            current.maxBurst + 1,
            left > 0n ? Number(left / 1000n / (intervalNs / 1000n)) : 0,
            !isLimited || intervalNs * BigInt(quantity) > toleranceNs ? -1 : seconds(-spareNs),
            seconds(resetNs),
          ];
          const { maxBurst, count, periodSeconds } = current;
          expect(ours(`${maxBurst} ${count} ${periodSeconds}`, quantity)).toEqual(expected);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

/** Truncated to seconds, one more for whole milliseconds beyond. */
function seconds(ns: bigint): number {
  const ms = ns / 1_000_000n;
  return Number(ms / 1000n + (ms % 1000n > 0n ? 1n : 0n));
}
