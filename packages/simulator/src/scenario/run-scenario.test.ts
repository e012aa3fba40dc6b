import { parsePolicy } from 'sluice';
import { describe, expect, test } from 'vitest';
import { worstWindow } from '../measure.ts';
import { replay } from '../replay.ts';
import { burst, type Traffic } from '../traffic.ts';
import { callsOf } from './calls.ts';
import { type ParseScenarioOptions, parseScenario } from './parse-scenario.ts';
import type { VariantResult } from './result.ts';
import { runScenario } from './run-scenario.ts';

const run = (data: object, options?: ParseScenarioOptions) =>
  runScenario(parseScenario({ name: 'test', duration: '10s', ...data }, options));

/** The measures that are asked for, as plain numbers. */
function numbers({ measures }: VariantResult, ...names: string[]): Record<string, number | undefined> {
  return Object.fromEntries(names.map((name) => [name, measures[name]?.value]));
}

const seriesOf = ({ series }: VariantResult, name: string) => series.find((each) => each.name === name)!;

describe('limits', () => {
  const hostile = [
    // A replay begins with its first call, and some algorithms reward the idle time since they began.
    { shape: 'burst', count: 1, at: '0s', key: 'first' },
    { shape: 'poisson', rate: '20/s', clients: { count: 5, exponent: 1 } },
    { shape: 'burst', count: 30, at: '999ms', every: '2s', key: 'bursts' },
    { shape: 'burst', count: 30, at: '1s', every: '2s', key: 'bursts' },
    { shape: 'poisson', rate: '2/s', key: 'bursts', cost: 3 },
  ];
  const policies = [
    { algorithm: 'token-bucket', limit: 5, window: '1s', burst: 10 },
    { algorithm: 'gcra', limit: 5, window: '1s' },
    { algorithm: 'leaky-bucket', limit: 5, window: '1s', burst: 4 },
    { algorithm: 'leaky-bucket', limit: 5, window: '1s', burst: 4, delay: 2 },
    { algorithm: 'fixed-window', limit: 5, window: '1s' },
    { algorithm: 'fixed-window', limit: 5, window: '1s', wait: '2s' },
    { algorithm: 'sliding-log', limit: 5, window: '1s' },
    { algorithm: 'sliding-slots', limit: 5, window: '1s', slots: 7 },
    { algorithm: 'sliding-window', limit: 5, window: '1s' },
    { algorithm: 'smooth', limit: 5, window: '1s', maxDelay: '1s' },
  ];

  test.each(policies)('are measured as a replay of the same calls is: $algorithm', async (policy) => {
    const scenario = parseScenario({ name: 'test', duration: '20s', traffic: hostile, limit: policy });
    const { variants } = await runScenario(scenario);
    const traffic: Traffic = [...callsOf(scenario, undefined)];
    const { counts, history } = replay(parsePolicy(policy), traffic);
    expect(numbers(variants[0]!, 'asked', 'allowed', 'refused')).toEqual({
      asked: counts.asked,
      allowed: counts.allowed,
      refused: counts.refused,
    });
    if (variants[0]!.measures.delayed) {
      expect(numbers(variants[0]!, 'delayed', 'delayMsMax')).toEqual({
        delayed: counts.delayed,
        delayMsMax: counts.delayMsMax,
      });
    } else expect(counts.delayed).toBe(0);
    const keys = [...new Set(history.map(({ key }) => key))];
    const worst = keys.map((key) => {
      const grants = history
        .filter((outcome) => outcome.key === key && outcome.decision.allowed)
        .map(({ atMs, cost, decision }) => ({ atMs: atMs + decision.delayMs, cost }))
        .sort((a, b) => a.atMs - b.atMs);
      return worstWindow(grants, 1000);
    });
    expect(variants[0]!.measures.worstWindow?.value).toBe(Math.max(...worst));
  });

  test('several take from all or from none, and one for all is shared', async () => {
    const { variants } = await run({
      traffic: [
        { shape: 'burst', count: 8, at: '0s', key: 'a' },
        { shape: 'burst', count: 8, at: '1s', key: 'b' },
      ],
      limit: [
        { algorithm: 'sliding-log', limit: 10, window: '1m', per: 'all' },
        { algorithm: 'sliding-log', limit: 6, window: '1m' },
      ],
    });
    // Six of a's pass, and its other two take nothing from the ten: four are left for b.
    expect(numbers(variants[0]!, 'allowed.a', 'allowed.b', 'worstWindow')).toEqual({
      'allowed.a': 6,
      'allowed.b': 4,
      worstWindow: 10,
    });
  });

  test('several are measured each, and on the whole by the one that came nearest to its limit', async () => {
    const { variants } = await run({
      service: '1s',
      traffic: [
        { shape: 'burst', count: 8, at: '0s', key: 'a' },
        { shape: 'burst', count: 3, at: '0s', key: 'b' },
      ],
      limit: [
        { algorithm: 'sliding-log', limit: 100, window: '1m', per: 'all' },
        { algorithm: 'concurrency', limit: 50, per: 'all' },
        { algorithm: 'sliding-log', limit: 6, window: '1m' },
        { algorithm: 'concurrency', limit: 7 },
        { algorithm: 'leaky-bucket', limit: 5, window: '1s', burst: 20, per: 'all' },
      ],
    });
    const { measures } = variants[0]!;
    const names = ['sliding-log-1', 'concurrency-2', 'sliding-log-3', 'concurrency-4', 'leaky-bucket-5'];
    const each = (name: string) => [name, ...names.map((of) => `${name}.${of}`)].map((full) => measures[full]?.value);
    expect(each('worstWindow')).toEqual([6, 9, undefined, 6, undefined, 5]);
    expect(each('worstRatio')).toEqual([1, 0.09, undefined, 1, undefined, 1]);
    // One goes every 200 ms; what is the gap of each key alone nobody asked.
    expect(each('gapMsMin')).toEqual([200, 200, undefined, undefined, undefined, 200]);
    expect(each('inFlightMax')).toEqual([6, undefined, 9, undefined, 6, undefined]);
  });

  test('what one limit delays is counted by the others when it goes', async () => {
    const { variants } = await run({
      traffic: [
        { shape: 'burst', count: 4, at: '0s', key: 'a' },
        { shape: 'burst', count: 1, at: '100ms', key: 'b' },
      ],
      limit: [
        { algorithm: 'sliding-log', limit: 100, window: '300ms', per: 'all' },
        { algorithm: 'leaky-bucket', limit: 2, window: '1s', burst: 9 },
      ],
    });
    // They go at 0, 100 (b's, which comes last), 500, 1000 and 1500 ms.
    expect(numbers(variants[0]!, 'allowed', 'delayed', 'delayMsMax', 'worstWindow', 'gapMsMin')).toEqual({
      allowed: 5,
      delayed: 3,
      delayMsMax: 1500,
      worstWindow: 2,
      gapMsMin: 100,
    });
  });

  test('series cover the whole run, its last moment too', async () => {
    const { variants, arrivals } = await run({
      traffic: [{ shape: 'steady', rate: '100/s' }],
      limit: { algorithm: 'gcra', limit: 5, window: '1s' },
    });
    expect(arrivals).toBe(1000);
    expect(seriesOf(variants[0]!, 'arrived').values).toEqual(Array(100).fill(10));
  });

  test('the series add up to the measures, and what is left is shown also while nobody asks', async () => {
    const { variants, arrivals, sliceMs } = await run({
      traffic: [{ shape: 'burst', count: 10, at: '150ms' }],
      limit: { algorithm: 'token-bucket', limit: 1, window: '1s', burst: 4 },
    });
    const sum = (name: string) => seriesOf(variants[0]!, name).values.reduce((total, each) => total + each, 0);
    expect([arrivals, sliceMs]).toEqual([10, 100]);
    expect([sum('arrived'), sum('allowed'), sum('refused')]).toEqual([10, 4, 6]);
    const left = seriesOf(variants[0]!, 'remaining').values;
    expect([left[0], left[1], left[12], left[22], left[99]]).toEqual([4, 0, 1, 2, 4]);
  });

  test('those who differ from the first variant are counted call by call', async () => {
    const { variants } = await run({
      traffic: [
        { shape: 'burst', count: 10, at: '0s' },
        { shape: 'burst', count: 4, at: '500ms' },
      ],
      compare: [
        { name: 'first', algorithm: 'fixed-window', limit: 5, window: '1s' },
        { name: 'more', algorithm: 'fixed-window', limit: 7, window: '1s' },
        { name: 'other', algorithm: 'token-bucket', limit: 4, window: '1s' },
      ],
    });
    const extras = variants.map((variant) => numbers(variant, 'extraAllowed', 'extraRefused'));
    expect(extras).toEqual([
      { extraAllowed: undefined, extraRefused: undefined },
      { extraAllowed: 2, extraRefused: 0 },
      { extraAllowed: 2, extraRefused: 1 },
    ]);
  });
});

describe('servers', () => {
  const base = { service: '100ms', servers: { count: 2 }, balance: 'round-robin' };

  test('work on one call after the other, each for its service time', async () => {
    const { variants } = await run({ ...base, traffic: [{ shape: 'burst', count: 6, at: '0s' }] });
    expect(numbers(variants[0]!, 'completed', 'responseMsMean', 'responseMsMax', 'fullestMax')).toEqual({
      completed: 6,
      responseMsMean: 200,
      responseMsMax: 300,
      fullestMax: 3,
    });
  });

  test('are faster, slower, or have more workers', async () => {
    const traffic = [{ shape: 'burst', count: 4, at: '1s' }];
    const { variants } = await run({
      ...base,
      traffic,
      compare: [
        { name: 'speed', servers: { count: 2, speeds: { B: 4 } } },
        { name: 'workers', servers: { count: 2, workers: 2 } },
        { name: 'slow', servers: { count: 2, happenings: [{ server: 'A', slow: 3, from: '1s', until: '1050ms' }] } },
      ],
    });
    expect(variants.map(({ measures }) => measures.responseMsMean?.value)).toEqual([
      (100 + 200 + 25 + 50) / 4,
      100,
      // Only who begins while it is slow takes longer.
      (300 + 400 + 100 + 200) / 4,
    ]);
  });

  test('refuse what finds their queue full, and fail while they are told to', async () => {
    const { variants } = await run({
      ...base,
      traffic: [{ shape: 'burst', count: 10, at: '1s' }],
      compare: [
        { name: 'full', servers: { count: 2, queue: 2 } },
        { name: 'failing', servers: { count: 2, happenings: [{ server: 'B', fails: 1, from: '500ms', until: '2s' }] } },
        { name: 'healed', servers: { count: 2, happenings: [{ server: 'B', fails: 1, from: '500ms', until: '1s' }] } },
      ],
    });
    const rows = variants.map((variant) => numbers(variant, 'completed', 'failed', 'reachedFailing'));
    expect(rows).toEqual([
      { completed: 6, failed: 4, reachedFailing: undefined },
      { completed: 5, failed: 5, reachedFailing: 5 },
      { completed: 10, failed: 0, reachedFailing: 0 },
    ]);
  });

  test('come and go', async () => {
    const { variants } = await run({
      ...base,
      traffic: [{ shape: 'burst', count: 4, at: '0s', every: '1s', until: '3s' }],
      servers: { count: 2, joins: { C: '500ms' }, leaves: { A: '1500ms' } },
    });
    expect(variants[0]!.notes).toEqual(['first picks: A B A B C A B C B C B C']);
  });

  test('a call for which there is no server fails', async () => {
    const { variants } = await run({
      ...base,
      traffic: [{ shape: 'burst', count: 3, at: '2s' }],
      servers: { count: 1, leaves: { A: '1s' } },
    });
    expect(numbers(variants[0]!, 'unroutable', 'failed')).toEqual({ unroutable: 3, failed: 3 });
  });

  test('what waits by promises happens as it does without them', async () => {
    const data = {
      service: { exponential: '100ms' },
      traffic: [{ shape: 'poisson', rate: '30/s' }],
      servers: { count: 4, happenings: [{ server: 'C', fails: 0.3, from: '2s', until: '5s' }] },
    };
    for (const kind of ['two-choices', 'least-connections', 'peak-ewma']) {
      // Health without any evidence changes nothing, but is asked by a clock that sleeps.
      const { variants } = await run({
        ...data,
        compare: [
          { name: 'prompt', balance: kind },
          { name: 'patient', balance: { kind, health: {} } },
        ],
      });
      const [prompt, patient] = variants;
      const { ejections, unroutable, ...measures } = patient!.measures;
      expect([ejections?.value, unroutable?.value]).toEqual([0, 0]);
      expect(measures).toEqual(prompt!.measures);
      expect(patient!.series).toEqual(prompt!.series);
    }
  });
});

describe('a pipeline', () => {
  test('gives places back when calls end, whatever they went through', async () => {
    const { variants } = await run({
      service: '100ms',
      traffic: [{ shape: 'steady', rate: '40/s' }],
      limit: { algorithm: 'concurrency', limit: 2, lease: '1m' },
      compare: [
        { name: 'servers', servers: { count: 4 }, balance: 'round-robin' },
        { name: 'schedule', schedule: { kind: 'priority', concurrency: 4 } },
        { name: 'protect', servers: { count: 4 }, balance: 'round-robin', protect: { timeout: '1s' } },
        { name: 'alone' },
      ],
    });
    // Two at a time, each for 100 ms, at arrivals every 25 ms.
    const allowed = variants.map(({ measures }) => measures.allowed?.value);
    expect(allowed).toEqual([200, 200, 200, 200]);
    expect(variants.map(({ measures }) => measures.inFlightMax?.value)).toEqual([2, 2, 2, 2]);
  });

  test('delays what a shaping limit delays, before anything else', async () => {
    const { variants } = await run({
      service: '10ms',
      traffic: [{ shape: 'burst', count: 5, at: '0s' }],
      limit: { algorithm: 'leaky-bucket', limit: 10, window: '1s', burst: 9 },
      servers: { count: 1 },
      balance: 'round-robin',
    });
    expect(numbers(variants[0]!, 'completed', 'responseMsMax', 'fullestMax')).toEqual({
      completed: 5,
      responseMsMax: 410,
      fullestMax: 1,
    });
  });

  test('counts every call once, however it ends', async () => {
    const { variants, arrivals } = await run({
      service: { exponential: '150ms' },
      traffic: [{ shape: 'poisson', rate: '60/s', clients: { count: 8, exponent: 1 } }],
      limit: { algorithm: 'gcra', limit: 10, window: '1s' },
      schedule: { kind: 'priority', concurrency: 6, capacity: 5, deadline: '200ms' },
      servers: { count: 4, queue: 1, happenings: [{ server: 'B', fails: 0.5, from: '2s', until: '6s' }] },
      balance: { kind: 'two-choices', health: { outliers: { consecutiveFailures: 3, ejectFor: '1s' } } },
      protect: { retry: { attempts: 2, baseDelay: '10ms' }, breaker: { openFor: '500ms' }, timeout: '400ms' },
    });
    const { measures } = variants[0]!;
    const of = (name: string) => measures[name]!.value;
    expect(of('asked')).toBe(arrivals);
    expect(of('refused') + of('shed') + of('expired') + of('completed') + of('failed') + of('unfinished')).toBe(
      arrivals,
    );
    for (const name of ['refused', 'shed', 'expired', 'completed', 'failed', 'retries', 'timedOut']) {
      expect(of(name), name).toBeGreaterThan(0);
    }
  });
});

describe('a run', () => {
  const data = {
    traffic: [{ shape: 'poisson', rate: '5000/s' }],
    limit: { algorithm: 'gcra', limit: 5, window: '1s' },
  };

  test('tells how far it is, from 0 to 1', async () => {
    const told: number[] = [];
    await runScenario(parseScenario({ name: 'test', duration: '10s', ...data }), {
      onProgress: (ratio) => told.push(ratio),
    });
    expect(told.length).toBeGreaterThan(3);
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect([told[0], told.at(-1)]).toEqual([0, 1]);
  });

  test('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const running = runScenario(parseScenario({ name: 'test', duration: '10s', ...data }), {
      signal: controller.signal,
      onProgress: (ratio) => ratio > 0.3 && controller.abort(reason),
    });
    await expect(running).rejects.toBe(reason);
  });

  test('can have any seed that there is, the largest too', async () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const busy = {
      service: '10ms',
      traffic: [{ shape: 'poisson', rate: '50/s', clients: { count: 5 } }],
      servers: { count: 3, happenings: [{ server: 'A', fails: 0.5 }] },
      balance: 'random',
      protect: { retry: { attempts: 2, baseDelay: '10ms' } },
    };
    const seeds = [0, 1, largest - 2, largest - 1, largest];
    const results = await Promise.all(seeds.map((seed) => run({ ...busy, seed })));
    expect(new Set(results.map(({ variants }) => JSON.stringify(variants))).size).toBe(seeds.length);
  });

  describe('with few calls and many events', () => {
    const checks = (interval: string) => ({
      service: '10ms',
      traffic: [{ shape: 'burst', count: 1, at: '0s' }],
      servers: 3,
      balance: { kind: 'round-robin', health: { checks: { interval } } },
    });
    const queued = {
      service: '1ms',
      traffic: [{ shape: 'burst', count: 60_000, at: '0s' }],
      servers: 1,
      balance: 'round-robin',
      duration: '100s',
    };

    test.each([
      ['waits by promises', checks('1ms')],
      ['does not wait', queued],
    ])('tells how far it is, where it %s', async (_how, data) => {
      const told: number[] = [];
      let turns = 0;
      const counting = setInterval(() => (turns += 1), 0);
      await runScenario(parseScenario({ name: 'test', duration: '10s', ...data }), {
        onProgress: (ratio) => told.push(ratio),
      });
      clearInterval(counting);
      // Of its middle too, and others have had their turn meanwhile.
      expect(told.filter((ratio) => ratio > 0.05 && ratio < 0.95).length).toBeGreaterThan(1);
      expect(told).toEqual([...told].sort((a, b) => a - b));
      expect(turns).toBeGreaterThan(0);
    });

    test.each([
      ['waits by promises', checks('1ms')],
      ['does not wait', queued],
    ])('ends with the reason of its signal, where it %s', async (_how, data) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const told: number[] = [];
      const running = runScenario(parseScenario({ name: 'test', duration: '10s', ...data }), {
        signal: controller.signal,
        onProgress(ratio) {
          told.push(ratio);
          if (ratio > 0.05) controller.abort(reason);
        },
      });
      await expect(running).rejects.toBe(reason);
      expect(told.at(-1)).toBeLessThan(0.7);
    });
  });

  test('has measures of its own for a single shape that was given a name', async () => {
    const { variants, expectations } = await run({
      traffic: [{ shape: 'burst', count: 9, at: '0s', name: 'users' }],
      limit: { algorithm: 'gcra', limit: 5, window: '1s' },
      expect: ['refused.users > 3'],
    });
    expect(expectations[0]).toMatchObject({ isMet: true });
    expect(numbers(variants[0]!, 'asked.users', 'allowed.users')).toEqual({ 'asked.users': 9, 'allowed.users': 5 });
  });

  test('is the same again with the same seed, and another with another', async () => {
    const [first, again, other] = await Promise.all([run(data), run(data), run({ ...data, seed: 2 })]);
    expect(again).toEqual(first);
    expect(other.arrivals).not.toBe(first.arrivals);
  });

  test('replays a log from its first call on', async () => {
    const asked: string[] = [];
    const readLog = (path: string): Traffic => {
      asked.push(path);
      return burst(8, { atMs: 1_700_000_000_000, spacingMs: 1000, key: 'ann' });
    };
    const { variants, arrivals } = await run(
      {
        traffic: [{ shape: 'replay', log: 'access.log', from: '1s', until: '9s', speed: 2 }],
        limit: { algorithm: 'sliding-log', limit: 3, window: '10s' },
      },
      { readLog },
    );
    expect(asked).toEqual(['access.log']);
    expect(arrivals).toBe(8);
    expect(numbers(variants[0]!, 'allowed', 'firstRefusalMs')).toEqual({ allowed: 3, firstRefusalMs: 2500 });
  });

  test('a claim that does not hold is reported, with what was measured', async () => {
    const { expectations } = await run({ ...data, expect: ['allowed == 1', 'refused > 1000'] });
    expect(expectations).toEqual([
      { claim: 'allowed == 1', isMet: false, measured: 'allowed = 54' },
      { claim: 'refused > 1000', isMet: true, measured: expect.stringMatching(/^refused = \d+$/) },
    ]);
  });
});
