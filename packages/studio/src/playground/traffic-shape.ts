/**
 * Who calls when: endless traffic of a shape, composed of the simulator's. Whatever the shape, the mean is `callsPerSecond`, and times are
 * in windows, so that a picture of three windows always shows what is typical of it.
 *
 *      steady       · · · · · · · · · · · ·
 *      random       ·· ·   · ··· ·   ·  ··
 *      bursts       ····   ·    ···· ·    ·   ···
 *      boundary           ···┊···                        around every second boundary of the fixed window
 *      flash-crowd  ·  ·   ·········· · · ·  ·  ·
 */
import { type Arrival, burst, merge, onOff, poisson, steady, type Traffic } from '@sluice/simulator';
import type { Settings } from './settings.ts';

export const shapeNames = ['steady', 'random', 'bursts', 'boundary', 'flash-crowd'] as const;
export type ShapeName = (typeof shapeNames)[number];

export const shapeTitles: Readonly<Record<ShapeName, string>> = {
  steady: 'Steady',
  random: 'Random',
  bursts: 'Bursts',
  boundary: 'Across the boundary',
  'flash-crowd': 'Flash crowd',
};

export type TrafficSettings = Pick<Settings, 'shape' | 'callsPerSecond' | 'windowMs' | 'seed'>;

const untilMs = Number.POSITIVE_INFINITY;

const shapes: Readonly<Record<ShapeName, (settings: TrafficSettings) => Traffic>> = {
  steady: ({ callsPerSecond }) => steady(callsPerSecond, { untilMs }),
  random: ({ callsPerSecond, seed }) => poisson(callsPerSecond, { untilMs, seed }),
  bursts,
  boundary: aroundBoundaries,
  'flash-crowd': flashCrowds,
};

/**
 * In whole milliseconds, as clocks have them. And so that a seed makes the same calls everywhere: the logarithms behind random times differ
 * in their last digit from one JavaScript engine to the next.
 */
export function trafficOf(settings: TrafficSettings): Traffic {
  const exact = shapes[settings.shape](settings);
  return {
    *[Symbol.iterator](): Iterator<Arrival> {
      for (const arrival of exact) yield { ...arrival, atMs: Math.round(arrival.atMs) };
    },
  };
}

// In windows. The period is no multiple of a window, so that bursts fall on all parts of it; the first falls on a boundary.
const burstEvery = 0.9;
const burstLasts = 0.25;
const burstFrom = 0.87;
const burstShare = 0.8;

function bursts({ callsPerSecond, windowMs, seed }: TrafficSettings): Traffic {
  const rate = (callsPerSecond * burstShare * burstEvery) / burstLasts;
  const between = poisson(callsPerSecond * (1 - burstShare), { untilMs, seed });
  const inside = onOff(poisson(rate, { untilMs, seed: seed + 1 }), {
    onMs: burstLasts * windowMs,
    offMs: (burstEvery - burstLasts) * windowMs,
    fromMs: burstFrom * windowMs,
  });
  return merge(between, inside);
}

/** Half of them just before a boundary and half just after it: what a fixed window lets through twice. Every second boundary, because the calls after one use up its window. */
function aroundBoundaries({ callsPerSecond, windowMs }: TrafficSettings): Traffic {
  const count = Math.max(2, Math.round((2 * windowMs * callsPerSecond) / 1000));
  const spacingMs = (0.3 * windowMs) / count;
  return {
    *[Symbol.iterator](): Iterator<Arrival> {
      for (let boundary = 1; ; boundary += 2) {
        yield* burst(count, { atMs: boundary * windowMs - ((count - 1) / 2) * spacingMs, spacingMs });
      }
    },
  };
}

// A crowd comes at once and goes by and by: three that start together and end one after the other. In windows.
const crowdEvery = 2.6;
const crowdLasts = [0.15, 0.35, 0.8];
const crowdShare = 0.7;

function flashCrowds({ callsPerSecond, windowMs, seed }: TrafficSettings): Traffic {
  const busyShare = crowdLasts.reduce((sum, lasts) => sum + lasts, 0) / crowdEvery;
  const rate = (callsPerSecond * crowdShare) / busyShare;
  const crowds = crowdLasts.map((lasts, place) =>
    onOff(poisson(rate, { untilMs, seed: seed + 1 + place }), {
      onMs: lasts * windowMs,
      offMs: (crowdEvery - lasts) * windowMs,
      fromMs: 0.6 * windowMs,
    }),
  );
  return merge(poisson(callsPerSecond * (1 - crowdShare), { untilMs, seed }), ...crowds);
}
