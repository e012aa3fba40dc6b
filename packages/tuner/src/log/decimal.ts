/** Numbers as logs write them, read from bytes: `200`, `-3`, `0.25`, `1.7e9`. */

const zero = 0x30;
// So many digits are below 2^53, and so are the powers of ten that they may have to be divided by: both are exact, and one division rounds as Number() does.
const exactDigits = 15;
const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, power) => 10 ** power);

// No number is longer, and a hostile line cannot make a long text of one.
const longest = 64;

/** NaN: this is no number. */
export function decimalIn(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  const isNegative = bytes[at] === 0x2d;
  if (isNegative) at += 1;
  let digits = 0;
  let decimals = 0;
  let isBehindPoint = false;
  let value = 0;
  for (; at < end; at += 1) {
    const digit = bytes[at]! - zero;
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      digits += 1;
      if (isBehindPoint) decimals += 1;
    } else if (digit === -2 && !isBehindPoint && digits > 0) {
      isBehindPoint = true;
    } else {
      return unusual(bytes, start, end);
    }
  }
  if (digits === 0 || digits > exactDigits) return unusual(bytes, start, end);
  if (decimals > 0) value /= powersOfTen[decimals]!;
  return isNegative ? -value : value;
}

const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

function unusual(bytes: Uint8Array, start: number, end: number): number {
  if (end <= start || end - start > longest) return Number.NaN;
  let text = '';
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at]!);
  // Number() would also take `0x10`, `Infinity` and blanks.
  const value = number.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}
