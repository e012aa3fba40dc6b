/** Two minutes in the height of a line; the numbers stand beside it. */
import { type Bar, bandNames, bandPath, type Frame, mostRate } from './bars.ts';
import { historyMs } from './history.ts';

export function Sparkline({ bars }: { readonly bars: readonly Bar[] }) {
  const frame: Frame = {
    endMs: bars.at(-1)?.endMs ?? 0,
    spanMs: historyMs,
    width: 120,
    height: 22,
    most: Math.max(1, mostRate(bars)),
  };
  return (
    <svg class="sparkline" aria-hidden="true" width={frame.width} height={frame.height}>
      <line class="axis" x1={0} x2={frame.width} y1={frame.height - 0.5} y2={frame.height - 0.5} />
      {bandNames.map((band) => (
        <path key={band} class={`band-${band}`} d={bandPath(bars, band, frame, 0)} />
      ))}
    </svg>
  );
}
