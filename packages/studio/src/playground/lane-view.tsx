/** One algorithm: its name, its picture, its numbers; and the card of the call that somebody looks at. */
import { useEffect, useId, useRef } from 'preact/hooks';
import { type AlgorithmName, algorithms } from './algorithms.ts';
import { CallCard } from './call-card.tsx';
import { drawLane } from './draw-lane.ts';
import { type DecidedCall, type Lane, spanMsOf } from './engine.ts';
import type { LaneColours } from './lane-colours.ts';
import { callNear, type Frame, gutterPx, markOf } from './lane-geometry.ts';
import { limitOf, summaryOf } from './lane-summary.ts';
import { goTo, type Picked } from './picked.ts';
import type { Player } from './player.ts';
import { outcomeOf } from './reason.ts';
import { momentText } from './time-text.ts';
import { useTicks } from './use-ticks.ts';

interface LaneViewProps {
  readonly name: AlgorithmName;
  readonly player: Player;
  readonly colours: LaneColours;
  readonly isSelected: boolean;
  readonly picked: Picked | undefined;
  readonly onPick: (picked: Picked | undefined) => void;
  readonly onSelect: () => void;
}

const reachPx = 12;
// A finger is wider.
const touchReachPx = 24;
const readableMs = 150;
const tellableMs = 2000;

export function LaneView(props: LaneViewProps) {
  const { name, player, isSelected, picked, onSelect } = props;
  const { settings } = player.engine;
  const { title, gauge } = algorithms[name];
  return (
    <section class={`lane ${isSelected ? 'selected' : ''}`} aria-label={title} data-lane={name}>
      <div class="lane-head">
        <button type="button" class="lane-name" aria-pressed={isSelected} title="Show its code" onClick={onSelect}>
          {title}
        </button>
        <span class="lane-gauge quiet">{gauge(settings)}</span>
      </div>
      <LanePicture {...props} pickedHere={picked?.lane === name ? picked.order : undefined} />
      <LaneNumbers player={player} name={name} />
    </section>
  );
}

export function laneOf(player: Player, name: AlgorithmName): Lane {
  return player.engine.lanes.find((lane) => lane.name === name)!;
}

function LanePicture(props: LaneViewProps & { readonly pickedHere: number | undefined }) {
  const { name, player, picked, pickedHere, onPick, onSelect } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const card = useRef<HTMLDivElement>(null);
  const summaryId = useId();
  useDrawing(props, canvas, card);
  const lane = laneOf(player, name);
  const { settings } = player.engine;
  const call = pickedHere === undefined ? undefined : lane.calls.ofOrder(pickedHere);

  function pickAt({ offsetX, offsetY, pointerType }: PointerEvent): void {
    const withinPx = pointerType === 'touch' ? touchReachPx : reachPx;
    const near = callNear(lane, frameOf(canvas.current!, player, lane), { x: offsetX, y: offsetY }, withinPx);
    if (near?.order !== pickedHere || picked?.isByKey)
      onPick(near && { lane: name, order: near.order, isByKey: false });
  }

  function leave({ pointerType }: PointerEvent): void {
    // A finger leaves as soon as it has tapped.
    if (pointerType !== 'touch' && pickedHere !== undefined && !picked?.isByKey) onPick(undefined);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const order = goTo(event.key, pickedHere, lane, frameOf(canvas.current!, player, lane));
    if (order !== undefined) {
      // Who goes through calls one by one wants them to stand still.
      if (player.isPlaying) player.pause();
      onPick({ lane: name, order, isByKey: true });
    } else if (!act(event.key)) return;
    event.preventDefault();
  }

  function act(key: string): boolean {
    if (key === 'Escape' && picked !== undefined) onPick(undefined);
    else if (key === ' ') player.isPlaying ? player.pause() : player.play();
    else if (key === 'c' || key === 'C') player.callNow();
    else if (key === 's' || key === 'S') player.stepOnce();
    else return false;
    return true;
  }

  return (
    <div class="lane-picture">
      {/* A slider, so that screen readers hand over the arrow keys. */}
      <div
        class="lane-scrubber"
        role="slider"
        tabIndex={0}
        aria-label={`${algorithms[name].title}: calls`}
        aria-describedby={summaryId}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={lane.calls.added}
        aria-valuenow={call === undefined ? lane.calls.added : call.order + 1}
        aria-valuetext={call === undefined ? 'no call chosen' : callText(call)}
        onKeyDown={onKeyDown}
        onFocus={onSelect}
        onBlur={() => picked?.isByKey && onPick(undefined)}
        onPointerMove={pickAt}
        onPointerDown={pickAt}
        onPointerLeave={leave}
      >
        <canvas ref={canvas} />
      </div>
      {call && <CallCard call={call} settings={settings} place={card} />}
      <Summary id={summaryId} player={player} name={name} />
    </div>
  );
}

function callText(call: DecidedCall): string {
  return `call ${call.order + 1}, ${outcomeOf(call)}, at ${momentText(call.atMs)}`;
}

/** For those who do not see the picture; slower than the numbers, so that it can be read to its end. */
function Summary({ id, player, name }: { readonly id: string; readonly player: Player; readonly name: AlgorithmName }) {
  useTicks(player, tellableMs);
  return (
    <p id={id} class="visually-hidden">
      {summaryOf(laneOf(player, name), player.engine.settings)}
    </p>
  );
}

function LaneNumbers({ player, name }: { readonly player: Player; readonly name: AlgorithmName }) {
  useTicks(player, readableMs);
  const { counts, worst } = laneOf(player, name);
  const limit = limitOf(name, player.engine.settings);
  return (
    <dl class="lane-numbers">
      <div>
        <dt class="visually-hidden">allowed</dt>
        <dd class="allowed">
          <Mark>●</Mark>
          {counts.allowed}
        </dd>
        {counts.delayed > 0 && <dd class="delayed note">{counts.delayed} waited</dd>}
      </div>
      <div>
        <dt class="visually-hidden">refused</dt>
        <dd class="refused">
          <Mark>×</Mark>
          {counts.refused}
        </dd>
      </div>
      <div>
        <dt class="worst-word">worst</dt>
        <dd class={worst.most > limit ? 'over' : ''}>
          {worst.most} <span class="of">of {limit}</span>
        </dd>
        {name === 'concurrency' && <dd class="note quiet">at once</dd>}
      </div>
    </dl>
  );
}

/** As in the picture: where there is no room for words, and colours are not enough. */
function Mark({ children }: { readonly children: string }) {
  return (
    <span class="mark" aria-hidden="true">
      {children}
    </span>
  );
}

function frameOf(canvas: HTMLCanvasElement, player: Player, lane: Lane): Frame {
  const { nowMs, settings } = player.engine;
  return {
    widthPx: canvas.clientWidth,
    heightPx: canvas.clientHeight,
    nowMs,
    spanMs: spanMsOf(settings),
    capacity: lane.capacity,
  };
}

function useDrawing(
  props: LaneViewProps & { readonly pickedHere: number | undefined },
  canvasRef: { readonly current: HTMLCanvasElement | null },
  cardRef: { readonly current: HTMLDivElement | null },
): void {
  // Frames come between renderings, and must see what the latest one was given.
  const latest = useRef(props);
  latest.current = props;
  const { player, picked, colours } = props;
  useEffect(() => {
    const canvas = canvasRef.current!;
    const draw = () => drawFrame(canvas, cardRef.current, latest.current);
    const resizing = new ResizeObserver(() => player.redraw());
    resizing.observe(canvas);
    const end = player.onFrame(draw);
    player.redraw();
    return () => {
      resizing.disconnect();
      end();
    };
  }, [player, canvasRef, cardRef]);
  useEffect(() => player.redraw(), [player, picked, colours]);
}

function drawFrame(
  canvas: HTMLCanvasElement,
  card: HTMLDivElement | null,
  { name, player, colours, picked, pickedHere, onPick }: LaneViewProps & { readonly pickedHere: number | undefined },
): void {
  const lane = laneOf(player, name);
  const { settings } = player.engine;
  const frame = frameOf(canvas, player, lane);
  const pen = sharp(canvas, frame);
  drawLane(pen, {
    lane,
    frame,
    colours,
    windowMs: settings.windowMs,
    limit: settings.limit,
    pickedOrder: picked?.order,
  });
  const call = pickedHere === undefined ? undefined : lane.calls.ofOrder(pickedHere);
  if (pickedHere === undefined) return;
  const x = call === undefined ? 0 : markOf(frame, call).x;
  // It has left the picture, and its card with it.
  if (x < gutterPx) onPick(undefined);
  else if (card !== null) placeCard(card, x, frame.widthPx);
}

/** As many pixels as the screen has, and units of CSS pixels. */
function sharp(canvas: HTMLCanvasElement, { widthPx, heightPx }: Frame): CanvasRenderingContext2D {
  const density = devicePixelRatio;
  const width = Math.round(widthPx * density);
  const height = Math.round(heightPx * density);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const pen = canvas.getContext('2d')!;
  pen.setTransform(density, 0, 0, density, 0, 0);
  return pen;
}

function placeCard(card: HTMLDivElement, x: number, widthPx: number): void {
  const left = Math.max(0, Math.min(x - card.offsetWidth / 2, widthPx - card.offsetWidth));
  card.style.transform = `translateX(${Math.round(left)}px)`;
}
