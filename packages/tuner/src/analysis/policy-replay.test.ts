import fc from 'fast-check';
import { parsePolicy } from 'sluice';
import { describe, expect, it, test } from 'vitest';
import type { LogLine } from '../log/log-line.ts';
import { madeTrace } from './made-trace.test-support.ts';
import { policyReplay } from './policy-replay.ts';
import { whatIf } from './what-if.ts';

interface Call {
  readonly atMs: number;
  readonly client: string;
  readonly route?: string;
  readonly status?: number;
  readonly cost?: number;
}

const encoder = new TextEncoder();
const startMs = 1_700_000_000_000;

function rangeOf(text: string) {
  // Not from 0 on: lines are read where they lie.
  const bytes = encoder.encode(`>>${text}<<`);
  return { bytes, start: 2, end: bytes.length - 2 };
}

function lineOf({ atMs, client, route = '', status = 200, cost = 1 }: Call): LogLine {
  return { atMs: startMs + atMs, client: rangeOf(client), route: rangeOf(route), status, cost };
}

function replayed(policy: Record<string, unknown>, calls: readonly Call[], maxBytes?: number) {
  const replay = policyReplay(parsePolicy(policy as never), { maxBytes });
  for (const call of calls) replay.take(lineOf(call));
  return replay.report();
}

describe('a replay of lines', () => {
  const policies = [
    { algorithm: 'gcra', limit: 2, window: 100 },
    { algorithm: 'sliding-log', limit: 3, window: 50, countRejected: true },
    { algorithm: 'fixed-window', limit: 1, window: 40 },
    { algorithm: 'leaky-bucket', limit: 2, window: 100, burst: 1 },
  ];

  it.each(policies)('says of $algorithm what the trace says, where lines are in order', (policy) => {
    const moments = fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.constantFrom('a', 'b', 'ü')), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(moments, (steps) => {
        let atMs = -1;
        const calls = steps.map(([gapMs, client]) => {
          atMs = atMs < 0 ? 0 : atMs + gapMs;
          return { atMs, client };
        });
        const { refusedCalls, delayedCalls, clients } = replayed(policy, calls);
        const found = whatIf(madeTrace(calls), parsePolicy(policy as never));
        expect([refusedCalls, delayedCalls]).toEqual([found.refusedCalls, found.delayedCalls]);
        expect(new Map(clients.map(({ name, count }) => [name, count]))).toEqual(
          new Map(found.mostRefused.map((client) => [client.name, client.refusedCalls])),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('knows what was refused: routes, and what the log answered to them', () => {
    const report = replayed({ algorithm: 'sliding-log', limit: 1, window: '1s' }, [
      { atMs: 0, client: 'a', route: 'GET /', status: 200 },
      { atMs: 1, client: 'a', route: 'POST /login', status: 401 },
      { atMs: 2, client: 'a', route: 'POST /login', status: 401 },
      { atMs: 3, client: 'a', route: 'GET /search', status: 200, cost: 5 },
      { atMs: 4, client: 'b', route: 'GET /', status: 200 },
    ]);
    expect(report).toMatchObject({
      calls: 5,
      refusedCalls: 3,
      cost: 9,
      refusedCost: 7,
      refusedCallRatio: 0.6,
      routes: [
        { name: 'POST /login', count: 2, error: 0 },
        { name: 'GET /search', count: 1, error: 0 },
      ],
      statuses: [
        { status: 401, refusedCalls: 2 },
        { status: 200, refusedCalls: 1 },
      ],
      isBeyondMemory: false,
    });
  });

  test('a line that is earlier than the one before counts as the latest seen', () => {
    const policy = { algorithm: 'sliding-log', limit: 1, window: '1s' };
    const late = [
      { atMs: 0, client: 'a' },
      { atMs: 1500, client: 'b' },
      { atMs: 900, client: 'a' }, // 900 after its first call by its own time; 1500 by the latest
      { atMs: 2400, client: 'a' }, // 900 after that
    ];
    expect(replayed(policy, late)).toMatchObject({ calls: 4, refusedCalls: 1 });
  });

  describe('where there are more clients than it may remember', () => {
    const strangers = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ atMs: i, client: `client-${i}`, route: 'GET /' }));
    const strict = { algorithm: 'sliding-log', limit: 1, window: '1h' };

    test('says so, and refuses nobody for it', () => {
      expect(replayed(strict, strangers(30), 5000)).toMatchObject({
        refusedCalls: 0,
        routes: [],
        isBeyondMemory: true,
      });
      expect(replayed(strict, strangers(30))).toMatchObject({ calls: 30, refusedCalls: 0, isBeyondMemory: false });
    });

    it.each([strict, { algorithm: 'gcra', limit: 1, window: '1h' }])(
      'ends there, of $algorithm: each line from then on would be a search for room',
      (policy) => {
        const { calls, isBeyondMemory } = replayed(policy, strangers(4000), 5000);
        expect(isBeyondMemory).toBe(true);
        expect(calls).toBeLessThan(1000);
      },
    );

    it.each([
      ['few numbers each', { algorithm: 'gcra', limit: 5, window: '1h' }, false],
      ['sixty slots each', { algorithm: 'sliding-slots', limit: 5, window: '1h' }, true],
      ['an entry per call', { algorithm: 'sliding-log', limit: 100_000, window: '1h' }, false],
    ])('counts what the policy keeps of them: %s', (_, policy, isBeyondMemory) => {
      expect(replayed(policy, strangers(1000), 400_000)).toMatchObject({ isBeyondMemory });
    });

    test('counts the calls that a log has to keep, and only those', () => {
      const busy = Array.from({ length: 5000 }, (_, i) => ({ atMs: i, client: 'busy' }));
      const policy = { algorithm: 'sliding-log', limit: 100_000, window: '10s' };
      expect(replayed(policy, busy, 100_000).isBeyondMemory).toBe(true);
      expect(replayed({ ...policy, window: '1s' }, busy, 100_000).isBeyondMemory).toBe(false);
      expect(replayed({ ...policy, limit: 10 }, busy, 100_000).isBeyondMemory).toBe(false);
    });
  });

  test('calls in flight are not in a log', () => {
    expect(() => policyReplay(parsePolicy({ algorithm: 'concurrency', limit: 1 }))).toThrow('limits a rate');
  });
});
