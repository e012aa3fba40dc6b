import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AlgorithmName, algorithmNames } from './algorithms.ts';
import { type DecidedCall, engine } from './engine.ts';
import { type Outcome, outcomeOf, reasonOf } from './reason.ts';
import { defaultSettings, ranges, type Settings } from './settings.ts';
import { shapeNames } from './traffic-shape.ts';

// 10 per 10 s with a burst of 5; 40 calls from 8.538 s on, one every 75 ms.
const settings: Settings = { ...defaultSettings, shape: 'boundary', callsPerSecond: 2 };

/** The first call of the lane that came to this outcome, in words. */
function first(name: AlgorithmName, outcome: Outcome): string {
  const { calls } = run.lanes.find((one) => one.name === name)!;
  return reasonOf([...calls].find((call) => outcomeOf(call) === outcome)!, settings);
}

const rows: [name: AlgorithmName, outcome: Outcome, reason: string][] = [
  ['token-bucket', 'allowed', '5 of 5 tokens were there, and it took 1.'],
  [
    'token-bucket',
    'refused',
    '0.4 of 5 tokens were there, and it needs 1. One comes every 1 s; there are enough in 625 ms.',
  ],
  ['gcra', 'allowed', '0 calls were ahead of the pace, and with this one no more than 5 are.'],
  [
    'gcra',
    'refused',
    'It came 625 ms too early: the pace is one every 1 s, up to 5 ahead of it, and 4.6 were ahead already.',
  ],
  ['leaky-bucket', 'allowed', 'Nobody is in line, so it goes at once.'],
  ['leaky-bucket', 'delayed', '0.9 are in line before it, and one leaves every 1 s: it waits 925 ms.'],
  [
    'leaky-bucket',
    'refused',
    '5.5 of 6 places in line are taken, and it needs 1. One leaves every 1 s; there is room in 550 ms.',
  ],
  ['fixed-window', 'allowed', '0 of 10 were used since the boundary at 0.00 s.'],
  ['fixed-window', 'refused', '10 of 10 were used since the boundary at 0.00 s; the count starts again in 712 ms.'],
  ['sliding-log', 'allowed', '0 of 10 were used in the last 10 s.'],
  ['sliding-log', 'refused', '10 of 10 were used in the last 10 s; the oldest leaves in 9.25 s.'],
  ['sliding-slots', 'allowed', '0 of 10 count in the slots of the last 10 s.'],
  [
    'sliding-slots',
    'refused',
    '10 of 10 count in the slots of the last 10 s; the oldest slot with calls has wholly left in 9.71 s.',
  ],
  ['sliding-window', 'allowed', 'The estimate for the last 10 s is 0 of 10.'],
  [
    'sliding-window',
    'refused',
    'The estimate for the last 10 s is 10, and with this call it would be above 10; it has fallen far enough in 1.71 s.',
  ],
  ['smooth', 'allowed', 'Nobody before it has borrowed, so it goes at once, and the next one pays.'],
  ['smooth', 'delayed', 'Those before it have borrowed up to then, at one every 1 s: it waits 850 ms.'],
  [
    'smooth',
    'refused',
    'The next free moment is 3.63 s away, and a call may wait 3 s at most; it is near enough in 625 ms.',
  ],
  ['concurrency', 'allowed', '0 of 3 were in flight.'],
  [
    'concurrency',
    'refused',
    '3 of 3 are in flight. The next of them ends in 1.27 s, which the limiter cannot know; what it knows is when a lease runs out, in 59.8 s.',
  ],
];

const run = engine(settings);
run.step(12_000);

test.each(rows)('the first call that %s has %s is told why', (name, outcome, reason) => {
  expect(first(name, outcome)).toBe(reason);
});

test('what a refusal promises is true: after so long the same call passes, and a moment sooner it does not', () => {
  const log = run.lanes.find(({ name }) => name === 'sliding-log')!;
  const call = [...log.calls].find((one) => outcomeOf(one) === 'refused')!;
  const oldestMs = [...log.calls].find((one) => outcomeOf(one) === 'allowed')!.atMs;
  expect(call.atMs + call.decision.retryAfterMs).toBe(oldestMs + settings.windowMs);
});

// What decided call 42 of the page as it opens is close to a whole number.
const closeRows: [name: AlgorithmName, reason: string][] = [
  ['token-bucket', '0.98 of 5 tokens were there, and it needs 1. One comes every 1 s; there are enough in 21 ms.'],
  ['gcra', 'It came 21 ms too early: the pace is one every 1 s, up to 5 ahead of it, and 4.02 were ahead already.'],
  ['leaky-bucket', '5.02 of 6 places in line are taken, and it needs 1. One leaves every 1 s; there is room in 21 ms.'],
  [
    'sliding-window',
    'The estimate for the last 10 s is 9.01, and with this call it would be above 10; it has fallen far enough in 5 ms.',
  ],
];

test.each(closeRows)('%s does not round away why it refused', (name, reason) => {
  const byDefault = engine(defaultSettings);
  byDefault.step(29_100);
  const { calls } = byDefault.lanes.find((one) => one.name === name)!;
  expect(reasonOf(calls.ofOrder(41)!, defaultSettings)).toBe(reason);
});

/** Whether the numbers of the sentence say that the call fits; nothing where it has no numbers of that kind. */
function saysItFits(text: string): boolean | undefined {
  const patterns: [pattern: RegExp, fits: (...numbers: number[]) => boolean][] = [
    [/^([\d.]+) of [\d.]+ tokens were there, and it (?:needs|took) (\d+)/, (left, cost) => left! >= cost!],
    [/up to (\d+) ahead of it, and ([\d.]+) were ahead/, (burst, used) => used! + 1 <= burst!],
    [
      /^([\d.]+) calls were ahead of the pace, and with this one no more than (\d+)/,
      (used, burst) => used! + 1 <= burst!,
    ],
    [
      /^([\d.]+) of (\d+) (?:places in line|were used|count in|are in flight|were in flight)/,
      (used, room) => used! + 1 <= room!,
    ],
    [/ is ([\d.]+)(?:, and with this call it would be above| of) (\d+)/, (used, limit) => used! + 1 <= limit!],
    [/^([\d.]+) are in line before it/, (inLine) => inLine! > 0],
  ];
  for (const [pattern, fits] of patterns) {
    const found = pattern.exec(text);
    if (found) return fits(...found.slice(1).map(Number));
  }
  const [, away, most] = /^The next free moment is (.+) away, and a call may wait (.+) at most/.exec(text) ?? [];
  return away === undefined ? undefined : away === most;
}

const between = ([least, most]: readonly [number, number]) => fc.integer({ min: least, max: most });
const someSettings: fc.Arbitrary<Settings> = fc.record({
  limit: between(ranges.limit),
  windowMs: fc.oneof(fc.constantFrom(1000, 7000, 10_000, 60_000), between(ranges.windowMs)),
  burst: between([1, 20]),
  maxDelayMs: between(ranges.maxDelayMs),
  inFlight: between(ranges.inFlight),
  holdMs: between(ranges.holdMs),
  slots: between(ranges.slots),
  shape: fc.constantFrom(...shapeNames),
  callsPerSecond: fc.double({ min: 0.1, max: 20, noNaN: true }),
  seed: between(ranges.seed),
});

// Both durations of the sentence rounded to the same.
const failedBefore: [Settings][] = [
  [
    {
      ...defaultSettings,
      limit: 6,
      windowMs: 7000,
      burst: 1,
      maxDelayMs: 10_050,
      shape: 'steady',
      callsPerSecond: 9.62386719063277,
    },
  ],
  [{ ...defaultSettings, limit: 3, burst: 1, maxDelayMs: 4375, shape: 'boundary', callsPerSecond: 18.075 }],
];

test('in every refusal the numbers do not fit, and in everything else they do', () => {
  const told = new Set<string>();
  fc.assert(
    fc.property(someSettings, (of) => {
      const some = engine(of);
      some.step(Math.min(3 * of.windowMs, (300 / of.callsPerSecond) * 1000));
      const all = some.lanes.flatMap(({ calls }) => [...calls]);
      expect(all.filter((call) => isContradiction(call, of)).map((call) => reasonOf(call, of))).toEqual([]);
      for (const call of all)
        if (saysItFits(reasonOf(call, of)) !== undefined) told.add(`${call.lane} ${outcomeOf(call)}`);
    }),
    { numRuns: 60, examples: failedBefore },
  );
  // All but those that have no number to compare: who goes at once, and who borrowed.
  expect([...told].filter((one) => one.endsWith('refused'))).toHaveLength(algorithmNames.length);
  expect([...told].filter((one) => one.endsWith('allowed'))).toHaveLength(algorithmNames.length - 2);
  expect([...told].filter((one) => one.endsWith('delayed'))).toEqual(['leaky-bucket delayed']);
});

function isContradiction(call: DecidedCall, of: Settings): boolean {
  return (saysItFits(reasonOf(call, of)) ?? call.decision.allowed) !== call.decision.allowed;
}
