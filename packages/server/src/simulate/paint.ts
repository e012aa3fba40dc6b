/** Colours of the terminal, for words and for the cells of a picture. */

export type Colour = 'arrived' | 'allowed' | 'delayed' | 'refused' | 'level' | 'strong' | 'faint';

/** One character of a picture. `back` fills what the glyph leaves of its cell, where there are colours. */
export interface Cell {
  readonly glyph: string;
  readonly colour?: Colour | undefined;
  readonly back?: Colour | undefined;
}

export interface Paint {
  readonly isColoured: boolean;
  text(colour: Colour, text: string): string;
  cells(cells: readonly Cell[]): string;
}

// The sixteen colours of every terminal, which follow the user's own palette.
const codes: Readonly<Record<Colour, number>> = {
  arrived: 34,
  allowed: 32,
  delayed: 33,
  refused: 31,
  level: 36,
  strong: 1,
  faint: 2,
};

/** A background has the number of its colour, and ten. */
const backOffset = 10;

const sequenceStart = '\u001b[';

export const plain: Paint = {
  isColoured: false,
  text: (_colour, text) => text,
  cells: (cells) => cells.map(({ glyph }) => glyph).join(''),
};

export const coloured: Paint = {
  isColoured: true,
  text: (colour, text) => within(String(codes[colour]), text),
  cells(cells) {
    let painted = '';
    for (let from = 0; from < cells.length; ) {
      const code = codeOf(cells[from]!);
      let to = from;
      while (to < cells.length && codeOf(cells[to]!) === code) to++;
      const glyphs = cells.slice(from, to).map(({ glyph }) => glyph);
      painted += within(code, glyphs.join(''));
      from = to;
    }
    return painted;
  },
};

function codeOf({ glyph, colour, back }: Cell): string {
  const own = colour === undefined || glyph === ' ' ? [] : [codes[colour]];
  return [...own, ...(back === undefined ? [] : [codes[back] + backOffset])].join(';');
}

function within(code: string, text: string): string {
  return code === '' || text === '' ? text : `${sequenceStart}${code}m${text}${sequenceStart}0m`;
}

/** Whoever reads from a pipe, or has set NO_COLOR to anything (no-color.org), gets plain text. */
export function paintFor(isTerminal: boolean, noColor: string | undefined): Paint {
  return isTerminal && (noColor === undefined || noColor === '') ? coloured : plain;
}
