// Each algorithm before a simulated service that is asked for three times as much as it can do. The right limit is the number of
// its workers; see `simulated-service.test-support.ts`.
import { describe, expect, it } from 'vitest';
import type { AdaptiveConcurrencyOptions } from './settings.ts';
import { limitsBetween, type Seen, type Simulation, simulate } from './simulated-service.test-support.ts';

const minute = 60_000;

interface Band {
  /** Where the limit is in the middle, in workers. */
  readonly median: readonly [least: number, most: number];
  /** It is never above, in workers. */
  readonly most: number;
}

interface Case {
  readonly name: string;
  readonly options: AdaptiveConcurrencyOptions;
  readonly settings?: Partial<Simulation>;
  readonly band: Band;
}

const cases: readonly Case[] = [
  {
    // 40 may wait in the service before it rejects: AIMD goes to that edge and back by a tenth or two.
    name: 'AIMD, told of overload by rejections',
    options: { algorithm: 'aimd' },
    settings: { queueMax: 40 },
    band: { median: [1.4, 2.6], most: 2.8 },
  },
  {
    // Calls wait for no more than 100 ms in 50 ms of service on average: twice the workers.
    name: 'AIMD, told of overload by how long calls take',
    options: { algorithm: 'aimd', timeout: '100ms' },
    band: { median: [1.7, 2.1], most: 2.3 },
  },
  {
    // Some 3 to 6 wait in the service, be it large or small.
    name: 'Vegas',
    options: { algorithm: 'vegas' },
    band: { median: [1, 1.25], most: 1.35 },
  },
  {
    // A call may take half as long again, and so half as many again may wait; and a little more until the next probe.
    name: 'the gradient',
    options: { algorithm: 'gradient' },
    band: { median: [1.4, 1.8], most: 2.1 },
  },
  {
    name: 'the gradient, where calls take anything from nothing to twice their time',
    options: { algorithm: 'gradient' },
    settings: { variation: 1 },
    band: { median: [1.3, 1.9], most: 2.3 },
  },
];

function run(options: AdaptiveConcurrencyOptions, settings: Partial<Simulation>): Seen[] {
  return simulate({
    options,
    workers: () => 50,
    serviceMs: 50,
    variation: 0.2,
    queueMax: Number.POSITIVE_INFINITY,
    callsPerSecond: 3000,
    endMs: minute,
    seed: 7,
    ...settings,
  });
}

function servedPerSecond(seen: readonly Seen[], fromMs: number, toMs: number): number {
  const part = seen.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const [first, last] = [part[0]!, part.at(-1)!];
  return ((last.served - first.served) / (last.atMs - first.atMs)) * 1000;
}

function expectBand(seen: readonly Seen[], { median, most }: Band, workers: number, fromMs: number, toMs: number) {
  const limits = limitsBetween(seen, fromMs, toMs);
  expect(limits.median / workers).toBeGreaterThanOrEqual(median[0]);
  expect(limits.median / workers).toBeLessThanOrEqual(median[1]);
  expect(limits.highest / workers).toBeLessThanOrEqual(most);
  // Its workers are hardly ever without work: 20 calls a second each.
  expect(servedPerSecond(seen, fromMs, toMs)).toBeGreaterThan(20 * workers * 0.96);
}

describe.each(cases)('$name', ({ options, settings = {}, band }) => {
  it('settles around the right limit within 20 seconds, and serves all that can be served', () => {
    for (const seed of [1, 2, 3]) expectBand(run(options, { ...settings, seed }), band, 50, 20_000, minute);
  });

  it('follows when half of the workers leave, and when they come back', () => {
    const workers = (atMs: number) => (atMs >= minute && atMs < 2 * minute ? 25 : 50);
    const seen = run(options, { ...settings, workers, endMs: 3 * minute });
    // Where so many may wait before it rejects, they may also wait before half as many workers.
    expectBand(seen, band, 25, minute + 20_000, 2 * minute);
    expectBand(seen, band, 50, 2 * minute + 20_000, 3 * minute);
  });
});

describe('a service that can take far fewer calls than the limit begins with', () => {
  it.each([
    ['vegas', 12],
    ['gradient', 9],
  ] as const)('%s comes down: what it measured first was a queue', (algorithm, most) => {
    const seen = run({ algorithm }, { workers: () => 4, callsPerSecond: 240, endMs: 2 * minute });
    expect(limitsBetween(seen, minute, 2 * minute).highest).toBeLessThanOrEqual(most);
    expect(servedPerSecond(seen, minute, 2 * minute)).toBeGreaterThan(80 * 0.96);
  });
});

describe('under steady overload the gradient', () => {
  const settings = { endMs: 10 * minute, callsPerSecond: 1500 };

  it('does not creep up in the long run', () => {
    const seen = run({ algorithm: 'gradient', limitMax: 1000 }, settings);
    expect(limitsBetween(seen, 8 * minute, 10 * minute).highest).toBeLessThanOrEqual(105);
  });

  it('would, without its probes: what is slow for long is what is usual', () => {
    const seen = run({ algorithm: 'gradient', limitMax: 1000, probeEvery: 0 }, settings);
    expect(limitsBetween(seen, 8 * minute, 10 * minute).lowest).toBeGreaterThan(200);
  });
});

it('a limit that is not used does not grow', () => {
  for (const algorithm of ['aimd', 'vegas', 'gradient'] as const) {
    const seen = run({ algorithm }, { callsPerSecond: 20 }); // one under way
    expect(limitsBetween(seen, 0, minute)).toMatchObject({ highest: 20, median: 20 });
  }
});
