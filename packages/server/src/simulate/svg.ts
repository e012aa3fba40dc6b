/** The little of SVG that pictures here need: elements, texts, and paths of steps. */

export type Attributes = Readonly<Record<string, string | number | undefined>>;

export function element(name: string, attributes: Attributes, children: readonly string[] | string = []): string {
  const given = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? rounded(value) : escaped(value!)}"`);
  const inner = typeof children === 'string' ? children : children.join('\n');
  const body = typeof children === 'string' || children.length === 0 ? inner : `\n${inner}\n`;
  return body === '' ? `<${name}${given.join('')}/>` : `<${name}${given.join('')}>${body}</${name}>`;
}

export interface TextPlace {
  readonly x: number;
  readonly y: number;
  readonly class?: string;
  readonly anchor?: 'middle' | 'end';
}

export function text({ x, y, anchor, class: named }: TextPlace, words: string): string {
  return element('text', { x, y, class: named, 'text-anchor': anchor }, escaped(words));
}

/** XML has no way at all to write most control characters, nor half a character: they are left out. */
export function escaped(words: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return (
    words
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
      .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
      .replace(/\p{Surrogate}/gu, '')
      .replace(/[&<>"]/g, (character) => entities[character]!)
  );
}

/** Tenths of a pixel: more nobody sees, and everybody loads. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The area between two lines of steps, as pixels from the top for each column; undefined where there is none. */
export function stepArea(upper: readonly number[], lower: readonly number[], columnWidth: number): string | undefined {
  if (upper.every((y, i) => y >= lower[i]!)) return undefined;
  const there = steps(upper, columnWidth);
  const back = steps(lower, columnWidth).reverse();
  return `M${[...there, ...back].map(([x, y]) => `${rounded(x)} ${rounded(y)}`).join('L')}Z`;
}

/** The corners of a line of steps, from the left; neighbours of the same height make no corner. */
function steps(line: readonly number[], columnWidth: number): [x: number, y: number][] {
  const corners: [number, number][] = [];
  line.forEach((y, i) => {
    if (i > 0 && y === line[i - 1]) return;
    if (i > 0) corners.push([i * columnWidth, line[i - 1]!]);
    corners.push([i * columnWidth, y]);
  });
  if (line.length > 0) corners.push([line.length * columnWidth, line.at(-1)!]);
  return corners;
}
