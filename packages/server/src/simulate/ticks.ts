/** Round numbers for axes: 0, 50, 100 of calls; 0 s, 15 s, 30 s of time. */
import { duration } from './figure.ts';

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** The next number from `value` on that is round, and whose half is round too: 2, 4, 6, 8, then 10, 12, 16, 20, 30 and so on. */
export function roundTop(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 2;
  if (value < 10) return value < 1 ? 1 : 2 * Math.ceil(value / 2);
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8].find((each) => each * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// Each unit is cut as clocks and calendars cut it.
const stepsMs = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10, 20, 50, 100, 200].map((count) => count * day),
];

/** From 0 to the end, at most `most` steps; all in the unit of the step, so that they read as one scale. */
export function timeTicks(durationMs: number, most: number): Tick[] {
  const stepMs = stepsMs.find((step) => durationMs / step <= Math.max(1, most)) ?? durationMs;
  // A second is not a thousand of something.
  const [unitMs, unit] = unitOf(durationMs >= second ? Math.max(second, stepMs) : stepMs);
  const ticks: Tick[] = [];
  for (let i = 0; i * stepMs <= durationMs; i++) {
    const at = i * stepMs;
    ticks.push({ at, label: unit === undefined ? duration(at) : `${at / unitMs} ${unit}` });
  }
  return ticks;
}

function unitOf(stepMs: number): readonly [unitMs: number, unit: string | undefined] {
  if (stepMs < second) return [1, 'ms'];
  if (stepMs < minute) return [second, 's'];
  if (stepMs < hour) return [minute, 'min'];
  return stepMs < day ? [hour, 'h'] : [day, stepsMs.includes(stepMs) ? 'd' : undefined];
}
