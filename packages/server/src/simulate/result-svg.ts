/**
 * A result as a picture for a page: small multiples, one panel for each variant and the same scales in all; below them the measures and the claims.
 *
 *      title, about, legend
 *      ┌ panel ┐ ┌ panel ┐
 *      ┌ panel ┐ ┌ panel ┐
 *      measures
 *      ✓ claims
 */
import type { ExpectationResult, ScenarioResult, VariantResult } from '@sluice/simulator';
import { type Row, withoutRuns, wrapped } from '../terminal/words.ts';
import { columnsOf } from './columns.ts';
import { duration, figure } from './figure.ts';
import { measureTables } from './measure-table.ts';
import { measuredText } from './measured-text.ts';
import { circuitStates, type Picture, pictureOf, stackTopOf } from './picture.ts';
import { element, escaped, text } from './svg.ts';
import { labelsWidth, type PanelFrame, panelHeight, panelShapes, scalesWidth } from './svg-panel.ts';
import { style } from './svg-style.ts';
import { timeTicks } from './ticks.ts';

const pageWidth = 960;
const margin = 24;
const contentWidth = pageWidth - 2 * margin;
/** Of a letter of 12 pixels, on the safe side: an SVG cannot ask how wide a text is. */
const letterWidth = 6.7;
const lineHeight = 18;
const panelGap = 20;

/** A part of the page, as high as it says, drawn from its upper left corner. */
interface Block {
  readonly height: number;
  readonly shapes: readonly string[];
}

export function resultSvg(result: ScenarioResult): string {
  const picture = pictureOf(result);
  const blocks = [
    headBlock(result),
    ...(picture.slices === 0 ? [] : pictureBlocks(result, picture)),
    ...sideBySide(measureTables(result.variants, Math.floor(contentWidth / letterWidth), 3).map(tableBlock)),
    ...(result.expectations.length === 0 ? [] : [claimsBlock(result.expectations)]),
  ];
  const placed: string[] = [];
  let top = margin;
  for (const { height, shapes } of blocks) {
    placed.push(element('g', { transform: `translate(${margin} ${top})` }, shapes));
    top += Math.ceil(height) + panelGap;
  }
  const pageHeight = top - panelGap + margin;
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    class: 'sluice',
    viewBox: `0 0 ${pageWidth} ${pageHeight}`,
    width: pageWidth,
    height: pageHeight,
    role: 'img',
    'aria-labelledby': 'sluice-title sluice-description',
  };
  const page = [
    element('title', { id: 'sluice-title' }, escaped(result.name)),
    element('desc', { id: 'sluice-description' }, escaped(description(result))),
    element('style', {}, escaped(style)),
    element('rect', { class: 'sluice-page', width: pageWidth, height: pageHeight }),
    ...placed,
  ];
  return `${element('svg', attributes, page)}\n`;
}

/** For those who hear the picture: what it says, in sentences. */
function description({ about, variants, expectations }: ScenarioResult): string {
  const figures = measureTables(variants, Number.POSITIVE_INFINITY).flatMap(([head, ...rows]) =>
    rows.map((row) => {
      const measures = row.slice(1).map((value, i) => `${head![i + 1]} ${value}`);
      return `${row[0]}: ${measures.join(', ')}.`;
    }),
  );
  const claims = expectations.map(({ claim, isMet }) => `${claim}: ${isMet ? 'holds' : 'does not hold'}.`);
  return [about, ...figures, ...claims].join(' ');
}

function headBlock({ name, about, seed, durationMs, arrivals }: ScenarioResult): Block {
  const run = `${duration(durationMs)} simulated, ${figure({ value: arrivals, unit: 'count' })} arrivals, seed ${seed}`;
  const titles = wrapped(name, Math.floor(contentWidth / 11));
  const lines = wrapped(about, Math.floor(contentWidth / letterWidth));
  const titleHeight = 26 * titles.length;
  return {
    height: titleHeight + lineHeight * (lines.length + 1),
    shapes: [
      ...titles.map((line, i) => text({ x: 0, y: 18 + 26 * i, class: 'sluice-title' }, line)),
      ...lines.map((line, i) => text({ x: 0, y: titleHeight + 14 + i * lineHeight }, line)),
      text({ x: 0, y: titleHeight + 14 + lines.length * lineHeight, class: 'sluice-faint' }, run),
    ],
  };
}

function pictureBlocks(result: ScenarioResult, picture: Picture): Block[] {
  const { sliceMs, durationMs, variants } = result;
  const perRow = variants.length === 1 ? 1 : variants.length <= 4 ? 2 : 3;
  const panelWidth = (contentWidth - (perRow - 1) * panelGap) / perRow;
  const leftWidth = Math.max(46, ...picture.panels.map(labelsWidth));
  const plotWidth =
    panelWidth - leftWidth - Math.max(14, ...picture.panels.map((panel) => scalesWidth(panel, picture)));
  const columns = columnsOf({ slices: picture.slices, sliceMs, most: Math.floor(plotWidth) });
  const stacks = picture.panels.map(({ stack }) => stack.map((series) => columns.valuesOf(series)));
  const frame: PanelFrame = {
    picture,
    columns,
    ticks: timeTicks(durationMs, Math.floor(plotWidth / 55)),
    stackTop: stackTopOf(stacks),
    plotWidth,
    leftWidth,
  };
  const blocks = [legendBlock(picture, columns.barMs)];
  for (let from = 0; from < variants.length; from += perRow) {
    blocks.push(rowBlock(variants.slice(from, from + perRow), from, frame, panelWidth));
  }
  return blocks;
}

function rowBlock(variants: readonly VariantResult[], from: number, frame: PanelFrame, panelWidth: number): Block {
  const drawn = variants.map(({ notes }, i) => {
    const panel = frame.picture.panels[from + i]!;
    const height = panelHeight(panel, frame);
    const room = Math.floor((panelWidth - frame.leftWidth) / (letterWidth * 0.92));
    const lines = notes.flatMap((note) => wrapped(withoutRuns(note), room));
    const shapes = [
      ...panelShapes(panel, frame),
      ...lines.map((line, k) =>
        text({ x: frame.leftWidth, y: height + 14 + 15 * k, class: 'sluice-small sluice-faint' }, line),
      ),
    ];
    return {
      height: height + 15 * lines.length,
      shape: element('g', { transform: `translate(${Math.round(i * (panelWidth + panelGap))} 0)` }, shapes),
    };
  });
  return { height: Math.max(...drawn.map(({ height }) => height)), shapes: drawn.map(({ shape }) => shape) };
}

function legendBlock(picture: Picture, barMs: number): Block {
  const items: (readonly [kind: string | undefined, words: string])[] = [
    ...(picture.legend.length === 0 ? [] : [[undefined, `Calls in each ${duration(barMs)}:`] as const]),
    ...picture.legend.map(({ kind, names }) => [kind, names] as const),
    ...(picture.hasStates ? circuitStates.map(({ kind, name }) => [kind, name] as const) : []),
  ];
  let x = 0;
  const shapes = items.flatMap(([kind, words]) => {
    const at = x;
    x += (kind === undefined ? 0 : 17) + words.length * letterWidth + 14;
    if (kind === undefined) return [text({ x: at, y: 11, class: 'sluice-faint' }, words)];
    const square = element('rect', { class: `sluice-${kind}`, x: at, y: 1, width: 12, height: 12, rx: 2 });
    return [square, text({ x: at + 17, y: 11 }, words)];
  });
  return { height: items.length === 0 ? 0 : 12, shapes };
}

function tableBlock(rows: readonly Row[]): TableBlock {
  const widths = rows[0]!.map((_, column) => letterWidth * Math.max(...rows.map((row) => row[column]!.length)));
  const ends: number[] = [];
  for (const width of widths) ends.push((ends.at(-1) ?? 0) + (ends.length === 0 ? 0 : 3 * letterWidth) + width);
  const shapes = rows.flatMap((row, i) => {
    const y = 14 + i * lineHeight + (i === 0 ? 0 : 6);
    return row.map((cell, column) =>
      text(
        {
          x: column === 0 ? 0 : ends[column]!,
          y,
          ...(column === 0 ? {} : { anchor: 'end' as const }),
          class: i === 0 ? 'sluice-faint' : 'sluice-figures',
        },
        cell,
      ),
    );
  });
  const line = element('path', { class: 'sluice-grid', d: `M0 ${lineHeight + 3}H${Math.round(ends.at(-1)!)}` });
  return { width: ends.at(-1)!, height: rows.length * lineHeight + 6, shapes: [line, ...shapes] };
}

interface TableBlock extends Block {
  readonly width: number;
}

/** Tables that leave room beside them share it. */
function sideBySide(tables: readonly TableBlock[]): Block[] {
  const rows: Block[] = [];
  let right = contentWidth;
  for (const { width, height, shapes } of tables) {
    const above = rows.at(-1);
    const x = right + 2 * panelGap;
    if (above === undefined || x + width > contentWidth) {
      rows.push({ height, shapes });
      right = width;
    } else {
      const moved = element('g', { transform: `translate(${Math.round(x)} 0)` }, shapes);
      rows[rows.length - 1] = { height: Math.max(above.height, height), shapes: [...above.shapes, moved] };
      right = x + width;
    }
  }
  return rows;
}

function claimsBlock(expectations: readonly ExpectationResult[]): Block {
  const shapes: string[] = [];
  let line = 0;
  for (const expectation of expectations) {
    const { claim, isMet } = expectation;
    const measured = measuredText(expectation);
    const words = wrapped(
      measured === '' ? claim : `${claim} · ${measured}`,
      Math.floor((contentWidth - 20) / letterWidth),
    );
    const y = 14 + line * lineHeight;
    shapes.push(text({ x: 0, y, class: isMet ? 'sluice-allowed' : 'sluice-refused' }, isMet ? '✓' : '✗'));
    shapes.push(...words.map((each, i) => text({ x: 20, y: y + i * lineHeight }, each)));
    line += words.length;
  }
  return { height: line * lineHeight, shapes };
}
