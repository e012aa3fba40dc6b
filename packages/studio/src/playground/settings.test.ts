import fc from 'fast-check';
import { expect, test } from 'vitest';
import { algorithmNames } from './algorithms.ts';
import { engine } from './engine.ts';
import {
  defaultSettings,
  defaultShowing,
  mostHandCalls,
  queryOf,
  ranges,
  runEndMs,
  type State,
  stateOf,
} from './settings.ts';
import { shapeNames } from './traffic-shape.ts';

const read = (query: string) => stateOf(new URLSearchParams(query));

test('an empty address is the defaults', () => {
  expect(read('')).toEqual({ settings: defaultSettings, showing: { ...defaultShowing, stoppedAtMs: undefined } });
});

const rows: [query: string, expected: object][] = [
  ['limit=20&window=1m&burst=8', { limit: 20, windowMs: 60_000, burst: 8 }],
  ['window=2500ms', { windowMs: 2500 }],
  ['shape=boundary&rate=0.5&seed=42', { shape: 'boundary', callsPerSecond: 0.5, seed: 42 }],
  ['maxDelay=2s&hold=250ms&inFlight=4&slots=20', { maxDelayMs: 2000, holdMs: 250, inFlight: 4, slots: 20 }],
  // What cannot be is what it is without it.
  ['limit=0', { limit: 10 }],
  ['limit=1e9', { limit: 10 }],
  ['limit=2.5', { limit: 10 }],
  ['limit=NaN&burst=-1&rate=&seed=abc', { limit: 10, burst: 5, callsPerSecond: 1.5, seed: 1 }],
  ['window=soon&hold=&maxDelay=5', { windowMs: 10_000, holdMs: 1500, maxDelayMs: 3000 }],
  ['window=1d', { windowMs: 10_000 }],
  ['shape=constructor', { shape: 'bursts' }],
];

test.each(rows)('%s', (query, expected) => {
  expect(read(query).settings).toMatchObject(expected);
});

const showingRows: [query: string, expected: object][] = [
  ['lanes=gcra.smooth&lane=smooth', { lanes: ['gcra', 'smooth'], selected: 'smooth' }],
  ['lanes=smooth.gcra', { lanes: ['gcra', 'smooth'] }],
  ['lanes=nonsense&lane=nonsense', { lanes: algorithmNames, selected: 'gcra' }],
  ['speed=5&at=12500', { speed: 5, stoppedAtMs: 12_500 }],
  ['at=3600000', { stoppedAtMs: runEndMs }],
  // Beyond the end of a run is its end.
  ['at=3600001', { stoppedAtMs: runEndMs }],
  ['at=1e300', { stoppedAtMs: runEndMs }],
  ['at=soon', { stoppedAtMs: undefined }],
  ['speed=0&at=-1', { speed: 1, stoppedAtMs: undefined }],
  ['calls=2000_1000_x_', { handCallsMs: [1000, 2000] }],
];

test.each(showingRows)('%s', (query, expected) => {
  expect(read(query).showing).toMatchObject(expected);
});

const between = ([least, most]: readonly [number, number]) => fc.integer({ min: least, max: most });
const hundreds = ([least, most]: readonly [number, number]) =>
  fc.integer({ min: least / 100, max: most / 100 }).map((n) => n * 100);

const states: fc.Arbitrary<State> = fc.record({
  settings: fc.record({
    limit: between(ranges.limit),
    windowMs: hundreds(ranges.windowMs),
    burst: between(ranges.burst),
    maxDelayMs: hundreds(ranges.maxDelayMs),
    inFlight: between(ranges.inFlight),
    holdMs: hundreds(ranges.holdMs),
    slots: between(ranges.slots),
    shape: fc.constantFrom(...shapeNames),
    callsPerSecond: fc.double({ min: 0.1, max: 20, noNaN: true }),
    seed: between(ranges.seed),
  }),
  showing: fc.record({
    lanes: fc.subarray([...algorithmNames], { minLength: 1 }),
    selected: fc.constantFrom(...algorithmNames),
    speed: fc.double({ min: 0.25, max: 20, noNaN: true }),
    stoppedAtMs: fc.option(fc.double({ min: 0, max: runEndMs, noNaN: true }), { nil: undefined }),
    handCallsMs: fc
      .array(fc.double({ min: 0, max: runEndMs, noNaN: true }), { maxLength: mostHandCalls })
      .map((times) => times.map((time) => time + 0).sort((a, b) => a - b)),
  }),
});

test('what was written into an address is read back', () => {
  fc.assert(
    fc.property(states, (state) => {
      expect(stateOf(new URLSearchParams(queryOf(state).toString()))).toEqual(state);
    }),
    { numRuns: 200 },
  );
});

test('a moment that is written into an address is always one that is read back', () => {
  const state = { settings: defaultSettings, showing: { ...defaultShowing, stoppedAtMs: 2 * runEndMs } };
  expect(stateOf(queryOf(state)).showing.stoppedAtMs).toBe(runEndMs);
});

test('no address makes settings that cannot be run', () => {
  const names = ['limit', 'window', 'burst', 'maxDelay', 'inFlight', 'hold', 'slots', 'shape', 'rate', 'seed', 'calls'];
  const value = fc.oneof(fc.string(), fc.double().map(String), fc.constantFrom('1s', '1ms', '99', '1e3', '-0', '0x10'));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), (fields) => {
      const { settings, showing } = stateOf(new URLSearchParams(fields));
      expect(() => engine(settings, showing.handCallsMs).step(1000)).not.toThrow();
    }),
    { numRuns: 50 },
  );
});
