import { describe, expect, test } from 'vitest';
import { callsOf, groupsOf } from './calls.ts';
import { parseScenario } from './parse-scenario.ts';

const scenarioOf = (traffic: readonly object[], more: object = {}) =>
  parseScenario({
    name: 'test',
    duration: '100s',
    traffic,
    limit: { algorithm: 'gcra', limit: 1, window: '1s' },
    ...more,
  });

const callsIn = (traffic: readonly object[], more: object = {}) => {
  const scenario = scenarioOf(traffic, more);
  return [...callsOf(scenario, scenario.variants[0]!.stages.service)];
};

describe('the shapes of traffic', () => {
  const rows: [shape: object, expected: number, spread: number][] = [
    // calls in 100 s, and five standard deviations of their number
    [{ shape: 'steady', rate: '50/s' }, 5000, 0],
    [{ shape: 'steady', rate: '600/m', from: '10s', until: '20s' }, 100, 0],
    [{ shape: 'steady', rate: '3/10s' }, 30, 0],
    [{ shape: 'poisson', rate: '50/s' }, 5000, 354],
    [{ shape: 'burst', count: 7, at: '5s', spacing: '10ms' }, 7, 0],
    [{ shape: 'burst', count: 7, at: '5s', every: '10s' }, 70, 0],
    [{ shape: 'burst', count: 7, at: '5s', every: '10s', until: '25s' }, 14, 0],
    [{ shape: 'on-off', rate: '100/s', on: '1s', off: '4s' }, 2000, 224],
    [{ shape: 'diurnal', low: '10/s', high: '50/s', day: '100s' }, 3000, 274],
    [
      { shape: 'flash-crowd', base: '10/s', peak: '110/s', at: '20s', ramp: '10s', hold: '10s', decay: '1s' },
      2600,
      255,
    ],
    [{ shape: 'attack', rate: '20/s', keys: 4 }, 2000, 0],
  ];

  test.each(rows)('%j comes to about %d calls', (shape, expected, spread) => {
    const calls = callsIn([shape]);
    expect(Math.abs(calls.length - expected)).toBeLessThanOrEqual(spread);
    const times = calls.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.every((atMs) => atMs >= 0 && atMs < 100_000)).toBe(true);
  });

  test('have the keys and costs that they are given', () => {
    const keys = (shape: object) => [...new Set(callsIn([{ rate: '10/s', ...shape }]).map(({ key }) => key))];
    expect(keys({ shape: 'steady' })).toEqual(['all']);
    expect(keys({ shape: 'steady', key: 'ann' })).toEqual(['ann']);
    expect(keys({ shape: 'attack' })).toEqual(['attacker']);
    expect(keys({ shape: 'attack', keys: 2 })).toEqual(['attacker-1', 'attacker-2']);
    expect(callsIn([{ shape: 'steady', rate: '10/s', cost: 2.5 }])[0]?.cost).toBe(2.5);
  });

  test('have clients in the proportion of Zipf, 1 / rank where no exponent is given', () => {
    const calls = callsIn([{ shape: 'steady', rate: '100/s', clients: { count: 2 } }]);
    const first = calls.filter(({ key }) => key === 'client-1').length / calls.length;
    // Two thirds, of ten thousand: five standard deviations.
    expect(Math.abs(first - 2 / 3)).toBeLessThan(0.024);
  });
});

test('two shapes have chances of their own, and one does not disturb the other', () => {
  const poisson = { shape: 'poisson', rate: '5/s' };
  const times = (traffic: object[], key: string) =>
    callsIn(traffic).flatMap((call) => (call.key === key ? [call.atMs] : []));
  const both = [
    { ...poisson, key: 'a' },
    { ...poisson, key: 'b' },
  ];
  expect(times(both, 'a')).not.toEqual(times(both, 'b'));
  expect(times(both, 'a')).toEqual(times(both.slice(0, 1), 'a'));
});

test('a call takes as long as its shape says, else as long as the scenario does', () => {
  const traffic = [
    { shape: 'burst', count: 1, at: '0s' },
    { shape: 'burst', count: 1, at: '1s', service: '7ms' },
  ];
  expect(callsIn(traffic, { service: '5ms' }).map(({ serviceMs }) => serviceMs)).toEqual([5, 7]);
  expect(callsIn(traffic).map(({ serviceMs }) => serviceMs)).toEqual([undefined, 7]);
});

test.each([
  [{ exponential: '20ms' }, 20, 20],
  [{ from: '10ms', to: '30ms' }, 20, 20 / Math.sqrt(12)],
])('services of %j have their mean', (service, meanMs, deviationMs) => {
  const calls = callsIn([{ shape: 'steady', rate: '100/s' }], { service });
  const mean = calls.reduce((sum, { serviceMs }) => sum + serviceMs!, 0) / calls.length;
  expect(Math.abs(mean - meanMs)).toBeLessThan((5 * deviationMs) / Math.sqrt(calls.length));
});

test('calls of one name are a group; where all have one key and no name, there is none', () => {
  const steady = { shape: 'steady', rate: '1/s' };
  expect(groupsOf(scenarioOf([{ ...steady, key: 'a' }, { ...steady, key: 'a', name: 'b' }, steady]))).toEqual([
    'a',
    'b',
  ]);
  expect(groupsOf(scenarioOf([{ ...steady, key: 'a' }, steady]))).toEqual(['a']);
  expect(
    groupsOf(
      scenarioOf([
        { ...steady, key: 'a' },
        { ...steady, key: 'a' },
      ]),
    ),
  ).toEqual([]);
  expect(groupsOf(scenarioOf([steady]))).toEqual([]);
  // Whoever gives a name wants to be told of it.
  expect(groupsOf(scenarioOf([{ ...steady, name: 'users' }]))).toEqual(['users']);
});
