import type { Mark } from './drawing.ts';

export type Colour = Exclude<Mark, 'none'> | 'strong' | 'faint';

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string;

// The sixteen colours of every terminal, which follow the user's own palette.
const codes: Readonly<Record<Colour, number>> = {
  allowed: 32,
  delayed: 36,
  mixed: 33,
  refused: 31,
  strong: 1,
  faint: 2,
};

const sequenceStart = '\u001b[';

export const plain: Paint = (_colour, text) => text;
export const coloured: Paint = (colour, text) =>
  text === '' ? '' : `${sequenceStart}${codes[colour]}m${text}${sequenceStart}0m`;

/** Whoever reads from a pipe, or has set NO_COLOR to anything (no-color.org), gets plain text. */
export function paintFor(isTerminal: boolean, noColor: string | undefined): Paint {
  return isTerminal && (noColor === undefined || noColor === '') ? coloured : plain;
}
