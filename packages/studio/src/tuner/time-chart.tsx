/** When the calls came, and which of them would have been refused. */
import { countWords, percentWords } from '@sluice/tuner';
import { useWidth } from '../parts/use-width.ts';
import type { WhatIfData } from './messages.ts';

const height = 120;
// Two dates beside each other need so much.
const narrow = 330;

export function TimeChart({ result }: { readonly result: WhatIfData }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const { calls, refusedCalls, startMs, sliceMs } = result.overTime;
  const most = calls.reduce((highest, count) => Math.max(highest, count), 1);
  const wide = width / Math.max(1, calls.length);
  const summary = `${countWords(result.calls)} calls over time, of which ${countWords(result.refusedCalls)} (${percentWords(result.refusedCallRatio)}) would have been refused.`;
  return (
    <figure class="time-chart">
      <figcaption class="legend">
        <span>
          <i class="swatch bar-allowed" aria-hidden="true" />
          allowed
        </span>
        <span>
          <i class="swatch bar-refused" aria-hidden="true" />
          refused
        </span>
        <span class="quiet">calls per {slicesText(sliceMs)}</span>
      </figcaption>
      <div ref={box}>
        <svg role="img" aria-label={summary} width={width} height={height + 20}>
          {Array.from(calls, (count, i) => {
            const refused = refusedCalls[i]!;
            const tall = (height * count) / most;
            const tallRefused = (height * refused) / most;
            const place = { x: i * wide, width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)) };
            return (
              <g key={i}>
                <rect class="bar-allowed" {...place} y={height - tall} height={tall - tallRefused} />
                <rect class="bar-refused" {...place} y={height - tallRefused} height={tallRefused} />
              </g>
            );
          })}
          <line class="axis" x1={0} x2={width} y1={height} y2={height} />
          <text class="tick" x={0} y={height + 16}>
            {momentText(startMs)}
          </text>
          <text class="tick" x={width} y={height + 16} text-anchor="end">
            {width < narrow
              ? momentText(startMs + sliceMs * calls.length).slice(-12)
              : momentText(startMs + sliceMs * calls.length)}
          </text>
        </svg>
      </div>
    </figure>
  );
}

function slicesText(ms: number): string {
  if (ms < 1000) return `${countWords(ms)} ms`;
  return ms < 120_000 ? `${countWords(Math.round(ms / 1000))} s` : `${countWords(Math.round(ms / 60_000))} min`;
}

// A log without a date counts from 0, and has no year to show.
const firstYearMs = 86_400_000 * 366;

export function momentText(ms: number): string {
  const text = new Date(Math.round(ms)).toISOString();
  return ms < firstYearMs ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}
