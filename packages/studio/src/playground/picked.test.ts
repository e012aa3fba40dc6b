import { expect, test } from 'vitest';
import { engine } from './engine.ts';
import type { Frame } from './lane-geometry.ts';
import { goTo } from './picked.ts';
import { defaultSettings } from './settings.ts';

// A limit of 1 per 2 s, and a call every second: every second one is refused.
const run = engine({ ...defaultSettings, limit: 1, windowMs: 2000, shape: 'steady', callsPerSecond: 1 });
run.step(20_500);
const lane = run.lanes.find(({ name }) => name === 'sliding-log')!;
// From 14.5 s on: calls 15 to 20, of which the odd ones are refused.
const frame: Frame = { widthPx: 500, heightPx: 60, nowMs: 20_500, spanMs: 6000, capacity: 1 };

const rows: [key: string, from: number | undefined, to: number | undefined][] = [
  ['ArrowLeft', undefined, 20],
  ['ArrowRight', undefined, 20],
  ['ArrowLeft', 20, 19],
  ['ArrowRight', 19, 20],
  ['ArrowRight', 20, undefined],
  ['ArrowLeft', 15, undefined],
  ['PageUp', undefined, 19],
  ['PageUp', 19, 17],
  ['PageDown', 15, 17],
  ['PageDown', 19, undefined],
  ['Home', 18, 15],
  ['End', 15, 20],
  ['ArrowRight', 3, 15], // what has left the picture in the meantime
  ['Tab', 18, undefined],
];

test.each(rows)('%s goes from %s to %s', (key, from, to) => {
  expect(goTo(key, from, lane, frame)).toBe(to);
});
