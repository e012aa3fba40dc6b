import { random } from '@sluice/simulator';
import { describe, expect, it, test } from 'vitest';
import { limitCandidates } from './limit-candidates.ts';
import { type LimitRow, type LimitsOptions, limitsFor } from './limits.ts';
import { type MadeEntry, madeTrace } from './made-trace.test-support.ts';
import { whatIf } from './what-if.ts';

const minuteMs = 60_000;

/** Each calls once in every so many ms. */
function steady(client: string, gapMs: number, untilMs: number, calls = 1): MadeEntry[] {
  return Array.from({ length: Math.ceil(untilMs / gapMs) }, (_, i) => ({ atMs: i * gapMs, client, calls }));
}

function inOrder(...lists: MadeEntry[][]): MadeEntry[] {
  return lists.flat().sort((a, b) => a.atMs - b.atMs);
}

/** Clients that come at random, some much more often than others. */
function mixed(seed: number): MadeEntry[] {
  const chance = random(seed);
  const entries = new Map<string, MadeEntry>();
  for (let i = 0; i < 1500; i += 1) {
    const atMs = Math.floor(chance.uniform() * 20 * minuteMs);
    const client = `c${Math.floor(40 ** chance.uniform())}`;
    entries.set(`${client} ${atMs}`, { atMs, client, calls: chance.uniform() < 0.1 ? 4 : 1 });
  }
  const first = Math.min(...[...entries.values()].map(({ atMs }) => atMs));
  return inOrder([...entries.values()].map((entry) => ({ ...entry, atMs: entry.atMs - first })));
}

function limitsOf(entries: readonly MadeEntry[], options: Partial<LimitsOptions> = {}) {
  const refuse = { share: 0.01, of: 'calls' } as const;
  return limitsFor(madeTrace(entries), { windowsMs: [minuteMs], refuse, ...options });
}

const byName = (rows: readonly LimitRow[]) =>
  Object.fromEntries(rows.map(({ algorithm, variant, limit }) => [`${algorithm} ${variant}`.trim(), limit]));

describe('limits', () => {
  test('of somebody who calls evenly are what he calls, where nothing may be refused', () => {
    const { rows } = limitsOf(steady('a', 1000, 10 * minuteMs), { refuse: { share: 0, of: 'calls' } });
    expect(byName(rows)).toEqual({
      'sliding-log': 60,
      'sliding-slots': 61, // the slot that is partly outside counts too
      'sliding-window': 61, // on the full minute the last one counts in full, and the call too
      'fixed-window': 60,
      'gcra burst as the limit': 55, // 55 at once, and 55 in each of the ten minutes but for their last second: 604 of 600
      'token-bucket burst as the limit': 55,
      'gcra burst a tenth': 60,
      'leaky-bucket waits up to 1s': 60,
    });
  });

  test('are none where the largest that there is refuses too much', () => {
    const huge = [0, 1, 2].map((atMs) => ({ atMs, client: 'a', cost: 9e14 }));
    const { rows, withoutLimit } = limitsOf(huge, { algorithms: ['sliding-log', 'gcra'] });
    expect(rows).toEqual([]);
    expect(withoutLimit).toEqual([
      { algorithm: 'sliding-log', variant: '', windowMs: minuteMs },
      { algorithm: 'gcra', variant: 'burst as the limit', windowMs: minuteMs },
      { algorithm: 'gcra', variant: 'burst a tenth', windowMs: minuteMs },
    ]);
    expect(limitsOf(huge.slice(0, 1), { algorithms: ['sliding-log'] }).rows).toMatchObject([{ limit: 9e14 }]);
  });

  test('of one burst are the burst, save where a burst is only a part of the limit', () => {
    const { rows } = limitsOf([{ atMs: 0, client: 'a', calls: 50 }], { refuse: { share: 0, of: 'clients' } });
    expect(byName(rows)).toEqual({
      'sliding-log': 50,
      'sliding-slots': 50,
      'sliding-window': 50,
      'fixed-window': 50,
      'gcra burst as the limit': 50,
      'token-bucket burst as the limit': 50,
      'gcra burst a tenth': 500,
      'leaky-bucket waits up to 1s': 2940, // 49 behind the first, at 49 a second
    });
  });

  const both = ['calls', 'clients'] as const;
  it.each(both)('keep within a share of %s, and those a step below do not', (of) => {
    const entries = mixed(7);
    const trace = madeTrace(entries);
    for (const share of [0.002, 0.1]) {
      const { rows } = limitsFor(trace, { windowsMs: [10_000, minuteMs], refuse: { share, of } });
      for (const row of rows) {
        const ratioOf = (limit: number) => {
          const candidate = limitCandidates.find(
            ({ algorithm, variant }) => algorithm === row.algorithm && variant === row.variant,
          )!;
          const found = whatIf(trace, candidate.policyFor(limit, row.windowMs));
          return of === 'calls' ? found.refusedCallRatio : found.refusedClientRatio;
        };
        const found = whatIf(trace, row.policy);
        expect(row.refusedCallRatio).toBeCloseTo(found.refusedCallRatio, 12);
        expect(row.refusedClientRatio).toBeCloseTo(found.refusedClientRatio, 12);
        expect(row.delayedCallRatio).toBeCloseTo(found.delayedCalls / found.calls, 12);
        expect(ratioOf(row.limit)).toBeLessThanOrEqual(share);
        // About a percent, from 200 on.
        if (row.limit > 1) expect(ratioOf(Math.min(row.limit - 1, row.limit * 0.985))).toBeGreaterThan(share);
      }
    }
  });

  test('say which would be enough for how many clients', () => {
    const entries = Array.from({ length: 100 }, (_, i) => ({ atMs: 0, client: `c${i}`, calls: i + 1 }));
    expect(limitsOf(entries).neverRefused).toEqual([
      {
        windowMs: minuteMs,
        quantiles: [
          { ratio: 0.5, limit: 50 },
          { ratio: 0.9, limit: 90 },
          { ratio: 0.99, limit: 99 },
          { ratio: 0.999, limit: 100 },
          { ratio: 1, limit: 100 },
        ],
      },
    ]);
  });

  test('count a client for as many as it stands for', () => {
    const entries = [
      { atMs: 0, client: 'few', calls: 30 },
      { atMs: 1, client: 'many', calls: 20 },
    ];
    const refuse = { share: 0.1, of: 'clients' } as const;
    const algorithms = ['sliding-log'];
    const heavy = limitsFor(madeTrace(entries, { weights: { many: 9 } }), {
      windowsMs: [minuteMs],
      refuse,
      algorithms,
    });
    expect(heavy.rows[0]).toMatchObject({ limit: 20, refusedClientRatio: 0.1 });
    expect(limitsOf(entries, { refuse, algorithms }).rows[0]).toMatchObject({ limit: 30, refusedClientRatio: 0 });
  });

  test('of a large trace are looked for with a sample, which says so and comes close', () => {
    const light = Array.from({ length: 20_000 }, (_, i) => ({ atMs: i, client: `c${i}`, calls: 1 + (i % 10) }));
    const entries = inOrder(light, steady('bot', 100, 20_000, 3));
    const refuse = { share: 0.1, of: 'clients' } as const;
    const whole = limitsOf(entries, { refuse, algorithms: ['fixed-window'] });
    const some = limitsOf(entries, { refuse, algorithms: ['fixed-window'], mostEntries: 2000 });
    expect([whole.sample.oneIn, whole.sample.clients]).toEqual([1, 20_001]);
    expect(some.sample.oneIn).toBeGreaterThan(10);
    expect(some.sample.clients).toBeLessThan(2500);
    expect(Math.abs(some.rows[0]!.limit - whole.rows[0]!.limit)).toBeLessThanOrEqual(1);
    expect(some.rows[0]!.refusedCallRatio).toBeCloseTo(whole.rows[0]!.refusedCallRatio, 1);
  });

  test('tell how far they are', () => {
    const told: [number, string][] = [];
    limitsOf([{ atMs: 0, client: 'a' }], {
      algorithms: ['gcra', 'fixed-window'],
      onProgress: (done, next) => told.push([Number(done.toFixed(2)), next]),
    });
    expect(told).toEqual([
      [0, 'fixed-window'],
      [0.33, 'gcra'],
      [0.67, 'gcra'],
      [1, ''],
    ]);
  });

  it.each([
    [{ refuse: { share: 1, of: 'calls' } }, 'refuse.share must be a number from 0 to below 1, got 1.'],
    [{ refuse: { share: Number.NaN, of: 'calls' } }, 'refuse.share must be a number from 0 to below 1, got NaN.'],
    [{ refuse: { share: 0.1, of: 'bytes' } }, 'refuse.of must be "calls" or "clients", got "bytes".'],
    [{ algorithms: ['leaky'] }, /^algorithms must be some of sliding-log, .*leaky-bucket, got "leaky"\.$/],
    [{ algorithms: ['concurrency'] }, /got "concurrency"\. concurrency is not tried: it limits calls in flight/],
  ])('refuse %o', (options, message) => {
    expect(() => limitsOf([], options as never)).toThrow(message);
  });
});
