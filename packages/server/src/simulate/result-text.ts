/**
 * A result for people, as lines of at most so many columns:
 *
 *      what was simulated          name, about, seed
 *      a table                     variants and their measures
 *      a picture of each variant   calls over time; under it levels, states and notes
 *      claims                      ✓ or ✗, and what was measured
 */
import type { ExpectationResult, ScenarioResult, Series, VariantResult } from '@sluice/simulator';
import { shortened, tableLines, withoutRuns, wrapped } from '../terminal/words.ts';
import { type Columns, columnsOf } from './columns.ts';
import { duration, figure, seriesName } from './figure.ts';
import { harmless } from './harmless.ts';
import { measureTables } from './measure-table.ts';
import { measuredText } from './measured-text.ts';
import type { Colour, Paint } from './paint.ts';
import { circuitStates, type Panel, type Picture, pictureOf, stackTopOf } from './picture.ts';
import { type DrawnLayer, stackedGlyphs, stackRows, stateRow, timeAxis } from './plot.ts';
import { timeTicks } from './ticks.ts';

export interface TextOptions {
  /** Of a line, at most. */
  readonly columns: number;
  readonly paint: Paint;
}

const indent = '  ';

export function resultLines(given: ScenarioResult, options: TextOptions): string[] {
  const result = harmless(given);
  return [
    ...headLines(result, options),
    ...tableOf(result, options),
    ...picturesOf(result, options),
    ...(result.expectations.length === 0
      ? []
      : ['', options.paint.text('strong', 'Claims'), ...claimLines(result.expectations, options)]),
  ];
}

function headLines({ name, about, seed, durationMs, arrivals }: ScenarioResult, { columns, paint }: TextOptions) {
  const run = `${duration(durationMs)} simulated, ${figure({ value: arrivals, unit: 'count' })} arrivals, seed ${seed}`;
  return [
    ...wrapped(name, columns).map((line) => paint.text('strong', line)),
    ...wrapped(about, columns),
    ...wrapped(run, columns).map((line) => paint.text('faint', line)),
  ];
}

function tableOf({ variants }: ScenarioResult, { columns, paint }: TextOptions): string[] {
  return measureTables(variants, columns).flatMap((table) => {
    const [head = '', ...lines] = tableLines(table);
    return ['', paint.text('faint', shortened(head, columns)), ...lines.map((line) => shortened(line, columns))];
  });
}

const stackHeight = 6;
/** With more variants than this a picture of each is lower, so that neighbours can be compared without scrolling. */
const mostTall = 4;
const lowHeight = 4;
/** Of the names to the left of strips. */
const longestLabel = 14;

interface Frame {
  readonly options: TextOptions;
  readonly picture: Picture;
  readonly columns: Columns;
  readonly labelWidth: number;
  readonly hasScales: boolean;
  readonly stackTop: number;
  readonly rows: number;
  readonly durationMs: number;
}

function picturesOf(result: ScenarioResult, options: TextOptions): string[] {
  const picture = pictureOf(result);
  if (picture.slices === 0) return result.variants.flatMap((variant) => notesOf(variant, options, true));
  const frame = frameOf(result, picture, options);
  return [
    ...legendLines(frame),
    ...picture.panels.flatMap((panel, i) => {
      const notes = notesOf(result.variants[i]!, options, false);
      return [
        '',
        options.paint.text('strong', shortened(panel.name, options.columns)),
        ...panelLines(panel, frame),
        ...notes,
      ];
    }),
  ];
}

function frameOf({ sliceMs, durationMs, variants }: ScenarioResult, picture: Picture, options: TextOptions): Frame {
  const strips = picture.panels.flatMap((panel) => panel.strips);
  const names = [...strips, ...picture.panels.flatMap(({ states }) => states)].map(
    ({ name }) => seriesName(name, longestLabel).length,
  );
  const nameWidth = Math.max(1, ...names);
  const widest = options.columns - indent.length - nameWidth - ' │'.length;
  const scaleWidth = Math.max(0, ...strips.map((series) => scaleText(series, picture).length));
  // On a narrow page the picture is worth more than its highest value.
  const hasScales = scaleWidth <= widest / 2;
  const fit = (labelWidth: number) => {
    const most = widest + nameWidth - labelWidth - (hasScales ? scaleWidth : 0);
    const columns = columnsOf({ slices: picture.slices, sliceMs, most: Math.max(1, most) });
    const stacks = picture.panels.map(({ stack }) => stack.map((series) => columns.valuesOf(series)));
    return { columns, stackTop: stackTopOf(stacks) };
  };
  // How much there is in a bar says how wide the numbers are, and those how many bars there is room for.
  const unit = picture.panels.flatMap(({ stack }) => stack)[0]?.unit ?? 'count';
  const { stackTop } = fit(nameWidth);
  const numbers = [stackTop, stackTop / 2].map((value) => figure({ value, unit }).length);
  const labelWidth = Math.max(nameWidth, ...numbers);
  const rows = variants.length > mostTall ? lowHeight : stackHeight;
  return { options, picture, ...fit(labelWidth), labelWidth, hasScales, rows, durationMs };
}

function scaleText(series: Series, picture: Picture): string {
  return ` ≤ ${figure({ value: picture.topOf(series), unit: series.unit })}`;
}

function legendLines({ picture, columns, options }: Frame): string[] {
  const { paint } = options;
  const item = (kind: Colour, glyph: string, words: string) => ({
    text: `${glyph} ${words}`,
    painted: `${paint.text(kind, glyph)} ${words}`,
  });
  const calls = `calls in each ${duration(columns.barMs)}:`;
  const items = [
    ...(picture.legend.length === 0 ? [] : [{ text: calls, painted: calls }]),
    ...picture.legend.map(({ kind, names }) => item(kind, paint.isColoured ? '█' : stackedGlyphs[kind], names)),
    ...(picture.hasStates ? circuitStates.map(({ kind, letter, name }) => item(kind, letter, name)) : []),
  ];
  return items.length === 0 ? [] : ['', ...flowed(items, options.columns)];
}

/** Items beside each other, as many as a line has room for. */
function flowed(items: readonly { readonly text: string; readonly painted: string }[], width: number): string[] {
  const lines: string[] = [];
  let used = width;
  for (const { text, painted } of items) {
    const isRoom = used + 2 + text.length <= width;
    if (isRoom) lines[lines.length - 1] += `  ${painted}`;
    else lines.push(painted);
    used = isRoom ? used + 2 + text.length : text.length;
  }
  return lines;
}

function panelLines(panel: Panel, frame: Frame): string[] {
  const { columns, options, durationMs } = frame;
  const { paint } = options;
  const ticks = timeTicks(durationMs, Math.floor(columns.count / 10)).map((tick) => ({
    ...tick,
    column: Math.round(columns.placeOf(tick.at)),
  }));
  const [line, labels] = timeAxis(columns.count, ticks);
  const isStacked = panel.stack.length > 0;
  const axis = [
    row(isStacked ? '0' : '', '└', paint.text('faint', line), '', frame, true),
    row('', ' ', paint.text('faint', labels), '', frame).trimEnd(),
  ];
  const under = [...stripLines(panel, frame), ...stateLines(panel, frame)];
  return isStacked ? [...stackLines(panel, frame), ...axis, ...under] : [...under, ...axis];
}

function stripLines({ strips }: Panel, frame: Frame): string[] {
  const { columns, picture, options, hasScales } = frame;
  // Where there is nothing else to see, one or two lines may be as high as a stack.
  const rows = !picture.hasStacks && strips.length <= 2 ? lowHeight : 1;
  return strips.flatMap((series) => {
    const layers = [{ kind: 'level', values: columns.valuesOf(series) } as const];
    const top = picture.topOf(series) || 1;
    return stackRows(layers, { rows, top }, options.paint).map((drawn, i) =>
      row(
        i === rows - 1 ? seriesName(series.name, longestLabel) : '',
        '│',
        drawn,
        i === 0 && hasScales ? options.paint.text('faint', scaleText(series, picture)) : '',
        frame,
      ),
    );
  });
}

function stateLines({ states }: Panel, frame: Frame): string[] {
  const { columns, options } = frame;
  return states.map((series) => {
    const drawn = stateRow(columns.valuesOf(series), options.paint);
    return row(seriesName(series.name, longestLabel), '│', drawn, '', frame);
  });
}

function stackLines(panel: Panel, frame: Frame): string[] {
  const { rows, stackTop: top, columns, options } = frame;
  if (panel.stack.length === 0) return [];
  const layers = panel.stack.map((layer): DrawnLayer => ({ kind: layer.kind, values: columns.valuesOf(layer) }));
  const unit = panel.stack[0]!.unit;
  return stackRows(layers, { rows, top }, options.paint).map((drawn, i) => {
    // A label stands at the upper edge of its row.
    const isLabelled = i === 0 || i === rows / 2;
    const label = isLabelled ? figure({ value: (top * (rows - i)) / rows, unit }) : '';
    return row(label, isLabelled ? '┤' : '│', drawn, '', frame, true);
  });
}

/** Names to the left, numbers to the right of their column. */
function row(label: string, border: string, drawn: string, after: string, frame: Frame, isNumber = false): string {
  const { labelWidth, options } = frame;
  const shown = shortened(label, labelWidth);
  const padded = isNumber ? shown.padStart(labelWidth) : shown.padEnd(labelWidth);
  const { paint } = options;
  const body = after === '' && !paint.isColoured ? drawn.trimEnd() : drawn;
  return `${indent}${paint.text('faint', `${padded} ${border}`)}${body}${after}`;
}

function notesOf({ name, notes }: VariantResult, { columns, paint }: TextOptions, isNamed: boolean): string[] {
  if (notes.length === 0) return [];
  const lines = notes.flatMap((note) =>
    wrapped(withoutRuns(note), columns - indent.length).map((line) => `${indent}${line}`),
  );
  return isNamed ? ['', paint.text('strong', shortened(name, columns)), ...lines] : lines;
}

/** `✓ claim   measured 40`, over several lines where it is long. */
export function claimLines(expectations: readonly ExpectationResult[], { columns, paint }: TextOptions): string[] {
  const room = columns - 4;
  return harmless(expectations).flatMap((expectation) => {
    const mark = expectation.isMet ? paint.text('allowed', '✓') : paint.text('refused', '✗');
    const measured = measuredText(expectation);
    const claims = wrapped(expectation.claim, room);
    const isRoom = (claims.at(-1) ?? '').length + 2 + measured.length <= room;
    const after = isRoom ? [measured] : wrapped(measured, room - 2).map((line) => `  ${line}`);
    const faint = after.filter((line) => line !== '').map((line) => paint.text('faint', line));
    const told = isRoom ? [...claims.slice(0, -1), [claims.at(-1), ...faint].join('  ')] : [...claims, ...faint];
    return told.map((line, i) => (i === 0 ? `  ${mark} ${line}` : `    ${line}`));
  });
}
