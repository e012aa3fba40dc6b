/** How much is asked, how much of it is refused, how long it takes. */
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Panel } from '../parts/panel.tsx';
import { barsOf } from './bars.ts';
import { type History, historyMs, lastPoints, type Point, type Rates, ratesOf } from './history.ts';
import { type Quantile, quantile } from './latency.ts';
import { RateChart } from './rate-chart.tsx';
import { percentText, quantileText, rateText, shortTimeText } from './words.ts';

/** Long enough that numbers can be read, short enough that they are of now. */
export const recentMs = 5000;

export function ChecksPanel({ history }: { readonly history: History }) {
  const { points, latest } = history;
  const rates = ratesOf(lastPoints(points, recentMs));
  const boundsMs = latest!.durations.boundsMs;
  return (
    <Panel title="Checks" aside={<span class="quiet">mean of the last {recentMs / 1000} s</span>} class="live-wide">
      <Figures rates={rates} boundsMs={boundsMs} />
      <RateChart bars={barsOf(points)} summary={summaryOf(points)} />
      <PointsTable points={points} />
      <p class="quiet live-note">
        A request that several rules are asked about is one request with a decision of each of them, which are what the
        chart and the metric <code>sluice_checks_total</code> count.
      </p>
    </Panel>
  );
}

function Figures({ rates, boundsMs }: { readonly rates: Rates | undefined; readonly boundsMs: readonly number[] }) {
  const of = (ratio: number) => (rates === undefined ? undefined : quantile(boundsMs, rates.durations, ratio));
  const rate = (value: number | undefined) => (value === undefined ? '–' : rateText(value));
  return (
    <dl class="numbers">
      <Figure name="Requests/s" value={rate(rates?.requests)} />
      <Figure name="Decisions/s" value={rate(rates?.decisions)} note="of all rules" />
      <Figure
        name="Refused"
        value={rates === undefined ? '–' : percentText(rates.refusedRatio)}
        note={`of the decisions, ${rate(rates?.refused)}/s`}
        isBad={(rates?.refused ?? 0) > 0}
      />
      <Figure name="Decision time, p50" value={quantileText(of(0.5))} note={aboutText(of(0.5))} />
      <Figure name="Decision time, p99" value={quantileText(of(0.99))} note={aboutText(of(0.99))} />
      <Figure name="Shadow refusals/s" value={rate(rates?.shadowRefused)} note="let through" />
      <Figure
        name="Degraded/s"
        value={rate(rates?.degraded)}
        note="store did not answer"
        isBad={(rates?.degraded ?? 0) > 0}
      />
      <Figure name="Errors/s" value={rate(rates?.errors)} isBad={(rates?.errors ?? 0) > 0} />
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
  readonly isBad?: boolean;
}

function Figure({ name, value, note, isBad = false }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'bad' : undefined}>{value}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  );
}

function aboutText(found: Quantile | undefined): string {
  if (found === undefined) return 'nothing was timed';
  return found.atMostMs === Infinity ? 'beyond what is measured' : `about ${shortTimeText(found.aboutMs)}`;
}

function summaryOf(points: readonly Point[]): string {
  const rates = ratesOf(points);
  if (rates === undefined) return 'Decisions per second: nothing seen yet.';
  return `Decisions per second, the last ${Math.round(rates.spanMs / 1000)} s: ${rateText(rates.decisions)} on average, ${percentText(rates.refusedRatio)} refused.`;
}

interface Stretch {
  readonly name: string;
  readonly rates: Rates;
}

const stretchMs = 10_000;

const columns: readonly Column<Stretch>[] = [
  { title: 'Seconds ago', cell: ({ name }) => name },
  { title: 'Requests/s', isNumber: true, cell: ({ rates }) => rateText(rates.requests) },
  { title: 'Decisions/s', isNumber: true, cell: ({ rates }) => rateText(rates.decisions) },
  { title: 'Allowed/s', isNumber: true, cell: ({ rates }) => rateText(rates.allowed) },
  { title: 'Refused/s', isNumber: true, cell: ({ rates }) => rateText(rates.refused) },
  { title: 'Shadow refusals/s', isNumber: true, cell: ({ rates }) => rateText(rates.shadowRefused) },
  { title: 'Errors/s', isNumber: true, cell: ({ rates }) => rateText(rates.errors) },
];

/** The chart in numbers, ten seconds a row. */
function PointsTable({ points }: { readonly points: readonly Point[] }) {
  const endMs = points.at(-1)?.atMs ?? 0;
  const stretches: Stretch[] = [];
  for (let from = 0; from < historyMs; from += stretchMs) {
    const rates = ratesOf(points.filter(({ atMs }) => endMs - atMs >= from && endMs - atMs < from + stretchMs));
    if (rates !== undefined) stretches.push({ name: `${from / 1000} to ${(from + stretchMs) / 1000}`, rates });
  }
  return (
    <details>
      <summary>The chart as a table</summary>
      <DataTable
        caption="Decisions per second, the last two minutes"
        columns={columns}
        rows={stretches}
        keyOf={({ name }) => name}
        whenEmpty="Nothing seen yet."
      />
    </details>
  );
}
