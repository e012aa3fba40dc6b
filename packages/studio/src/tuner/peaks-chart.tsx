/**
 * How many clients call how often at their busiest, and the limit as a line that can be dragged. The slider beside the picture does the same for keyboards.
 */
import { countWords, rateWords, type WindowDistribution, windowWords } from '@sluice/tuner';
import { useWidth } from '../parts/use-width.ts';
import { barHeight, decades, limitAt, type PeaksScale, peaksScale, xOf } from './peaks-scale.ts';

interface PeaksChartProps {
  readonly window: WindowDistribution;
  readonly limit: number;
  readonly onLimit: (limit: number) => void;
}

const height = 260;

export function PeaksChart({ window, limit, onLimit }: PeaksChartProps) {
  const [box, width] = useWidth<HTMLDivElement>();
  const { bins, calls, windowMs } = window;
  const scale = peaksScale(bins, limit, width, height);
  const lineX = xOf(limit, scale);

  function drag(event: PointerEvent): void {
    if (event.type === 'pointermove' && event.buttons === 0) return;
    if (event.type === 'pointerdown') box.current!.setPointerCapture(event.pointerId);
    onLimit(limitAt(event.clientX - box.current!.getBoundingClientRect().left, scale));
  }

  const above = bins.reduce((sum, { from, clients }) => (from > limit ? sum + clients : sum), 0);
  const summary = `Half of the clients stay at or below ${rateWords(calls.p50, windowMs)}, 99 of 100 at or below ${rateWords(calls.p99, windowMs)}; the busiest reaches ${countWords(calls.max)}. About ${countWords(above)} clients exceed the limit of ${countWords(limit)}.`;
  return (
    <figure class="peaks-chart">
      <figcaption class="quiet">
        Clients by the most calls of theirs in any {windowWords(windowMs).replace(/^an? /, '')}. Drag the line.
      </figcaption>
      <div ref={box} class="peaks-box" onPointerDown={drag} onPointerMove={drag}>
        <svg role="img" aria-label={summary} width={width} height={height + 22}>
          {bins.map((bin) => (
            <Bar key={bin.from} {...bin} limit={limit} scale={scale} />
          ))}
          <line class="axis" x1={0} x2={width} y1={height} y2={height} />
          {decades(scale).map((tick) => (
            <text
              key={tick}
              class="tick"
              x={xOf(tick, scale)}
              y={height + 16}
              text-anchor={tick === 1 ? 'start' : 'middle'}
            >
              {countWords(tick)}
            </text>
          ))}
          <line class="limit-line" x1={lineX} x2={lineX} y1={0} y2={height} />
          <circle class="limit-grip" cx={lineX} cy={10} r={7} />
          <text
            class="limit-text"
            x={lineX + (lineX > width - 130 ? -12 : 12)}
            y={15}
            text-anchor={lineX > width - 130 ? 'end' : 'start'}
          >
            limit {countWords(limit)}
          </text>
        </svg>
      </div>
    </figure>
  );
}

interface BarProps {
  readonly from: number;
  readonly below: number;
  readonly clients: number;
  readonly limit: number;
  readonly scale: PeaksScale;
}

function Bar({ from, below, clients, limit, scale }: BarProps) {
  const left = xOf(from, scale);
  const tall = barHeight(clients, scale);
  const wide = Math.max(1, xOf(below, scale) - left - 1);
  return (
    <rect
      class={from > limit ? 'bar-refused' : 'bar-allowed'}
      x={left}
      y={scale.height - tall}
      width={wide}
      height={tall}
    >
      <title>{`${countWords(clients)} clients with ${countWords(from)}${below > from + 1 ? ` to ${countWords(below - 1)}` : ''} calls`}</title>
    </rect>
  );
}
