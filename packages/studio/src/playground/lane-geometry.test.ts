import { expect, test } from 'vitest';
import { engine, type Lane, type Level } from './engine.ts';
import {
  callNear,
  columnOf,
  type Frame,
  gridMoments,
  gutterPx,
  levelPoints,
  markOf,
  nowX,
  shownCalls,
  xOf,
  yOf,
} from './lane-geometry.ts';
import { outcomeOf } from './reason.ts';
import { Ring } from './ring.ts';
import { defaultSettings } from './settings.ts';
import { axisText } from './time-text.ts';

const run = engine({ ...defaultSettings, shape: 'flash-crowd', callsPerSecond: 3 });
run.step(60_000);
const lane = run.lanes.find(({ name }) => name === 'leaky-bucket')!;
const frame: Frame = { widthPx: 700, heightPx: 64, nowMs: 60_000, spanMs: 30_000, capacity: lane.capacity };

test('the span reaches from the gutter to now, and the future lies behind that', () => {
  expect(xOf(frame, 30_000)).toBe(gutterPx);
  expect(xOf(frame, 60_000)).toBe(nowX(frame));
  expect(nowX(frame)).toBeLessThan(frame.widthPx);
});

test('a full lane is higher than an empty one, and refusals are above both', () => {
  const refused = [...lane.calls].find((call) => outcomeOf(call) === 'refused')!;
  expect(yOf(frame, frame.capacity)).toBeLessThan(yOf(frame, 0));
  expect(markOf(frame, refused).y).toBeLessThan(yOf(frame, frame.capacity));
});

test('what is shown is what falls into the span, with those that are still waiting', () => {
  const shown = [...shownCalls(lane, frame)];
  const expected = [...lane.calls].filter(({ atMs, decision }) => atMs + decision.delayMs >= 30_000);
  expect(shown.map(({ order }) => order)).toEqual(expected.map(({ order }) => order));
  expect(shown.length).toBeLessThan(lane.calls.size);
});

test('every call that is shown is found at its own place', () => {
  for (const call of shownCalls(lane, frame)) {
    const at = markOf(frame, call);
    if (at.x < gutterPx) continue;
    const found = callNear(lane, frame, at, 8)!;
    expect(markOf(frame, found)).toEqual(at);
  }
});

test('far from every call there is none', () => {
  expect(callNear(lane, frame, { x: 400, y: 500 }, 8)).toBeUndefined();
});

test('the line of the level has its highest and lowest everywhere, in fewer points than can be seen', () => {
  const levels = new Ring<Level>(10_000);
  // Up by one and down by one, forty times a second.
  for (let i = 0; i <= 8000; i += 1) levels.push({ atMs: i * 25, used: (i % 2) + (i % 5) / 5 });
  const dense: Lane = { ...lane, levels };
  const of: Frame = { widthPx: 700, heightPx: 64, nowMs: 200_000, spanMs: 180_000, capacity: 2 };
  const points = levelPoints(dense, of);
  const all = [...dense.levels].filter(({ atMs }) => atMs > 20_000);
  expect(all.length).toBeGreaterThan(6000);
  expect(points.length).toBeLessThan(2 * of.widthPx);
  const columns = new Map<number, number[]>();
  for (const { x, y } of points) columns.set(columnOf(x), [...(columns.get(columnOf(x)) ?? []), y]);
  const outside = all.filter(({ atMs, used }) => {
    const near = columns.get(columnOf(xOf(of, atMs)))!;
    return Math.min(...near) > yOf(of, used) || Math.max(...near) < yOf(of, used);
  });
  expect(outside).toEqual([]);
});

test('a lane without levels has no line', () => {
  const fresh = engine(defaultSettings).lanes[0]!;
  expect(levelPoints(fresh, { ...frame, nowMs: 0 })).toEqual([]);
});

const rows: [widthPx: number, spanMs: number, nowMs: number, moments: number[]][] = [
  [730, 30_000, 62_000, [35, 40, 45, 50, 55, 60]],
  [330, 30_000, 62_000, [40, 50, 60]],
  [730, 30_000, 3000, [0]],
  [730, 3000, 10_000, [7, 7.5, 8, 8.5, 9, 9.5, 10]],
  [730, 180_000, 200_000, [20, 40, 60, 80, 100, 120, 140, 160, 180, 200]],
];

test.each(rows)('%d px for %d ms until %d have their marks at %j s', (widthPx, spanMs, nowMs, moments) => {
  expect(gridMoments({ widthPx, spanMs, nowMs }).map((ms) => ms / 1000)).toEqual(moments);
});

test('no two moments on the axis have the same label, however narrow the window and late the moment', () => {
  const frames = [1000, 2000, 10_000, 60_000].flatMap((windowMs) =>
    [320, 800, 1400].flatMap((widthPx) =>
      [500, 59_900, 60_100, 934_200, 3_600_000].map((nowMs) => ({ widthPx, nowMs, spanMs: 3 * windowMs })),
    ),
  );
  const repeating = frames.filter((frame) => {
    const labels = gridMoments(frame).map(axisText);
    return new Set(labels).size < labels.length;
  });
  expect(repeating).toEqual([]);
});
