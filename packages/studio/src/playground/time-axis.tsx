/** The time below all lanes, and how long a window is in it. */
import { useEffect, useRef } from 'preact/hooks';
import { spanMsOf } from './engine.ts';
import type { LaneColours } from './lane-colours.ts';
import { gridMoments, gutterPx, nowX, xOf } from './lane-geometry.ts';
import type { Player } from './player.ts';
import { axisText, durationText } from './time-text.ts';

const heightPx = 38;

export function TimeAxis({ player, colours }: { readonly player: Player; readonly colours: LaneColours }) {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = canvasRef.current!;
    const resizing = new ResizeObserver(() => player.redraw());
    resizing.observe(canvas);
    const end = player.onFrame(() => drawAxis(canvas, player, colours));
    player.redraw();
    return () => {
      resizing.disconnect();
      end();
    };
  }, [player, colours]);
  return (
    <div class="time-axis" aria-hidden="true">
      <canvas ref={canvasRef} />
    </div>
  );
}

function drawAxis(canvas: HTMLCanvasElement, player: Player, colours: LaneColours): void {
  const { nowMs, settings } = player.engine;
  const frame = { widthPx: canvas.clientWidth, nowMs, spanMs: spanMsOf(settings) };
  const density = devicePixelRatio;
  canvas.width = Math.round(frame.widthPx * density);
  canvas.height = Math.round(heightPx * density);
  const pen = canvas.getContext('2d')!;
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.font = `11px ${colours.font}`;
  pen.fillStyle = colours.quiet;
  pen.strokeStyle = colours.quiet;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  const endX = nowX(frame);
  for (const atMs of gridMoments(frame)) {
    const x = xOf(frame, atMs);
    // Beside "now" there is no room for another word.
    if (x >= gutterPx + 8 && endX - x > 34) pen.fillText(axisText(atMs), x, 8);
  }
  pen.fillStyle = colours.ink;
  pen.fillText('now', endX, 8);
  drawWindow(pen, xOf(frame, nowMs - settings.windowMs), endX, settings.windowMs);
}

/** ├── one window, 10 s ──┤ */
function drawWindow(pen: CanvasRenderingContext2D, fromX: number, toX: number, windowMs: number): void {
  const y = 26.5;
  const long = `one window, ${durationText(windowMs)}`;
  const text = pen.measureText(long).width + 32 < toX - fromX ? long : durationText(windowMs);
  const halfText = pen.measureText(text).width / 2 + 8;
  const middle = (fromX + toX) / 2;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const x of [Math.round(fromX) + 0.5, Math.round(toX) + 0.5]) {
    pen.moveTo(x, y - 4);
    pen.lineTo(x, y + 4);
  }
  pen.moveTo(fromX, y);
  pen.lineTo(middle - halfText, y);
  pen.moveTo(middle + halfText, y);
  pen.lineTo(toX, y);
  pen.stroke();
  pen.fillText(text, middle, y);
}
