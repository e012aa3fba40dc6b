/** Decisions per second over the last two minutes: passed, refused, failed. Values where the pointer is; the same as a table below. */
import { useState } from 'preact/hooks';
import { useWidth } from '../parts/use-width.ts';
import { type Bar, bandNames, bandPath, bandRate, type Frame, mostRate, xOf } from './bars.ts';
import { historyMs } from './history.ts';
import { niceCeiling } from './nice-ceiling.ts';
import { rateText } from './words.ts';

interface RateChartProps {
  readonly bars: readonly Bar[];
  /** In a sentence, for those who cannot see it. */
  readonly summary: string;
}

const spanMs = historyMs;
const height = 200;
/** For the numbers of the axis, left of the bars. */
const gutter = 56;
/** Shares of the span, back from now. */
const ticks = { narrow: [1, 0.5, 0], wide: [1, 0.75, 0.5, 0.25, 0] };

export function RateChart({ bars, summary }: RateChartProps) {
  const [box, boxWidth] = useWidth<HTMLDivElement>();
  const width = Math.max(0, boxWidth - gutter);
  const [pointedMs, setPointedMs] = useState<number>();
  const endMs = bars.at(-1)?.endMs ?? 0;
  const frame: Frame = { endMs, spanMs, width, height, most: niceCeiling(mostRate(bars)) };
  // Where the pointer is stays, and time moves on beneath it.
  const pointed =
    pointedMs === undefined
      ? undefined
      : bars.find((bar) => endMs - bar.startMs > pointedMs && endMs - bar.endMs <= pointedMs);

  function point(event: PointerEvent): void {
    const { left } = box.current!.getBoundingClientRect();
    setPointedMs(Math.max(0, (1 - (event.clientX - left - gutter) / width) * spanMs));
  }

  return (
    <figure class="rate-chart">
      <Legend />
      <div
        ref={box}
        class="rate-chart-box"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setPointedMs(undefined)}
      >
        <svg role="img" aria-label={summary} width={boxWidth} height={height + 20}>
          {[1, 0.5, 0].map((share) => (
            <text
              key={share}
              class="tick"
              x={gutter - 8}
              y={height * (1 - share) + (share === 1 ? 10 : 4)}
              text-anchor="end"
            >
              {share === 0 ? '0' : `${rateText(frame.most * share)}/s`}
            </text>
          ))}
          <g transform={`translate(${gutter} 0)`}>
            {[1, 0.5].map((share) => (
              <line key={share} class="grid" x1={0} x2={width} y1={height * (1 - share)} y2={height * (1 - share)} />
            ))}
            {pointed && (
              <rect
                class="pointed"
                x={Math.max(0, xOf(pointed.startMs, frame))}
                width={xOf(pointed.endMs, frame) - Math.max(0, xOf(pointed.startMs, frame))}
                y={0}
                height={height}
              />
            )}
            {bandNames.map((band) => (
              <path key={band} class={`band-${band}`} d={bandPath(bars, band, frame, width > 600 ? 2 : 0.5)} />
            ))}
            <line class="axis" x1={0} x2={width} y1={height} y2={height} />
            {ticks[width < 400 ? 'narrow' : 'wide'].map((share, place) => (
              <text
                key={share}
                class="tick"
                x={width * (1 - share)}
                y={height + 16}
                text-anchor={place === 0 ? 'start' : share === 0 ? 'end' : 'middle'}
              >
                {share === 0 ? 'now' : `−${(share * spanMs) / 1000} s`}
              </text>
            ))}
          </g>
        </svg>
        {pointed && (
          <Values
            bar={pointed}
            x={gutter + xOf((pointed.startMs + pointed.endMs) / 2, frame)}
            width={boxWidth}
            endMs={endMs}
          />
        )}
      </div>
    </figure>
  );
}

function Legend() {
  return (
    <figcaption class="legend">
      {bandNames.map((band) => (
        <span key={band}>
          <i class={`swatch band-${band}`} aria-hidden="true" />
          {band}
        </span>
      ))}
    </figcaption>
  );
}

interface ValuesProps {
  readonly bar: Bar;
  readonly x: number;
  readonly width: number;
  readonly endMs: number;
}

function Values({ bar, x, width, endMs }: ValuesProps) {
  const agoSeconds = Math.round((endMs - bar.endMs) / 1000);
  const spanSeconds = Math.round((bar.endMs - bar.startMs) / 1000);
  return (
    <div class="chart-values" style={x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` }}>
      <b>{agoSeconds === 0 ? 'now' : `${agoSeconds} s ago`}</b>
      {spanSeconds > 2 && <span class="quiet">mean of {spanSeconds} s</span>}
      {bandNames.map((band) => (
        <span key={band}>
          <i class={`swatch band-${band}`} aria-hidden="true" />
          {rateText(bandRate(bar.counts, band))}/s {band}
        </span>
      ))}
    </div>
  );
}
