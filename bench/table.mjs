// Tables for a terminal: the first column to the left, figures to the right.

/**
 * The first row is the head. A row of two cells in a wider table is a name and a sentence, which is not aligned with figures.
 * @param {string} title
 * @param {readonly (readonly string[])[]} rows
 */
export function table(title, rows) {
  const columns = Math.max(...rows.map((row) => row.length));
  const isSentence = (/** @type {readonly string[]} */ row) => row.length === 2 && columns > 2;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (column > 0 && isSentence(row) ? 0 : (row[column]?.length ?? 0)))),
  );
  const lines = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[i] ?? 0))).join('   '),
  );
  return `${title}\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n`;
}

/** Digits enough to compare by, and no more. @param {number} value */
export function figure(value) {
  if (!Number.isFinite(value)) return '-';
  if (value !== 0 && Math.abs(value) < 100) return value.toFixed(Math.abs(value) < 10 ? 2 : 1);
  return Math.round(value).toLocaleString('en');
}

/** The upper one of the two in the middle. @param {readonly number[]} values */
export function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
