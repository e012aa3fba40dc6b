/**
 * One variant as a panel of an SVG, with the scales that all panels share:
 *
 *      fixed-window
 *      60 ┤    ▇▇                 the stack
 *       0 ┤▃▃▃▃▇▇▃▃
 *   queue ┤ ▂▃▅▃▂                 a strip for each level, with its highest value
 *   state ┤■■■■■□□                a band for each state
 *         0 s     5 s
 */
import type { Series } from '@sluice/simulator';
import { shortened } from '../terminal/words.ts';
import type { Columns } from './columns.ts';
import { figure, seriesName } from './figure.ts';
import { circuitState, type Panel, type Picture } from './picture.ts';
import { element, rounded, stepArea, text } from './svg.ts';
import type { Tick } from './ticks.ts';

export interface PanelFrame {
  readonly picture: Picture;
  readonly columns: Columns;
  readonly ticks: readonly Tick[];
  readonly stackTop: number;
  /** Of the drawing, between the labels to the left and the values to the right. */
  readonly plotWidth: number;
  readonly leftWidth: number;
}

const titleHeight = 28;
const stackHeight = 150;
const stripHeight = 34;
/** Where nothing is stacked a strip is all there is to see. */
const loneStripHeight = 90;
const stateHeight = 14;
const gap = 10;
const axisHeight = 22;

/** Of a small letter, on the safe side. */
const smallLetterWidth = 6.3;
const longestLabel = 14;

/** What the names of strips and states take to the left. */
export function labelsWidth({ strips, states }: Panel): number {
  const letters = Math.max(0, ...[...strips, ...states].map(({ name }) => seriesName(name, longestLabel).length));
  return Math.ceil(letters * smallLetterWidth) + 10;
}

/** What the highest values of strips take to the right. */
export function scalesWidth({ strips }: Panel, picture: Picture): number {
  const letters = Math.max(0, ...strips.map((series) => scaleText(series, picture).length));
  return Math.ceil(letters * smallLetterWidth) + 8;
}

function scaleText(series: Series, picture: Picture): string {
  return figure({ value: picture.topOf(series), unit: series.unit });
}

interface Piece {
  readonly height: number;
  draw(top: number): string[];
}

export function panelHeight(panel: Panel, frame: PanelFrame): number {
  const pieces = piecesOf(panel, frame);
  return titleHeight + pieces.reduce((sum, { height }) => sum + height + gap, 0) - gap + axisHeight;
}

/** With its upper left corner at the origin. */
export function panelShapes(panel: Panel, frame: PanelFrame): string[] {
  const pieces = piecesOf(panel, frame);
  const shapes = [text({ x: frame.leftWidth, y: 16, class: 'sluice-name' }, shortened(panel.name, 48))];
  let top = titleHeight;
  for (const piece of pieces) {
    shapes.push(...piece.draw(top));
    top += piece.height + gap;
  }
  return [...timeAxis(titleHeight, top - gap, frame), ...shapes];
}

function piecesOf(panel: Panel, frame: PanelFrame): Piece[] {
  return [
    ...(panel.stack.length === 0 ? [] : [stackPiece(panel.stack, frame)]),
    ...panel.strips.map((series) => stripPiece(series, frame)),
    ...panel.states.map((series) => statePiece(series, frame)),
  ];
}

function stackPiece(stack: readonly Series[], frame: PanelFrame): Piece {
  const { columns, stackTop, plotWidth, leftWidth } = frame;
  return {
    height: stackHeight,
    draw(top) {
      const lines = [0, 0.5, 1].flatMap((part) => {
        const y = top + stackHeight * (1 - part);
        const label = figure({ value: part * stackTop, unit: stack[0]!.unit });
        return [
          element('path', { class: part === 0 ? 'sluice-axis' : 'sluice-grid', d: across(y, frame) }),
          text({ x: leftWidth - 6, y: y + 4, anchor: 'end', class: 'sluice-faint sluice-small' }, label),
        ];
      });
      let lower = Array.from({ length: columns.count }, () => 0);
      const areas = stack.map((series) => {
        const upper = columns.valuesOf(series).map((value, i) => value + lower[i]!);
        const d = stepArea(
          toHeights(upper, stackTop, stackHeight),
          toHeights(lower, stackTop, stackHeight),
          plotWidth / columns.count,
        );
        lower = upper;
        return d === undefined ? '' : placed(leftWidth, top, { class: `sluice-${series.kind}`, d });
      });
      return [...lines, ...areas.filter((area) => area !== '')];
    },
  };
}

function stripPiece(series: Series, frame: PanelFrame): Piece {
  const { columns, picture, plotWidth, leftWidth } = frame;
  const height = picture.hasStacks ? stripHeight : loneStripHeight;
  return {
    height,
    draw(top) {
      const scale = picture.topOf(series) || 1;
      const upper = toHeights(columns.valuesOf(series), scale, height);
      const d = stepArea(
        upper,
        upper.map(() => height),
        plotWidth / columns.count,
      );
      const highest = scaleText(series, picture);
      return [
        element('path', { class: 'sluice-grid', d: across(top, frame) }),
        element('path', { class: 'sluice-axis', d: across(top + height, frame) }),
        label(series.name, top + height - 2, frame),
        text({ x: leftWidth + plotWidth + 4, y: top + 8, class: 'sluice-faint sluice-small' }, highest),
        ...(d === undefined ? [] : [placed(leftWidth, top, { class: 'sluice-level', d })]),
      ];
    },
  };
}

function statePiece(series: Series, frame: PanelFrame): Piece {
  const { columns, plotWidth, leftWidth } = frame;
  return {
    height: stateHeight,
    draw(top) {
      const values = columns.valuesOf(series);
      const width = plotWidth / columns.count;
      const bands: string[] = [];
      for (let from = 0; from < values.length; ) {
        let to = from;
        while (to < values.length && values[to] === values[from]) to++;
        const { kind } = circuitState(values[from]!);
        bands.push(
          element('rect', {
            class: `sluice-${kind}`,
            x: leftWidth + from * width,
            y: top,
            width: (to - from) * width,
            height: stateHeight,
          }),
        );
        from = to;
      }
      return [label(series.name, top + stateHeight - 3, frame), ...bands];
    },
  };
}

function timeAxis(top: number, bottom: number, { ticks, columns, plotWidth, leftWidth }: PanelFrame): string[] {
  const pixels = plotWidth / columns.count;
  return ticks.flatMap(({ at, label: words }) => {
    const x = leftWidth + columns.placeOf(at) * pixels;
    if (x > leftWidth + plotWidth + 0.5) return [];
    return [
      element('path', { class: 'sluice-grid', d: `M${rounded(x)} ${top}V${rounded(bottom + 4)}` }),
      text({ x, y: bottom + 17, anchor: 'middle', class: 'sluice-faint sluice-small' }, words),
    ];
  });
}

function label(name: string, y: number, { leftWidth }: PanelFrame): string {
  return text(
    { x: leftWidth - 6, y, anchor: 'end', class: 'sluice-faint sluice-small' },
    seriesName(name, longestLabel),
  );
}

function across(y: number, { leftWidth, plotWidth }: PanelFrame): string {
  return `M${leftWidth} ${rounded(y)}H${rounded(leftWidth + plotWidth)}`;
}

function placed(x: number, y: number, attributes: { readonly class: string; readonly d: string }): string {
  return element('path', { ...attributes, transform: `translate(${rounded(x)} ${rounded(y)})` });
}

/** From values to pixels below the top: SVG counts downwards. */
function toHeights(values: readonly number[], top: number, height: number): number[] {
  return values.map((value) => height * (1 - value / top));
}
