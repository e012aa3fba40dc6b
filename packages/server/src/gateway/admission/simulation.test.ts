/** A service in front of which ten times as many requests arrive as it can take, by a seed: what each gets of it, and who waits how long. */
import { seededRandom } from 'sluice/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Simulation, type Traffic } from './simulation.test-support.ts';

afterEach(() => vi.restoreAllMocks());

describe('under ten times as much as fits', () => {
  // Ten places; the first tenant's share is 1.
  const rows: [title: string, weights: Record<string, number>, traffic: Traffic[], shares: number[]][] = [
    [
      'weights 3 and 1',
      { a: 3, b: 1 },
      [
        { tenant: 'a', perSecond: 500, serviceMs: 100 },
        { tenant: 'b', perSecond: 500, serviceMs: 100 },
      ],
      [1, 1 / 3],
    ],
    [
      'the light one sends nine times as much',
      { a: 3, b: 1 },
      [
        { tenant: 'a', perSecond: 100, serviceMs: 100 },
        { tenant: 'b', perSecond: 900, serviceMs: 100 },
      ],
      [1, 1 / 3],
    ],
    [
      'three tenants, each with its own service time',
      { a: 5, b: 2 },
      [
        { tenant: 'a', perSecond: 700, serviceMs: 50 },
        { tenant: 'b', perSecond: 300, serviceMs: 170 },
        { tenant: 'c', perSecond: 500, serviceMs: 20 },
      ],
      [1, 2 / 5, 1 / 5],
    ],
    [
      'one that wants less than its share has all it wants, and the others share the rest',
      { a: 3, b: 1, c: 10 },
      [
        { tenant: 'a', perSecond: 500, serviceMs: 100 },
        { tenant: 'b', perSecond: 500, serviceMs: 100 },
        { tenant: 'c', perSecond: 20, serviceMs: 100 },
      ],
      [1, 1 / 3, 0.333],
    ],
  ];

  it.each(rows)('%s', async (_, weights, traffic, shares) => {
    const simulation = new Simulation({ concurrency: 10, queue: 100, queueTimeoutMs: 2000, ageingMs: 500, weights });
    for (const [i, one] of traffic.entries()) simulation.send(one, i + 1);
    await simulation.run(60_000);
    const measured = simulation.shares(traffic.map(({ tenant }) => tenant).join(''));
    for (const [i, share] of shares.entries()) expect(Math.abs(measured[i]! / share - 1)).toBeLessThan(0.05);
    expect(simulation.admission.stats()).toMatchObject({ inFlight: 10, limit: 10 });
  });
});

it('weights hold also where everybody waits for so long that some turns go to who was passed over for longest', async () => {
  const simulation = new Simulation({
    concurrency: 4,
    queue: 500,
    queueTimeoutMs: 60_000,
    ageingMs: 10,
    weights: { a: 10 },
  });
  for (const [i, tenant] of [...'abcdefghijk'].entries())
    simulation.send({ tenant, perSecond: tenant === 'a' ? 40 : 20, serviceMs: 200 }, i + 1);
  await simulation.run(120_000);
  const [, ...others] = simulation.shares('abcdefghijk');
  for (const share of others) expect(Math.abs(share * 10 - 1)).toBeLessThan(0.2);
});

it('a tenant has its turns also where every other request comes under a name of its own, and nobody may wait for long', async () => {
  const simulation = new Simulation({
    concurrency: 4,
    queue: 100,
    queueTimeoutMs: 1000,
    ageingMs: 1000,
    weights: { a: 3 },
  });
  simulation.send({ tenant: 'a', perSecond: 100, serviceMs: 20 }, 1);
  // Ten times as much as fits.
  const flood = (i: number) => {
    simulation.request(`made up ${i}`, 5, () => ({ serviceMs: 20, outcome: 'ok' }));
    simulation.at(i / 2, () => flood(i + 1));
  };
  flood(1);
  await simulation.run(20_000);
  // 4000 turns, and a hundred wait at any time: it has those of one of them.
  const served = simulation.finished.filter(({ tenant, answer }) => tenant === 'a' && answer.isAdmitted);
  expect(served.length).toBeGreaterThan(30);
});

describe('what is urgent', () => {
  const serviceMs = 100;
  const urgent = { tenant: 'a', priority: 0, perSecond: 50, serviceMs };

  async function waitsOf(flood: readonly Traffic[]): Promise<{ readonly waitsMs: number[]; readonly run: Simulation }> {
    const run = new Simulation({ concurrency: 10, queue: 200, queueTimeoutMs: 1000, ageingMs: 1000 });
    run.send(urgent, 1);
    for (const [i, one] of flood.entries()) run.send(one, i + 2);
    await run.run(60_000);
    const own = run.finished.filter(({ priority }) => priority === urgent.priority);
    expect(own.filter(({ answer }) => !answer.isAdmitted)).toEqual([]);
    const waitsMs = own.map(({ answer }) => (answer.isAdmitted ? answer.waitedMs : Number.NaN));
    return { waitsMs: waitsMs.sort((a, b) => a - b), run };
  }

  it('waits as it does alone, and at most for one service time more, while the rest is shed', async () => {
    const alone = await waitsOf([]);
    const { waitsMs, run } = await waitsOf([
      { tenant: 'a', priority: 9, perSecond: 500, serviceMs },
      { tenant: 'b', priority: 9, perSecond: 500, serviceMs },
    ]);
    // Those under way when it ends are not among them.
    expect(Math.abs(waitsMs.length - alone.waitsMs.length)).toBeLessThan(20);
    for (let share = 0; share <= 1; share += 0.01)
      expect(quantile(waitsMs, share)).toBeLessThanOrEqual(quantile(alone.waitsMs, share) + serviceMs);
    const { refused, admitted } = run.admission.stats();
    expect(refused.shed).toBeGreaterThan(1000);
    // The rest has what is left: the service is never idle for it.
    expect(admitted * serviceMs).toBeGreaterThan(10 * 60_000 * 0.98);
  });
});

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)]!;
}

describe('a limit that is found by measuring', () => {
  /** A service that takes so many at once without delay; more take longer, or fail where that is how it says so. */
  async function limitsOf(algorithm: 'aimd' | 'gradient'): Promise<number[]> {
    const random = seededRandom(3);
    vi.spyOn(Math, 'random').mockImplementation(random);
    const concurrency = { algorithm, min: 2, max: 100 } as const;
    const run = new Simulation({ concurrency, queue: 200, queueTimeoutMs: 1000 });
    let underWay = 0;
    const serve = () => {
      underWay += 1;
      const capacity = run.clock.now() < 30_000 || run.clock.now() > 60_000 ? 40 : 8;
      const isOver = underWay > capacity;
      const serviceMs = algorithm === 'aimd' ? 50 : 50 * Math.max(1, underWay / capacity) ** 2;
      run.at(run.clock.now() + serviceMs, () => {
        underWay -= 1;
      });
      return { serviceMs, outcome: algorithm === 'aimd' && isOver ? ('failed' as const) : ('ok' as const) };
    };
    const send = (atMs: number) =>
      run.at(atMs, () => {
        run.request('a', 5, serve);
        send(atMs + 1);
      });
    send(0);
    const limits: number[] = [];
    const looks = [29_000, 58_000, 99_000];
    for (const atMs of looks) run.at(atMs, () => limits.push(run.admission.stats().limit));
    await run.run(100_000);
    return limits;
  }

  it.each(['aimd', 'gradient'] as const)(
    'falls with a service that slows down, and rises with it again: %s',
    async (algorithm) => {
      const [well, slow, wellAgain] = (await limitsOf(algorithm)) as [number, number, number];
      expect(well).toBeGreaterThan(20);
      expect(slow).toBeLessThan(well / 2);
      expect(wellAgain).toBeGreaterThan(slow * 1.5);
    },
  );

  it('learns nothing from what says nothing', async () => {
    const run = new Simulation({ concurrency: { algorithm: 'aimd', min: 2, max: 100 } });
    const before = run.admission.stats().limit;
    for (let i = 0; i < 1000; i += 1) {
      const place = run.admission.enter({ tenant: 'a', priority: 5 });
      run.clock.advance(10_000);
      if (!(place instanceof Promise) && place.isAdmitted) place.ignored();
    }
    expect(run.admission.stats()).toMatchObject({ limit: before, inFlight: 0, admitted: 1000 });
  });
});
