import { limiter, memoryStore, type Store, tokenBucket } from 'sluice';
import { describe, expect, test } from 'vitest';
import { parseScenario } from './parse-scenario.ts';
import type { ScenarioResult } from './result.ts';
import { type RunScenarioOptions, runScenario } from './run-scenario.ts';

const run = (data: object, options?: RunScenarioOptions) =>
  runScenario(parseScenario({ name: 'test', duration: '10s', ...data }), options);

/** What a text was, by a claim that cannot hold. */
async function textOf(name: string, data: object, options?: RunScenarioOptions): Promise<string> {
  const { expectations } = await run({ ...data, expect: [`${name} == "?"`] }, options);
  return /"(.*)"/.exec(expectations[0]!.measured)![1]!;
}

const value = ({ variants }: ScenarioResult, name: string) => variants[0]!.measures[name]?.value;

describe('what is done to a key', () => {
  const limit = { algorithm: 'token-bucket', limit: 10, window: '1h' };
  const traffic = [{ shape: 'burst', count: 2, at: '1s', spacing: '4s', key: 'alice' }];

  test('is done by the library, at its time', async () => {
    const operations = [
      { at: '4s', do: 'penalize', key: 'alice', cost: 3 },
      { at: '2s', do: 'peek', key: 'alice', cost: 20 },
      { at: '6s', do: 'take', key: 'alice', cost: 50 },
      { at: '6s', do: 'reward', key: 'alice', cost: 2 },
      { at: '7s', do: 'block', key: 'alice', for: '1m' },
      { at: '8s', do: 'reset', key: 'alice' },
    ];
    const own = limiter(tokenBucket({ limit: 10, window: '1h' }));
    own.check('alice', { atMs: 1000 });
    const expected = [
      `peek no ${own.peek('alice', { cost: 20, atMs: 2000 }).remaining}`,
      `penalize ${own.penalize('alice', { cost: 3, atMs: 4000 }).remaining}`,
    ];
    own.check('alice', { atMs: 5000 });
    expected.push(
      `take ${own.take('alice', 50, { atMs: 6000 }).granted}`,
      `reward ${own.reward('alice', { cost: 2, atMs: 6000 }).remaining}`,
      `block ${own.block('alice', '1m', { atMs: 7000 }).remaining}`,
      `reset ${own.reset('alice', { atMs: 8000 }).remaining}`,
    );
    expect(await textOf('operations', { traffic, limit, operations })).toBe(expected.join(', '));
  });

  test('comes before a call of the same moment', async () => {
    const operations = [{ at: '1s', do: 'block', key: 'alice', for: '1s' }];
    expect(value(await run({ traffic, limit, operations }), 'refused')).toBe(1);
  });

  test('happens again and again until the end', async () => {
    const operations = [{ at: '1s', do: 'penalize', key: 'alice', every: '3s' }];
    const words = 'penalize 9, penalize 7, penalize 5';
    const calls = [{ shape: 'burst', count: 2, at: '2s', spacing: '4s', key: 'alice' }];
    expect(await textOf('operations', { traffic: calls, limit, operations })).toBe(words);
  });

  test('is done to everybody where everybody shares the limit', async () => {
    const operations = [{ at: '0s', do: 'penalize', key: 'bob', cost: 10 }];
    expect(value(await run({ traffic, limit: { ...limit, per: 'all' }, operations }), 'refused')).toBe(2);
    expect(value(await run({ traffic, limit: { ...limit, per: 'key' }, operations }), 'refused')).toBe(0);
  });

  test('what was taken counts in the worst window', async () => {
    const operations = [{ at: '1500ms', do: 'take', key: 'alice', cost: 4 }];
    const log = { algorithm: 'sliding-log', limit: 5, window: '10s' };
    expect(value(await run({ traffic, limit: log, operations }), 'worstWindow')).toBe(5);
  });

  test('a reservation is settled once, by what it cost, at its time', async () => {
    const operations = [
      { at: '2s', do: 'reserve', key: 'alice', cost: 6, commit: 1, after: '2s' },
      { at: '6s', do: 'reserve', key: 'alice', cost: 2, cancel: true, after: '2s' },
      { at: '6s', do: 'reserve', key: 'alice', cost: 2, cancel: true, after: '3s', expires: '1s' },
      { at: '9500ms', do: 'reserve', key: 'alice', cost: 9 },
    ];
    expect(await textOf('operations', { traffic, limit, operations })).toBe(
      'reserve yes 3, commit yes 8, reserve yes 5, reserve yes 3, cancel yes 5, cancel no 5, reserve no 5',
    );
  });

  test('the words of a long list end, and the run does not', async () => {
    const operations = [{ do: 'peek', key: 'alice', every: '10ms' }];
    const words = await textOf('operations', { traffic, limit, operations });
    expect(words.split(', ')).toHaveLength(40);
  });
});

describe('places that are given back once more', () => {
  const traffic = [{ shape: 'burst', count: 3, at: '1s', key: 'alice' }];
  const places = { algorithm: 'concurrency', limit: 2 };
  const window = { algorithm: 'sliding-log', limit: 9, window: '1s' };
  const released = (limit: unknown, key?: string) =>
    textOf('operations', { traffic, limit, service: '5s', operations: [{ at: '2s', do: 'release', key }] });

  test('are those of the key', async () => {
    expect(await released(places, 'alice')).toBe('release 2');
    expect(await released(places, 'bob')).toBe('release 0');
    expect(await released([places, { ...window, per: 'all' }], 'bob')).toBe('release 0');
  });

  test('are those of everybody where everybody shares the limit', async () => {
    const shared = { ...places, per: 'all' };
    expect(await released(shared)).toBe('release 2');
    expect(await released(shared, 'bob')).toBe('release 2');
    expect(await released([shared, window])).toBe('release 2');
  });
});

describe('a clock that is set', () => {
  const limit = { algorithm: 'fixed-window', limit: 1, window: '1s' };
  const traffic = [{ shape: 'steady', rate: '1/s' }];

  test('is that of the limits, from then on', async () => {
    const asked = { traffic, limit, duration: '10s' };
    expect(value(await run(asked), 'refused')).toBe(0);
    const back = { ...asked, operations: [{ at: '4500ms', do: 'set-clock', back: '3s' }] };
    // The calls at 5, 6 and 7 seconds come, by that clock, at 2, 3 and 4, which are over; the one at 4 was let through.
    expect(value(await run(back), 'refused')).toBe(3);
    const twice = { ...asked, operations: [...back.operations, { at: '5500ms', do: 'set-clock', ahead: '3s' }] };
    expect(value(await run(twice), 'refused')).toBe(1);
  });

  test('changes nothing about when things happen', async () => {
    const operations = [{ at: '1s', do: 'set-clock', ahead: '1h' }];
    const log = { algorithm: 'sliding-log', limit: 5, window: '5s' };
    const calls = [{ shape: 'burst', count: 5, at: '500ms', every: '1s', until: '2s' }];
    const result = await run({ traffic: calls, limit: log, operations });
    // By the true time ten are in one window: a clock that leaps ahead makes any limiter forget.
    expect(value(result, 'worstWindow')).toBe(10);
  });
});

describe('what is done to those who wait', () => {
  const schedule = { kind: 'priority' };
  const service = '1s';
  const traffic = [
    { shape: 'burst', count: 1, at: '0s', name: 'long' },
    { shape: 'burst', count: 2, at: '100ms', priority: 1, name: 'a' },
    { shape: 'burst', count: 2, at: '200ms', priority: 2, name: 'b' },
  ];

  test('a boost is worth as much as it says, and adds up', async () => {
    const boosted = (by: number, times: number) => {
      const operations = Array.from({ length: times }, () => ({ at: '500ms', do: 'boost', of: 'b', by }));
      return textOf('starts', { traffic, schedule, service, operations });
    };
    expect(await boosted(0.5, 1)).toBe('long a a b b');
    expect(await boosted(1.5, 1)).toBe('long b b a a');
    expect(await boosted(0.5, 3)).toBe('long b b a a');
  });

  test('no priority goes beyond those that the library takes', async () => {
    const operations = [
      { at: '500ms', do: 'demote', of: 'a', by: 1e6, every: '100ms' },
      { at: '500ms', do: 'boost', of: 'b', by: 1e6, every: '100ms' },
    ];
    expect(await textOf('starts', { traffic, schedule, service, operations })).toBe('long b b a a');
  });

  test('nothing is done to those who have begun or ended', async () => {
    const operations = [
      { at: '500ms', do: 'abort', of: 'long' },
      { at: '1500ms', do: 'remove', of: 'a' },
      { at: '9s', do: 'demote', of: 'b' },
    ];
    const asked = { traffic, schedule, service, operations };
    expect(await textOf('operations', asked)).toBe('abort 0, remove 1, demote 0');
    const result = await run(asked);
    expect(['started', 'removed', 'starved', 'completed'].map((name) => value(result, name))).toEqual([4, 1, 0, 4]);
    expect(value(result, 'aborted')).toBeUndefined();
  });

  test('whoever is aborted is counted, and gone', async () => {
    const operations = [{ at: '500ms', do: 'abort', of: 'a' }];
    for (const kind of [
      { kind: 'priority' },
      { kind: 'fair' },
      { kind: 'leaky', limit: 1, window: '1s', capacity: 9 },
    ]) {
      const result = await run({ traffic, schedule: kind, service, operations });
      expect(['started', 'aborted.a', 'starved'].map((name) => value(result, name))).toEqual([3, 2, 0]);
    }
  });

  test('a drain tells how long it took, a close how many had to go', async () => {
    const operations = [
      { at: '500ms', do: 'drain' },
      { at: '1500ms', do: 'close' },
    ];
    const asked = { traffic, schedule, service, operations };
    expect(await textOf('operations', asked)).toBe('close 3, drain 1500ms');
    expect(value(await run(asked), 'closed')).toBe(3);
  });

  test('a tenant that is not there is said to be none', async () => {
    const operations = [{ at: '500ms', do: 'block-tenant', tenant: 'nobody' }];
    expect(await textOf('operations', { traffic, schedule: 'fair', service, operations })).toBe('block-tenant no');
  });
});

describe('a stall', () => {
  const traffic = [{ shape: 'burst', count: 10, at: '0s' }];
  const schedule = { kind: 'leaky', limit: 1, window: '1s', capacity: 20 };
  const waits = async (...operations: object[]) => {
    const result = await run({ duration: '1m', traffic, schedule, service: '1ms', operations });
    return [value(result, 'waitMsMean')! * 10, value(result, 'waitMsMax')];
  };

  test('puts off the timers that are due in it, and no others', async () => {
    expect(await waits()).toEqual([45_000, 9000]);
    expect(await waits({ at: '2500ms', do: 'stall', for: '400ms' })).toEqual([45_000, 9000]);
    expect(await waits({ at: '2500ms', do: 'stall', for: '1s' })).toEqual([45_500, 9000]);
    expect(await waits({ at: '8500ms', do: 'stall', for: '2s' })).toEqual([46_500, 10_500]);
  });

  test('may run into the next', async () => {
    const operations = [
      { at: '2900ms', do: 'stall', for: '1s' },
      { at: '2s', do: 'stall', for: '1s' },
    ];
    // Due at 2 s: put off to 3 s, which is in the other.
    expect(await waits(...operations)).toEqual([45_000 + 1900 + 900, 9000]);
  });
});

describe('a store of another kind', () => {
  /** Memory that answers later, as stores behind a network do. */
  function later(): Store<'async'> {
    const memory = memoryStore();
    return {
      ...memory,
      mode: 'async',
      direct: undefined,
      apply: async (...args: Parameters<typeof memory.apply>) => {
        await new Promise((resolve) => setImmediate(resolve));
        return memory.apply(...args);
      },
    } as unknown as Store<'async'>;
  }

  const traffic = [
    { shape: 'poisson', rate: '20/s', key: 'alice' },
    { shape: 'burst', count: 10, at: '3s', every: '4s', key: 'bob', cost: 2 },
  ];
  const operations = [
    { at: '2s', do: 'reserve', key: 'alice', cost: 3, commit: 1, after: '1s' },
    { at: '5s', do: 'reset', key: 'bob' },
    { at: '6s', do: 'set-clock', back: '500ms' },
  ];
  const bucket = { algorithm: 'token-bucket', limit: 10, window: '1s' };
  const places = { algorithm: 'concurrency', limit: 3 };

  test.each([
    ['one limit', { limit: bucket, operations }],
    ['several', { limit: [bucket, { algorithm: 'sliding-log', limit: 8, window: '1s', per: 'all' }] }],
    [
      'places that are given back',
      { limit: places, service: '200ms', operations: [{ at: '4s', do: 'release', key: 'bob' }] },
    ],
    ['limits before a schedule', { limit: bucket, schedule: 'fair', service: '50ms', operations }],
    ['what delays', { limit: { algorithm: 'leaky-bucket', limit: 10, window: '1s', burst: 5, delay: 'all' } }],
  ])('decides %s as memory does', async (_, stages) => {
    const data = {
      traffic,
      compare: [
        { name: 'first', ...stages },
        { name: 'second', ...stages },
      ],
    };
    const expected = await run(data);
    expect(await run(data, { store: later() })).toEqual(expected);
    expect(expected.variants[1]!.measures.extraRefused?.value).toBe(0);
  });

  test('is asked nothing more when the run is to end', async () => {
    const stages = [
      { traffic, limit: bucket },
      { traffic: [{ shape: 'burst', count: 1, at: '9s' }], limit: bucket, operations: [{ do: 'peek', every: '1ms' }] },
      { traffic, limit: bucket, schedule: 'fair', service: '50ms' },
    ];
    for (const data of stages) {
      const interrupt = new AbortController();
      const memory = later();
      let asked = 0;
      const store = {
        ...memory,
        apply: (...args: Parameters<typeof memory.apply>) => {
          asked += 1;
          if (asked === 10) interrupt.abort();
          return memory.apply(...args);
        },
      } as unknown as Store;
      await expect(run(data, { store, signal: interrupt.signal })).rejects.toThrow('aborted');
      expect(asked).toBeLessThan(20);
    }
  });

  test('whose error ends the run', async () => {
    const broken = { ...later(), apply: () => Promise.reject(new Error('nobody there')) } as unknown as Store;
    await expect(run({ traffic, limit: bucket }, { store: broken })).rejects.toThrow('nobody there');
    await expect(
      run({ traffic: [{ ...traffic[1]!, at: '9s', every: undefined }], limit: bucket, operations }, { store: broken }),
    ).rejects.toThrow('nobody there');
  });
});
