import { describe, expect, test } from 'vitest';
import { parseScenario } from './parse-scenario.ts';
import { ScenarioError } from './problems.ts';

const small = {
  name: 'small',
  duration: '10s',
  traffic: [{ shape: 'steady', rate: '10/s' }],
  limit: { algorithm: 'gcra', limit: 5, window: '1s' },
};
const servers = { ...small, service: '10ms', servers: { count: 2 }, balance: 'round-robin' };

/** Ten servers that are looked at a thousand times a second. */
const checked = {
  ...servers,
  traffic: [{ shape: 'poisson', rate: '1/d' }],
  servers: 10,
  balance: { kind: 'round-robin', health: { checks: { interval: '1ms' } } },
};

function problemsOf(data: unknown): readonly string[] {
  try {
    parseScenario(data);
    return [];
  } catch (error) {
    if (error instanceof ScenarioError) return error.problems;
    throw error;
  }
}

const traffic = (shape: object) => ({ ...small, traffic: [shape] });

const operations = (operation: unknown) => ({ ...small, operations: [operation] });

describe('a mistake is told with its place, what it must be, and what it is', () => {
  const rows: [data: unknown, problem: string][] = [
    ['text', 'A scenario must be an object of name, about'],
    [[], 'A scenario must be an object of'],
    [{ ...small, sede: 1 }, 'sede is no field here. There are: name, about, seed'],
    [{ ...small, name: 7 }, 'name must be a text, got 7.'],
    [{ ...small, seed: 1.5 }, 'seed must be a whole number from 0 to 9007199254740991, got 1.5.'],
    [{ ...small, duration: 'long' }, 'duration must be a time above 0, got "long".'],
    [{ ...small, duration: undefined }, 'duration must be a time above 0 such as 10s, got nothing.'],
    [
      traffic({ shape: 'on-off', rate: '1/s', on: '1s' }),
      'traffic[0].off must be a time above 0 such as 10s, got nothing.',
    ],
    [traffic({ shape: 'burst', count: 3, at: 'soon' }), 'traffic[0].at must be a time above 0, got "soon".'],
    [{ ...small, duration: '400d' }, 'duration must be at most 31622400000 ms, got "400d".'],
    [{ ...small, traffic: 'much' }, 'traffic must be a list of shapes'],
    [{ ...small, traffic: [] }, 'traffic must have at least one shape.'],
    [{ ...small, limit: undefined }, 'A scenario must have at least one of limit, schedule and servers.'],
    // Shapes.
    [traffic({ rate: '1/s' }), 'traffic[0].shape must be one of steady, poisson, burst, on-off, diurnal'],
    [
      traffic({ shape: 'steady', rate: 'fast' }),
      'traffic[0].rate must be a rate above 0 such as 50/s, 600/m or 3/10s, got "fast".',
    ],
    [traffic({ shape: 'steady', rate: 50 }), 'traffic[0].rate must be a rate above 0'],
    [traffic({ shape: 'steady', rate: '0/s' }), 'traffic[0].rate must be a rate above 0'],
    [traffic({ shape: 'steady', rate: '5/0s' }), 'traffic[0].rate must be a rate above 0'],
    [traffic({ shape: 'steady', rate: '50 /s' }), 'traffic[0].rate must be a rate above 0'],
    [traffic({ shape: 'steady', rate: '1/s', count: 3 }), 'traffic[0].count is no field here.'],
    [
      traffic({ shape: 'steady', rate: '1/s', from: '5s', until: '5s' }),
      'traffic[0].from must be before the end (5000 ms), got 5000 ms.',
    ],
    [
      traffic({ shape: 'steady', rate: '1/s', until: '11s' }),
      'traffic[0].until must not be after the end of the run (10000 ms).',
    ],
    [traffic({ shape: 'steady', rate: '1/s', cost: -1 }), 'traffic[0].cost must be a number of 0 or more, got -1.'],
    [traffic({ shape: 'steady', rate: '1/s', name: 'a b' }), 'traffic[0].name must be a name of letters'],
    [
      traffic({ shape: 'steady', rate: '1/s', key: 'a', clients: { count: 2 } }),
      'traffic[0].clients must be left out where the shape has keys of its own.',
    ],
    [
      traffic({ shape: 'steady', rate: '1/s', clients: { count: 0 } }),
      'traffic[0].clients.count must be a whole number from 1',
    ],
    [
      traffic({ shape: 'steady', rate: '1/s', clients: { exponent: 1 } }),
      'traffic[0].clients.count must be a whole number from 1 to 10000000, got nothing.',
    ],
    [
      traffic({ shape: 'burst', count: 5, at: '10s' }),
      'traffic[0] ends at 10000 ms, which is not before the end of the run (10000 ms).',
    ],
    [
      traffic({ shape: 'burst', count: 5, at: '1s', until: '2s' }),
      'traffic[0].until is only for a burst that comes again',
    ],
    [
      traffic({ shape: 'burst', count: 5, at: 0, spacing: '1s', every: '4s' }),
      'traffic[0].every must be longer than the burst itself, which takes 4000 ms.',
    ],
    [
      traffic({ shape: 'diurnal', low: '5/s', high: '1/s' }),
      'traffic[0].low must be a rate not above high, got "5/s".',
    ],
    [
      traffic({ shape: 'flash-crowd', base: '5/s', peak: '1/s', at: '1s', ramp: '1s', hold: '1s', decay: '1s' }),
      'traffic[0].base must be a rate not above peak, got "5/s".',
    ],
    [traffic({ shape: 'attack', rate: '5/s', keys: 0 }), 'traffic[0].keys must be a whole number from 1'],
    [traffic({ shape: 'replay', log: 'access.log' }), 'traffic[0].log cannot be read here'],
    [
      traffic({ shape: 'steady', rate: '10000000/s' }),
      'traffic comes to about 100000000 calls, and may be at most 50000000.',
    ],
    // Events that no call makes.
    [
      { ...checked, duration: '366d' },
      'balance.health.checks comes to about 316224000000 checks, and may be at most 10000000.',
    ],
    [
      {
        ...checked,
        balance: undefined,
        compare: [{ balance: 'random' }, { balance: checked.balance }],
        duration: '1d',
      },
      'compare[1].balance.health.checks comes to about 864000000 checks',
    ],
    [
      { ...servers, duration: '1d', balance: { kind: 'random', health: { checks: {} } }, servers: 10_000 },
      'balance.health.checks comes to about 86400000 checks, and may be at most',
    ],
    [
      {
        ...servers,
        traffic: [{ shape: 'steady', rate: '1000000/s' }],
        protect: { retry: { attempts: 20, budget: 'none' } },
      },
      'protect.retry comes to about 200000000 attempts, and may be at most 50000000.',
    ],
    // Limits.
    [
      { ...small, limit: { algorithm: 'gcra', limit: 0, window: '1s' } },
      'limit: limit must be a number above 0, got 0.',
    ],
    [
      { ...small, limit: [{ algorithm: 'gcra', limit: 1, window: '1s', per: 'user' }] },
      'limit[0].per must be one of key, all, got "user".',
    ],
    [{ ...small, limit: 'gcra' }, 'limit must be a policy such as'],
    [{ ...small, limit: [] }, 'limit must have from 1 to 100 policies, got 0.'],
    // Schedules.
    [{ ...small, service: '1s', schedule: 'fifo' }, 'schedule.kind must be one of priority, fair, leaky, got "fifo".'],
    [{ ...small, schedule: 'priority' }, 'service must say how long calls take, such as 100ms'],
    [{ ...small, service: '1s', schedule: { kind: 'priority', tenants: {} } }, 'schedule.tenants is no field here.'],
    [{ ...small, service: '1s', schedule: { kind: 'priority', capacity: -1 } }, 'schedule: capacity must be'],
    [
      { ...small, service: '1s', schedule: { kind: 'fair', tenants: { bob: { nice: 50 } } } },
      'schedule.tenants.bob: nice must be',
    ],
    [{ ...small, service: '1s', schedule: { kind: 'leaky', limit: 1 } }, 'schedule: '],
    [
      { ...small, service: { exponential: '1s', fixed: '2s' } },
      'service must be a duration, { exponential: duration }',
    ],
    [{ ...small, service: { from: '2s', to: '1s' } }, 'service.from must be not above to, got "2s".'],
    // Servers.
    [{ ...servers, balance: undefined }, 'balance must say how servers are chosen, such as round-robin.'],
    [{ ...servers, servers: undefined }, 'servers must be given where there is a balance.'],
    [{ ...servers, balance: 'fastest' }, 'balance.kind must be one of round-robin, smooth-weighted'],
    [{ ...servers, balance: { kind: 'hash-ring', points: 0 } }, 'balance: points must be'],
    [
      { ...servers, balance: { kind: 'random', health: { checks: { interval: 'often' } } } },
      'balance.health.checks: interval must be',
    ],
    [
      { ...servers, balance: { kind: 'random', health: { outliers: { ejectFor: 0 } } } },
      'balance.health.outliers: ejectFor must be',
    ],
    ...(['outliers', 'breaker', 'slowStart', 'checks'] as const).flatMap((field) =>
      [null, false, 0, 'x', []].map((value): [object, string] => [
        { ...servers, balance: { kind: 'random', health: { [field]: value } } },
        `balance.health.${field} must be an object`,
      ]),
    ),
    [
      { ...servers, balance: { kind: 'random', health: { breaker: { probe: 1 } } } },
      'balance.health.breaker: circuitBreaker options has no field "probe"',
    ],
    [
      { ...servers, balance: { kind: 'random', health: { panicBelow: null } } },
      'balance.health.panicBelow must be a number from 0 to 1, got null.',
    ],
    [{ ...servers, servers: { count: 0 } }, 'servers.count must be a whole number from 1 to 10000, got 0.'],
    [{ ...servers, servers: { count: 2, weights: { C: 1 } } }, 'servers.weights.C is no server. There are: A, B.'],
    [
      { ...servers, servers: { count: 2, leaves: { A: '10s' } } },
      'servers.leaves.A must be before the end of the run (10000 ms), got 10000 ms.',
    ],
    [
      { ...servers, servers: { count: 2, joins: { C: '5s' }, leaves: { C: '4s' } } },
      'servers.leaves.C must be after it joins (5000 ms).',
    ],
    [
      { ...servers, servers: { count: 2, happenings: [{ server: 'X', fails: 1 }] } },
      'servers.happenings[0].server must be one of A, B, got "X".',
    ],
    [
      { ...servers, servers: { count: 2, happenings: [{ server: 'A' }] } },
      'servers.happenings[0] must say what happens',
    ],
    [
      { ...servers, servers: { count: 2, happenings: [{ server: 'A', fails: 2 }] } },
      'servers.happenings[0].fails must be a number from 0 to 1, got 2.',
    ],
    [{ ...small, protect: { timeout: '1s' } }, 'servers must be given where there is a protect.'],
    [{ ...servers, protect: {} }, 'protect must have one of its fields, or be left out.'],
    [{ ...servers, protect: { breaker: { openFor: 'long' } } }, 'protect.breaker: openFor must be'],
    [{ ...servers, protect: { breaker: { isFailure: 'x' } } }, 'protect.breaker.isFailure is no field here.'],
    [{ ...servers, protect: { throttle: { k: 0 } } }, 'protect.throttle: k must be'],
    [{ ...servers, protect: { retry: { budget: { ratio: -1 } } } }, 'protect.retry.budget: ratio must be'],
    // Operations.
    [{ ...small, operations: {} }, 'operations must be a list of operations, such as - { at: 5s, do: reset'],
    [operations('reset'), 'operations[0] must be an object such as { at: 5s, do: reset, key: alice }, got "reset".'],
    [operations({}), 'operations[0].do must be one of peek, penalize, reward, take, reset, block'],
    [operations({ do: 'forget' }), 'operations[0].do must be one of peek, penalize'],
    [operations({ do: 'reset', who: 'alice' }), 'operations[0].who is no field here. There are: at, do, every, key.'],
    [operations({ do: 'reset', key: 7 }), 'operations[0].key must be a text, got 7.'],
    [operations({ do: 'reset', at: 'soon' }), 'operations[0].at must be a time above 0, got "soon".'],
    [operations({ do: 'reset', at: '10s' }), 'operations[0].at must be before the end of the run, got "10s".'],
    [operations({ do: 'reset', every: '0s' }), 'operations[0].every must be a time above 0'],
    [operations({ do: 'reset', every: 0.01 }), 'operations comes to more than 100000 operations, which is the most.'],
    [operations({ do: 'penalize', cost: -1 }), 'operations[0].cost must be a number of 0 or more, got -1.'],
    [operations({ do: 'block' }), 'operations[0].for must be a time above 0 such as 10s, got nothing.'],
    [
      operations({ do: 'reserve', cost: 1, commit: 1 }),
      'operations[0].after must be a time such as 0s or 2s, got nothing.',
    ],
    [operations({ do: 'reserve', cancel: 3, after: '1s' }), 'operations[0].cancel must be true, or left out, got 3.'],
    [
      operations({ do: 'reserve', cancel: true, commit: 1, after: '1s' }),
      'operations[0].cancel must be left out beside a commit: a reservation ends once.',
    ],
    [
      operations({ do: 'reserve', after: '1s' }),
      'operations[0].after must be left out where there is neither commit nor cancel.',
    ],
    [operations({ do: 'set-clock' }), 'operations[0].do set-clock must have either back or ahead'],
    [operations({ do: 'set-clock', back: '1s', ahead: '1s' }), 'operations[0].do set-clock must have either'],
    [
      operations({ do: 'set-clock', at: '1s', back: '2s' }),
      'operations[0]: set-clock must not go back to before the beginning of the run.',
    ],
    [
      operations({ do: 'set-clock', ahead: '100000000d' }),
      'operations[0]: set-clock must not go further ahead than 100000000000000 ms by the end of the run, got 8640000000010000 ms.',
    ],
    [
      operations({ do: 'set-clock', ahead: '1000000d', every: '5ms' }),
      'operations[0]: set-clock must not go further ahead than',
    ],
    [
      { ...operations({ do: 'boost', of: 'nobody', by: 1e308 }), schedule: 'priority', service: '1s' },
      'operations[0].by must be a number from 0 to 1000000, got 1e+308.',
    ],
    [
      { ...operations({ do: 'peek', cost: 0.5 }), limit: { algorithm: 'concurrency', limit: 3 } },
      'operations[0]: peek: cost must be a whole number for the concurrency algorithm, got 0.5.',
    ],
    [operations({ do: 'release' }), 'operations[0]: release must have a limit of algorithm concurrency.'],
    [operations({ do: 'close' }), 'operations[0]: close must have a schedule that it is done to.'],
    [
      { ...operations({ do: 'reset' }), limit: [small.limit, small.limit] },
      'operations[0]: reset must have one limit that it is done to, got 2.',
    ],
    [{ ...operations({ do: 'take' }), limit: { algorithm: 'concurrency', limit: 3 } }, 'operations[0]: take: '],
    [
      { ...operations({ do: 'reset' }), limit: undefined, schedule: 'fair', service: '1s' },
      'operations[0]: reset must have a limit that it is done to.',
    ],
    [
      { ...operations({ do: 'block-tenant', tenant: 'a' }), schedule: 'priority', service: '1s' },
      'operations[0]: block-tenant must have a schedule of kind fair, got priority.',
    ],
    [
      { ...operations({ do: 'boost', of: 'nobody' }), schedule: 'priority', service: '1s' },
      'operations[0].of must be the name of some traffic, got "nobody". None of it has a name.',
    ],
    [
      { ...small, compare: [{ name: 'a', operations: [{ do: 'drain' }] }] },
      'compare[0].operations[0]: drain must have a schedule that it is done to.',
    ],
    [
      { ...small, operations: [{ do: 'reset' }, { at: '2s', do: 'reset' }, { at: '1s', do: 'drain', every: '1s' }] },
      'operations[2]: drain must have a schedule that it is done to.',
    ],
    [
      { ...operations({ do: 'release' }), compare: [{ name: 'a' }] },
      'operations[0]: release must have a limit of algorithm concurrency.',
    ],
    // Variants and claims.
    [{ ...small, compare: [] }, 'compare must have from 1 to 50 variants, got 0.'],
    [{ ...small, compare: [{ protect: null }] }, 'compare[0].name must be given'],
    [{ ...small, compare: [{ name: 'a' }, { name: 'a' }] }, 'compare[1].name is taken already: "a".'],
    [
      { ...small, compare: [{ name: 'a', limit: null }] },
      'compare[0] must have at least one of limit, schedule and servers.',
    ],
    [{ ...small, compare: [{ algorithm: 'gcra', limit: 1 }] }, 'compare[0]: window must be'],
    [{ ...small, expect: 'allowed == 3' }, 'expect must be a list of claims'],
    [{ ...small, expect: [3] }, 'expect[0] must be a claim such as "gcra.allowed == 20", got 3.'],
    [{ ...small, expect: ['allowed = 3'] }, 'expect[0]: cannot be read from "= 3" on.'],
  ];

  test.each(rows.map(([data, problem]) => ({ data, problem })))('$problem', ({ data, problem }) => {
    expect(
      problemsOf(data).some((each) => each.startsWith(problem)),
      problemsOf(data).join('\n'),
    ).toBe(true);
  });
});

test('all mistakes are told at once', () => {
  const problems = problemsOf({
    ...small,
    seeed: 3,
    traffic: [{ shape: 'steady', rate: 'fast' }, { shape: 'wave' }],
    limit: { algorithm: 'gcra', limit: -1, window: '1s' },
    expect: ['allowed ~ 3'],
  });
  expect(problems.map((problem) => problem.split(/[ :]/, 1)[0])).toEqual([
    'seeed',
    'traffic[0].rate',
    'traffic[1].shape',
    'limit',
    'expect[0]',
  ]);
});

test.each([
  ['no object', 'reset'],
  ['an unknown operation', { do: 'forget', at: 'soon', who: 'alice', every: 0 }],
  ['a step that is no time', { do: 'set-clock', back: 'a bit' }],
  ['a step at no time', { at: 'soon', do: 'set-clock', back: '2s' }],
  ['a step that is done again and again', { at: '1s', do: 'set-clock', back: '2s', every: '1ms' }],
  ['an operation on what is not there, again and again', { do: 'close', every: '1ms' }],
  ['a clock by which nothing can be tried out', { do: 'set-clock', ahead: '100000000d' }, { do: 'peek' }],
])('of %s one thing is said', (_, ...list: unknown[]) => {
  expect(problemsOf({ ...small, operations: list })).toHaveLength(1);
});

test('operations are counted before they are made', () => {
  const list = Array.from({ length: 300 }, () => ({ do: 'peek', every: 0.001 }));
  const before = process.memoryUsage().heapUsed;
  expect(problemsOf({ ...small, operations: list })).toEqual([
    'operations comes to more than 100000 operations, which is the most.',
  ]);
  // Three billion of them, or three hundred times the most, would take far more.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000);
});

test('what variants have in common is told once', () => {
  const { balance, ...others } = checked;
  const compare = [{ name: 'a' }, { name: 'b' }, { balance: 'random' }];
  expect(problemsOf({ ...others, balance, duration: '1d', compare })).toEqual([
    'balance.health.checks comes to about 864000000 checks, and may be at most 10000000.',
  ]);
});

test('where nothing is compared, nothing is said of the claims', () => {
  expect(problemsOf({ ...small, compare: [], expect: ['gcra.allowed == 3'] })).toEqual([
    'compare must have from 1 to 50 variants, got 0. Leave it out where there is nothing to compare.',
  ]);
});

test('a scenario that is right has no problems', () => {
  expect(problemsOf(small)).toEqual([]);
  expect(problemsOf(servers)).toEqual([]);
});

test('variants are called after what sets them apart, and once each', () => {
  const { variants } = parseScenario({
    ...servers,
    compare: [
      { algorithm: 'gcra', limit: 1, window: '1s' },
      { algorithm: 'gcra', limit: 2, window: '1s' },
      { balance: 'random' },
      { schedule: 'fair' },
      { name: 'own', limit: null },
    ],
  });
  expect(variants.map(({ name }) => name)).toEqual(['gcra', 'gcra-2', 'random', 'fair', 'own']);
  expect(variants.map(({ stages }) => stages.limit?.[0]?.policy.limit)).toEqual([1, 2, 5, 5, undefined]);
});
