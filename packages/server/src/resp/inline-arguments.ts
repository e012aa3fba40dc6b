/**
 * The arguments of a typed line, quoted as in redis-cli:
 *
 *      echo plain "two words \x41\n" 'it\'s'
 *
 * What escapes stand for is never longer than they are, so it is written over them: an argument stays a range of the buffer.
 */
const SPACE = 0x20;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const LETTER_X = 0x78;

const escapes = new Map([...'nrtba'].map((letter, i) => [letter.charCodeAt(0), '\n\r\t\b\x07'.charCodeAt(i)] as const));

/** Writes where arguments begin and end, and says how many there are; -1 for open quotes and for more than `most`. */
export function splitInline(
  line: Buffer,
  from: number,
  to: number,
  starts: Int32Array,
  stops: Int32Array,
  most: number,
): number {
  let count = 0;
  let at = from;
  for (;;) {
    while (at < to && isSpace(line[at]!)) at += 1;
    if (at >= to) return count;
    if (count === most) return -1;
    const start = at;
    let written = at;
    let quote = 0;
    while (at < to) {
      const byte = line[at]!;
      if (quote === 0) {
        if (isSpace(byte)) break;
        if (byte === QUOTE || byte === APOSTROPHE) quote = byte;
        else line[written++] = byte;
        at += 1;
      } else if (byte === BACKSLASH && at + 1 < to && (quote === QUOTE || line[at + 1] === APOSTROPHE)) {
        const isHex = quote === QUOTE && line[at + 1] === LETTER_X && isHexPair(line, at + 2, to);
        line[written++] = isHex ? hexPair(line, at + 2) : (escapeOf(quote, line[at + 1]!) ?? line[at + 1]!);
        at += isHex ? 4 : 2;
      } else if (byte === quote) {
        at += 1;
        // Something must stand between arguments; "a"b is a slip of the fingers.
        if (at < to && !isSpace(line[at]!)) return -1;
        quote = 0;
      } else {
        line[written++] = byte;
        at += 1;
      }
    }
    if (quote !== 0) return -1;
    starts[count] = start;
    stops[count] = written;
    count += 1;
  }
}

function escapeOf(quote: number, letter: number): number | undefined {
  return quote === QUOTE ? escapes.get(letter) : undefined;
}

/** Space, and what C counts as such: tab, line feed, vertical tab, form feed, carriage return. NUL is an ordinary byte. */
function isSpace(byte: number): boolean {
  return byte === SPACE || (byte >= 9 && byte <= 13);
}

function isHexPair(line: Buffer, at: number, to: number): boolean {
  return at + 1 < to && /^[0-9a-f]{2}$/i.test(line.toString('latin1', at, at + 2));
}

function hexPair(line: Buffer, at: number): number {
  return Number.parseInt(line.toString('latin1', at, at + 2), 16);
}
