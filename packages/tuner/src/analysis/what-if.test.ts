import { replay, worstWindow } from '@sluice/simulator';
import fc from 'fast-check';
import { type Policy, parsePolicy } from 'sluice';
import { describe, expect, it, test } from 'vitest';
import { type MadeEntry, madeTrace } from './made-trace.test-support.ts';
import { whatIf } from './what-if.ts';

const startMs = 1_700_000_000_000;

/** Every call of a trace asked for on its own. */
function asked(entries: readonly MadeEntry[], policy: Policy) {
  return replay(
    policy,
    entries.flatMap(({ atMs, client, calls = 1, cost = 1 }) =>
      Array.from({ length: calls }, () => ({ atMs: startMs + atMs, key: client, cost })),
    ),
  );
}

const numbers = { limit: fc.integer({ min: 1, max: 12 }), window: fc.constantFrom(50, 1000, 7000) };
const burst = fc.integer({ min: 1, max: 15 });

const policies: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  gcra: fc.record({ ...numbers, burst }, { requiredKeys: ['limit', 'window'] }),
  'token-bucket': fc.record(
    { ...numbers, burst, refill: fc.constantFrom('continuous', 'interval') },
    { requiredKeys: ['limit', 'window'] },
  ),
  'leaky-bucket': fc.record(
    { ...numbers, burst, delay: fc.constantFrom('all', 'none', 2) },
    { requiredKeys: ['limit', 'window'] },
  ),
  'fixed-window': fc.record(
    { ...numbers, align: fc.constantFrom('epoch', 'first'), wait: fc.constantFrom(100, 2000) },
    { requiredKeys: ['limit', 'window'] },
  ),
  'sliding-log': fc.record(
    { ...numbers, countRejected: fc.boolean(), minGap: fc.constant(20) },
    { requiredKeys: ['limit', 'window'] },
  ),
  'sliding-slots': fc.record({ ...numbers, slots: fc.constantFrom(1, 4, 60) }, { requiredKeys: ['limit', 'window'] }),
  'sliding-window': fc.record(numbers),
  smooth: fc.record(
    { ...numbers, maxBurst: fc.integer({ min: 0, max: 5 }), maxDelay: fc.constantFrom(10, 900) },
    { requiredKeys: ['limit', 'window'] },
  ),
};

const traffic = fc
  .array(
    fc.record({
      gapMs: fc.constantFrom(0, 0, 1, 5, 60, 400, 3000),
      client: fc.constantFrom('a', 'b', 'c'),
      calls: fc.constantFrom(1, 1, 1, 2, 5, 30),
      cost: fc.constantFrom(1, 1, 1, 2, 0, 0.5, 2.25),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((steps) => {
    let atMs = 0;
    const entries: MadeEntry[] = [];
    for (const { gapMs, ...entry } of steps) {
      // A trace begins with its first call.
      if (entries.length > 0) atMs += gapMs;
      if (!entries.some((other) => other.atMs === atMs && other.client === entry.client))
        entries.push({ atMs, ...entry });
    }
    return entries;
  });

describe('what if', () => {
  it.each(Object.entries(policies))('says of %s what asking for each call says', (algorithm, options) => {
    fc.assert(
      fc.property(options, traffic, (data, entries) => {
        const policy = parsePolicy({ algorithm, ...data } as never);
        const found = whatIf(madeTrace(entries), policy);
        const { counts, countsByKey, history } = asked(entries, policy);
        const refused = [...countsByKey].filter(([, own]) => own.refused > 0);
        expect(found).toMatchObject({
          calls: counts.asked,
          refusedCalls: counts.refused,
          clients: countsByKey.size,
          refusedClients: refused.length,
          delayedCalls: counts.delayed,
          delayMsMax: counts.delayMsMax,
        });
        const cost = history.filter(({ decision }) => !decision.allowed).reduce((sum, call) => sum + call.cost, 0);
        expect(found.refusedCost).toBeCloseTo(cost, 6);
        expect(new Map(found.mostRefused.map(({ name, refusedCalls }) => [name, refusedCalls]))).toEqual(
          new Map(refused.map(([name, own]) => [name, own.refused])),
        );
        const worst = [...countsByKey.keys()].map((key) => {
          // What costs nothing does not stand in line.
          const own = history.filter((call) => call.key === key && call.cost > 0 && call.decision.allowed);
          const grants = own.map(({ atMs, cost, decision }) => ({ atMs: atMs + decision.delayMs, cost }));
          return worstWindow(grants, policy.window!);
        });
        expect(found.worstWindow.cost).toBeCloseTo(Math.max(...worst), 6);
      }),
      { numRuns: 100 },
    );
  });

  test('names the most refused first, since when, and for how long at most', () => {
    const policy = parsePolicy({ algorithm: 'fixed-window', limit: 2, window: '1s' });
    const found = whatIf(
      madeTrace([
        { atMs: 0, client: 'greedy', calls: 5 },
        { atMs: 100, client: 'calm' },
        { atMs: 600, client: 'greedy' },
        { atMs: 1200, client: 'greedy' },
        { atMs: 1300, client: 'eager', calls: 3 },
      ]),
      policy,
    );
    expect(found.mostRefused).toEqual([
      //                        refused: 3 at once, 1 at 600; free again at 1200
      {
        name: 'greedy',
        calls: 7,
        refusedCalls: 4,
        refusedCost: 4,
        firstRefusedMs: startMs,
        blockedMsMax: 1200,
        weight: 1,
      },
      {
        name: 'eager',
        calls: 3,
        refusedCalls: 1,
        refusedCost: 1,
        firstRefusedMs: startMs + 1300,
        blockedMsMax: 0,
        weight: 1,
      },
    ]);
    expect(found).toMatchObject({ calls: 11, refusedCalls: 5, clients: 3, refusedClients: 2 });
  });

  test('cuts the time into slices that hold every call', () => {
    const policy = parsePolicy({ algorithm: 'sliding-log', limit: 1, window: '1s' });
    const { overTime } = whatIf(
      madeTrace([
        { atMs: 0, client: 'a', calls: 2 },
        { atMs: 999, client: 'a' },
        { atMs: 3999, client: 'b', calls: 3 },
      ]),
      policy,
      { slices: 4 },
    );
    expect({ ...overTime, calls: [...overTime.calls], refusedCalls: [...overTime.refusedCalls] }).toEqual({
      startMs,
      sliceMs: 1000,
      calls: [3, 0, 0, 3],
      refusedCalls: [2, 0, 0, 2],
    });
  });

  test('counts a client for as many as it stands for', () => {
    const policy = parsePolicy({ algorithm: 'sliding-log', limit: 1, window: '1s' });
    const entries = [
      { atMs: 0, client: 'one', calls: 3 },
      { atMs: 0, client: 'many', calls: 2 },
    ];
    expect(whatIf(madeTrace(entries, { weights: { many: 10 } }), policy)).toMatchObject({
      calls: 23,
      refusedCalls: 12,
      clients: 11,
      refusedClients: 11,
      refusedCost: 12,
    });
  });

  test('a fixed window lets twice its limit through, and says so', () => {
    const policy = parsePolicy({ algorithm: 'fixed-window', limit: 5, window: '1s' });
    const entries = [
      { atMs: 990, client: 'a', calls: 5 },
      { atMs: 1010, client: 'a', calls: 5 },
    ];
    expect(whatIf(madeTrace(entries), policy)).toMatchObject({
      refusedCalls: 0,
      worstWindow: { cost: 10, limit: 5, client: 'a' },
    });
  });

  test('an empty trace refuses nothing', () => {
    const found = whatIf(madeTrace([]), parsePolicy({ algorithm: 'gcra', limit: 5, window: '1s' }));
    expect(found).toMatchObject({
      calls: 0,
      refusedCalls: 0,
      refusedCallRatio: 0,
      refusedClientRatio: 0,
      mostRefused: [],
    });
    expect(found.worstWindow.client).toBeUndefined();
  });

  test('a limit of calls in flight cannot be judged by a log', () => {
    expect(() => whatIf(madeTrace([]), parsePolicy({ algorithm: 'concurrency', limit: 5 }))).toThrow(
      'policy.algorithm must be one that limits a rate, got "concurrency". A log says when calls came',
    );
  });
});
