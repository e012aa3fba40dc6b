/**
 * Where things are in the picture of a lane.
 *
 *      ┌────┬───────────────────────────┬──┐
 *      │    │   ×        × ×            │  │  refused: in a band above the limit
 *      │ 10 │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌│  │  the limit
 *      │    │     ●●  ╱╲                │  │  allowed: on the level that it made
 *      │    │  ●●●  ╲╱                  │  │
 *      └────┴───────────────────────────┴──┘
 *      gutter     the past            now  what is promised
 */
import type { DecidedCall, Lane } from './engine.ts';

export interface Frame {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly nowMs: number;
  readonly spanMs: number;
  readonly capacity: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export const gutterPx = 30;
const futureShare = 0.05;
const refusedBandPx = 18;
const bottomPx = 5;

export function nowX({ widthPx }: Pick<Frame, 'widthPx'>): number {
  return gutterPx + (widthPx - gutterPx) * (1 - futureShare);
}

export function xOf(frame: Pick<Frame, 'widthPx' | 'nowMs' | 'spanMs'>, atMs: number): number {
  const x = nowX(frame);
  return x - ((frame.nowMs - atMs) / frame.spanMs) * (x - gutterPx);
}

export function yOf({ heightPx, capacity }: Pick<Frame, 'heightPx' | 'capacity'>, used: number): number {
  return heightPx - bottomPx - (used / capacity) * (heightPx - bottomPx - refusedBandPx);
}

/** Neighbours among the refused stand a little apart, so that a crowd of them can be told from one. */
export function markOf(frame: Frame, { atMs, decision, usedAfter, order }: DecidedCall): Point {
  const x = xOf(frame, atMs);
  return decision.allowed ? { x, y: yOf(frame, usedAfter) } : { x, y: 7 + (order % 2) * 5 };
}

/** The calls that can be seen, oldest first. */
export function* shownCalls({ calls }: Lane, { nowMs, spanMs }: Frame): Generator<DecidedCall> {
  let place = calls.size;
  // Those on screen are the latest, and few of those that are kept.
  while (place > 0 && reachMs(calls.at(place - 1)!) >= nowMs - spanMs) place -= 1;
  for (; place < calls.size; place += 1) yield calls.at(place)!;
}

/** A call that has left on the left may still have a tail that has not. */
function reachMs({ atMs, decision }: DecidedCall): number {
  return atMs + decision.delayMs;
}

const columnPx = 2;

/** The line of the level, in no more points than can be seen: of each narrow column the first, the highest, the lowest and the last. */
export function levelPoints({ levels }: Lane, frame: Frame): Point[] {
  let place = levels.size - 1;
  while (place > 0 && levels.at(place)!.atMs > frame.nowMs - frame.spanMs) place -= 1;
  const points: Point[] = [];
  let inColumn: Point[] = [];
  for (; place >= 0 && place < levels.size; place += 1) {
    const { atMs, used } = levels.at(place)!;
    const point = { x: xOf(frame, atMs), y: yOf(frame, used) };
    if (inColumn.length > 0 && columnOf(point.x) !== columnOf(inColumn[0]!.x)) {
      points.push(...outline(inColumn));
      inColumn = [];
    }
    inColumn.push(point);
  }
  points.push(...outline(inColumn));
  return points;
}

/** The first and the last, and between them the highest and the lowest where those are others: a slope stays a slope. */
function outline(points: readonly Point[]): readonly Point[] {
  if (points.length <= 2) return points;
  const [first, last] = [points[0]!, points.at(-1)!];
  const highest = points.reduce((a, b) => (b.y < a.y ? b : a));
  const lowest = points.reduce((a, b) => (b.y > a.y ? b : a));
  const between = [highest, lowest].filter(({ y }) => y !== first.y && y !== last.y);
  return [first, ...between.sort((a, b) => a.x - b.x), last];
}

export function columnOf(x: number): number {
  return Math.floor(x / columnPx);
}

export function callNear(lane: Lane, frame: Frame, at: Point, withinPx: number): DecidedCall | undefined {
  let nearest: DecidedCall | undefined;
  let nearestPx = withinPx;
  for (const call of shownCalls(lane, frame)) {
    const { x, y } = markOf(frame, call);
    if (x < gutterPx) continue;
    // Dots are close to each other in time, and a lane is low: being beside one counts for more than being above it.
    const px = Math.hypot(x - at.x, (y - at.y) / 2);
    if (px <= nearestPx) {
      nearest = call;
      nearestPx = px;
    }
  }
  return nearest;
}

const gridSteps = [0.2, 0.5, 1, 2, 5, 10, 20, 30, 60].map((seconds) => seconds * 1000);

/** Round moments on the time axis, no closer than can be read. */
export function gridMoments(frame: Pick<Frame, 'widthPx' | 'nowMs' | 'spanMs'>): number[] {
  const closestMs = (70 / (frame.widthPx - gutterPx)) * frame.spanMs;
  const stepMs = gridSteps.find((step) => step >= closestMs) ?? gridSteps.at(-1)!;
  const moments: number[] = [];
  for (let i = Math.max(0, Math.ceil((frame.nowMs - frame.spanMs) / stepMs)); i * stepMs <= frame.nowMs; i += 1)
    moments.push(i * stepMs);
  return moments;
}
