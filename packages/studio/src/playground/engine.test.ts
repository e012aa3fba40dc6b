import { byKey, countsOf, grantsOf, type Outcome, worstWindow } from '@sluice/simulator';
import { type Clock, type ConcurrencyPolicy, limiter } from 'sluice';
import { expect, test } from 'vitest';
import { type AlgorithmName, algorithmNames, policyOf } from './algorithms.ts';
import { decisionLines, type RunLine } from './decision-lines.ts';
import { type DecidedCall, type Engine, engine } from './engine.ts';
import { laneLimiter } from './lane-limiter.ts';
import { defaultSettings, mostHandCalls, type Settings } from './settings.ts';
import { shapeNames, trafficOf } from './traffic-shape.ts';

const clock: Clock = { now: () => 0, sleep: () => Promise.reject(new Error('Nothing sleeps.')) };
const rateAlgorithms = algorithmNames.filter((name) => name !== 'concurrency');
const settings: Settings = { ...defaultSettings, shape: 'flash-crowd', callsPerSecond: 2, seed: 7 };
const untilMs = 120_000;

const runs = new Map<string, Engine>();

/** Of the run of these settings, which is made once for all tests that only look at it. */
function laneOf(name: AlgorithmName, of: Settings = settings) {
  const run = runs.get(JSON.stringify(of)) ?? engine(of);
  runs.set(JSON.stringify(of), run);
  run.step(untilMs);
  return run.lanes.find((one) => one.name === name)!;
}

function arrivals(of: Settings): number[] {
  const times: number[] = [];
  for (const { atMs } of trafficOf(of)) {
    if (atMs > untilMs) return times;
    times.push(atMs);
  }
  return times;
}

const withoutRule = ({ decision: { rule: _, policy: __, receipt: ___, ...rest } }: Pick<DecidedCall, 'decision'>) =>
  rest;

test.each(rateAlgorithms)('%s decides as a plain limiter does that nobody looks into', (name) => {
  const limit = limiter(policyOf(name, settings), { clock });
  const expected = arrivals(settings).map((atMs) => withoutRule({ decision: limit.check('caller', { atMs }) }));
  const { calls, counts } = laneOf(name);
  expect([...calls].map(withoutRule)).toEqual(expected);
  expect(counts.refused).toBeGreaterThan(0);
});

test('concurrency decides as a semaphore does whose places are given back after the hold time', () => {
  const policy = policyOf('concurrency', settings) as ConcurrencyPolicy;
  const limit = limiter(policy, { clock });
  const ends: { endMs: number; release: (options: { atMs: number }) => boolean }[] = [];
  const expected = arrivals(settings).map((atMs) => {
    while (ends.length > 0 && ends[0]!.endMs <= atMs) {
      const { endMs, release } = ends.shift()!;
      release({ atMs: endMs });
    }
    const lease = limit.acquire('caller', { atMs });
    if (lease.allowed) ends.push({ endMs: atMs + settings.holdMs, release: lease.release });
    return withoutRule(lease);
  });
  const { calls, counts, worst } = laneOf('concurrency');
  expect([...calls].map(withoutRule)).toEqual(expected);
  expect(counts.refused).toBeGreaterThan(0);
  expect(worst.most).toBe(policy.limit);
});

test('the same settings make the same run in one step and in many', () => {
  const one = engine(settings);
  const many = engine(settings);
  one.step(untilMs);
  for (let toMs = 0; toMs <= untilMs; toMs += 16.7) many.step(toMs);
  many.step(untilMs);
  expect(decisionLines(many)).toBe(decisionLines(one));
  expect(many.lanes.map(({ worst }) => worst.most)).toEqual(one.lanes.map(({ worst }) => worst.most));
});

test('another seed makes another run', () => {
  expect(laneOf('gcra', { ...settings, seed: 8 }).calls.at(0)!.atMs).not.toBe(laneOf('gcra').calls.at(0)!.atMs);
});

test.each(rateAlgorithms)('the worst window of %s so far is the one of its whole history', (name) => {
  const lane = laneOf(name);
  const history = [...lane.calls].map((call): Outcome => ({ ...call, key: 'caller' }));
  expect(byKey(history).size).toBe(1);
  const gone = grantsOf(history).filter(({ atMs }) => atMs <= untilMs);
  expect(lane.worst.most).toBe(worstWindow(gone, settings.windowMs - 1e-6));
  expect(lane.counts).toEqual((({ allowed, delayed, refused }) => ({ allowed, delayed, refused }))(countsOf(history)));
});

const boundary: Settings = { ...defaultSettings, shape: 'boundary', callsPerSecond: 2 };
const worstRows: [name: AlgorithmName, most: number][] = [
  ['token-bucket', 7], // burst 5, and one a second for the not quite 3 s that the calls last
  ['gcra', 7],
  ['fixed-window', 20], // the flaw: twice the limit
  ['sliding-log', 10],
  ['sliding-slots', 10],
];

test.each(worstRows)('across the boundary %s lets %i of 10 through', (name, most) => {
  expect(laneOf(name, boundary).worst.most).toBe(most);
});

test('gcra and the token bucket make the same decisions', () => {
  expect([...laneOf('gcra').calls].map(withoutRule)).toEqual([...laneOf('token-bucket').calls].map(withoutRule));
});

test.each(shapeNames.flatMap((shape) => algorithmNames.map((name) => [shape, name] as const)))(
  'under %s traffic the level of %s is from nothing to its capacity, and refusals are where it does not fit',
  (shape, name) => {
    const lane = laneOf(name, { ...settings, shape });
    // Levels are read in whole milliseconds, and the estimate in parts of 128.
    const off = 0.02;
    const outside = [...lane.levels].filter(({ used }) => used < 0 || used > lane.capacity + off);
    const asked = laneLimiter(name, { ...settings, shape });
    const wrong = [...lane.calls].filter(({ atMs, cost, usedBefore, usedAfter, decision }) => {
      const isBefore = Math.abs(usedBefore - asked.used(atMs)) <= off;
      asked.decide(atMs, cost);
      const isAfter = Math.abs(usedAfter - asked.used(atMs)) <= off;
      return !isBefore || !isAfter || decision.allowed !== usedBefore + cost <= lane.capacity;
    });
    expect([outside, wrong]).toEqual([[], []]);
    expect(lane.levels.size).toBeGreaterThan(500);
  },
);

test('between calls the level of a bucket is a slope', () => {
  const run = engine({ ...defaultSettings, shape: 'boundary' });
  run.step(15_000);
  const levels = [...run.lanes.find(({ name }) => name === 'token-bucket')!.levels].filter(({ atMs }) => atMs > 12_000);
  const slope = (levels.at(-1)!.used - levels[0]!.used) / (levels.at(-1)!.atMs - levels[0]!.atMs);
  expect(levels.length).toBeGreaterThan(40);
  expect(slope * 1000).toBeCloseTo(-1, 2);
});

test('a call by hand is decided at once in every lane, and is part of the run when it is run again', () => {
  const run = engine(settings);
  run.step(5000);
  const decided = run.callNow();
  run.step(10_000);
  run.callNow();
  run.step(20_000);
  expect(decided.map(({ lane, atMs, isByHand }) => [lane, atMs, isByHand])).toEqual(
    algorithmNames.map((name) => [name, 5000, true]),
  );
  const again = engine(settings, run.handCallsMs);
  again.step(20_000);
  expect(decisionLines(again)).toBe(decisionLines(run));
});

test('the estimate of the sliding window is the one of which the limiter itself lets the rest through', () => {
  const limit = limiter(policyOf('sliding-window', settings), { clock });
  const wrong = [...laneOf('sliding-window').calls].filter(({ atMs, usedAfter }) => {
    limit.check('caller', { atMs });
    const room = settings.limit - usedAfter;
    const passes = (cost: number) => limit.peek('caller', { atMs, cost }).allowed;
    return !passes(room) || passes(room + 1 / 128);
  });
  expect(wrong).toEqual([]);
});

test('calls by hand have an end', () => {
  const run = engine(settings);
  for (let i = 0; i < mostHandCalls; i += 1) expect(run.callNow()).toHaveLength(algorithmNames.length);
  expect(run.callNow()).toEqual([]);
});

test('a run of an hour keeps what can be seen, and counts everything', () => {
  const busy: Settings = { ...settings, callsPerSecond: 2, windowMs: 1000 };
  const run = engine(busy);
  for (let toMs = 0; toMs <= 3_600_000; toMs += 600_000) run.step(toMs);
  const { calls, levels, counts } = run.lanes[0]!;
  expect(counts.allowed + counts.refused).toBe(calls.added);
  expect(calls.added).toBeGreaterThan(calls.capacity);
  expect(calls.size).toBe(calls.capacity);
  expect(levels.size).toBeLessThanOrEqual(levels.capacity);
  const run1 = JSON.parse(decisionLines(run).split('\n')[0]!) as RunLine;
  expect(run1.forgotten).toBe((calls.added - calls.capacity) * algorithmNames.length);
});

test('on the way to a later moment nothing is read that cannot be seen from there', () => {
  const [straight, stopping] = [engine(settings), engine(settings)];
  straight.step(untilMs);
  for (let toMs = 10_000; toMs <= untilMs; toMs += 10_000) stopping.step(toMs, untilMs);
  expect(stopping.lanes.map(({ levels }) => [...levels])).toEqual(straight.lanes.map(({ levels }) => [...levels]));
  expect(decisionLines(stopping)).toBe(decisionLines(straight));
});

test('the exported lines say of what run they are, and every decision of it', () => {
  const run = engine(settings);
  run.step(30_000);
  run.callNow();
  const lines = decisionLines(run).trimEnd().split('\n');
  expect(JSON.parse(lines[0]!)).toEqual({ settings, handCallsMs: [30_000], untilMs: 30_000, forgotten: 0 });
  expect(lines).toHaveLength(1 + run.lanes.reduce((sum, { calls }) => sum + calls.size, 0));
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ lane: 'concurrency', atMs: 30_000, isByHand: true, cost: 1 });
});
