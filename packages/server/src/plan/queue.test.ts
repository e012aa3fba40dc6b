import fc from 'fast-check';
import { seededRandom } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { meanWaitMs, type Queue, serviceVariabilityOf, waitMs } from './queue.ts';

describe('a queue', () => {
  it('has the mean wait that theory knows', () => {
    const rows: [name: string, serviceVariability: number, load: number, mean: number][] = [
      ['M/M/1, half full', 1, 0.5, 1],
      ['M/M/1, nearly full', 1, 0.9, 9],
      ['M/D/1 waits half as long', 0, 0.5, 0.5],
      ['M/D/1, nearly full', 0, 0.9, 4.5],
      ['nothing to wait for', 1, 0, 0],
    ];
    for (const [name, serviceVariability, load, mean] of rows) {
      const queue: Queue = { serviceMs: 1, arrivalVariability: 1, serviceVariability };
      expect([name, meanWaitMs(queue, load)]).toEqual([name, expect.closeTo(mean, 9)]);
    }
  });

  it('has the tail of M/M/1, which is exponential', () => {
    const queue: Queue = { serviceMs: 1, arrivalVariability: 1, serviceVariability: 1 };
    // P(wait > t) = load * exp(-(1 - load) * t)
    for (const load of [0.1, 0.5, 0.7, 0.95]) {
      const t = waitMs(queue, load, 0.99);
      expect(load * Math.exp(-(1 - load) * t)).toBeCloseTo(0.01, 9);
    }
  });

  it('lets nobody of 99 in 100 wait where fewer than that find it busy, and everybody for ever where it is full', () => {
    const queue: Queue = { serviceMs: 1, arrivalVariability: 1, serviceVariability: 1 };
    expect(waitMs(queue, 0.01)).toBe(0);
    expect(waitMs(queue, 1)).toBe(Number.POSITIVE_INFINITY);
    expect(meanWaitMs(queue, 1.2)).toBe(Number.POSITIVE_INFINITY);
  });

  it('gives back the unevenness that it was calculated with', () => {
    const positive = (max: number) => fc.double({ min: 0.01, max, noNaN: true });
    fc.assert(
      fc.property(
        positive(10),
        positive(3),
        positive(500),
        fc.double({ min: 0.05, max: 0.98, noNaN: true }),
        (serviceMs, arrivalVariability, serviceVariability, load) => {
          const queue: Queue = { serviceMs, arrivalVariability, serviceVariability };
          const found = serviceVariabilityOf({ serviceMs, arrivalVariability, load, waitMs: waitMs(queue, load) });
          expect(found / serviceVariability).toBeCloseTo(1, 6);
        },
      ),
    );
  });

  it('knows no unevenness below none, and none at all of a service that was full', () => {
    expect(serviceVariabilityOf({ serviceMs: 1, arrivalVariability: 1, load: 0.5, waitMs: 0 })).toBe(0);
    expect(serviceVariabilityOf({ serviceMs: 1, arrivalVariability: 1, load: 0.005, waitMs: 3 })).toBe(0);
    expect(serviceVariabilityOf({ serviceMs: 1, arrivalVariability: 1, load: 1, waitMs: 3 })).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  // A queue that is played through, one customer after the other (Lindley): how near the approximation is to what it stands for.
  const services: [name: string, of: (random: () => number) => number, variability: number, within: number][] = [
    ['the same for all', () => 1, 0, 0.2],
    ['exponential', (random) => -Math.log(1 - random()), 1, 0.05],
    ['mostly short, with pauses of 20 in one of 100', (random) => (random() < 0.01 ? 20 : 80 / 99), pauses(), 0.25],
  ];

  it.each(services)('foretells the p99 of a queue whose service is %s', (_, of, serviceVariability, within) => {
    const random = seededRandom(7);
    const load = 0.7;
    const waits: number[] = [];
    let wait = 0;
    for (let i = 0; i < 300_000; i += 1) {
      waits.push(wait);
      wait = Math.max(0, wait + of(random) + Math.log(1 - random()) / load);
    }
    waits.sort((a, b) => a - b);
    const seen = waits[Math.floor(0.99 * waits.length)]!;
    const foretold = waitMs({ serviceMs: 1, arrivalVariability: 1, serviceVariability }, load);
    expect(Math.abs(foretold - seen) / seen).toBeLessThan(within);
  });

  function pauses(): number {
    return 0.01 * 20 ** 2 + 0.99 * (80 / 99) ** 2 - 1;
  }
});
