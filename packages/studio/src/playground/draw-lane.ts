/** A lane as a picture: from the back to the front, as the functions stand in `drawLane`. */
import type { Lane } from './engine.ts';
import type { LaneColours } from './lane-colours.ts';
import {
  type Frame,
  gridMoments,
  gutterPx,
  levelPoints,
  markOf,
  nowX,
  type Point,
  shownCalls,
  xOf,
  yOf,
} from './lane-geometry.ts';
import { type Outcome, outcomeOf } from './reason.ts';

export interface LanePicture {
  readonly lane: Lane;
  readonly frame: Frame;
  readonly windowMs: number;
  /** How many of the lane's limit the worst window may have; more is marked. */
  readonly limit: number;
  /** The call somebody looks at, in whichever lane: the same call in all of them. */
  readonly pickedOrder: number | undefined;
  readonly colours: LaneColours;
}

type Pen = CanvasRenderingContext2D;

/** Smaller where a window is narrow, so that a burst stays a row of dots. */
function sizesOf({ widthPx }: Frame): { readonly dotPx: number; readonly crossPx: number } {
  return widthPx < 480 ? { dotPx: 2.3, crossPx: 1.9 } : { dotPx: 3, crossPx: 2.6 };
}

export function drawLane(pen: Pen, picture: LanePicture): void {
  const { widthPx, heightPx } = picture.frame;
  pen.clearRect(0, 0, widthPx, heightPx);
  drawScale(pen, picture);
  pen.save();
  pen.beginPath();
  pen.rect(gutterPx, 0, widthPx - gutterPx, heightPx);
  pen.clip();
  drawGrid(pen, picture);
  drawWorstWindow(pen, picture);
  drawLevel(pen, picture);
  drawNow(pen, picture);
  drawPicked(pen, picture);
  drawCalls(pen, picture);
  pen.restore();
}

/** How much fits, at the line that says so. */
function drawScale(pen: Pen, { frame, colours }: LanePicture): void {
  pen.fillStyle = colours.quiet;
  pen.font = `11px ${colours.font}`;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  pen.fillText(String(Math.round(frame.capacity * 10) / 10), gutterPx - 7, yOf(frame, frame.capacity));
}

function drawGrid(pen: Pen, { frame, lane, windowMs, colours }: LanePicture): void {
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.55;
  for (const atMs of gridMoments(frame)) vertical(pen, frame, atMs);
  pen.globalAlpha = 1;
  if (lane.name !== 'fixed-window' && lane.name !== 'sliding-window') return;
  // These two count by windows that begin at round times.
  pen.strokeStyle = colours.quiet;
  pen.setLineDash([2, 3]);
  const first = Math.max(0, Math.ceil((frame.nowMs - frame.spanMs) / windowMs));
  for (let i = first; i * windowMs <= frame.nowMs; i += 1) vertical(pen, frame, i * windowMs);
  pen.setLineDash([]);
}

/** Only when it is worse than the limit allows: where more went than one would think. */
function drawWorstWindow(pen: Pen, { frame, lane, windowMs, limit, colours }: LanePicture): void {
  const { most, endMs } = lane.worst;
  if (most <= limit || lane.name === 'concurrency') return;
  const fromX = xOf(frame, endMs - windowMs);
  const toX = xOf(frame, endMs);
  if (toX < gutterPx) return;
  pen.fillStyle = colours.refused;
  pen.globalAlpha = 0.1;
  pen.fillRect(fromX, 0, toX - fromX, frame.heightPx);
  pen.globalAlpha = 1;
  pen.fillRect(fromX, frame.heightPx - 2, toX - fromX, 2);
}

function drawLevel(pen: Pen, { frame, lane, colours }: LanePicture): void {
  const points = levelPoints(lane, frame);
  const floorY = yOf(frame, 0);
  pen.strokeStyle = colours.level;
  pen.fillStyle = colours.level;
  pen.lineWidth = 1.5;
  if (points.length > 0) {
    const line = new Path2D();
    for (const { x, y } of points) line.lineTo(x, y);
    // Sharp corners would stand out above the level that they are at.
    pen.lineJoin = 'bevel';
    const area = new Path2D(line);
    area.lineTo(points.at(-1)!.x, floorY);
    area.lineTo(points[0]!.x, floorY);
    pen.globalAlpha = 0.13;
    pen.fill(area);
    pen.globalAlpha = 0.75;
    pen.stroke(line);
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = colours.quiet;
  pen.lineWidth = 1;
  pen.setLineDash([4, 3]);
  horizontal(pen, frame, yOf(frame, frame.capacity));
  pen.setLineDash([]);
  pen.strokeStyle = colours.line;
  horizontal(pen, frame, floorY);
}

function drawNow(pen: Pen, { frame, colours }: LanePicture): void {
  pen.strokeStyle = colours.quiet;
  pen.globalAlpha = 0.6;
  vertical(pen, frame, frame.nowMs);
  pen.globalAlpha = 1;
}

function drawPicked(pen: Pen, { frame, lane, pickedOrder, colours }: LanePicture): void {
  const call = pickedOrder === undefined ? undefined : lane.calls.ofOrder(pickedOrder);
  if (call === undefined) return;
  pen.strokeStyle = colours.ink;
  pen.globalAlpha = 0.5;
  vertical(pen, frame, call.atMs);
  pen.globalAlpha = 1;
  const ring = new Path2D();
  addCircle(ring, markOf(frame, call), sizesOf(frame).dotPx + 3.5);
  pen.lineWidth = 1.5;
  pen.stroke(ring);
}

/** All marks of a kind at once: a path of a thousand is drawn sooner than a thousand paths. */
function drawCalls(pen: Pen, { frame, lane, colours }: LanePicture): void {
  const { dotPx, crossPx } = sizesOf(frame);
  const isHidden = crowding();
  const marks: Readonly<Record<Outcome, Path2D>> = {
    allowed: new Path2D(),
    delayed: new Path2D(),
    refused: new Path2D(),
  };
  const tails = new Path2D();
  const rings = new Path2D();
  for (const call of shownCalls(lane, frame)) {
    const at = markOf(frame, call);
    const outcome = outcomeOf(call);
    if (call.isByHand) addCircle(rings, at, dotPx + 2.5);
    if (isHidden(at, outcome)) continue;
    if (outcome === 'refused') addCross(marks.refused, at, crossPx);
    else addCircle(marks[outcome], at, dotPx);
    if (outcome === 'delayed') addTail(tails, at, xOf(frame, call.atMs + call.decision.delayMs));
  }
  pen.lineWidth = 1.5;
  stroke(pen, tails, colours.delayed, 0.8);
  stroke(pen, marks.refused, colours.refused);
  for (const outcome of ['allowed', 'delayed'] as const) {
    pen.fillStyle = colours[outcome];
    pen.fill(marks[outcome]);
    // A rim of the ground's colour: neighbours that overlap can still be counted.
    pen.lineWidth = 0.75;
    stroke(pen, marks[outcome], colours.surface);
  }
  pen.lineWidth = 1;
  stroke(pen, rings, colours.ink);
}

/** Whether a mark would lie upon the last one of its kind: thousands of them take long to draw, and show no more. */
function crowding(): (at: Point, outcome: Outcome) => boolean {
  const closestPx = 3;
  const lastAt = new Map<string, Point>();
  return (at, outcome) => {
    // The refused stand in rows, each with a last one of its own.
    const kind = outcome === 'refused' ? `${outcome} ${at.y}` : outcome;
    const last = lastAt.get(kind);
    const isUpon = last !== undefined && Math.abs(at.x - last.x) < closestPx && Math.abs(at.y - last.y) < closestPx;
    if (!isUpon) lastAt.set(kind, at);
    return isUpon;
  };
}

function stroke(pen: Pen, path: Path2D, colour: string, alpha = 1): void {
  pen.strokeStyle = colour;
  pen.globalAlpha = alpha;
  pen.stroke(path);
  pen.globalAlpha = 1;
}

function addCross(path: Path2D, { x, y }: Point, halfPx: number): void {
  path.moveTo(x - halfPx, y - halfPx);
  path.lineTo(x + halfPx, y + halfPx);
  path.moveTo(x + halfPx, y - halfPx);
  path.lineTo(x - halfPx, y + halfPx);
}

/** From when it came to when it goes. */
function addTail(path: Path2D, { x, y }: Point, goesX: number): void {
  path.moveTo(x, y);
  path.lineTo(goesX, y);
  path.moveTo(goesX, y - 2.5);
  path.lineTo(goesX, y + 2.5);
}

function addCircle(path: Path2D, { x, y }: Point, radiusPx: number): void {
  path.moveTo(x + radiusPx, y);
  path.arc(x, y, radiusPx, 0, 2 * Math.PI);
}

// On half pixels a line of one pixel is one pixel wide.
function vertical(pen: Pen, frame: Frame, atMs: number): void {
  const x = Math.round(xOf(frame, atMs)) + 0.5;
  pen.beginPath();
  pen.moveTo(x, 0);
  pen.lineTo(x, frame.heightPx);
  pen.stroke();
}

function horizontal(pen: Pen, frame: Frame, y: number): void {
  const crisp = Math.round(y) + 0.5;
  pen.beginPath();
  pen.moveTo(gutterPx, crisp);
  pen.lineTo(nowX(frame), crisp);
  pen.stroke();
}
